import {z} from 'zod'
import {Kind} from '../../shared/notices/kind.ts'
import {Answer, Count, Id, Moment, NextCursor} from './common.ts'

export const secretExample = 'whsec_c29tZXRoaW5nIG9mIHRoaXJ0eS10d28gYnl0ZXMh'

export const Endpoint = Answer({
  id: Id('whk', 'The endpoint'),
  url: z.string().describe('Where it is posted to'),
  description: z.string().describe('What it is for; empty: nobody said'),
  events: z.array(Kind).describe('What it is told of; empty: of nothing but what a schedule or the org names it for'),
  schedule: Id('sch', 'The only schedule it is told of')
    .nullable()
    .describe('The only schedule it is told of; null: everything in the org'),
  scheduleGone: z.boolean().describe('Whether that schedule was deleted: of it nothing is told any more'),
  enabled: z.boolean().describe('Whether it is told anything'),
  disabledReason: z.string().nullable().describe('Why the service switched it off, for a person; null: it did not'),
  failingSince: Moment('Since when everything failed')
    .nullable()
    .describe('Since when everything failed; five days of it switch it off. Null: it does not'),
  oldSecretUntil: Moment('Until when the replaced secret signs too')
    .nullable()
    .describe('Until when the replaced secret signs too; null: none does'),
  createdAt: Moment('When it was made'),
}).meta({id: 'WebhookEndpoint', description: 'Where an org is told of what happens'})

export const Delivery = Answer({
  id: Id('dlv', 'The delivery'),
  notice: Id('ntc', 'What is told, in the header `webhook-id`: the same at every attempt'),
  kind: z.union([Kind, z.literal('webhook.test')]).describe('What it is about'),
  state: z.enum(['pending', 'delivered', 'failed']).describe('`failed` is final, until somebody redelivers it'),
  attempts: Count('Attempts so far, of at most ten'),
  nextAt: Moment('When the next attempt is due, while it is pending'),
  lastStatus: z.int().nullable().describe('The HTTP status of the last answer; null: there was none'),
  lastError: z.string().nullable().describe('Why the last attempt failed, for a person; null: it did not, or there was none'),
  answer: z.string().nullable().describe('The first KiB of the last answer; null: there was none, or the host is one of PRIVATE_HOSTS'),
  createdAt: Moment('When it was made'),
  deliveredAt: Moment('When the receiver took it').nullable().describe('When the receiver took it; null: it has not'),
}).meta({id: 'Delivery', description: 'One notice on its way to one endpoint'})

export const EndpointList = Answer({webhooks: z.array(Endpoint).describe('The oldest first; 20 at most')})
export const EndpointRead = Answer({webhook: Endpoint})
export const EndpointWithSecret = Answer({
  webhook: Endpoint,
  secret: z.string().meta({
    description: 'What signs, as Standard Webhooks has it. Told here and never again',
    examples: [secretExample],
  }),
})
export const DeliveryPage = Answer({
  deliveries: z.array(Delivery).describe('The newest first, of the last 30 days'),
  nextCursor: NextCursor,
})
export const DeliveryRead = Answer({delivery: Delivery})

export const endpointExample = {
  ...{id: 'whk_01k9m0v6f8e2r4t7w3y5z1a2b3', url: 'https://hooks.example.org/lading', description: '', events: ['run.ended']},
  ...{schedule: null, scheduleGone: false, enabled: true, disabledReason: null, failingSince: null, oldSecretUntil: null},
  createdAt: '2026-03-01T08:30:00.000Z',
}

export const deliveryExample = {
  ...{id: 'dlv_01k9m0v6f8e2r4t7w3y5z1a2b3', notice: 'ntc_01k9m0v6f8e2r4t7w3y5z1a2b3', kind: 'webhook.test', state: 'pending'},
  ...{attempts: 0, nextAt: '2026-03-01T08:30:00.000Z', lastStatus: null, lastError: null, answer: null},
  ...{createdAt: '2026-03-01T08:30:00.000Z', deliveredAt: null},
}
