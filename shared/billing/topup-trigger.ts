import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {listPacks} from '../../sql/plans.ts'
import {insertAttempt, listOrgsToTopUp, readMonth} from '../../sql/topups.ts'
import {newId} from '../ids.ts'
import {chargeTopup} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {type Balance, holdCurrent} from './credits/balance.ts'
import {obstacleOf, type PlanStatus} from './entitlements/plan-status.ts'

/**
 * Enqueues a top-up if the org's credits are below its threshold, in the caller's transaction. The caller has locked the credit account, so calls are
 * serialised and only one top-up is open. Every attempt that is not known to have failed uses up the monthly cap. Before the charge, the worker
 * checks again whether the top-up is wanted.
 */
export const considerTopup = async (
  tx: Tx,
  queue: Queue,
  {planStatus, balance}: {planStatus: PlanStatus; balance: Balance},
): Promise<void> => {
  const {org} = planStatus
  const account = await findBillingAccount(tx, org)
  if (!account?.topupEnabled || balance.available >= account.topupThreshold! || obstacleOf(planStatus) !== null) return
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

/**
 * Returns how many whole packs to buy with one charge: enough to close `gap`, at most what the cap has `room` for. All values are in
 * credits.
 */
export const packsFor = ({gap, room, each}: {gap: number; room: number; each: number}): number =>
  Math.max(0, Math.min(Math.ceil(gap / each), Math.floor(room / each)))

const perLook = 100

/**
 * Periodic task: enqueues top-ups for orgs whose AI credits are below the threshold. Spending enqueues top-ups too, but credits also fall without
 * spending, for example when a month begins. Returns the number of orgs checked.
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
