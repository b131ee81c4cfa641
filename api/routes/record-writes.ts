import {assertRecords, assertWhole, CreateBody, submitRecords, UpdateBody} from '../../shared/writes/records.ts'
import {runId} from '../answers/examples.ts'
import {RecordResults, WriteBegun} from '../answers/writes.ts'
import {askWrite} from '../ask-write.ts'
import {runAskerOf} from '../askers.ts'
import {OfModule} from '../params.ts'
import {ofOutsideWrite} from '../refusal-lists.ts'
import {route} from '../route.ts'

/** A hundred records of eighty thousand bytes. */
const mostBytes = 8 * 1024 ** 2

const item = {rowKey: 'row-17', rowNumber: 17, writeId: 'row-17-1'}
const recordId = '5725767000000411001'
const told = {rowKey: item.rowKey, writeId: item.writeId, ok: true, recordId}

const EXAMPLES = {
  create: {
    body: {runId, items: [{...item, payload: {Account_Name: 'Example Ltd'}}]},
    answer: {results: [{...told, outcome: 'created'}]},
  },
  update: {
    body: {runId, items: [{...item, recordId, payload: {Website: 'www.example.org'}}]},
    answer: {results: [{...told, outcome: 'updated'}]},
  },
}

/** Records an engine outside this service has planned, written under its run: metered, logged, sent once. */
const writeRoute = (method: 'post' | 'put', kind: 'create' | 'update', body: typeof CreateBody | typeof UpdateBody) =>
  route({
    method,
    path: '/orgs/:org/connectors/:id/records/:module',
    access: {role: 'operator'},
    summary: kind === 'create' ? 'Create records under a run' : 'Update records under a run',
    description: `For an engine of your own, which has authorised the run: metered, logged and sent once. What was one and the same for all items is answered as
itself, with \`results\` beside it. With \`Prefer: respond-async\` the answer is 202, and \`GET /orgs/{org}/writes/{id}\` tells the rest.`,
    answers: {200: RecordResults, 202: WriteBegun},
    refusals: [
      ...(['BATCH_SIZE', 'ROW_KEY_REPEATED', 'NOT_FOUND', 'MODULE_NOT_FOUND', 'SUBFORM_NOT_WRITABLE'] as const),
      ...(kind === 'update' ? (['RECORD_REPEATED'] as const) : []),
      ...(['BUSY', 'DAILY_ALLOWANCE_SPENT', 'CRM_REFUSED'] as const),
      ...ofOutsideWrite,
    ],
    example: EXAMPLES[kind],
    params: OfModule,
    body,
    mostBytes,
    async handle(input) {
      const {db, queue, caller, params, body} = input
      const place = {org: caller.org, connector: params.id, module: params.module}
      assertRecords(body)
      await assertWhole(db, place, body)
      const asked = {asker: runAskerOf(caller), place, kind, body}
      return askWrite(input, await db.transaction(tx => submitRecords(tx, queue, asked)))
    },
  })

export default [writeRoute('post', 'create', CreateBody), writeRoute('put', 'update', UpdateBody)]
