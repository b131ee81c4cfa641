import {z} from 'zod'
import {replaceRows} from '../../shared/jobs.ts'
import {answerRows, assertRows, assertSubform, RowsBody, submitRows} from '../../shared/runs/external/subform-rows.ts'
import {Answer} from '../answers/common.ts'
import {runId} from '../answers/examples.ts'
import {failed, QueuedWrite, replaced} from '../answers/writes.ts'
import {runAskerOf} from '../callers.ts'
import {handleWrite} from '../handle-write.ts'
import {OfModule} from '../params.ts'
import {ofExternalWrite} from '../refusal-lists.ts'
import {route} from '../route.ts'

const ofParent = {
  parentId: z.string().describe("The CRM's id of the parent"),
  writeId: z.string().describe('The idempotency key it was sent with'),
}

const RowsResult = z
  .union([Answer({...ofParent, ...replaced}), Answer({...ofParent, ...failed})])
  .meta({id: 'RowsResult', description: 'The result for the rows of one parent'})

const parent = {parentId: '5725767000000411001', writeId: 'quote-17-rows'}

export default [
  route({
    method: 'put',
    path: '/orgs/:org/connectors/:id/records/:module/rows',
    operationId: 'replaceRows',
    tag: 'Records',
    access: {role: 'operator'},
    mayRefuseAfterChange: true,
    summary: 'Replace the subform rows of records',
    description: `For external engines that have authorised a run. For each parent record, all existing rows are replaced by the rows sent, or none are. An error common
to all parents becomes the error of the response; other errors are in \`results\`.`,
    answers: {200: Answer({results: z.array(RowsResult).describe('One result per parent, in the order sent')}), 202: QueuedWrite},
    refusals: [
      ...(['BATCH_SIZE', 'RECORD_REPEATED', 'ROW_KEY_REPEATED', 'NOT_FOUND', 'MODULE_NOT_FOUND', 'NOT_A_SUBFORM', 'NOT_OFFERED'] as const),
      ...ofExternalWrite,
    ],
    example: {
      body: {
        runId,
        field: 'Quoted_Items',
        child: 'Quoted_Items',
        items: [{...parent, rows: [{rowKey: 'row-21', rowNumber: 21, payload: {Quantity: 2}}]}],
      },
      answer: {results: [{...parent, ok: true, deleted: 3, added: 1}]},
    },
    params: OfModule,
    body: RowsBody,
    mostBytes: 8 * 1024 ** 2,
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const place = {org: caller.org, connector: params.id, module: params.module}
      assertRows(body)
      await assertSubform(db, place, body)
      const submission = await db.transaction(tx => submitRows(tx, queue, {asker: runAskerOf(caller), place, body}))
      return handleWrite(input, submission, {by: replaceRows, answer: (db, named) => answerRows(db, named, body)})
    },
  }),
]
