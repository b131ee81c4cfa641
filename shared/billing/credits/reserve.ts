import {
  type CreditReservation,
  endReservation,
  findReservation,
  holdCredits,
  insertReservation,
  postEntry,
  readIncluded,
  setReserved,
  spendHeld,
} from '../../../sql/ai-credits.ts'
import type {Tx} from '../../../sql/database.ts'
import {announceUse} from '../../notifications/use.ts'
import type {Queue} from '../../queue.ts'
import {obstacleOf, type PlanStatus} from '../entitlements/plan-status.ts'
import {findPack, findRoom, limitRefusal, statusRefusal} from '../entitlements/refusal.ts'
import {considerTopup} from '../topup-trigger.ts'
import {type Balance, expire, holdCurrent, readBalance} from './balance.ts'

/** Default lifetime of a reservation, in seconds. Afterwards, credits that a crashed process reserved are released. */
export const reservedSeconds = 900

type ReserveCreditsInput = {org: string; feature: string; amount: number; ref: string; seconds?: number}
type ReservedCredits = {reservation: CreditReservation; balance: Balance}

/**
 * Reserves `amount` credits for an action. The caller commits this transaction before the action begins. `ref` names the reservation; a repeated call
 * returns the present state of the reservation. Throws CREDITS_EXHAUSTED, and refuses an org that is suspended, or past due for longer than the grace
 * period. If the balance falls below the org's threshold, enqueues a top-up.
 */
export const reserveCredits = async (
  tx: Tx,
  queue: Queue,
  {org, feature, amount, ref, seconds = reservedSeconds}: ReserveCreditsInput,
): Promise<ReservedCredits> => {
  assertWhole(amount, 1)
  const {planStatus, balance} = await holdCurrent(tx, org)
  const known = await findReservation(tx, {org, ref})
  if (known) return {reservation: known, balance}
  const obstacle = obstacleOf(planStatus)
  if (obstacle !== null) throw statusRefusal(obstacle, balance, planStatus)
  if (balance.available < amount) throw await exhausted(tx, planStatus, balance, amount)
  await insertReservation(tx, {org, ref, feature, amount, seconds})
  await postEntry(tx, {org, kind: 'reserve', ref, feature, reserved: amount})
  const after = await readBalance(tx, planStatus)
  await considerTopup(tx, queue, {planStatus, balance: after})
  return {reservation: (await findReservation(tx, {org, ref}))!, balance: after}
}

/**
 * Raises the reservation to `amount`. Returns true without a change if at least `amount` was reserved. Returns false without a change if the
 * balance is too low or the reservation has ended.
 */
export const raiseReservation = async (tx: Tx, queue: Queue, {org, ref, amount}: SettleCreditsInput): Promise<boolean> => {
  assertWhole(amount, 0)
  const {planStatus, balance} = await holdCurrent(tx, org)
  const {state, amount: held, feature} = await openReservation(tx, {org, ref})
  const more = amount - held
  if (more <= 0) return true
  if (state !== 'reserved' || balance.available < more) return false
  await holdCredits(tx, {org, ref, amount: more})
  await setReserved(tx, {org, ref, amount})
  await postEntry(tx, {org, kind: 'reserve', ref, feature, reserved: more})
  await considerTopup(tx, queue, {planStatus, balance: await readBalance(tx, planStatus)})
  return true
}

const exhausted = async (tx: Tx, planStatus: PlanStatus, balance: Balance, amount: number) => {
  const {available, periodEnd} = balance
  const {limits} = planStatus.plan
  const lift = [
    ...(await findPack(tx, amount - available)),
    ...(await findRoom(tx, planStatus, 'aiCredits', limits.aiCredits + amount - available, limits.aiCredits)),
    ...(limits.aiCredits >= amount ? [{by: 'period', at: periodEnd} as const] : []),
  ]
  const message = `This needs ${amount} AI credits, and ${available} are left until ${periodEnd}. Buy more credits, or change the plan`
  return limitRefusal(balance, {code: 'CREDITS_EXHAUSTED', message, lift, extra: {needed: amount}})
}

type SettleCreditsInput = {org: string; ref: string; amount: number}

/**
 * Settles a reservation: spends `amount`, at most the reserved credits, and releases the rest. A repeated call changes nothing. If the reservation
 * expired, spends credits of the current balance, as far as they are available.
 */
export const settleCredits = async (
  tx: Tx,
  queue: Queue,
  {org, ref, amount}: SettleCreditsInput,
): Promise<{spent: number; balance: Balance}> => {
  assertWhole(amount, 0)
  const {planStatus, balance} = await holdCurrent(tx, org)
  const reservation = await openReservation(tx, {org, ref})
  if (reservation.state !== 'reserved' && reservation.state !== 'expired') return {spent: reservation.spent, balance}
  const held = reservation.state === 'reserved' ? reservation.amount : await reserveMore(tx, {org, reservation, amount, balance})
  const spent = Math.min(amount, held)
  const before = await readIncluded(tx, {org, endsAt: planStatus.window.endsAt})
  const pools = await spendHeld(tx, {org, ref, spent})
  await endReservation(tx, {org, ref, state: 'settled', spent})
  const {feature} = reservation
  await postEntry(tx, {org, kind: 'settle', ref, feature, included: -pools.included, purchased: -pools.purchased, reserved: -held})
  await logIncluded(tx, planStatus, before)
  await expire(tx, org)
  const after = await readBalance(tx, planStatus)
  await considerTopup(tx, queue, {planStatus, balance: after})
  return {spent, balance: after}
}

const logIncluded = async (tx: Tx, {org, window}: PlanStatus, before: {given: number; spent: number}) => {
  const {given, spent} = await readIncluded(tx, {org, endsAt: window.endsAt})
  await announceUse(tx, {org, kind: 'usage.credits', window, limit: given, before: before.spent, used: spent})
}

const reserveMore = async (
  tx: Tx,
  {org, reservation, amount, balance}: Pick<SettleCreditsInput, 'org' | 'amount'> & ReservedCredits,
): Promise<number> => {
  const {ref, feature} = reservation
  // Reservations are whole credits, so a fraction in the balance is not reserved.
  const held = Math.floor(Math.min(amount, reservation.amount, balance.available))
  if (held === 0) return 0
  await holdCredits(tx, {org, ref, amount: held})
  await postEntry(tx, {org, kind: 'reserve', ref, feature, reserved: held})
  return held
}

/** Releases a reservation without cost, and returns the balance. Does nothing if the reservation was settled or released or has expired. */
export const releaseCredits = async (tx: Tx, {org, ref}: Omit<SettleCreditsInput, 'amount'>): Promise<Balance> => {
  const {planStatus, balance} = await holdCurrent(tx, org)
  const {state, amount, feature} = await openReservation(tx, {org, ref})
  if (state !== 'reserved') return balance
  await spendHeld(tx, {org, ref, spent: 0})
  await endReservation(tx, {org, ref, state: 'released', spent: 0})
  await postEntry(tx, {org, kind: 'release', ref, feature, reserved: -amount})
  await expire(tx, org)
  return readBalance(tx, planStatus)
}

const openReservation = async (tx: Tx, named: Omit<SettleCreditsInput, 'amount'>): Promise<CreditReservation> => {
  const found = await findReservation(tx, named)
  if (!found) throw new Error(`No credits were reserved as ${named.ref}`)
  return found
}

const assertWhole = (amount: number, least: number) => {
  if (!Number.isSafeInteger(amount) || amount < least) throw new RangeError(`Credits are whole numbers from ${least}, not ${amount}`)
}
