import {z} from 'zod'
import type {Code} from '../../shared/errors.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {PLAN_ACTIONS} from '../../shared/runs/results/plan-csv.ts'
import {findKeyColumns, listMappedColumns} from '../../shared/runs/row-cells.ts'
import {readRunRow} from '../../shared/runs/row-log.ts'
import {frozenOf, RowsFilter, readRunRows} from '../../shared/runs/rows.ts'
import {tallyRows} from '../../shared/runs/tally.ts'
import {OUTCOMES, PHASES} from '../../sql/run-log.ts'
import type {Caller} from '../access.ts'
import {Answer, Count, NextCursor} from '../answers/common.ts'
import {LogRecord} from '../answers/runs.ts'
import {mayReadCrm} from '../embed-scope.ts'
import {openKeyedLimiter} from '../keyed-limiter.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImportRun as OfRun, RowNumbers} from '../params.ts'
import {openRunRecordUrls} from '../record-urls.ts'
import {ofReadingAgain} from '../refusal-lists.ts'
import {type Input, route} from '../route.ts'

const ended = {
  module: z.string().describe('API name of the module'),
  moduleLabel: z.string().describe('Its label in the CRM'),
  phase: z
    .enum(PHASES)
    .describe('The phase: writing, patching, matching or tagging the record, looking up a link, or keeping an edited value'),
  outcome: z.enum(OUTCOMES).describe('The outcome'),
  action: z
    .enum(PLAN_ACTIONS)
    .nullable()
    .describe('For a dry run: the planned action. Null for a run that writes, for a lookup, and for an edited value that is kept'),
  code: z.string().nullable().describe('The code of the reason, from the CRM or this service. Null: none'),
  field: z.string().nullable().describe('API name of the field concerned. Null: none'),
  fieldLabel: z.string().nullable().describe('Label of the field. Null: none'),
}

const Change = Answer({
  field: z.string().describe('API name of the field'),
  label: z.string().describe('Its label in the CRM'),
  old: z.string().describe('The current value. Empty: no value, or no record yet'),
  new: z.string().describe('The new value'),
})

const linkEmpty = z.boolean().describe('True: the row was written without the link in this field')

const EntryAnswer = Answer({
  ...ended,
  flowId: z.string().nullable().describe('The flow. Null: no longer known'),
  recordId: z.string().nullable().describe("The CRM's id of the record. Null: not known"),
  recordUrl: z.string().nullable().describe("The record's page at the CRM. Null: no record, or its page is not known"),
  message: z.string().nullable().describe('The reason, in words. Null: none'),
  mayExistTwice: z.boolean().describe('True: a create of the row was unanswered, so its record may exist twice'),
  mayExist: z
    .boolean()
    .describe('True: an earlier create of the row was unanswered, so its record may exist, and `failed.csv` leaves the row out'),
  linkEmpty,
  changes: z
    .array(Change)
    .nullable()
    .describe('For a dry run: the fields that would change. Null: nothing would be written, or not stored yet'),
})

const RunRow = Answer({
  rowNumber: z.int().positive().describe('Number of the row in its file, from 1'),
  entries: z.array(EntryAnswer).describe('One entry per record and lookup of the row'),
}).meta({id: 'RunRow', description: 'The final outcome of a row, or its plan in a dry run'})

const sourceId = z.string().describe('The file')
const reached = Count('Number of the last row examined')

const sources = z
  .array(Answer({id: z.string().describe('The file'), label: z.string().describe('Name of the file'), rows: Count('Rows in the file')}))
  .describe('The files the run read')

const RunRows = Answer({
  sources,
  source: sourceId,
  rows: z.array(RunRow).describe('Ordered by row number'),
  reached,
  nextCursor: NextCursor,
})

const RunRowCells = Answer({
  source: sourceId,
  columns: z.array(z.string()).describe('The columns after cleaning'),
  rows: z
    .array(
      Answer({
        rowNumber: z.int().positive().describe('Number of the row in its file, from 1'),
        cells: z.array(z.string()).describe('Its cells, in the order of `columns`'),
      }),
    )
    .describe('The rows, in order'),
  keys: z.array(z.string()).describe('Columns by which a person knows a row: at most three'),
  fields: z
    .array(
      Answer({
        flowId: z.string().describe('The flow'),
        field: z.string().describe('API name of the field'),
        column: z.string().describe('The column that fills it'),
      }),
    )
    .describe('The columns that fill fields'),
})

const RunTally = Answer({
  sources,
  source: sourceId,
  groups: z
    .array(
      Answer({
        ...ended,
        linkEmpty,
        rows: Count('Number of rows'),
        firstRow: z.int().positive().describe('The number of the first of them'),
        message: z.string().nullable().describe('The message of the first. Null: none'),
      }),
    )
    .describe('Rows grouped by outcome'),
  reached,
  nextCursor: NextCursor,
})

const RunRowLog = Answer({
  row: RunRow,
  log: z.array(LogRecord).nullable().describe('All log entries of the row, in order. Null: the log is too long to search for one row'),
})

const path = '/orgs/:org/imports/:id/runs/:run/rows'
const ofRecords = [
  'IMPORT_NOT_FOUND',
  'RUN_NOT_FOUND',
  'SOURCE_NOT_FOUND',
  'NO_FILE',
  'FILE_GONE',
  'UNREADABLE',
  'FROM_FUTURE',
  'NOT_CONFIGURED',
  'RECORDS_MOVING',
  'BUSY',
] as Code[]
const Source = RowsFilter.shape.source

/** Limits the concurrent reads of rows of one org. The limit is above one, because the widget requests the rows and their tally at the same time. */
const {hold} = openKeyedLimiter({most: 8, says: 'The org is already reading the rows of eight runs. Try again in a moment'})

type RunRowsInput = Pick<Input<{role: 'operator'}, typeof OfRun>, 'db' | 'caller' | 'params'>

const findOwn = ({db, caller: {org}, params: {id, run}}: RunRowsInput) => findImportRun(db, {org, importId: id, runId: run})

type Entry = Awaited<ReturnType<typeof readRunRows>>['rows'][number]['entries'][number]
type UrlOf = Awaited<ReturnType<typeof openRunRecordUrls>>

/** Adds the URL of the record to an entry, if the caller may read the CRM. */
const describeEntry = (entry: Entry, urlOf: UrlOf, caller: Pick<Caller, 'embed'>) => ({
  ...entry,
  recordUrl: mayReadCrm(caller) ? urlOf(entry.module, entry.recordId) : null,
})

export default [
  route({
    method: 'get',
    path,
    operationId: 'readImportRunRows',
    tag: 'Runs',
    summary: 'List the rows of a run with their outcomes',
    description:
      'For a dry run, the planned outcomes, with the current and new value of every field. Ordered by row number. A call examines at most 50,000 rows, so a page may have few rows, or none, and still have a next page.',
    access: {role: 'operator', embed: 'own'},
    params: OfRun,
    query: RowsFilter.extend({limit: limitOf({usual: 50, most: 200}), cursor: Cursor}),
    answers: {200: RunRows},
    refusals: [...ofRecords, 'INVALID_CURSOR'],
    example: {query: {outcome: 'refused,failed', limit: 50}},
    handle: input =>
      hold(input.caller.org, async () => {
        const found = await findOwn(input)
        const page = await readRunRows(input, found, {...input.query, withOld: mayReadCrm(input.caller)})
        const urlOf = await openRunRecordUrls(input, found)
        return {
          ...page,
          rows: page.rows.map(row => ({
            ...row,
            entries: row.entries.map(entry => describeEntry(entry, urlOf, input.caller)),
          })),
        }
      }),
  }),

  route({
    method: 'get',
    path: `${path}/cells`,
    operationId: 'readImportRunRowCells',
    tag: 'Runs',
    summary: 'Read the cells of rows of a run',
    description: 'The cells as cleaned for the run, for at most 200 rows. `keys` names the columns by which a person knows a row.',
    access: {role: 'operator', embed: 'own'},
    params: OfRun,
    query: z.object({source: Source, rows: RowNumbers.describe('The numbers of the rows, separated by commas')}),
    answers: {200: RunRowCells},
    refusals: [...ofRecords, ...ofReadingAgain],
    example: {query: {rows: '17,18'}},
    handle: input =>
      hold(input.caller.org, async () => {
        const {snapshot, source} = frozenOf(await findOwn(input), input.query.source)
        const read = await input.parsing.run(input.caller.org, 'cells', {source, rows: input.query.rows})
        return {source: source.id, ...read, keys: findKeyColumns(snapshot, source), fields: listMappedColumns(snapshot, source)}
      }),
  }),

  route({
    method: 'get',
    path: `${path}/tally`,
    operationId: 'tallyImportRunRows',
    tag: 'Runs',
    summary: 'Count the rows of a run by outcome',
    description:
      'Counts by module, outcome, code and field, each with its first row and its message. A call examines at most 50,000 rows; for a larger file, add up the pages.',
    access: {role: 'operator', embed: 'own'},
    params: OfRun,
    query: z.object({source: Source, cursor: Cursor}),
    answers: {200: RunTally},
    refusals: [...ofRecords, 'INVALID_CURSOR'],
    handle: input => hold(input.caller.org, async () => tallyRows(input, await findOwn(input), input.query)),
  }),

  route({
    method: 'get',
    path: `${path}/log`,
    operationId: 'readImportRunRowLog',
    tag: 'Runs',
    summary: 'Read the log of one row',
    access: {role: 'operator', embed: 'own'},
    params: OfRun,
    query: z.object({source: Source, row: z.coerce.number().int().min(1).describe('The number of the row in its file, from 1')}),
    answers: {200: RunRowLog},
    refusals: ofRecords,
    example: {query: {row: 17}},
    handle: input =>
      hold(input.caller.org, async () => {
        const found = await findOwn(input)
        const {row, log} = await readRunRow(input, found, {...input.query, withOld: mayReadCrm(input.caller)})
        const urlOf = await openRunRecordUrls(input, found)
        return {row: {...row, entries: row.entries.map(entry => describeEntry(entry, urlOf, input.caller))}, log}
      }),
  }),
]
