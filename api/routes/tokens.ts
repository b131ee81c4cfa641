import {z} from 'zod'
import {createToken, endToken} from '../../shared/accounts/tokens.ts'
import {Instant} from '../../shared/schema/instant.ts'
import {oneLine} from '../../shared/schema/name.ts'
import {listTokens} from '../../sql/tokens.ts'
import {Answer, Id, Moment} from '../answers/common.ts'
import {PersonNamed} from '../answers/people.ts'
import {route} from '../route.ts'

const ApiToken = Answer({
  id: Id('tok', 'The token'),
  name: z.string().describe('The purpose, as named by its creator'),
  prefix: z.string().describe('The first characters of the secret, to tell tokens apart'),
  createdBy: PersonNamed.nullable().describe('The creator. Null: the creator was erased, and the token revoked'),
  createdAt: Moment('When it was created'),
  lastUsedAt: Moment('When it was last used').nullable().describe('When it was last used, to within a few minutes. Null: never'),
  expiresAt: Moment('When it expires').nullable().describe('When it expires. Null: never'),
  revokedAt: Moment('When it was revoked').nullable().describe('When it was revoked. Null: it was not'),
}).meta({id: 'ApiToken'})

const NewToken = z.object({
  name: oneLine(z.string().trim().min(1).max(100)).describe('The purpose of the token'),
  expiresAt: Instant.nullish().describe('Expiry time. Null or omitted: the token does not expire'),
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/tokens',
    operationId: 'listTokens',
    tag: 'API tokens',
    access: {role: 'admin'},
    summary: 'List the API tokens of the org',
    answers: {200: Answer({tokens: z.array(ApiToken).describe('All tokens, revoked and expired ones included, newest first')})},
    refusals: [],
    handle: async ({db, caller}) => ({tokens: await listTokens(db, caller.org)}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/tokens',
    operationId: 'createToken',
    tag: 'API tokens',
    access: {role: 'admin', sessionOnly: 'person'},
    summary: 'Create an API token',
    description:
      'The token has the admin role until it is revoked, expires, or its creator leaves the org. The secret is returned only once.',
    answers: {201: Answer({token: ApiToken, secret: z.string().describe('The bearer token. Store it now, because it is not shown again')})},
    refusals: [],
    example: {
      body: {name: 'Nightly import', expiresAt: null},
      answer: {
        token: {
          id: 'tok_01k9m0v6f8e2r4t7w3y5z1a2b3',
          name: 'Nightly import',
          prefix: 'lading_4f7Qx',
          createdBy: {id: 'per_01k9m0v6f8e2r4t7w3y5z1a2b4', name: 'Ana Example'},
          createdAt: '2026-03-01T08:30:00.000Z',
          lastUsedAt: null,
          expiresAt: null,
          revokedAt: null,
        },
        secret: 'lading_4f7Qx2mZ8sK1nB6vC3dR9tY5wE0aL7hG4jU2pI8oXs',
      },
    },
    body: NewToken,
    status: 201,
    handle: ({db, caller, body: {name, expiresAt = null}}) => createToken(db, caller, {name, expiresAt}),
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/tokens/:id',
    operationId: 'revokeToken',
    tag: 'API tokens',
    access: {role: 'admin', sessionOnly: 'person'},
    summary: 'Revoke an API token',
    description: 'The token is refused from the next request on. Revoking it again changes nothing.',
    answers: {200: Answer({token: ApiToken})},
    refusals: ['NOT_FOUND'],
    params: z.object({id: z.string().describe('The token (`tok_`)')}),
    handle: async ({db, caller, params}) => ({token: await endToken(db, caller, params.id)}),
  }),
]
