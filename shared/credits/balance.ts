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
} from '../../sql/credits.ts'
import type {Tx} from '../../sql/database.ts'
import {readStanding, type Standing} from '../entitlements/standing.ts'

/** As the specification has it: `available` is what neither is reserved nor spent. */
export type Balance = CreditAccount & {available: number; periodStart: string; periodEnd: string}

/**
 * Holds the org's account and brings it up to this moment: reservations nobody settled in time are given back, grants whose time is over end, and
 * the period's included credits are there. All of it follows from the time alone, so it does not matter when anybody last looked.
 */
export const holdCurrent = async (tx: Tx, org: string): Promise<{standing: Standing; balance: Balance}> => {
  await holdAccount(tx, org)
  // Read after the account is held: its period is the one those before have seen, or a later one.
  const standing = await readStanding(tx, org)
  for (const {ref, feature, amount} of await listAbandoned(tx, org)) {
    await spendHeld(tx, {org, ref, spent: 0})
    await endReservation(tx, {org, ref, state: 'expired', spent: 0})
    await postEntry(tx, {org, kind: 'release', ref, feature, reserved: -amount})
  }
  await expire(tx, org)
  await refill(tx, standing)
  return {standing, balance: await readBalance(tx, standing)}
}

/** The account is held. */
export const expire = async (tx: Tx, org: string): Promise<void> => {
  const gone = await expireGrants(tx, org)
  if (gone.included + gone.purchased > 0)
    await postEntry(tx, {org, kind: 'expire', ref: null, included: -gone.included, purchased: -gone.purchased})
}

/** Once a period, by the name it has. */
const refill = async (tx: Tx, {org, plan, window: {startsAt, endsAt}}: Standing) => {
  const {aiCredits: credits} = plan.limits
  if (credits === 0) return
  const ref = `period:${startsAt}`
  if (await insertGrant(tx, {org, ref, pool: 'included', credits, basis: credits, expiresAt: endsAt}))
    await postEntry(tx, {org, kind: 'grant', ref, included: credits})
}

export const readBalance = async (tx: Tx, {org, window}: Pick<Standing, 'org' | 'window'>): Promise<Balance> => {
  const {included, purchased, reserved} = await findAccount(tx, org)
  const available = included + purchased - reserved
  return {included, purchased, reserved, available, periodStart: window.startsAt, periodEnd: window.endsAt}
}
