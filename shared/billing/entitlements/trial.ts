import {endPlanGrants} from '../../../sql/ai-credits.ts'
import type {Pool} from '../../../sql/database.ts'
import {lockOrg} from '../../../sql/orgs.ts'
import {beginTrial, claimOverTrial, findNewestPlan, findPlanVersion, setOrgPlan} from '../../../sql/plans.ts'
import type {Author} from '../../configuration/change.ts'
import {Refusal} from '../../errors.ts'
import {expire, holdCurrent} from '../credits/balance.ts'
import {recordPlan} from './plan.ts'
import {type PlanStatus, readPlanStatus, TRIAL} from './plan-status.ts'

const trialDays = 14

/** Starts the org's trial, once per org. Refuses a sandbox org, and an org whose plan ranks at least as high as the trial. */
export const startTrial = (db: Pool, author: Author): Promise<PlanStatus> =>
  db.transaction(async tx => {
    const {org} = author
    await lockOrg(tx, org)
    const before = await readPlanStatus(tx, org)
    if (before.sandbox) throw new Refusal('SANDBOX_ORG', 'This org is a sandbox. Its plan is that of its production org')
    if (before.trialStartedAt !== null)
      throw new Refusal('TRIAL_USED', `This org used its only trial on ${before.trialStartedAt.slice(0, 10)}. Choose a plan`)
    const plan = await findNewestPlan(tx, TRIAL)
    if (before.plan.rank >= plan.rank)
      throw new Refusal('ALREADY_SUBSCRIBED', `The plan ${before.plan.name} already includes everything that a trial has`)
    await holdCurrent(tx, org)
    await endPlanGrants(tx, org)
    await beginTrial(tx, {org, plan: plan.id, days: trialDays})
    await expire(tx, org)
    const after = await readPlanStatus(tx, org)
    await recordPlan(tx, author, 'trial.started', before, after)
    return after
  })

/**
 * Periodic task: stores that orgs with an expired trial are back on their former plan, with a period that began when the trial ended. The plan status
 * shows this even before the task runs. Returns the number of ended trials, at most `most`.
 */
export const endTrials = async (db: Pool, {most}: {most: number}): Promise<number> => {
  for (let done = 0; done < most; done++) {
    const found = await db.transaction(async tx => {
      const over = await claimOverTrial(tx)
      if (!over) return false
      const {org, from, endsAt} = over
      await setOrgPlan(tx, {org, plan: from, status: 'active', anchor: endsAt})
      const after = await readPlanStatus(tx, org)
      const trial = (await findPlanVersion(tx, over.plan))!
      await recordPlan(tx, {org, via: 'schedule'}, 'trial.ended', {...after, plan: trial, status: 'trialing'}, after)
      return true
    })
    if (!found) return done
  }
  return most
}
