/**
 * Records with an unanswered update that the CRM may still execute. Another row's update of such a record waits, so that the CRM cannot
 * execute the older update last.
 */
export type LateUpdates = {
  add(recordId: string, rowKey: string): void
  /** Returns how long a row waits before it may update the record, in ms. A row never waits for its own updates. */
  waitMs(recordId: string, rowKey: string): number
  /** Whether the CRM may still execute an unanswered update of the record, by any row. */
  has(recordId: string): boolean
}

/** An unanswered update that another owner or an earlier run sent. `leftMs`: for how many ms the CRM may still execute the update. */
export type KnownUpdate = {recordId: string; rowKey: string; leftMs: number}

/**
 * `lastsMs`: how long after `add` the CRM may still execute the update. `known`: unanswered updates of earlier owners or runs, in order of
 * expiry.
 */
export const openLateUpdates = (lastsMs: number, known: readonly KnownUpdate[] = []): LateUpdates => {
  const late = new Map<string, {rowKey: string; until: number}>()
  for (const {recordId, rowKey, leftMs} of known) {
    late.delete(recordId)
    late.set(recordId, {rowKey, until: performance.now() + leftMs})
  }
  const dropPast = (now: number) => {
    for (const [recordId, {until}] of late) {
      if (until > now) return
      late.delete(recordId)
    }
  }
  return {
    add(recordId, rowKey) {
      const now = performance.now()
      dropPast(now)
      // Entries are ordered by expiry, so the newest entry moves to the end.
      late.delete(recordId)
      late.set(recordId, {rowKey, until: now + lastsMs})
    },
    has: recordId => (late.get(recordId)?.until ?? 0) > performance.now(),
    waitMs(recordId, rowKey) {
      const one = late.get(recordId)
      return one && one.rowKey !== rowKey ? Math.max(0, one.until - performance.now()) : 0
    },
  }
}
