import {z} from 'zod'
import type {Code} from '../../shared/errors.ts'
import {findImportRun} from '../../shared/runs/find.ts'
import {readRunRow} from '../../shared/runs/row-log.ts'
import {RowsFilter, readRunRows} from '../../shared/runs/rows.ts'
import {tallyRows} from '../../shared/runs/tally.ts'
import {RunRowLog, RunRows, RunTally} from '../answers/run-rows.ts'
import {Cursor, limitOf} from '../paging.ts'
import {OfImportRun as OfRun} from '../params.ts'
import {type Input, route} from '../route.ts'
import {openShares} from '../shares.ts'

const path = '/orgs/:org/imports/:id/runs/:run/rows'
const ofRecords = [
  ...['IMPORT_NOT_FOUND', 'RUN_NOT_FOUND', 'SOURCE_NOT_FOUND', 'NO_FILE', 'FILE_GONE'],
  ...['UNREADABLE', 'FROM_FUTURE', 'NOT_CONFIGURED', 'RECORDS_MOVING', 'BUSY'],
] as Code[]
const Source = RowsFilter.shape.source

/** A page with a table asks for its rows and its figures at once. */
const {hold} = openShares({most: 8, says: 'The org looks through the rows of eight runs already: ask again in a moment'})

type Asked = Pick<Input<{role: 'operator'}, typeof OfRun>, 'db' | 'caller' | 'params'>

const findOwn = ({db, caller: {org}, params: {id, run}}: Asked) => findImportRun(db, {org, importId: id, runId: run})

/** The rows of a run's files, by what became of each. */
export default [
  route({
    method: 'get',
    path,
    summary: "Read what became of a file's rows in a run",
    description:
      'Of a dry run, what would become of them, with the old and the new of every field. By row number; at most 50,000 rows are looked at in one call, so a page may hold few rows, or none, and still have a next one.',
    access: {role: 'operator'},
    params: OfRun,
    query: RowsFilter.extend({limit: limitOf({usual: 50, most: 200}), cursor: Cursor}),
    answers: {200: RunRows},
    refusals: [...ofRecords, 'INVALID_CURSOR'],
    example: {query: {outcome: 'refused,failed', limit: 50}},
    handle: input => hold(input.caller.org, async () => readRunRows(input, await findOwn(input), input.query)),
  }),

  route({
    method: 'get',
    path: `${path}/tally`,
    summary: "Count a file's rows by what became of them",
    description:
      'By module, outcome, code and field, each with its first row and the words said of it. At most 50,000 rows are looked at in one call: of a larger file, add up what the pages say.',
    access: {role: 'operator'},
    params: OfRun,
    query: z.object({source: Source, cursor: Cursor}),
    answers: {200: RunTally},
    refusals: [...ofRecords, 'INVALID_CURSOR'],
    handle: input => hold(input.caller.org, async () => tallyRows(input, await findOwn(input), input.query)),
  }),

  route({
    method: 'get',
    path: `${path}/log`,
    summary: 'Read all that a run wrote down of one row',
    access: {role: 'operator'},
    params: OfRun,
    query: z.object({source: Source, row: z.coerce.number().int().min(1).describe('The number of the row in its file, from 1')}),
    answers: {200: RunRowLog},
    refusals: ofRecords,
    example: {query: {row: 17}},
    handle: input => hold(input.caller.org, async () => readRunRow(input, await findOwn(input), input.query)),
  }),
]
