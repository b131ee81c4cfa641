import {z} from 'zod'
import {findImportRun} from '../../shared/runs/find.ts'
import {readVerify} from '../../shared/runs/verify/differences.ts'
import {makeVerifyFile} from '../../shared/runs/verify/verify-csv.ts'
import {Answer, Count, File, NextCursor} from '../answers/common.ts'
import {run} from '../answers/examples.ts'
import {VerifyCounts} from '../answers/runs.ts'
import {mayReadCrm} from '../embed-scope.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImportRun} from '../params.ts'
import {ofRecords} from '../refusal-lists.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const FieldCounts = Answer({
  flowId: z.string().nullable().describe('The flow. Null: no longer known'),
  field: z.string().describe('API name of the field'),
  asSent: Count('Values as they were sent'),
  truncated: Count('Texts of which the CRM holds only the beginning'),
  coerced: Count('Values that the CRM stored in another form, or replaced'),
  changed: Count('Values that a user or an automation of the CRM changed after the write'),
  missing: Count('Values of records that are gone'),
  uncompared: Count('Values that the CRM does not show in a form that can be compared'),
})

const Difference = Answer({
  rowNumber: z.int().positive().nullable().describe('Number of the row in its file, from 1. Null: not known'),
  rowKey: z.string().describe('Key of the row, the same in every run of a retry chain'),
  flowId: z.string().nullable().describe('The flow. Null: no longer known'),
  module: z.string().describe('API name of the module. Empty: no longer known'),
  recordId: z.string().describe("The CRM's id of the record"),
  phase: z.enum(['write', 'patch']).describe('Whether the value was sent with the record or in the patch after all rows'),
  field: z.string().describe('API name of the field'),
  result: z.enum(['truncated', 'coerced', 'changed', 'missing']).describe('What became of the value. `missing`: the record is gone'),
  sent: z.string().nullable().describe('The sent value as text; a link by its id. Null: empty'),
  read: z
    .string()
    .nullable()
    .describe('The value that the CRM held, as text. Null: empty, the record is gone, or the bearer is an embed token'),
})

const VerifyPage = Answer({
  verify: VerifyCounts,
  fields: z.array(FieldCounts).describe('Counts of sent values by flow and field'),
  differences: z.array(Difference).describe('Values that were not as sent, in the order in which they were found'),
  nextCursor: NextCursor,
})

const field = {flowId: 'accounts', field: 'Website', asSent: 398, truncated: 1, coerced: 0, changed: 1, missing: 0, uncompared: 0}
const difference = {
  rowNumber: 17,
  rowKey: 'accounts.17',
  flowId: 'accounts',
  module: 'Accounts',
  recordId: '4400000000123001',
  phase: 'write',
  field: 'Website',
  result: 'truncated',
  sent: 'https://www.example.org/a/long/way',
  read: 'https://www.example.org/a',
}

export default [
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/verify',
    operationId: 'readImportRunVerify',
    tag: 'Runs',
    access: {role: 'operator', embed: 'own'},
    summary: 'Read the verification of a run',
    description: `How many sent values the CRM holds, by field, and the values that differ. Start a run with \`verify\` to read written rows back. A cursor stays
valid while the run is active.`,
    answers: {200: VerifyPage},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'INVALID_CURSOR', ...ofRecords],
    example: {
      query: {limit: '100'},
      answer: {
        verify: {...run.verify, mode: 'all', rows: 400, coerced: 1, changed: 1},
        fields: [field],
        differences: [difference],
        nextCursor: null,
      },
    },
    params: OfImportRun,
    query: z.object({limit: limitOf({usual: 100, most: 1000}), cursor: Cursor}),
    async handle(input) {
      const {db, caller, params, query} = input
      return readVerify(input, await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run}), {
        ...query,
        withRead: mayReadCrm(caller),
      })
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/verify.csv',
    operationId: 'downloadImportRunVerify',
    tag: 'Runs',
    access: {role: 'operator', embed: 'own'},
    summary: 'Download the values that differ',
    description: 'Every value that was not as sent when it was read back. At most 64 MB. For an embed token, the column `Read` is empty.',
    answers: {200: File('text/csv', 'One line per value: its row, record and field, the result, and the sent and the read value')},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'BUSY', 'RESULTS_TOO_LARGE', ...ofRecords],
    example: {},
    params: OfImportRun,
    async handle(input) {
      const {db, caller, params} = input
      const found = await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run})
      const {bytes, body} = await makeVerifyFile(input, found, {withRead: mayReadCrm(caller)})
      const name = `attachment; filename="verify-${params.run}.csv"`
      return reply({
        headers: {'content-type': 'text/csv; charset=utf-8', 'content-length': String(bytes), 'content-disposition': name},
        body,
      })
    },
  }),
]
