import {endPlanGrants} from '../../sql/credits.ts'
import type {Pool} from '../../sql/database.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {beginTrial, claimOverTrial, findNewestPlan, findPlanVersion, setOrgPlan} from '../../sql/plans.ts'
import {expire, holdCurrent} from '../credits/balance.ts'
import {Refusal} from '../errors.ts'
import type {Author} from '../registry/change.ts'
import {recordPlan} from './plan.ts'
import {readStanding, type Standing, TRIAL} from './standing.ts'

const trialDays = 14

/** Puts the org on trial, once in its life. Its first period begins with it. */
export const startTrial = (db: Pool, author: Author): Promise<Standing> =>
  db.transaction(async tx => {
    const {org} = author
    await lockOrg(tx, org)
    const before = await readStanding(tx, org)
    if (before.sandbox) throw new Refusal('SANDBOX_ORG', 'This org is a sandbox: its plan is that of its production org')
    if (before.trialStartedAt !== null)
      throw new Refusal('TRIAL_USED', `This org began its trial on ${before.trialStartedAt.slice(0, 10)}, and has one only: choose a plan`)
    const plan = await findNewestPlan(tx, TRIAL)
    if (before.plan.rank >= plan.rank)
      throw new Refusal('ALREADY_SUBSCRIBED', `The plan ${before.plan.name} has all that a trial would have`)
    await holdCurrent(tx, org)
    await endPlanGrants(tx, org)
    await beginTrial(tx, {org, plan: plan.id, days: trialDays})
    await expire(tx, org)
    const after = await readStanding(tx, org)
    await recordPlan(tx, author, 'trial.started', before, after)
    return after
  })

/**
 * Writes down that trials are over; that they are follows from the time alone. The plan they gave way to is back, and its first period began
 * with the end of the trial. Answers how many there were.
 */
export const endTrials = async (db: Pool, {most}: {most: number}): Promise<number> => {
  for (let done = 0; done < most; done++) {
    const found = await db.transaction(async tx => {
      const over = await claimOverTrial(tx)
      if (!over) return false
      const {org, from, endsAt} = over
      await setOrgPlan(tx, {org, plan: from, status: 'active', anchor: endsAt})
      const after = await readStanding(tx, org)
      const trial = (await findPlanVersion(tx, over.plan))!
      await recordPlan(tx, {org, via: 'schedule'}, 'trial.ended', {...after, plan: trial, status: 'trialing'}, after)
      return true
    })
    if (!found) return done
  }
  return most
}
