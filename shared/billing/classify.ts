import type {Interval, Pending} from './subscription.ts'

/** A plan as it is paid for. */
export type Place = {planKey: string; rank: number; interval: Interval}

/** `free` ends the subscription with its period. */
export type Wanted = Place | 'free'

/** What a change is: charged and in force at once, waiting for the period's end, the end of it, or taking back what waits. */
export type ChangeKind = 'now' | 'at_renewal' | 'cancel' | 'take_back'

/**
 * What it is to go from one paid plan to another; null when that is where it stands and nothing waits. More of one and less of the other,
 * plan or interval, waits: what has been paid for is kept.
 */
export const classify = (current: Place, pending: Pending | null, wanted: Wanted): ChangeKind | null => {
  if (wanted === 'free') return 'cancel'
  const [plan, span] = [wanted.rank - current.rank, monthsOf(wanted) - monthsOf(current)]
  if (wanted.planKey === current.planKey && span === 0) return pending === null ? null : 'take_back'
  return plan >= 0 && span >= 0 ? 'now' : 'at_renewal'
}

const monthsOf = ({interval}: Place) => (interval === 'year' ? 12 : 1)
