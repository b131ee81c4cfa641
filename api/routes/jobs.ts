import {z} from 'zod'
import {describeJob} from '../prefer.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'get',
    path: '/orgs/:org/jobs/:id',
    access: {role: 'operator'},
    params: z.object({id: z.string()}),
    handle: input => describeJob(input, input.params.id),
  }),
]
