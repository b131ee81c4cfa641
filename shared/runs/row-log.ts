import {findRecordsAt, type LogEntry, listRowLog} from '../../sql/run-log.ts'
import {LOG_LIST, listSegments} from '../../sql/segments.ts'
import type {Snapshot, SnapshotSource} from '../flows/snapshot.ts'
import type {Storage} from '../storage.ts'
import type {FoundRun} from './find.ts'
import {assertStillKept} from './kept.ts'
import {describeEntry} from './log.ts'
import {frozenOf, type RowsPlace, readToldRows} from './rows.ts'
import {readLines} from './segment.ts'

/** A log of more pieces than this, three million entries, is not looked through for one row. */
const mostSegments = 300
const readAtOnce = 4

/** One row of a file: what became of it, and all that the log says of it in the order it happened; null where the log is too long for that. */
export const readRunRow = async (place: RowsPlace, found: FoundRun, {row, source: id}: {row: number; source?: string | undefined}) => {
  const {snapshot, source} = frozenOf(found, id)
  const told = await findRow(place, found, {snapshot, source, row})
  const log = await readRowLog(place, {run: found.run.no, row, snapshot, source})
  await assertStillKept(place.db, found.run.no)
  return {row: {rowNumber: row, entries: told?.entries ?? []}, log: log?.map(entry => describeEntry(entry, found.names)) ?? null}
}

/** The first look holds it, if it is told of. */
const findRow = async (place: RowsPlace, found: FoundRun, {row, ...of}: {row: number; snapshot: Snapshot; source: SnapshotSource}) => {
  for await (const {rows} of readToldRows(place, found, {...of, from: row})) return rows.find(({rowNumber}) => rowNumber === row)
  return undefined
}

type Of = {run: number; row: number; snapshot: Snapshot; source: SnapshotSource}

const readRowLog = async (place: RowsPlace, {run, row, snapshot, source}: Of): Promise<LogEntry[] | null> => {
  const flows = snapshot.flows.filter(({sourceNo}) => sourceNo === source.no).map(({no}) => no)
  const {recordsAt} = await findRecordsAt(place.db, run)
  if (recordsAt === 'db') {
    const entries = await listRowLog(place.db, {run, flows, row})
    if (entries.length > 0) return [...entries]
  }
  const segments = await listSegments(place.db, {run, list: LOG_LIST, from: 1, limit: mostSegments + 1})
  if (segments.length > mostSegments) return null
  const found: LogEntry[] = []
  for (let at = 0; at < segments.length; at += readAtOnce) {
    const parts = await Promise.all(segments.slice(at, at + readAtOnce).map(segment => linesOf(place.storage, segment, row)))
    found.push(...parts.flat().filter(({flow, rowNumber}) => rowNumber === row && flow !== null && flows.includes(flow)))
  }
  return found
}

const lineFeed = 10

/** Found by its bytes: of ten thousand lines a few are of the row, and the others need not be read as JSON. */
const linesOf = async (storage: Storage, segment: Parameters<typeof readLines>[1], row: number): Promise<LogEntry[]> => {
  const lines = await readLines(storage, segment)
  const wanted = `"rowNumber":${row},`
  const found: LogEntry[] = []
  for (let at = lines.indexOf(wanted); at >= 0; ) {
    const start = lines.lastIndexOf(lineFeed, at) + 1
    const end = lines.indexOf(lineFeed, at)
    found.push(JSON.parse(lines.toString('utf8', start, end)))
    at = lines.indexOf(wanted, end)
  }
  return found
}
