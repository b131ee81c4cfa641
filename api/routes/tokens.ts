import {z} from 'zod'
import {oneLine} from '../../shared/name.ts'
import {createToken, endToken} from '../../shared/people/token.ts'
import {listTokens} from '../../sql/tokens.ts'
import {Answer} from '../answers/common.ts'
import {ApiToken} from '../answers/people.ts'
import {route} from '../route.ts'

const NewToken = z.object({
  name: oneLine(z.string().trim().min(1).max(100)).describe('What it is for'),
  expiresAt: z.iso.datetime({offset: true}).nullish().describe('When it ends; null or left out: never by itself'),
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/tokens',
    access: {role: 'admin'},
    summary: 'List the API tokens of the org',
    answers: {200: Answer({tokens: z.array(ApiToken).describe('Every one ever made, the newest first')})},
    refusals: [],
    handle: async ({db, caller}) => ({tokens: await listTokens(db, caller.org)}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/tokens',
    access: {role: 'admin', sessionOnly: 'person'},
    summary: 'Make an API token',
    description:
      'It is an admin of the org until it is revoked, expires, or its maker is no longer in the org. The secret is told this once.',
    answers: {201: Answer({token: ApiToken, secret: z.string().describe('The bearer. Keep it: it is told this once')})},
    refusals: [],
    example: {
      body: {name: 'Nightly import', expiresAt: null},
      answer: {
        token: {
          ...{id: 'tok_01k9m0v6f8e2r4t7w3y5z1a2b3', name: 'Nightly import', prefix: 'lading_4f7Qx'},
          createdBy: {id: 'per_01k9m0v6f8e2r4t7w3y5z1a2b4', name: 'Ana Example'},
          ...{createdAt: '2026-03-01T08:30:00.000Z', lastUsedAt: null, expiresAt: null, revokedAt: null},
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
    access: {role: 'admin', sessionOnly: 'person'},
    summary: 'Revoke an API token',
    description: 'It is refused from the next request on. A second time changes nothing.',
    answers: {200: Answer({token: ApiToken})},
    refusals: ['NOT_FOUND'],
    params: z.object({id: z.string().describe('The token (`tok_`)')}),
    handle: async ({db, caller, params}) => ({token: await endToken(db, caller, params.id)}),
  }),
]
