import {
  endReservation,
  findReservation,
  holdCredits,
  insertReservation,
  postEntry,
  type Reservation,
  readIncluded,
  setReserved,
  spendHeld,
} from '../../sql/credits.ts'
import type {Tx} from '../../sql/database.ts'
import {considerTopup} from '../billing/topup-trigger.ts'
import {findPack, findRoom, limitRefusal, statusRefusal} from '../entitlements/refusal.ts'
import {obstacleOf, type Standing} from '../entitlements/standing.ts'
import {announceUse} from '../notices/use.ts'
import type {Queue} from '../queue.ts'
import {type Balance, expire, holdCurrent, readBalance} from './balance.ts'

/** Longer than any call to a model may take; credits of a process that died come back after it. */
export const reservedSeconds = 900

type Asked = {org: string; feature: string; amount: number; ref: string; seconds?: number}
type Reserved = {reservation: Reservation; balance: Balance}

/**
 * Sets `amount` credits aside for something that is about to be done, in a transaction that is committed before it is. `ref` names it: asked
 * again it is the same reservation, whatever has become of that. Refuses with CREDITS_EXHAUSTED, and while the org's status keeps it
 * from anything metered. Where fewer are left than the org wants to have, more are sent for.
 */
export const reserveCredits = async (
  tx: Tx,
  queue: Queue,
  {org, feature, amount, ref, seconds = reservedSeconds}: Asked,
): Promise<Reserved> => {
  assertWhole(amount, 1)
  const {standing, balance} = await holdCurrent(tx, org)
  const known = await findReservation(tx, {org, ref})
  if (known) return {reservation: known, balance}
  const obstacle = obstacleOf(standing)
  if (obstacle !== null) throw statusRefusal(obstacle, balance, standing)
  if (balance.available < amount) throw await exhausted(tx, standing, balance, amount)
  await insertReservation(tx, {org, ref, feature, amount, seconds})
  await postEntry(tx, {org, kind: 'reserve', ref, feature, reserved: amount})
  const after = await readBalance(tx, standing)
  await considerTopup(tx, queue, {standing, balance: after})
  return {reservation: (await findReservation(tx, {org, ref}))!, balance: after}
}

/** Raises what is set aside to `amount`. False, and nothing changed, where the balance does not allow it. */
export const raiseReservation = async (tx: Tx, queue: Queue, {org, ref, amount}: Done): Promise<boolean> => {
  assertWhole(amount, 0)
  const {standing, balance} = await holdCurrent(tx, org)
  const {state, amount: held, feature} = await openReservation(tx, {org, ref})
  const more = amount - held
  if (more <= 0) return true
  if (state !== 'reserved' || balance.available < more) return false
  await holdCredits(tx, {org, ref, amount: more})
  await setReserved(tx, {org, ref, amount})
  await postEntry(tx, {org, kind: 'reserve', ref, feature, reserved: more})
  await considerTopup(tx, queue, {standing, balance: await readBalance(tx, standing)})
  return true
}

const exhausted = async (tx: Tx, standing: Standing, balance: Balance, amount: number) => {
  const {available, periodEnd} = balance
  const {limits} = standing.plan
  const lift = [
    ...(await findPack(tx, amount - available)),
    ...(await findRoom(tx, standing, 'aiCredits', limits.aiCredits + amount - available)),
    ...(limits.aiCredits >= amount ? [{by: 'period', at: periodEnd} as const] : []),
  ]
  const message = `This takes ${amount} AI credits, and ${available} are left until ${periodEnd}: buy more, or change the plan`
  return limitRefusal(balance, {code: 'CREDITS_EXHAUSTED', message, lift, extra: {needed: amount}})
}

type Done = {org: string; ref: string; amount: number}

/**
 * What was set aside has cost `amount`, and no more than was set aside: the rest is given back. Settled once; again it changes nothing. One
 * that took longer than its time is paid of what is there by now. Answers what was spent.
 */
export const settleCredits = async (tx: Tx, queue: Queue, {org, ref, amount}: Done): Promise<{spent: number; balance: Balance}> => {
  assertWhole(amount, 0)
  const {standing, balance} = await holdCurrent(tx, org)
  const reservation = await openReservation(tx, {org, ref})
  if (reservation.state !== 'reserved' && reservation.state !== 'expired') return {spent: reservation.spent, balance}
  const held = reservation.state === 'reserved' ? reservation.amount : await holdAgain(tx, {org, reservation, amount, balance})
  const spent = Math.min(amount, held)
  const before = await readIncluded(tx, {org, endsAt: standing.window.endsAt})
  const pools = await spendHeld(tx, {org, ref, spent})
  await endReservation(tx, {org, ref, state: 'settled', spent})
  const {feature} = reservation
  await postEntry(tx, {org, kind: 'settle', ref, feature, included: -pools.included, purchased: -pools.purchased, reserved: -held})
  await tellIncluded(tx, standing, before)
  await expire(tx, org)
  const after = await readBalance(tx, standing)
  await considerTopup(tx, queue, {standing, balance: after})
  return {spent, balance: after}
}

/** Says so where half, four fifths or all of what the period includes is spent by now. */
const tellIncluded = async (tx: Tx, {org, window}: Standing, before: {given: number; spent: number}) => {
  const {given, spent} = await readIncluded(tx, {org, endsAt: window.endsAt})
  await announceUse(tx, {org, kind: 'usage.credits', window, limit: given, before: before.spent, used: spent})
}

const holdAgain = async (tx: Tx, {org, reservation, amount, balance}: Pick<Done, 'org' | 'amount'> & Reserved): Promise<number> => {
  const {ref, feature} = reservation
  const held = Math.min(amount, reservation.amount, balance.available)
  if (held === 0) return 0
  await holdCredits(tx, {org, ref, amount: held})
  await postEntry(tx, {org, kind: 'reserve', ref, feature, reserved: held})
  return held
}

/** Nothing came of it, and it costs nothing. Once it has been settled this changes nothing. */
export const releaseCredits = async (tx: Tx, {org, ref}: Omit<Done, 'amount'>): Promise<Balance> => {
  const {standing, balance} = await holdCurrent(tx, org)
  const {state, amount, feature} = await openReservation(tx, {org, ref})
  if (state !== 'reserved') return balance
  await spendHeld(tx, {org, ref, spent: 0})
  await endReservation(tx, {org, ref, state: 'released', spent: 0})
  await postEntry(tx, {org, kind: 'release', ref, feature, reserved: -amount})
  await expire(tx, org)
  return readBalance(tx, standing)
}

const openReservation = async (tx: Tx, named: Omit<Done, 'amount'>): Promise<Reservation> => {
  const found = await findReservation(tx, named)
  if (!found) throw new Error(`No credits were reserved as ${named.ref}`)
  return found
}

const assertWhole = (amount: number, least: number) => {
  if (!Number.isSafeInteger(amount) || amount < least) throw new RangeError(`Credits are whole numbers from ${least}, not ${amount}`)
}
