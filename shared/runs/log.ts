import type {Db} from '../../sql/database.ts'
import {type LogEntry, listLog, OUTCOMES, PHASES} from '../../sql/run-log.ts'
import {readCursor, writeCursor} from '../cursor.ts'
import type {KeyRing} from '../secrets.ts'
import type {FoundRun} from './find.ts'
import type {RunNames} from './names.ts'

type Page = {limit: number; cursor: string | undefined}

/** One page of a run's log, in seq order. */
export const readLog = async (db: Db, keys: KeyRing, {run, names}: FoundRun, {limit, cursor}: Page) => {
  const list = `log ${run.id}`
  const after = Number(readCursor(keys, list, cursor) ?? 0)
  const page = await listLog(db, {run: run.no, after, limit: limit + 1})
  const last = page.length > limit ? page[limit - 1] : undefined
  return {
    records: page.slice(0, limit).map(entry => describeEntry(entry, names)),
    nextCursor: last ? writeCursor(keys, list, last.seq) : null,
  }
}

/** A run log entry in the specification's words. */
const describeEntry = (entry: LogEntry, {flows, modules}: RunNames) => ({
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
