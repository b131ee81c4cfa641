import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {listGrants, revokeOwnGrant} from '../../sql/oauth-grants.ts'
import {Answer, Id, Moment} from '../answers/common.ts'
import {route} from '../route.ts'

const Grant = Answer({
  id: Id('ogr', 'The grant'),
  client: Answer({
    id: z.string().describe('The client id: an id of this server, or the URL of a metadata document'),
    name: z.string().describe('The name that the client gives itself'),
  }).describe('The authorised client'),
  createdAt: Moment('When it was granted'),
  lastUsedAt: Moment('When it was last used').nullable().describe('When it was last used, to within a few minutes. Null: never'),
  revokedAt: Moment('When it was revoked').nullable().describe('When it was revoked. Null: it was not'),
}).meta({id: 'Grant'})

/** OAuth grants that a person gave to MCP clients in the org of their session. */
export default [
  route({
    method: 'get',
    path: '/auth/grants',
    operationId: 'listGrants',
    tag: 'MCP',
    access: {role: 'operator', sessionOnly: 'person'},
    summary: 'List your authorised MCP clients',
    answers: {
      200: Answer({grants: z.array(Grant).describe('Active grants in the org of the session, newest first')}),
    },
    refusals: [],
    handle: async ({db, caller: {org, person}}) => ({grants: await listGrants(db, {org, person})}),
  }),

  route({
    method: 'delete',
    path: '/auth/grants/:id',
    operationId: 'revokeGrant',
    tag: 'MCP',
    access: {role: 'operator', sessionOnly: 'person'},
    summary: 'Revoke the access of an MCP client',
    answers: {200: Answer({grant: Grant})},
    refusals: ['NOT_FOUND'],
    params: z.object({id: z.string().describe('The grant (`ogr_`)')}),
    async handle({db, caller: {org, person}, params: {id}}) {
      const grant = await revokeOwnGrant(db, {org, person, id})
      if (!grant) throw new Refusal('NOT_FOUND', 'You have no such grant in this org. GET /auth/grants lists your grants')
      return {grant}
    },
  }),
]
