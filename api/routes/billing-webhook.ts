import {z} from 'zod'
import {keepEvent} from '../../shared/billing/events/keep.ts'
import {listEvents} from '../../sql/payment-events.ts'
import {PaymentEvents, Received} from '../answers/billing.ts'
import {limitOf} from '../paging.ts'
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
    refusals: [],
    query: z.object({limit: limitOf({usual: 50, most: 500})}),
    handle: async ({db, query}) => ({events: await listEvents(db, query)}),
  }),
]
