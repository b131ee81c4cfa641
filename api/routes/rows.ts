import {replaceRows} from '../../shared/jobs.ts'
import {answerRows, assertRows, assertSubform, RowsBody, submitRows} from '../../shared/writes/rows.ts'
import {runId} from '../answers/examples.ts'
import {RowsResults, WriteBegun} from '../answers/writes.ts'
import {askWrite} from '../ask-write.ts'
import {runAskerOf} from '../askers.ts'
import {OfModule} from '../params.ts'
import {ofOutsideWrite} from '../refusal-lists.ts'
import {route} from '../route.ts'

const parent = {parentId: '5725767000000411001', writeId: 'quote-17-rows'}

/** The rows that records hold in a subform, replaced by those of a sheet, under the run of an engine outside this service. */
export default [
  route({
    method: 'put',
    path: '/orgs/:org/connectors/:id/records/:module/rows',
    access: {role: 'operator'},
    summary: 'Replace the rows that records hold in a subform',
    description: `For an engine of your own, which has authorised the run. Of each parent the rows that are there go and those that are sent come, all of them or
none. What kept every parent from being written is answered as itself; everything else stands in \`results\`.`,
    answers: {200: RowsResults, 202: WriteBegun},
    refusals: [
      ...(['BATCH_SIZE', 'RECORD_REPEATED', 'ROW_KEY_REPEATED', 'NOT_FOUND', 'MODULE_NOT_FOUND', 'NOT_A_SUBFORM', 'NOT_OFFERED'] as const),
      ...ofOutsideWrite,
    ],
    example: {
      body: {
        ...{runId, field: 'Quoted_Items', child: 'Quoted_Items'},
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
      return askWrite(input, submission, {by: replaceRows, answer: (db, named) => answerRows(db, named, body)})
    },
  }),
]
