import {storePaces} from '../../../sql/crm-paces.ts'
import type {CrmOperation} from '../../telemetry/metrics/crm.ts'
import type {CrmDeps} from '../crm.ts'

const everyMs = 30_000
/** Limits on what is kept in memory between two writes to Postgres: pairs of connection and operation, and the newest durations of each pair. */
const [mostKeys, mostDurations] = [500, 200] as const

type CallPace = {connector: string; operation: CrmOperation; ms: number}
/** Measures how long CRM calls of this process take. `close` stores the measurements since the last write. */
export type Paces = {note(pace: CallPace): void; close(): Promise<void>}

type MeasuredCalls = Pick<CallPace, 'connector' | 'operation'> & {durations: number[]; count: number}

/**
 * Opens the measurement of call times. Every 30 seconds, one statement stores the median and the 95th percentile of each kind of call in Postgres.
 */
export const openPaces = ({db, log}: Pick<CrmDeps, 'db' | 'log'>): Paces => {
  let measured = new Map<string, MeasuredCalls>()
  const store = async () => {
    const calls = [...measured.values()]
    measured = new Map()
    if (calls.length === 0) return
    await storePaces(db, calls.map(paceOf)).catch(err => log.warn({err}, 'could not store the pace of CRM calls'))
  }
  const timer = setInterval(() => void store(), everyMs)
  timer.unref()
  return {
    note({connector, operation, ms}) {
      const key = `${connector} ${operation}`
      const calls = measured.get(key) ?? {connector, operation, durations: [], count: 0}
      if (!measured.has(key) && measured.size >= mostKeys) return
      measured.set(key, calls)
      calls.durations[calls.count++ % mostDurations] = ms
    },
    close() {
      clearInterval(timer)
      return store()
    },
  }
}

const paceOf = ({connector, operation, durations}: MeasuredCalls) => {
  const sorted = durations.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
  return {connector, operation, p50Ms: at(0.5), p95Ms: at(0.95)}
}
