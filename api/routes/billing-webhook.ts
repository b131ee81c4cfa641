import {z} from 'zod'
import {readEventLog, retryEvent} from '../../shared/billing/events/log.ts'
import {receiveEvent} from '../../shared/billing/events/receive.ts'
import {EVENT_STATUSES} from '../../sql/payment-events.ts'
import {Answer, Id, Moment} from '../answers/common.ts'
import {Cursor, limitOf} from '../paging.ts'
import {route} from '../route.ts'

const PaymentEvent = Answer({
  id: z.string().describe("The payment provider's id of the event"),
  type: z.string().meta({description: "The payment provider's event type", examples: ['invoice.paid']}),
  status: z
    .enum(EVENT_STATUSES)
    .describe('`ignored`: no effect here. `deferred`: waits for another change of the org. `failed`: will be retried'),
  orgId: Id('org', 'The org').nullable().describe('The org it concerns. Null: no org of this deployment, or not known yet'),
  error: z.string().nullable().describe('Why it was ignored or failed. Null: no error'),
  createdAt: Moment('When it was received'),
  processedAt: Moment('When it was processed').nullable().describe('When it was processed. Null: not yet'),
})

const PaymentEvents = Answer({
  events: z.array(PaymentEvent).describe('Newest first'),
  nextCursor: z.string().nullable().describe('The `cursor` of the next page. Null: this is the last page'),
})

export default [
  route({
    method: 'post',
    path: '/billing/webhook',
    operationId: 'takePaymentEvent',
    tag: 'Billing',
    access: {public: true},
    summary: 'Receive an event of the payment provider',
    description: `Only for the payment provider, which signs the body (\`Stripe-Signature\`). While a plan change of the org is in progress, the event is stored and the
provider is asked to send it again.`,
    answers: {200: Answer({received: z.literal(true).describe('The event is stored, and a worker will apply it')})},
    refusals: ['NOT_CONFIGURED', 'SIGNATURE_INVALID', 'CHANGE_IN_PROGRESS', 'UNAVAILABLE'],
    sends: {type: 'application/json', what: 'The event, byte for byte as signed'},
    example: {answer: {received: true}},
    body: 'bytes',
    async handle({db, queue, config, payment, body, request}) {
      return receiveEvent({db, queue, config}, await payment.readEvent(body, request.headers['stripe-signature']))
    },
  }),

  route({
    method: 'get',
    path: '/billing/admin/events',
    operationId: 'listPaymentEvents',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'List the events of the payment provider',
    answers: {200: PaymentEvents},
    refusals: ['INVALID_CURSOR'],
    query: z.object({
      status: z.enum(EVENT_STATUSES).optional().describe('Only events with this status'),
      type: z.string().max(255).optional().describe("Only events of this type, by the payment provider's name"),
      org: z.string().max(100).optional().describe('Only events of this org'),
      cursor: Cursor,
      limit: limitOf({usual: 50, most: 500}),
    }),
    handle: ({db, config, query}) => readEventLog({db, config}, query),
  }),

  route({
    method: 'post',
    path: '/billing/admin/events/:id/retry',
    operationId: 'retryPaymentEvent',
    tag: 'Plans by staff',
    access: {backoffice: true},
    summary: 'Apply an event again',
    description: 'Retries at once and resets the attempt count. A processed or ignored event is left unchanged.',
    answers: {200: Answer({event: PaymentEvent.describe('The event in its current state')})},
    refusals: ['NOT_FOUND'],
    params: z.object({id: z.string().max(255).describe("The payment provider's id of the event")}),
    handle: ({db, queue, caller: {staff}, params: {id}}) => retryEvent({db, queue}, staff, id),
  }),
]
