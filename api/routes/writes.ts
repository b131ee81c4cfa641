import {z} from 'zod'
import {readWrite} from '../../shared/writes/answer.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/writes/:id',
    access: {role: 'operator'},
    params: z.object({org: z.string(), id: z.string()}),
    async handle({db, caller: {org}, params: {id}}) {
      const {write, results} = await readWrite(db, {org, id})
      return {write, results}
    },
  }),
]
