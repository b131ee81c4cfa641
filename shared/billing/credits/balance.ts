import {
  type CreditAccount,
  endReservation,
  expireGrants,
  findAccount,
  holdAccount,
  insertGrant,
  listAbandoned,
  postEntry,
  spendHeld,
} from '../../../sql/ai-credits.ts'
import type {Tx} from '../../../sql/database.ts'
import {type PlanStatus, readPlanStatus} from '../entitlements/plan-status.ts'

export type Balance = CreditAccount & {periodStart: string; periodEnd: string}

/**
 * Locks the org's credit account and brings it up to date: releases expired reservations, ends expired grants, and adds the period's included
 * credits. Safe to repeat.
 */
export const holdCurrent = async (tx: Tx, org: string): Promise<{planStatus: PlanStatus; balance: Balance}> => {
  await holdAccount(tx, org)
  // The status is read after the lock is taken, so that its period is never older than one that an earlier lock holder read.
  const planStatus = await readPlanStatus(tx, org)
  for (const {ref, feature, amount} of await listAbandoned(tx, org)) {
    await spendHeld(tx, {org, ref, spent: 0})
    await endReservation(tx, {org, ref, state: 'expired', spent: 0})
    await postEntry(tx, {org, kind: 'release', ref, feature, reserved: -amount})
  }
  await expire(tx, org)
  await refill(tx, planStatus)
  return {planStatus, balance: await readBalance(tx, planStatus)}
}

/** Ends expired grants. The caller must have locked the credit account. */
export const expire = async (tx: Tx, org: string): Promise<void> => {
  const gone = await expireGrants(tx, org)
  if (gone.included + gone.purchased > 0)
    await postEntry(tx, {org, kind: 'expire', ref: null, included: -gone.included, purchased: -gone.purchased})
}

/** Adds the included credits, once per period: the grant's `ref` contains the start of the period. */
const refill = async (tx: Tx, {org, plan, window: {startsAt, endsAt}}: PlanStatus) => {
  const {aiCredits: credits} = plan.limits
  if (credits === 0) return
  const ref = `period:${startsAt}`
  if (await insertGrant(tx, {org, ref, pool: 'included', credits, basis: credits, expiresAt: endsAt}))
    await postEntry(tx, {org, kind: 'grant', ref, included: credits})
}

export const readBalance = async (tx: Tx, {org, window}: Pick<PlanStatus, 'org' | 'window'>): Promise<Balance> => ({
  ...(await findAccount(tx, org)),
  periodStart: window.startsAt,
  periodEnd: window.endsAt,
})
