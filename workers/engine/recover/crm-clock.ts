import {clockToleranceMs} from '../../../shared/runs/record-claims/verdict.ts'
import {type ClockRange, findClockRange, widenClockRange} from '../../../sql/run-clocks.ts'
import type {LedgerContext} from '../context.ts'

/** The differences between the CRM's clock and this process's clock, as the runs of the chain observed them. */
export type CrmClock = {
  /**
   * Stores a difference. Ignores null, and a difference that would widen the stored range by less than the tolerance. Call it before
   * settling the answer that shows the difference.
   */
  note(offsetMs: number | null): Promise<void>
  /** Null before the first answer. */
  range(): Promise<ClockRange | null>
  /** Returns by how many ms the CRM's clock was moved while the chain ran. Returns 0 if the movement is within the tolerance. */
  spreadMs(): Promise<number>
}

export const openCrmClock = ({db, run, chain}: Pick<LedgerContext, 'db' | 'run' | 'chain'>): CrmClock => {
  let seen: ClockRange | null = null
  const range = () => findClockRange(db, {run: run.no, chain})
  return {
    async note(offsetMs) {
      if (offsetMs === null || (seen && offsetMs > seen.lowMs - clockToleranceMs && offsetMs < seen.highMs + clockToleranceMs)) return
      seen = {lowMs: Math.min(seen?.lowMs ?? offsetMs, offsetMs), highMs: Math.max(seen?.highMs ?? offsetMs, offsetMs)}
      await widenClockRange(db, {run: run.no, ...seen})
    },
    range,
    async spreadMs() {
      const seen = await range()
      const spreadMs = seen ? seen.highMs - seen.lowMs : 0
      return spreadMs > clockToleranceMs ? spreadMs : 0
    },
  }
}
