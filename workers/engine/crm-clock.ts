import {type ClockRange, findClockRange, widenClockRange} from '../../sql/run-clocks.ts'
import type {Held} from './context.ts'

/** The differences between the CRM's clock and ours that the runs of the chain have seen. */
export type CrmClock = {
  /** Stored before the answer it came with is settled. */
  note(offsetMs: number | null): Promise<void>
  /** Null before the first answer. */
  range(): Promise<ClockRange | null>
  /** By how much the CRM's clock was set while the chain ran: 0 for a clock that only differs from ours. */
  spreadMs(): Promise<number>
}

/** Answers tell the CRM's time in whole seconds, and take their time to arrive. */
const toleranceMs = 2_000

export const openCrmClock = ({db, run, chain}: Pick<Held, 'db' | 'run' | 'chain'>): CrmClock => {
  let seen: ClockRange | null = null
  const range = () => findClockRange(db, {run: run.no, chain})
  return {
    async note(offsetMs) {
      if (offsetMs === null || (seen && offsetMs > seen.lowMs - toleranceMs && offsetMs < seen.highMs + toleranceMs)) return
      seen = {lowMs: Math.min(seen?.lowMs ?? offsetMs, offsetMs), highMs: Math.max(seen?.highMs ?? offsetMs, offsetMs)}
      await widenClockRange(db, {run: run.no, ...seen})
    },
    range,
    async spreadMs() {
      const seen = await range()
      const spreadMs = seen ? seen.highMs - seen.lowMs : 0
      return spreadMs > toleranceMs ? spreadMs : 0
    },
  }
}
