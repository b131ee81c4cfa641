import {z} from 'zod'
import {readWrite} from '../../shared/runs/external/answer.ts'
import {Answer} from '../answers/common.ts'
import {runId} from '../answers/examples.ts'
import {failed, named, replaced, Write, written} from '../answers/writes.ts'
import {OfOrg} from '../params.ts'
import {route} from '../route.ts'

const open = {ok: z.null().describe('No result yet')}

const WriteAnswer = Answer({
  write: Write,
  results: z
    .array(
      z.union([
        Answer({...named, ...written}),
        Answer({...named, ...replaced}),
        Answer({...named, ...failed}),
        Answer({...named, ...open}),
      ]),
    )
    .describe('One result per item, in the order sent'),
})

const write = {id: 'wrt_01k9m11a2b3c4d5e6f7g8h9j0k', runId, kind: 'create', state: 'done', crm: null, createdAt: '2026-03-01T08:31:00.000Z'}

export default [
  route({
    method: 'get',
    path: '/orgs/:org/writes/:id',
    operationId: 'readWrite',
    tag: 'Records',
    access: {role: 'operator'},
    summary: 'Read a write with its results',
    description: 'Available until a week after its run has ended.',
    answers: {200: WriteAnswer},
    refusals: ['NOT_FOUND'],
    example: {
      answer: {write, results: [{rowKey: 'row-17', writeId: 'row-17-1', ok: true, recordId: '5725767000000411001', outcome: 'created'}]},
    },
    params: OfOrg.extend({id: z.string().describe('The write')}),
    async handle({db, caller: {org}, params: {id}}) {
      const {write, results} = await readWrite(db, {org, id})
      return {write, results}
    },
  }),
]
