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
  },
  failed: {
    summary: 'Download the rows of a run that failed',
    what: 'The rows that failed or were not answered, as they stood in the file, each with why: mend them and send them as a file of their own',
    refusals: ['DRY_RUN', ...ofReadingAgain] as const,
  },
  plan: {
    summary: 'Download what a dry run would do',
    what: 'A line for each row and record: what would be done, and each field with what the record has and what it would get',
    refusals: ['NOT_A_DRY_RUN'] as const,
  },
}

/** A file made from one run and one of its sources. */
const runFile = (kind: RunFile, path: `/${string}`) =>
  route({
    method: 'get',
    path,
    access: {role: 'operator'},
    summary: TOLD[kind].summary,
    answers: {200: File('text/csv', TOLD[kind].what)},
    refusals: [
      ...(['RUN_REQUIRED', 'IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'SOURCE_REQUIRED', 'SOURCE_NOT_FOUND', 'NO_FILE'] as const),
      ...(['UNREADABLE', 'BUSY', 'RESULTS_TOO_LARGE'] as const),
      ...ofRecords,
      ...TOLD[kind].refusals,
    ],
    example: {query: {run: runId}},
    params: OfImport,
    query: z.object({
      run: z.string().optional().describe('The run: it has to be named'),
      source: z.string().optional().describe('The file; need not be named where the run read one alone'),
    }),
    async handle({db, hot, config, storage, caller: {org}, params: {id}, query: {run: named, source}}) {
      if (!named) throw new Refusal('RUN_REQUIRED', 'Name the run: ?run=, from GET /orgs/{org}/imports/{id}/runs')
      const found = await findImportRun(db, {org, importId: id, runId: named})
      const {bytes, body} = await makeRunFile({db, hot, config, storage}, found, kind, source)
      return reply({
        headers: {
          'content-type': 'text/csv; charset=utf-8',
          'content-length': String(bytes),
          'content-disposition': `attachment; filename="${kind}-${named}.csv"`,
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
      'Everything that became of its rows, attempt by attempt. A cursor is good while the run goes on: later pages have what came since.',
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
