import {listSpent} from '../../../sql/ai-credits.ts'
import type {Pool, Tx} from '../../../sql/database.ts'
import {countUsed, findPeriod} from '../../../sql/usage.ts'
import {type Balance, holdCurrent} from '../credits/balance.ts'
import type {PlanStatus} from './plan-status.ts'
import {roomIn} from './rows.ts'

/** Returns an org's plan, status, limits and usage in the form of `GET /entitlements/me`. */
export const readEntitlements = (db: Pool, org: string) =>
  db.transaction(async tx => {
    const {planStatus, balance} = await holdCurrent(tx, org)
    return {...describePlanStatus(planStatus), usage: await usageOf(tx, planStatus), credits: balance}
  })

export const readUsage = (db: Pool, org: string) =>
  db.transaction(async tx => {
    const {planStatus, balance} = await holdCurrent(tx, org)
    const byFeature = await listSpent(tx, {org, since: planStatus.window.startsAt})
    return {...(await usageOf(tx, planStatus)), credits: describeCredits(balance, byFeature)}
  })

export const describePlanStatus = (planStatus: PlanStatus) => {
  const {plan, status, trialStartedAt, trialEndsAt, overageEnabled, window} = planStatus
  return {
    plan: {id: plan.id, key: plan.key, version: plan.version, name: plan.name},
    status,
    limits: plan.limits,
    features: plan.features,
    period: {start: window.startsAt, end: window.endsAt},
    trial: trialStartedAt && {startedAt: trialStartedAt, endsAt: trialEndsAt},
    pastDue: describePastDue(planStatus),
    overageEnabled,
  }
}

/** `since` is null if the org is suspended for non-payment, because only the status `past_due` stores it. */
const describePastDue = ({unpaid, pastDueSince: since, graceEndsAt, now}: PlanStatus) => {
  if (unpaid) return {since: null, graceEndsAt: null}
  return since && {since, graceEndsAt: graceEndsAt! <= now ? null : graceEndsAt}
}

/** After an upgrade in mid-period, the row limit lies between the limits of both plans. */
export const usageOf = async (tx: Tx, {org, plan, window}: PlanStatus) => {
  const {startsAt, endsAt} = window
  const fresh = {rowsLimit: plan.limits.rowsPerPeriod, used: 0, reserved: 0, overage: 0}
  const period = (await findPeriod(tx, {org, startsAt})) ?? fresh
  const {rowsLimit: limit, used, reserved, overage} = period
  const {modules, schedules} = await countUsed(tx, org)
  return {
    periodStart: startsAt,
    periodEnd: endsAt,
    rows: {limit, used, reserved, remaining: roomIn(period), overage},
    modules: {limit: plan.limits.modules, used: modules},
    schedules: {limit: plan.limits.schedules, used: schedules},
  }
}

const describeCredits = (
  {included, purchased, reserved, available}: Balance,
  byFeature: readonly {feature: string; credits: number}[],
) => ({included, purchased, reserved, available, spent: byFeature.reduce((sum, {credits}) => sum + credits, 0), byFeature})
