import {findRecordsAt, type LogEntry, listRowLog} from '../../sql/run-log.ts'
import {LOG_LIST, listSegments} from '../../sql/segments.ts'
import type {Snapshot, SnapshotSource} from '../mapping/flows/snapshot.ts'
import type {Storage} from '../storage/storage.ts'
import type {FoundRun} from './find.ts'
import {assertStillKept} from './kept.ts'
import {describeEntry} from './log.ts'
import {frozenOf, type RunRowsDeps, readLoggedRows} from './rows.ts'
import {readLines} from './segment.ts'

/** Maximum number of log segments that are searched for one row: 3 million entries. */
const mostSegments = 300
const readAtOnce = 4

/** `withOld`: whether the caller may read the current values of records. */
type RunRowQuery = {row: number; source?: string | undefined; withOld: boolean}

/**
 * Returns a row's final entries, and its log entries in `seq` order: at most 1,000 while the log is in the database. `log` is null if the run's log
 * has too many segments to search.
 */
export const readRunRow = async (deps: RunRowsDeps, foundRun: FoundRun, {row, source: id, withOld}: RunRowQuery) => {
  const {snapshot, source} = frozenOf(foundRun, id)
  const foundRow = await findRow(deps, foundRun, {snapshot, source, row, withOld})
  const log = await readRowLog(deps, {run: foundRun.run.no, row, snapshot, source})
  await assertStillKept(deps.db, foundRun.run.no)
  return {row: {rowNumber: row, entries: foundRow?.entries ?? []}, log: log?.map(entry => describeEntry(entry, foundRun.names)) ?? null}
}

type FindRowQuery = {row: number; snapshot: Snapshot; source: SnapshotSource; withOld: boolean}

/** Finds the final entries of a row. Reading begins at the row, so its entries can only be in the first group that is read. */
const findRow = async (deps: RunRowsDeps, foundRun: FoundRun, {row, ...of}: FindRowQuery) => {
  for await (const {rows} of readLoggedRows(deps, foundRun, {...of, from: row})) return rows.find(({rowNumber}) => rowNumber === row)
  return undefined
}

type RowLogQuery = {run: number; row: number; snapshot: Snapshot; source: SnapshotSource}

const readRowLog = async (deps: RunRowsDeps, {run, row, snapshot, source}: RowLogQuery): Promise<LogEntry[] | null> => {
  // A number beyond the file may also be too large for the integer types of the statement.
  if (row > source.rows) return []
  const flows = snapshot.flows.filter(({sourceNo}) => sourceNo === source.no).map(({no}) => no)
  const {recordsAt} = await findRecordsAt(deps.db, run)
  if (recordsAt === 'db') {
    const entries = await listRowLog(deps.db, {run, flows, row})
    if (entries.length > 0) return [...entries]
  }
  const segments = await listSegments(deps.db, {run, list: LOG_LIST, from: 1, limit: mostSegments + 1})
  if (segments.length > mostSegments) return null
  const foundRun: LogEntry[] = []
  for (let at = 0; at < segments.length; at += readAtOnce) {
    const parts = await Promise.all(segments.slice(at, at + readAtOnce).map(segment => linesOf(deps.storage, segment, row)))
    foundRun.push(...parts.flat().filter(({flow, rowNumber}) => rowNumber === row && flow !== null && flows.includes(flow)))
  }
  return foundRun
}

const lineFeed = 10

/** Searches the bytes before parsing, because few of a segment's 10,000 lines match. */
const linesOf = async (storage: Storage, segment: Parameters<typeof readLines>[1], row: number): Promise<LogEntry[]> => {
  const lines = await readLines(storage, segment)
  const wanted = `"rowNumber":${row},`
  const foundRun: LogEntry[] = []
  for (let at = lines.indexOf(wanted); at >= 0; ) {
    const start = lines.lastIndexOf(lineFeed, at) + 1
    const end = lines.indexOf(lineFeed, at)
    foundRun.push(JSON.parse(lines.toString('utf8', start, end)))
    at = lines.indexOf(wanted, end)
  }
  return foundRun
}
