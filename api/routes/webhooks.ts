import {z} from 'zod'
import {NoticeKind} from '../../shared/notifications/kind.ts'
import {redeliver, sendTest} from '../../shared/notifications/redeliver.ts'
import {
  addEndpoint,
  changeEndpoint,
  EndpointPatch,
  findOwn,
  NewEndpoint,
  removeEndpoint,
  replaceSecret,
} from '../../shared/notifications/webhooks.ts'
import {readPage} from '../../shared/security/cursor.ts'
import {Delivery as DeliveryRow, listDeliveries} from '../../sql/deliveries.ts'
import {ENDPOINT_KINDS, listEndpoints} from '../../sql/webhooks.ts'
import {Answer, Count, Id, Moment, NextCursor} from '../answers/common.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfEndpoint as params} from '../params.ts'
import {route} from '../route.ts'

const secretExample = 'whsec_c29tZXRoaW5nIG9mIHRoaXJ0eS10d28gYnl0ZXMh'

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
  state: DeliveryRow.shape.state.describe('`failed` is final until it is redelivered'),
  attempts: Count('Attempts so far, at most ten'),
  nextAt: Moment('When the next attempt is due, while it is pending'),
  lastStatus: z.int().nullable().describe('The HTTP status of the last response. Null: none'),
  lastError: z.string().nullable().describe('Why the last attempt failed. Null: it did not, or there was none'),
  answer: z.string().nullable().describe('The first KiB of the last response. Null: none, or the host is in PRIVATE_HOSTS'),
  createdAt: Moment('When it was created'),
  deliveredAt: Moment('When it was delivered')
    .nullable()
    .describe('When it was last delivered. A later failed redelivery does not change it. Null: never'),
}).meta({id: 'Delivery', description: 'The delivery of a notice to an endpoint'})

const EndpointRead = Answer({webhook: Endpoint})

const EndpointWithSecret = Answer({
  webhook: Endpoint,
  secret: z.string().meta({
    description: 'The signing secret, in the format of Standard Webhooks. Returned only here. Not used by `slack` and `teams`',
    examples: [secretExample],
  }),
})

const DeliveryPage = Answer({
  deliveries: z.array(Delivery).describe('Deliveries of the last 30 days, newest first'),
  nextCursor: NextCursor,
})

const DeliveryRead = Answer({delivery: Delivery})

const endpointExample = {
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

const deliveryExample = {
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

export default [
  route({
    method: 'get',
    path: '/orgs/:org/webhooks',
    operationId: 'listWebhooks',
    tag: 'Notices',
    access: {role: 'admin'},
    summary: 'List the webhook endpoints',
    answers: {200: Answer({webhooks: z.array(Endpoint).describe('Oldest first; at most 20')})},
    refusals: [],
    example: {answer: {webhooks: [endpointExample]}},
    handle: async ({db, caller}) => ({webhooks: await listEndpoints(db, caller.org)}),
  }),
  route({
    method: 'post',
    path: '/orgs/:org/webhooks',
    operationId: 'createWebhook',
    tag: 'Notices',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Add a webhook endpoint',
    description:
      'Notices are POSTed as `{type, timestamp, data}` following [Standard Webhooks](https://www.standardwebhooks.com), signed with the secret. The secret is returned only here. With `kind` `slack` or `teams`, a short message is POSTed instead. An org has at most 20 endpoints.',
    answers: {201: EndpointWithSecret},
    refusals: [],
    example: {body: {url: endpointExample.url, events: ['run.ended']}, answer: {webhook: endpointExample, secret: secretExample}},
    body: NewEndpoint,
    status: 201,
    async handle({db, config, caller, body}) {
      const {endpoint, secret} = await addEndpoint({db, config}, caller, body)
      return {webhook: endpoint, secret}
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/webhooks/:id',
    operationId: 'readWebhook',
    tag: 'Notices',
    access: {role: 'admin'},
    summary: 'Read a webhook endpoint',
    answers: {200: EndpointRead},
    refusals: ['NOT_FOUND'],
    example: {answer: {webhook: endpointExample}},
    params,
    handle: async ({db, caller: {org}, params: {id}}) => ({webhook: await findOwn(db, {org, id})}),
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/webhooks/:id',
    operationId: 'changeWebhook',
    tag: 'Notices',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Change a webhook endpoint',
    description: 'Omitted values stay. Disabling fails pending deliveries. Enabling resets the failure count.',
    answers: {200: EndpointRead},
    refusals: ['NOT_FOUND'],
    example: {body: {enabled: true}, answer: {webhook: endpointExample}},
    params,
    body: EndpointPatch,
    handle: async ({db, config, caller, params: {id}, body: patch}) => ({
      webhook: await changeEndpoint({db, config}, caller, {id, patch}),
    }),
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/webhooks/:id',
    operationId: 'deleteWebhook',
    tag: 'Notices',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Remove a webhook endpoint with its deliveries',
    description: 'Returns the endpoint as it was.',
    answers: {200: EndpointRead},
    refusals: ['NOT_FOUND'],
    example: {answer: {webhook: endpointExample}},
    params,
    handle: async ({db, caller, params: {id}}) => ({webhook: await removeEndpoint({db}, caller, id)}),
  }),
  route({
    method: 'post',
    path: '/orgs/:org/webhooks/:id/secret',
    operationId: 'renewWebhookSecret',
    tag: 'Notices',
    access: {role: 'admin'},
    effect: 'access',
    summary: 'Replace the secret of a webhook endpoint',
    description: 'For 24 hours, deliveries are signed with both the old and the new secret.',
    answers: {200: EndpointWithSecret},
    refusals: ['NOT_FOUND'],
    example: {answer: {webhook: {...endpointExample, oldSecretUntil: '2026-03-02T08:30:00.000Z'}, secret: secretExample}},
    params,
    async handle({db, config, caller, params: {id}}) {
      const {endpoint, secret} = await replaceSecret({db, config}, caller, id)
      return {webhook: endpoint, secret}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/webhooks/:id/test',
    operationId: 'testWebhook',
    tag: 'Notices',
    access: {role: 'admin'},
    summary: 'Send a test to a webhook endpoint',
    description: 'Sent at once, before other notices. A failed test that awaits its next attempt is sent again now.',
    answers: {202: DeliveryRead},
    refusals: ['NOT_FOUND', 'ENDPOINT_DISABLED'],
    example: {params: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', id: endpointExample.id}},
    params,
    status: 202,
    handle: async ({db, caller: {org}, params: {id}}) => ({delivery: await sendTest(db, {org, endpoint: id})}),
  }),
  route({
    method: 'get',
    path: '/orgs/:org/webhooks/:id/deliveries',
    operationId: 'listDeliveries',
    tag: 'Notices',
    access: {role: 'admin'},
    summary: 'List the deliveries of a webhook endpoint',
    answers: {200: DeliveryPage},
    refusals: ['NOT_FOUND', 'INVALID_CURSOR'],
    example: {answer: {deliveries: [deliveryExample], nextCursor: null}},
    params,
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: Cursor}),
    async handle({db, config, caller: {org}, params: {id}, query}) {
      const {id: endpoint} = await findOwn(db, {org, id})
      const {page, nextCursor} = await readPage(config.SECRETS_KEYS, `deliveries ${endpoint}`, query, {
        as: String,
        read: ({place: before, limit}) => listDeliveries(db, {org, endpoint, before, limit}),
        placeOf: ({id}) => id,
      })
      return {deliveries: page, nextCursor}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/webhooks/:id/deliveries/:delivery/redeliver',
    operationId: 'redeliver',
    tag: 'Notices',
    access: {role: 'admin'},
    summary: 'Redeliver a notice',
    description: 'Resets the attempts. The `webhook-id` stays the same.',
    answers: {202: DeliveryRead},
    refusals: ['NOT_FOUND', 'ENDPOINT_DISABLED'],
    example: {params: {org: 'org_01k9m0v6f8e2r4t7w3y5z1a2b3', id: endpointExample.id, delivery: deliveryExample.id}},
    params: params.extend({delivery: z.string().describe('The delivery')}),
    status: 202,
    handle: async ({db, caller: {org}, params: {id, delivery}}) => ({delivery: await redeliver(db, {org, endpoint: id, id: delivery})}),
  }),
]
