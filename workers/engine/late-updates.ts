/**
 * Records with an unanswered update that the CRM may still execute. Another row's update of such a record waits for that time to pass, or the
 * older value could overwrite the later one.
 */
export type LateUpdates = {
  /** The CRM may still execute the row's update of the record. */
  add(recordId: string, rowKey: string): void
  /** How long a row waits before it may update the record, in ms. A row never waits for its own updates. */
  waitMs(recordId: string, rowKey: string): number
}

/** `lastsMs`: how long the CRM may execute an unanswered update. Kept in memory: the next owner of a run knows none of an earlier one. */
export const openLateUpdates = (lastsMs: number): LateUpdates => {
  const late = new Map<string, {rowKey: string; until: number}>()
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
      // The newest stands last, so that the past ones are the first.
      late.delete(recordId)
      late.set(recordId, {rowKey, until: now + lastsMs})
    },
    waitMs(recordId, rowKey) {
      const one = late.get(recordId)
      return one && one.rowKey !== rowKey ? Math.max(0, one.until - performance.now()) : 0
    },
  }
}
