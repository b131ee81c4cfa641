import {z} from 'zod'
import {assertRecords, assertWhole, CreateBody, submitRecords, UpdateBody} from '../../shared/runs/external/records.ts'
import {Answer} from '../answers/common.ts'
import {runId} from '../answers/examples.ts'
import {QueuedWrite, RecordResult} from '../answers/writes.ts'
import {runAskerOf} from '../callers.ts'
import {handleWrite} from '../handle-write.ts'
import {OfModule} from '../params.ts'
import {ofExternalWrite} from '../refusal-lists.ts'
import {route} from '../route.ts'

/** The limit on the body in bytes: 100 records of 80,000 bytes each. */
const mostBytes = 8 * 1024 ** 2

const item = {rowKey: 'row-17', rowNumber: 17, writeId: 'row-17-1'}
const recordId = '5725767000000411001'
const resultExample = {rowKey: item.rowKey, writeId: item.writeId, ok: true, recordId}

const EXAMPLES = {
  create: {
    body: {runId, items: [{...item, payload: {Account_Name: 'Example Ltd'}}]},
    answer: {results: [{...resultExample, outcome: 'created'}]},
  },
  update: {
    body: {runId, items: [{...item, recordId, payload: {Website: 'www.example.org'}}]},
    answer: {results: [{...resultExample, outcome: 'updated'}]},
  },
}

/** Returns a route that writes records which an external engine has planned, under the run of that engine. */
const writeRoute = (method: 'post' | 'put', kind: 'create' | 'update', body: typeof CreateBody | typeof UpdateBody) =>
  route({
    method,
    path: '/orgs/:org/connectors/:id/records/:module',
    operationId: kind === 'create' ? 'createRecords' : 'updateRecords',
    tag: 'Records',
    access: {role: 'operator'},
    mayRefuseAfterChange: true,
    summary: kind === 'create' ? 'Create records under a run' : 'Update records under a run',
    description: `For external engines that have authorised a run. Writes are metered, logged and sent once.${kind === 'update' ? ' With `unchanged: skip`, rows whose record already holds every value are not sent and not metered.' : ''} An error common to all items becomes the error of the
response, with \`results\` beside it. With \`Prefer: respond-async\` the response is 202, and \`GET /orgs/{org}/writes/{id}\` returns the results.`,
    answers: {200: Answer({results: z.array(RecordResult).describe('One result per item, in the order sent')}), 202: QueuedWrite},
    refusals: [
      ...([
        'BATCH_SIZE',
        'ROW_KEY_REPEATED',
        'NOT_FOUND',
        'MODULE_NOT_FOUND',
        'SUBFORM_NOT_WRITABLE',
        'FIELD_MAPPED',
        'FIELD_NOT_UNIQUE',
      ] as const),
      ...(kind === 'update' ? (['RECORD_REPEATED'] as const) : []),
      ...(['BUSY', 'DAILY_ALLOWANCE_SPENT', 'CRM_REFUSED'] as const),
      ...ofExternalWrite,
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
      return handleWrite(input, await db.transaction(tx => submitRecords(tx, queue, asked)))
    },
  })

export default [writeRoute('post', 'create', CreateBody), writeRoute('put', 'update', UpdateBody)]
