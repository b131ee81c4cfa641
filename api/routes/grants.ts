import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {listGrants, revokeOwnGrant} from '../../sql/oauth-grants.ts'
import {Answer} from '../answers/common.ts'
import {Grant} from '../answers/people.ts'
import {route} from '../route.ts'

/** What a person let MCP clients do in the org of their session. */
export default [
  route({
    method: 'get',
    path: '/auth/grants',
    access: {role: 'operator', sessionOnly: 'person'},
    summary: 'List the MCP clients one let in',
    answers: {
      200: Answer({grants: z.array(Grant).describe('Those that still open something, in the org of the session; the newest first')}),
    },
    refusals: [],
    handle: async ({db, caller: {org, person}}) => ({grants: await listGrants(db, {org, person})}),
  }),

  route({
    method: 'delete',
    path: '/auth/grants/:id',
    access: {role: 'operator', sessionOnly: 'person'},
    summary: 'Take back what an MCP client was allowed',
    answers: {200: Answer({grant: Grant})},
    refusals: ['NOT_FOUND'],
    params: z.object({id: z.string().describe('What was allowed (`ogr_`)')}),
    async handle({db, caller: {org, person}, params: {id}}) {
      const grant = await revokeOwnGrant(db, {org, person, id})
      if (!grant) throw new Refusal('NOT_FOUND', 'You gave no such access in this org: GET /auth/grants lists what you gave')
      return {grant}
    },
  }),
]
