import type {Interval, Pending} from './subscription.ts'

export type PlanPlace = {planKey: string; rank: number; interval: Interval}

/** The requested plan. `free` ends the subscription at the end of its period. */
export type WantedPlace = PlanPlace | 'free'

/**
 * When a change takes effect. `now`: immediately, with a charge. `at_renewal`: at the end of the period. `cancel`: the plan ends at the end
 * of the period. `take_back`: the pending change is cancelled.
 */
export type ChangeKind = 'now' | 'at_renewal' | 'cancel' | 'take_back'

/**
 * Classifies a change of a paid plan. Null if the org already has the wanted plan and no change is pending. A change to a lower plan or a
 * shorter interval waits for the renewal, so that the org keeps the paid period.
 */
export const classify = (current: PlanPlace, pending: Pending | null, wantedPlace: WantedPlace): ChangeKind | null => {
  if (wantedPlace === 'free') return 'cancel'
  const [plan, span] = [wantedPlace.rank - current.rank, monthsOf(wantedPlace) - monthsOf(current)]
  if (wantedPlace.planKey === current.planKey && span === 0) return pending === null ? null : 'take_back'
  return plan >= 0 && span >= 0 ? 'now' : 'at_renewal'
}

const monthsOf = ({interval}: PlanPlace) => (interval === 'year' ? 12 : 1)
