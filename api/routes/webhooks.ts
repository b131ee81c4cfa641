import {z} from 'zod'
import {
  addEndpoint,
  changeEndpoint,
  EndpointPatch,
  findOwn,
  NewEndpoint,
  removeEndpoint,
  replaceSecret,
} from '../../shared/notifications/endpoints.ts'
import {redeliver, sendTest} from '../../shared/notifications/redeliver.ts'
import {readPage} from '../../shared/security/cursor.ts'
import {listDeliveries} from '../../sql/deliveries.ts'
import {listEndpoints} from '../../sql/endpoints.ts'
import {
  DeliveryPage,
  DeliveryRead,
  deliveryExample,
  EndpointList,
  EndpointRead,
  EndpointWithSecret,
  endpointExample,
  secretExample,
} from '../answers/webhooks.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfEndpoint as params} from '../params.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/webhooks',
    operationId: 'listWebhooks',
    tag: 'Notices',
    access: {role: 'admin'},
    summary: 'List the webhook endpoints',
    answers: {200: EndpointList},
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
