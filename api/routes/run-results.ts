import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {makeRunFile, type RunFile} from '../../shared/runs/results/results.ts'
import {File} from '../answers/common.ts'
import {runId} from '../answers/examples.ts'
import {assertNoUndo} from '../embed-scope.ts'
import {OfImport} from '../params.ts'
import {ofReadingAgain, ofRecords} from '../refusal-lists.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'
import {nameRunFile} from '../run-file-name.ts'

const runFiles = {
  results: {
    summary: 'Download the results of a run',
    what: 'The rows of the file, each with its result, the ids of its records and its errors',
    refusals: ['DRY_RUN', ...ofReadingAgain] as const,
    description: `Line N under the header is row N. A file of more than 64 MB is \`RESULTS_TOO_LARGE\`; download it in parts. In a part that starts at
\`from\`, line N is row \`from\` + N - 1; everything else is as in the whole file. While the run is active, each part shows the state at its creation.`,
  },
  failed: {
    summary: 'Download the failed rows of a run',
    what: 'The failed rows, each after its number and its error. Correct them and send the file to the corrections of the run',
    description:
      'With the delimiter of the file, and a byte order mark. Rows that may exist at the CRM, and rows with too many or too few cells, are left out. At most 64 MB.',
    refusals: ['DRY_RUN', ...ofReadingAgain] as const,
  },
  plan: {
    summary: 'Download the plan of a dry run',
    what: 'One line per row and record: the planned action, and the current and new value of each field',
    description: 'At most 64 MB.',
    refusals: ['NOT_A_DRY_RUN'] as const,
  },
}

const RunFileQuery = z.object({
  run: z.string().optional().describe('The run. Required'),
  source: z.string().optional().describe('The file. Required if the run has several'),
})

const rowNumber = (what: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,11}$/, 'Not a row number. Send a whole number from 1')
    .transform(Number)
    .optional()
    .describe(what)
const flag = (what: string) =>
  z
    .enum(['0', '1'])
    .transform(given => given === '1')
    .optional()
    .describe(what)

const ResultsQuery = RunFileQuery.extend({
  from: rowNumber(
    'The first row of a part. Without `to`, the part has as many rows as fit, and `Link` (rel="next") points to the next part',
  ),
  to: rowNumber('The last row of a part'),
  header: flag('0: omit the header line, so that parts can be joined'),
  bom: flag('1: start with a byte order mark, so that spreadsheets read the file as UTF-8'),
})

const runFile = (kind: RunFile, path: `/${string}`, operationId: string) =>
  route({
    method: 'get',
    path,
    operationId,
    tag: 'Runs',
    // A plan shows values of CRM records, which the holder of an embed token may not read.
    access: kind === 'plan' ? {role: 'operator'} : {role: 'operator', embed: 'own'},
    summary: runFiles[kind].summary,
    description: runFiles[kind].description,
    answers: {200: File('text/csv', runFiles[kind].what)},
    refusals: [
      ...(['RUN_REQUIRED', 'IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'SOURCE_REQUIRED', 'SOURCE_NOT_FOUND', 'NO_FILE'] as const),
      ...(['UNREADABLE', 'BUSY', 'RESULTS_TOO_LARGE'] as const),
      ...ofRecords,
      ...runFiles[kind].refusals,
    ],
    example: {query: {run: runId}},
    params: OfImport,
    query: kind === 'results' ? ResultsQuery : RunFileQuery,
    async handle({db, hot, storage, parsing, caller, params: {id}, query}) {
      const {org} = caller
      const {run: named, source, from, to, header, bom}: z.output<typeof ResultsQuery> = query
      if (!named) throw new Refusal('RUN_REQUIRED', 'No run given. Send its id in ?run=. GET /orgs/{org}/imports/{id}/runs lists runs')
      await assertNoUndo(db, caller, named)
      const found = await findImportRun(db, {org, importId: id, runId: named})
      const part = {...(from && {from}), ...(to && {to}), ...(header === false && {header}), ...(bom && {byteOrderMark: true})}
      // The name is made first, because the opened file would stay open if naming it failed.
      const fileName = await nameRunFile(db, found, {kind, isPart: Boolean(from || to)})
      const {bytes, body, next} = await makeRunFile({db, hot, storage, parsing}, org, found, kind, {source, part})
      const rest = {run: named, ...(source && {source}), from: String(next), ...(header === false && {header: '0'}), ...(bom && {bom: '1'})}
      return reply({
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-length': String(bytes),
          'content-disposition': fileName,
          ...(next && {link: `</orgs/${org}/imports/${id}/${kind}.csv?${new URLSearchParams(rest)}>; rel="next"`}),
        },
        body,
      })
    },
  })

export default [
  runFile('results', '/orgs/:org/imports/:id/results.csv', 'downloadResults'),
  runFile('failed', '/orgs/:org/imports/:id/failed.csv', 'downloadFailedRows'),
  runFile('plan', '/orgs/:org/imports/:id/plan.csv', 'downloadPlan'),
]
