import {listSpent} from '../../sql/credits.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {countUsed, findPeriod} from '../../sql/usage.ts'
import {type Balance, holdCurrent} from '../credits/balance.ts'
import {roomIn} from './rows.ts'
import type {Standing} from './standing.ts'

/** What an org may do, how it stands, and what it has used: as `GET /entitlements/me` tells it. */
export const readEntitlements = (db: Pool, org: string) =>
  db.transaction(async tx => {
    const {standing, balance} = await holdCurrent(tx, org)
    return {...describeStanding(standing), usage: await usageOf(tx, standing), credits: balance}
  })

/** The counters of the period, and what AI features have cost in it. */
export const readUsage = (db: Pool, org: string) =>
  db.transaction(async tx => {
    const {standing, balance} = await holdCurrent(tx, org)
    const byFeature = await listSpent(tx, {org, since: standing.window.startsAt})
    return {...(await usageOf(tx, standing)), credits: describeCredits(balance, byFeature)}
  })

export const describeStanding = ({
  plan,
  status,
  trialStartedAt,
  trialEndsAt,
  pastDueSince,
  graceEndsAt,
  overageEnabled,
  window,
}: Standing) => ({
  plan: {id: plan.id, key: plan.key, version: plan.version, name: plan.name},
  status,
  limits: plan.limits,
  features: plan.features,
  period: {start: window.startsAt, end: window.endsAt},
  trial: trialStartedAt && {startedAt: trialStartedAt, endsAt: trialEndsAt},
  pastDue: pastDueSince && {since: pastDueSince, graceEndsAt},
  overageEnabled,
})

/** `limit` of a period in which the plan was raised is between those of the two plans. */
export const usageOf = async (tx: Tx, {org, plan, window}: Standing) => {
  const {startsAt, endsAt} = window
  const fresh = {rowsLimit: plan.limits.rowsPerPeriod, used: 0, reserved: 0, overage: 0}
  const period = (await findPeriod(tx, {org, startsAt})) ?? fresh
  const {rowsLimit: limit, used, reserved, overage} = period
  const {modules, schedules} = await countUsed(tx, org)
  return {
    ...{periodStart: startsAt, periodEnd: endsAt},
    rows: {limit, used, reserved, remaining: roomIn(period), overage},
    modules: {limit: plan.limits.modules, used: modules},
    schedules: {limit: plan.limits.schedules, used: schedules},
  }
}

const describeCredits = (
  {included, purchased, reserved, available}: Balance,
  byFeature: readonly {feature: string; credits: number}[],
) => ({
  ...{included, purchased, reserved, available},
  spent: byFeature.reduce((sum, {credits}) => sum + credits, 0),
  byFeature,
})
