import {z} from 'zod'
import {Refusal} from '../../shared/errors.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {readLog} from '../../shared/runs/log.ts'
import {makeRunFile, type RunFile} from '../../shared/runs/results.ts'
import {File} from '../answers/common.ts'
import {logRecord, runId} from '../answers/examples.ts'
import {LogPage} from '../answers/runs.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImport, OfImportRun} from '../params.ts'
import {ofReadingAgain, ofRecords} from '../refusal-lists.ts'
import {reply} from '../reply.ts'
import {route} from '../route.ts'

const TOLD = {
  results: {
    summary: 'Download what became of the rows of a run',
    what: 'The rows of the file as they stood in it, and beside each what became of it: its result, the ids of its records, what went wrong',
    refusals: ['DRY_RUN', ...ofReadingAgain] as const,
    description: `Line N under the header is row N. A file of more than 64 MB is \`RESULTS_TOO_LARGE\`: read it in parts then. In the part that begins at
\`from\`, line N is row \`from\` + N - 1; everything else is as in the whole file. While the run goes on, each part is of the moment it is made.`,
  },
  failed: {
    summary: 'Download the rows of a run that failed',
    what: 'The rows that failed or were not answered, as they stood in the file, each with why: mend them and send them as a file of their own',
    description: 'At most 64 MB.',
    refusals: ['DRY_RUN', ...ofReadingAgain] as const,
  },
  plan: {
    summary: 'Download what a dry run would do',
    what: 'A line for each row and record: what would be done, and each field with what the record has and what it would get',
    description: 'At most 64 MB.',
    refusals: ['NOT_A_DRY_RUN'] as const,
  },
}

const RunFileQuery = z.object({
  run: z.string().optional().describe('The run: it has to be named'),
  source: z.string().optional().describe('The file; need not be named where the run read one alone'),
})

const rowNumber = (what: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,11}$/, 'A row number from 1')
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
    'The first row of a part. Without `to`, the part has as many rows as fit, and `Link` (rel="next") is the address of the next',
  ),
  to: rowNumber('The last row of a part'),
  header: flag('0: without the header line, so that parts can be joined to one file'),
  bom: flag('1: begins with a byte order mark, by which spreadsheets read the file as UTF-8'),
})

/** A file made from one run and one of its sources. */
const runFile = (kind: RunFile, path: `/${string}`) =>
  route({
    method: 'get',
    path,
    access: {role: 'operator'},
    summary: TOLD[kind].summary,
    description: TOLD[kind].description,
    answers: {200: File('text/csv', TOLD[kind].what)},
    refusals: [
      ...(['RUN_REQUIRED', 'IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'SOURCE_REQUIRED', 'SOURCE_NOT_FOUND', 'NO_FILE'] as const),
      ...(['UNREADABLE', 'BUSY', 'RESULTS_TOO_LARGE'] as const),
      ...ofRecords,
      ...TOLD[kind].refusals,
    ],
    example: {query: {run: runId}},
    params: OfImport,
    query: kind === 'results' ? ResultsQuery : RunFileQuery,
    async handle({db, hot, config, storage, caller: {org}, params: {id}, query}) {
      const {run: named, source, from, to, header, bom}: z.output<typeof ResultsQuery> = query
      if (!named) throw new Refusal('RUN_REQUIRED', 'Name the run: ?run=, from GET /orgs/{org}/imports/{id}/runs')
      const found = await findImportRun(db, {org, importId: id, runId: named})
      const part = {...(from && {from}), ...(to && {to}), ...(header === false && {header}), ...(bom && {byteOrderMark: true})}
      const {bytes, body, next} = await makeRunFile({db, hot, config, storage}, found, kind, {source, part})
      const rest = {run: named, ...(source && {source}), from: String(next), ...(header === false && {header: '0'}), ...(bom && {bom: '1'})}
      return reply({
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-length': String(bytes),
          'content-disposition': `attachment; filename="${kind}-${named}${from ? `-from-${from}` : ''}.csv"`,
          ...(next && {link: `</orgs/${org}/imports/${id}/${kind}.csv?${new URLSearchParams(rest)}>; rel="next"`}),
        },
        body,
      })
    },
  })

export default [
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/runs/:run/records',
    access: {role: 'operator'},
    summary: 'Read the log of a run, page by page',
    description:
      'Every attempt of every row. A cursor stays valid while the run goes on: asked again, it also returns the entries written since.',
    answers: {200: LogPage},
    refusals: ['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'INVALID_CURSOR', ...ofRecords],
    example: {query: {limit: '500'}, answer: {records: [logRecord], nextCursor: null}},
    params: OfImportRun,
    query: z.object({limit: limitOf({usual: 500, most: 1000}), cursor: Cursor}),
    async handle(input) {
      const {db, caller, params, query} = input
      return readLog(input, await findImportRun(db, {org: caller.org, importId: params.id, runId: params.run}), query)
    },
  }),
  runFile('results', '/orgs/:org/imports/:id/results.csv'),
  runFile('failed', '/orgs/:org/imports/:id/failed.csv'),
  runFile('plan', '/orgs/:org/imports/:id/plan.csv'),
]
