import type {Db} from '../../sql/database.ts'
import {findStanding, type StandingRow} from '../../sql/plans.ts'
import {Refusal} from '../errors.ts'
import {type Window, windowAt} from './window.ts'

/** The key of the plan an org is on while it tries. */
export const TRIAL = 'trial'

/** For so long an org whose payment failed goes on as before. */
const graceDays = 7
const dayMs = 86_400_000

/** How an org stands at a moment. `graceEndsAt`: from when a payment that failed stops it. */
export type Standing = StandingRow & {org: string; window: Window; graceEndsAt: string | null}

export const readStanding = async (db: Db, org: string): Promise<Standing> => {
  const found = await findStanding(db, org)
  if (!found) throw new Refusal('NOT_FOUND', 'No such org')
  const {pastDueSince: since} = found
  const graceEndsAt = since === null ? null : new Date(Date.parse(since) + graceDays * dayMs).toISOString()
  return {...found, org, window: windowOf(found), graceEndsAt}
}

/** A trial's last period ends with the trial. */
const windowOf = ({anchor, now, plan, trialEndsAt}: StandingRow): Window => {
  const window = windowAt(anchor, now)
  return plan.key === TRIAL && trialEndsAt! < window.endsAt ? {...window, endsAt: trialEndsAt!} : window
}

/** What keeps an org from beginning anything that is metered, whatever its plan has room for. */
export const obstacleOf = ({status, graceEndsAt, now}: Standing): 'STATUS_SUSPENDED' | 'STATUS_PAST_DUE' | null => {
  if (status === 'suspended') return 'STATUS_SUSPENDED'
  return status === 'past_due' && graceEndsAt! <= now ? 'STATUS_PAST_DUE' : null
}
