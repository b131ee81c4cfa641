import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {listGrants, revokeOwnGrant} from '../../sql/oauth-grants.ts'
import {route} from '../route.ts'

/** What a person let MCP clients do in the org of their session. */
export default [
  route({
    method: 'get',
    path: '/auth/grants',
    access: {role: 'operator', sessionOnly: 'person'},
    handle: async ({db, caller: {org, person}}) => ({grants: await listGrants(db, {org, person})}),
  }),

  route({
    method: 'delete',
    path: '/auth/grants/:id',
    access: {role: 'operator', sessionOnly: 'person'},
    params: z.object({id: z.string()}),
    async handle({db, caller: {org, person}, params: {id}}) {
      const grant = await revokeOwnGrant(db, {org, person, id})
      if (!grant) throw new Refusal('NOT_FOUND', 'You gave no such access in this org: GET /auth/grants lists what you gave')
      return {grant}
    },
  }),
]
