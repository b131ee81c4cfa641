import type {Db} from '../../../sql/database.ts'
import {findPlanStatus, type PlanStatusRow} from '../../../sql/plans.ts'
import {Refusal} from '../../errors.ts'
import {type UsageWindow, windowAt} from './window.ts'

export const TRIAL = 'trial'

/** The days after a failed payment during which an org can still start metered work. */
const graceDays = 7
const dayMs = 86_400_000

/** The plan status of an org now. `graceEndsAt`: when a failed payment stops metered work; null without one. */
export type PlanStatus = PlanStatusRow & {org: string; window: UsageWindow; graceEndsAt: string | null}

export const readPlanStatus = async (db: Db, org: string): Promise<PlanStatus> => {
  const found = await findPlanStatus(db, org)
  if (!found) throw new Refusal('NOT_FOUND', 'No such org')
  const {pastDueSince: since} = found
  const graceEndsAt = since === null ? null : new Date(Date.parse(since) + graceDays * dayMs).toISOString()
  return {...found, org, window: windowOf(found), graceEndsAt}
}

/** The last period of a trial ends with the trial. The periods of an org that staff put on the trial plan do not depend on its former trial. */
const windowOf = ({anchor, now, plan, trialStartedAt, trialEndsAt}: PlanStatusRow): UsageWindow => {
  const window = windowAt(anchor, now)
  return plan.key === TRIAL && anchor === trialStartedAt && trialEndsAt! < window.endsAt ? {...window, endsAt: trialEndsAt!} : window
}

/** Returns why an org may not start metered work, or null. The plan's limits are checked elsewhere. */
export const obstacleOf = ({status, graceEndsAt, now}: PlanStatus): 'STATUS_SUSPENDED' | 'STATUS_PAST_DUE' | null => {
  if (status === 'suspended') return 'STATUS_SUSPENDED'
  return status === 'past_due' && graceEndsAt! <= now ? 'STATUS_PAST_DUE' : null
}
