import type {Rec, Values} from './store.ts'

/**
 * Recently written records, each with the values that a lagging index still shows. `before` is null if the index does not have the record
 * yet.
 */
export type IndexLag = Map<Rec, {until: number; before: Values | null}>

/** Notes a write. `before`: the values before it, null for a create. A record written twice within the lag keeps showing the oldest values. */
export const noteWrite = (lag: IndexLag, rec: Rec, {before, now, seconds}: {before: Values | null; now: number; seconds: number}) => {
  if (seconds <= 0) return
  const known = lag.get(rec)
  lag.set(rec, {until: now + seconds * 1000, before: known && known.until > now ? known.before : before})
}

/** Returns the record as the index shows it; null if the index does not have it yet. */
export const seenThrough = (lag: IndexLag, rec: Rec, now: number): Rec | null => {
  const pending = lag.get(rec)
  if (!pending) return rec
  if (pending.until > now) return pending.before && {...rec, values: pending.before}
  lag.delete(rec)
  return rec
}
