import {endPlanGrants, findBasis, insertGrant, lowerGrant, postEntry} from '../../sql/credits.ts'
import type {Tx} from '../../sql/database.ts'
import {type Plan, type Status, setOrgPlan} from '../../sql/plans.ts'
import {holdPeriod, setRowsLimit} from '../../sql/usage.ts'
import {expire, holdCurrent} from '../credits/balance.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {readStanding, type Standing} from './standing.ts'
import {leftOf} from './window.ts'

/**
 * `anchor`: where the periods are counted from by now, where that changes with the plan. `isRenewed`: without that, the period under way is the
 * first that is paid for at this plan, from its beginning.
 */
type Move = {to: Plan; status: Status; anchor: string | null; isRenewed?: boolean}

/**
 * Puts an org, whose row is held, on another plan. With a new anchor a new period begins, and what the old plan gave for its own ends. Without,
 * the period goes on: a higher plan adds what it has more of, for the part of the period still to come; a lower one takes its limit, and its
 * credits where the period is its own.
 */
export const movePlan = async (tx: Tx, {org, to, status, anchor, isRenewed = false}: Move & {org: string}): Promise<Standing> => {
  const before = await readStanding(tx, org)
  if (anchor === null) await moveRows(tx, before, to)
  await holdCurrent(tx, org)
  if (anchor !== null) await endPlanGrants(tx, org)
  else if (isRenewed && to.limits.aiCredits < before.plan.limits.aiCredits) await lowerCredits(tx, before, to)
  else await addCredits(tx, before, to)
  await setOrgPlan(tx, {org, plan: to.id, status, anchor: anchor ?? before.anchor})
  await expire(tx, org)
  return readStanding(tx, org)
}

/** An upgrade near the period's end is no way to a whole period's rows. */
const moveRows = async (tx: Tx, {org, plan, window, now}: Standing, to: Plan) => {
  const {rowsLimit} = await holdPeriod(tx, {org, ...window, rowsLimit: plan.limits.rowsPerPeriod})
  const more = to.limits.rowsPerPeriod - plan.limits.rowsPerPeriod
  const next = more > 0 ? rowsLimit + Math.round(more * leftOf(window, now)) : to.limits.rowsPerPeriod
  await setRowsLimit(tx, {org, startsAt: window.startsAt, rowsLimit: Math.min(next, to.limits.rowsPerPeriod)})
}

/** Against the highest plan of the period, so that going down and up again gives nothing twice. */
const addCredits = async (tx: Tx, {org, window, now}: Standing, to: Plan) => {
  const level = to.limits.aiCredits
  const more = level - (await findBasis(tx, {org, expiresAt: window.endsAt}))
  const credits = Math.round(more * leftOf(window, now))
  const ref = `upgrade:${window.startsAt}:${to.id}`
  if (credits < 1 || !(await insertGrant(tx, {org, ref, pool: 'included', credits, basis: level, expiresAt: window.endsAt}))) return
  await postEntry(tx, {org, kind: 'grant', ref, included: credits})
}

/** What the higher plan gave when the period began, before anybody knew of the lower one. What is held or spent of it is. */
const lowerCredits = async (tx: Tx, {org, window}: Standing, to: Plan) => {
  const ref = `period:${window.startsAt}`
  const less = await lowerGrant(tx, {org, ref, credits: to.limits.aiCredits})
  if (less > 0) await postEntry(tx, {org, kind: 'expire', ref, included: -less})
}

/** How a plan stands in the history. */
const told = ({plan, status}: Pick<Standing, 'plan' | 'status'>) => ({plan: plan.key, version: plan.version, status})

export const recordPlan = (tx: Tx, author: Author, subject: string, before: Standing, after: Standing): Promise<void> =>
  recordChanges(tx, author, [{page: 'plan', subject, before: told(before), after: told(after)}])
