import type {Interval, Pending} from './subscription.ts'

export type PlanPlace = {planKey: string; rank: number; interval: Interval}

/** The wanted plan. `free` ends the subscription at the end of its period. */
export type WantedPlace = PlanPlace | 'free'

/**
 * `now`: charged and in force immediately. `at_renewal`: in force at the period's end. `cancel`: ends at the period's end. `take_back`: cancels the
 * pending change.
 */
export type ChangeKind = 'now' | 'at_renewal' | 'cancel' | 'take_back'

/**
 * Classifies the change from one paid plan to another. Returns null if nothing would change. A change to a lower plan or a shorter interval waits for
 * the renewal, so that the org keeps the paid period.
 */
export const classify = (current: PlanPlace, pending: Pending | null, wantedPlace: WantedPlace): ChangeKind | null => {
  if (wantedPlace === 'free') return 'cancel'
  const [plan, span] = [wantedPlace.rank - current.rank, monthsOf(wantedPlace) - monthsOf(current)]
  if (wantedPlace.planKey === current.planKey && span === 0) return pending === null ? null : 'take_back'
  return plan >= 0 && span >= 0 ? 'now' : 'at_renewal'
}

const monthsOf = ({interval}: PlanPlace) => (interval === 'year' ? 12 : 1)
