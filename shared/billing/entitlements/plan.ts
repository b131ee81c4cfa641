import {endPlanGrants, findBasis, insertGrant, lowerGrant, postEntry} from '../../../sql/ai-credits.ts'
import type {Tx} from '../../../sql/database.ts'
import {type PlanVersion, type Status, setOrgPlan} from '../../../sql/plans.ts'
import {holdPeriod, setRowsLimit} from '../../../sql/usage.ts'
import {type Author, recordChanges} from '../../configuration/change.ts'
import {expire, holdCurrent} from '../credits/balance.ts'
import {type PlanStatus, readPlanStatus} from './plan-status.ts'
import {leftOf} from './window.ts'

/**
 * A move to another plan. `anchor`: the new start of the periods; null keeps the present one. `isRenewed`: the anchor stays, and the org pays the new
 * plan for the whole current period.
 */
type PlanMove = {to: PlanVersion; status: Status; anchor: string | null; isRenewed?: boolean}

/**
 * Moves an org to another plan. The caller must have locked the org's row. With a new anchor, a new period begins and the old plan's grants end.
 * Without one, the period continues: a higher plan adds the difference for the rest of the period, or for the whole period if `isRenewed`. A lower
 * plan applies its row limit and, if `isRenewed`, its credits.
 */
export const movePlan = async (tx: Tx, {org, to, status, anchor, isRenewed = false}: PlanMove & {org: string}): Promise<PlanStatus> => {
  const before = await readPlanStatus(tx, org)
  const share = isRenewed ? 1 : leftOf(before.window, before.now)
  if (anchor === null) await moveRows(tx, before, to, share)
  await holdCurrent(tx, org)
  if (anchor !== null) await endPlanGrants(tx, org)
  else if (isRenewed && to.limits.aiCredits < before.plan.limits.aiCredits) await lowerCredits(tx, before, to)
  else await addCredits(tx, before, to, share)
  await setOrgPlan(tx, {org, plan: to.id, status, anchor: anchor ?? before.anchor})
  await expire(tx, org)
  return readPlanStatus(tx, org)
}

/**
 * Sets the row limit of the current period. A higher plan adds `share` of the difference, up to its own limit. A lower plan
 * sets its own limit. A plan with the same limit changes nothing: the limit of an upgraded period stays prorated.
 */
const moveRows = async (tx: Tx, {org, plan, window}: PlanStatus, to: PlanVersion, share: number) => {
  const {rowsLimit} = await holdPeriod(tx, {org, ...window, rowsLimit: plan.limits.rowsPerPeriod})
  const more = to.limits.rowsPerPeriod - plan.limits.rowsPerPeriod
  const next = more >= 0 ? rowsLimit + Math.round(more * share) : to.limits.rowsPerPeriod
  await setRowsLimit(tx, {org, startsAt: window.startsAt, rowsLimit: Math.min(next, to.limits.rowsPerPeriod)})
}

/**
 * Grants the AI credits of an upgrade. The grant is `share` of the difference between the new plan's credits and the highest plan's credits of
 * this period. The highest plan counts even after a downgrade, so that a second upgrade grants no credits twice.
 */
const addCredits = async (tx: Tx, {org, window}: PlanStatus, to: PlanVersion, share: number) => {
  const level = to.limits.aiCredits
  const more = level - (await findBasis(tx, {org, expiresAt: window.endsAt}))
  const credits = Math.round(more * share)
  const ref = `upgrade:${window.startsAt}:${to.id}`
  if (credits < 1 || !(await insertGrant(tx, {org, ref, pool: 'included', credits, basis: level, expiresAt: window.endsAt}))) return
  await postEntry(tx, {org, kind: 'grant', ref, included: credits})
}

/** Lowers the AI credits that the new period got from the higher plan, because the downgrade was not known yet. Reserved and spent credits stay. */
const lowerCredits = async (tx: Tx, {org, window}: PlanStatus, to: PlanVersion) => {
  const ref = `period:${window.startsAt}`
  const less = await lowerGrant(tx, {org, ref, credits: to.limits.aiCredits})
  if (less > 0) await postEntry(tx, {org, kind: 'expire', ref, included: -less})
}

const logPlanMove = ({plan, status}: Pick<PlanStatus, 'plan' | 'status'>) => ({plan: plan.key, version: plan.version, status})

export const recordPlan = (tx: Tx, author: Author, subject: string, before: PlanStatus, after: PlanStatus): Promise<void> =>
  recordChanges(tx, author, [{page: 'plan', subject, before: logPlanMove(before), after: logPlanMove(after)}])
