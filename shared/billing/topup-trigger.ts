import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {listPacks} from '../../sql/plans.ts'
import {insertAttempt, listOrgsToTopUp, readMonth} from '../../sql/topups.ts'
import {type Balance, holdCurrent} from '../credits/balance.ts'
import {obstacleOf, type Standing} from '../entitlements/standing.ts'
import {newId} from '../ids.ts'
import {chargeTopup} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'

/**
 * Has credits bought where the org has fewer than it wants to have, in the transaction that took the last of them. The credit account is held, so
 * whoever consumes takes turns here, and one top-up is under way at a time. What may be spent in the month counts every attempt that was not
 * seen to fail. Whether it is still wanted is looked at again before the card is charged.
 */
export const considerTopup = async (tx: Tx, queue: Queue, {standing, balance}: {standing: Standing; balance: Balance}): Promise<void> => {
  const {org} = standing
  const account = await findBillingAccount(tx, org)
  if (!account?.topupEnabled || balance.available >= account.topupThreshold! || obstacleOf(standing) !== null) return
  const pack = (await listPacks(tx)).find(({key}) => key === account.topupPack)!
  const {month, counted, open} = await readMonth(tx, {org})
  if (open !== null) return
  const gap = account.topupThreshold! - balance.available
  const quantity = packsFor({gap, room: account.topupMonthlyCap! - counted, each: pack.credits})
  if (quantity === 0) return
  const id = newId('top')
  await insertAttempt(tx, {id, org, month, packKey: pack.key, quantity, credits: quantity * pack.credits})
  await enqueue(queue, chargeTopup, {org, attempt: id}, {tx, track: false})
}

/** Whole packs, enough to close the gap with one charge, or as many as there is room for. All in credits. */
export const packsFor = ({gap, room, each}: {gap: number; room: number; each: number}): number =>
  Math.max(0, Math.min(Math.ceil(gap / each), Math.floor(room / each)))

const perLook = 100

/**
 * A step of the worker's rounds: who has too few without having consumed just now, as when a month begins, or when nothing is left to consume.
 * Answers how many orgs were looked at.
 */
export const startTopups = async ({db, queue}: {db: Pool; queue: Queue}, {most}: {most: number}): Promise<number> => {
  let done = 0
  for (let after = ''; done < most; ) {
    const orgs = await listOrgsToTopUp(db, {after, limit: Math.min(perLook, most - done)})
    for (const org of orgs) await db.transaction(async tx => considerTopup(tx, queue, await holdCurrent(tx, org)))
    done += orgs.length
    if (orgs.length < perLook) return done
    after = orgs.at(-1)!
  }
  return done
}
