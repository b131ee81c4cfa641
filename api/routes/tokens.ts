import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {newId} from '../../shared/ids.ts'
import {mintSecret} from '../../shared/people/api-token.ts'
import {insertToken, listTokens, revokeToken} from '../../sql/tokens.ts'
import {route} from '../route.ts'

const NewToken = z.object({
  name: z.string().trim().min(1).max(100),
  expiresAt: z.iso
    .datetime({offset: true})
    .refine(text => Date.parse(text) > Date.now(), 'It would have expired already')
    .nullish(),
})

export default [
  route({
    method: 'get',
    path: '/orgs/:org/tokens',
    access: {role: 'admin'},
    handle: async ({db, caller}) => ({tokens: await listTokens(db, caller.org)}),
  }),

  route({
    method: 'post',
    path: '/orgs/:org/tokens',
    access: {role: 'admin', sessionOnly: 'person'},
    body: NewToken,
    status: 201,
    async handle({db, caller: {org, person}, body: {name, expiresAt = null}}) {
      const {secret, hash, prefix} = mintSecret()
      return {token: await insertToken(db, {id: newId('tok'), org, person, name, prefix, hash, expiresAt}), secret}
    },
  }),

  route({
    method: 'delete',
    path: '/orgs/:org/tokens/:id',
    access: {role: 'admin', sessionOnly: 'person'},
    params: z.object({id: z.string()}),
    async handle({db, caller, params}) {
      const token = await revokeToken(db, {org: caller.org, id: params.id})
      if (!token) throw new Refusal('NOT_FOUND', 'No such token')
      return {token}
    },
  }),
]
