import type {Db, Hot} from '../../sql/database.ts'
import {type LogEntry, OUTCOMES, PHASES, readLogPage} from '../../sql/run-log.ts'
import {LOG_LIST, listSegments} from '../../sql/segments.ts'
import type {Config} from '../config.ts'
import {readCursor, writeCursor} from '../cursor.ts'
import type {Storage} from '../storage.ts'
import type {FoundRun} from './find.ts'
import {assertKept, assertStillKept} from './kept.ts'
import type {RunNames} from './names.ts'
import {itemsOf, linesPerSegment, readLines} from './segment.ts'

type Place = {db: Db; hot: Hot; storage: Storage}
type Page = {limit: number; cursor?: string | undefined}
type After = {run: number; after: number; limit: number}

/** One page of a run's log, in seq order. A cursor names the last seq and nothing of where it lies, so it is good on both sides of a move. */
export const readLog = async (tools: Place & {config: Pick<Config, 'SECRETS_KEYS'>}, {run, names}: FoundRun, {limit, cursor}: Page) => {
  const keys = tools.config.SECRETS_KEYS
  const list = `log ${run.id}`
  const after = Number(readCursor(keys, list, cursor) ?? 0)
  assertKept(run)
  const page = await readEntries(tools, {run: run.no, after, limit: limit + 1})
  if (page.length <= limit) await assertStillKept(tools.db, run.no)
  const last = page.length > limit ? page[limit - 1] : undefined
  return {
    records: page.slice(0, limit).map(entry => describeEntry(entry, names)),
    nextCursor: last ? writeCursor(keys, list, last.seq) : null,
  }
}

/** At most `limit` entries after a seq, wherever they are. */
export const readEntries = async (place: Place, asked: After): Promise<LogEntry[]> =>
  (await readLogPage(place.hot, asked)) ?? (await readMoved(place, asked))

/** Segments are of one size and without gaps, so the last page costs what the first does; one that lies in two has them read side by side. */
const readMoved = async ({db, storage}: Place, {run, after, limit}: After): Promise<LogEntry[]> => {
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

/** A run log entry in the specification's words. */
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
