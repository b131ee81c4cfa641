import {type LogEntry, OUTCOMES, PHASES} from '../../sql/run-log.ts'
import type {Snapshot} from '../flows/snapshot.ts'

/** A run log entry in the specification's words. */
export const describeEntry = (entry: LogEntry, {flows, modules}: Pick<Snapshot, 'flows' | 'modules'>) => ({
  seq: entry.seq,
  rowKey: entry.rowKey,
  flowId: flows.find(({no}) => no === entry.flow)?.flow.id ?? null,
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
