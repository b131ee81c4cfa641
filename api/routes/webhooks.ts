import {z} from 'zod'
import {readPage} from '../../shared/cursor.ts'
import {
  addEndpoint,
  changeEndpoint,
  EndpointPatch,
  findOwn,
  NewEndpoint,
  removeEndpoint,
  replaceSecret,
} from '../../shared/notices/endpoints.ts'
import {redeliver, sendTest} from '../../shared/notices/redeliver.ts'
import {listDeliveries} from '../../sql/deliveries.ts'
import {listEndpoints} from '../../sql/endpoints.ts'
import {limitOf} from '../page.ts'
import {route} from '../route.ts'

const params = z.object({org: z.string(), id: z.string()})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/webhooks',
    access: {role: 'admin'},
    handle: async ({db, caller}) => ({webhooks: await listEndpoints(db, caller.org)}),
  }),
  route({
    method: 'post',
    path: '/orgs/:org/webhooks',
    access: {role: 'admin'},
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
    access: {role: 'admin'},
    params,
    handle: async ({db, caller: {org}, params: {id}}) => ({webhook: await findOwn(db, {org, id})}),
  }),
  route({
    method: 'patch',
    path: '/orgs/:org/webhooks/:id',
    access: {role: 'admin'},
    params,
    body: EndpointPatch,
    handle: async ({db, config, caller, params: {id}, body: patch}) => ({
      webhook: await changeEndpoint({db, config}, caller, {id, patch}),
    }),
  }),
  route({
    method: 'delete',
    path: '/orgs/:org/webhooks/:id',
    access: {role: 'admin'},
    params,
    handle: async ({db, caller, params: {id}}) => ({webhook: await removeEndpoint({db}, caller, id)}),
  }),
  route({
    method: 'post',
    path: '/orgs/:org/webhooks/:id/secret',
    access: {role: 'admin'},
    params,
    async handle({db, config, caller, params: {id}}) {
      const {endpoint, secret} = await replaceSecret({db, config}, caller, id)
      return {webhook: endpoint, secret}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/webhooks/:id/test',
    access: {role: 'admin'},
    params,
    status: 202,
    handle: async ({db, caller: {org}, params: {id}}) => ({delivery: await sendTest(db, {org, endpoint: id})}),
  }),
  route({
    method: 'get',
    path: '/orgs/:org/webhooks/:id/deliveries',
    access: {role: 'admin'},
    params,
    query: z.object({limit: limitOf({usual: 50, most: 200}), cursor: z.string().optional()}),
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
    access: {role: 'admin'},
    params: params.extend({delivery: z.string()}),
    status: 202,
    handle: async ({db, caller: {org}, params: {id, delivery}}) => ({delivery: await redeliver(db, {org, endpoint: id, id: delivery})}),
  }),
]
