import type {Db, Hot} from '../../sql/database.ts'
import {type LogEntry, OUTCOMES, PHASES, readLogPage} from '../../sql/run-log.ts'
import {LOG_LIST, listSegments} from '../../sql/segments.ts'
import type {Config} from '../config.ts'
import {readCursor, writeCursor} from '../security/cursor.ts'
import type {Storage} from '../storage/storage.ts'
import type {FoundRun} from './find.ts'
import {assertKept, assertStillKept} from './kept.ts'
import type {RunNames} from './names.ts'
import {itemsOf, linesPerSegment, readLines} from './segment.ts'

type LogDeps = {db: Db; hot: Hot; storage: Storage}
type Page = {limit: number; cursor?: string | undefined}
type ReadAfter = {run: number; after: number; limit: number}

/**
 * Returns one page of a run's log in seq order. A cursor holds only a seq, so it stays valid when the log moves from the database to
 * storage.
 */
export const readLog = async (deps: LogDeps & {config: Pick<Config, 'SECRETS_KEYS'>}, {run, names}: FoundRun, {limit, cursor}: Page) => {
  const keys = deps.config.SECRETS_KEYS
  const list = `log ${run.id}`
  const after = Number(readCursor(keys, list, cursor) ?? 0)
  assertKept(run)
  const page = await readEntries(deps, {run: run.no, after, limit: limit + 1})
  if (page.length <= limit) await assertStillKept(deps.db, run.no)
  const last = page.length > limit ? page[limit - 1] : undefined
  return {
    records: page.slice(0, limit).map(entry => describeEntry(entry, names)),
    nextCursor: last ? writeCursor(keys, list, last.seq) : null,
  }
}

export const readEntries = async (place: LogDeps, readAfter: ReadAfter): Promise<LogEntry[]> =>
  (await readLogPage(place.hot, readAfter)) ?? (await readMoved(place, readAfter))

/** Reads a page of a log in storage. Only the segments that the page needs are read, in parallel, so every page costs about the same. */
const readMoved = async ({db, storage}: LogDeps, {run, after, limit}: ReadAfter): Promise<LogEntry[]> => {
  const most = Math.ceil(limit / linesPerSegment) + 1
  const segments = await listSegments(db, {run, list: LOG_LIST, from: after + 1, limit: most})
  const parts = segments
    .filter(({first}) => first <= after + limit)
    .map(async segment => {
      const from = Math.max(after + 1, segment.first)
      return itemsOf<LogEntry>(await readLines(storage, segment), {before: ({seq}) => seq < from, count: after + limit + 1 - from})
    })
  return (await Promise.all(parts)).flat()
}

export const describeEntry = (entry: LogEntry, {flows, modules}: RunNames) => ({
  seq: entry.seq,
  rowKey: entry.rowKey,
  flowId: flows.find(({no}) => no === entry.flow)?.id ?? null,
  rowNumber: entry.rowNumber,
  module: modules.find(({no}) => no === entry.module)?.apiName ?? '',
  phase: PHASES[entry.phase],
  target: entry.target ?? '',
  attempt: entry.attempt,
  recordId: entry.recordId,
  outcome: OUTCOMES[entry.outcome],
  code: entry.code,
  message: entry.message,
  at: entry.at,
})
