import {z} from 'zod'
import {NoticeKind} from '../../shared/notifications/kind.ts'
import {ENDPOINT_KINDS} from '../../sql/endpoints.ts'
import {Answer, Count, Id, Moment, NextCursor} from './common.ts'

export const secretExample = 'whsec_c29tZXRoaW5nIG9mIHRoaXJ0eS10d28gYnl0ZXMh'

const Endpoint = Answer({
  id: Id('whk', 'The endpoint'),
  kind: z.enum(ENDPOINT_KINDS).describe('The format of the messages that the endpoint receives'),
  url: z.string().describe('The URL to POST to'),
  description: z.string().describe('The purpose. Empty: none given'),
  events: z.array(NoticeKind).describe('The events it receives. Empty: only notices for which a schedule or the org names it'),
  schedule: Id('sch', 'The schedule').nullable().describe('The only schedule whose events it receives. Null: all events of the org'),
  scheduleGone: z.boolean().describe('Whether that schedule was deleted, which ends its events'),
  enabled: z.boolean().describe('Whether it is enabled'),
  disabledReason: z.string().nullable().describe('Why the service disabled it. Null: it did not'),
  failingSince: Moment('Since when all deliveries fail')
    .nullable()
    .describe('Since when all deliveries fail. After five days it is disabled. Null: they do not'),
  oldSecretUntil: Moment('Until when the replaced secret signs too')
    .nullable()
    .describe('Until when the replaced secret signs too. Null: none'),
  createdAt: Moment('When it was created'),
}).meta({id: 'WebhookEndpoint', description: 'A URL that receives notices of an org'})

const Delivery = Answer({
  id: Id('dlv', 'The delivery'),
  notice: Id('ntc', 'The notice, sent in the header `webhook-id`. The same at every attempt'),
  kind: z.union([NoticeKind, z.literal('webhook.test')]).describe('The kind of event'),
  state: z.enum(['pending', 'delivered', 'failed']).describe('`failed` is final until it is redelivered'),
  attempts: Count('Attempts so far, at most ten'),
  nextAt: Moment('When the next attempt is due, while it is pending'),
  lastStatus: z.int().nullable().describe('The HTTP status of the last response. Null: none'),
  lastError: z.string().nullable().describe('Why the last attempt failed. Null: it did not, or there was none'),
  answer: z.string().nullable().describe('The first KiB of the last response. Null: none, or the host is in PRIVATE_HOSTS'),
  createdAt: Moment('When it was created'),
  deliveredAt: Moment('When it was delivered').nullable().describe('When it was delivered. Null: it was not'),
}).meta({id: 'Delivery', description: 'The delivery of a notice to an endpoint'})

export const EndpointList = Answer({webhooks: z.array(Endpoint).describe('Oldest first; at most 20')})
export const EndpointRead = Answer({webhook: Endpoint})
export const EndpointWithSecret = Answer({
  webhook: Endpoint,
  secret: z.string().meta({
    description: 'The signing secret, in the format of Standard Webhooks. Returned only here. Not used by `slack` and `teams`',
    examples: [secretExample],
  }),
})
export const DeliveryPage = Answer({
  deliveries: z.array(Delivery).describe('Deliveries of the last 30 days, newest first'),
  nextCursor: NextCursor,
})
export const DeliveryRead = Answer({delivery: Delivery})

export const endpointExample = {
  id: 'whk_01k9m0v6f8e2r4t7w3y5z1a2b3',
  kind: 'json',
  url: 'https://hooks.example.org/lading',
  description: '',
  events: ['run.ended'],
  schedule: null,
  scheduleGone: false,
  enabled: true,
  disabledReason: null,
  failingSince: null,
  oldSecretUntil: null,
  createdAt: '2026-03-01T08:30:00.000Z',
}

export const deliveryExample = {
  id: 'dlv_01k9m0v6f8e2r4t7w3y5z1a2b3',
  notice: 'ntc_01k9m0v6f8e2r4t7w3y5z1a2b3',
  kind: 'webhook.test',
  state: 'pending',
  attempts: 0,
  nextAt: '2026-03-01T08:30:00.000Z',
  lastStatus: null,
  lastError: null,
  answer: null,
  createdAt: '2026-03-01T08:30:00.000Z',
  deliveredAt: null,
}
