import {z} from 'zod'
import {receiveCallback} from '../../shared/crm/bulk/receive-callback.ts'
import {Answer} from '../answers/common.ts'
import {route} from '../route.ts'

export default [
  route({
    method: 'post',
    path: '/bulk-callbacks/:secret',
    operationId: 'takeBulkCallback',
    tag: 'Runs',
    access: {public: true},
    summary: 'Receive the end of a bulk job of the CRM',
    description:
      'Only for the CRM. The body is a hint: the run reads the job itself, so a forged request changes nothing. The answer is the same for unknown secrets.',
    answers: {200: Answer({received: z.literal(true).describe('The request was read')})},
    refusals: [],
    sends: {type: 'application/json', what: 'The job, as the CRM describes it'},
    example: {params: {secret: 'n0t-a-real-secret'}, answer: {received: true}},
    params: z.object({secret: z.string().max(100).describe('The secret of the job, from the address that the run gave to the CRM')}),
    body: 'bytes',
    mostBytes: 65_536,
    async handle({db, params: {secret}, body}) {
      await receiveCallback(db, secret, body)
      return {received: true}
    },
  }),
]
