import {z} from 'zod'
import {keepEvent} from '../../shared/billing/events/keep.ts'
import {readEventLog, retryEvent} from '../../shared/billing/events/log.ts'
import {EVENT_STATUSES} from '../../sql/payment-events.ts'
import {PaymentEvents, Received, RetriedEvent} from '../answers/billing.ts'
import {Cursor, limitOf} from '../paging.ts'
import {route} from '../route.ts'

/** What the payment provider tells, and what has become of it. */
export default [
  route({
    method: 'post',
    path: '/billing/webhook',
    access: {public: true},
    summary: 'Take an event of the payment provider',
    description: `For the payment provider alone, which signs the body (\`Stripe-Signature\`). While something about the org's plan is being changed it is told to come
again, and the event is kept all the same.`,
    answers: {200: Received},
    refusals: ['NOT_CONFIGURED', 'SIGNATURE_INVALID', 'CHANGE_IN_PROGRESS', 'UNAVAILABLE'],
    sends: {type: 'application/json', what: 'The event, to the byte as it was signed'},
    example: {answer: {received: true}},
    body: 'bytes',
    async handle({db, queue, config, payment, body, request}) {
      return keepEvent({db, queue, config}, await payment.readEvent(body, request.headers['stripe-signature']))
    },
  }),

  route({
    method: 'get',
    path: '/billing/admin/events',
    access: {backoffice: true},
    summary: 'List the events of the payment provider',
    answers: {200: PaymentEvents},
    refusals: ['INVALID_CURSOR'],
    query: z.object({
      status: z.enum(EVENT_STATUSES).optional().describe('Only those of this status'),
      type: z.string().max(255).optional().describe("Only those of this type, by the payment provider's word"),
      org: z.string().max(100).optional().describe('Only those of this org'),
      cursor: Cursor,
      limit: limitOf({usual: 50, most: 500}),
    }),
    handle: ({db, config, query}) => readEventLog({db, config}, query),
  }),

  route({
    method: 'post',
    path: '/billing/admin/events/:id/retry',
    access: {backoffice: true},
    summary: 'Apply an event again',
    description: 'At once, with its attempts counted anew. One that is processed or ignored stays so.',
    answers: {200: RetriedEvent},
    refusals: ['NOT_FOUND'],
    params: z.object({id: z.string().max(255).describe("The payment provider's id of the event")}),
    handle: ({db, queue, caller: {staff}, params: {id}}) => retryEvent({db, queue}, staff, id),
  }),
]
