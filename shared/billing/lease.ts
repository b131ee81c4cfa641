import {randomUUID} from 'node:crypto'
import {setTimeout} from 'node:timers/promises'
import {dropHold, keepAccount, lockHold, renewHold, takeHold} from '../../sql/billing-accounts.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {listDeferredEvents} from '../../sql/payment-events.ts'
import {findUnsettledChange} from '../../sql/plan-changes.ts'
import {Refusal} from '../errors.ts'
import {applyPaymentEvent} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'
import {type Heartbeat, leaseSeconds, startHeartbeat} from './lease-heartbeat.ts'

/** The billing lock of one org. The lock is a lease, because no transaction may stay open during calls to the provider. */
export type BillingLease = {org: string; holder: string; heartbeat: Heartbeat}

type BillingLeaseDeps = {db: Pool; queue: Queue}

/**
 * Takes the org's billing lock, or returns null if the lock is taken. A heartbeat renews the lease until `releaseBilling`. If the process
 * crashes, the lease expires.
 */
export const holdBilling = async (db: Pool, org: string, what: 'change' | 'events' = 'change'): Promise<BillingLease | null> => {
  await keepAccount(db, org)
  const hold = {org, holder: `${what}:${randomUUID()}`}
  if (!(await takeHold(db, {...hold, seconds: leaseSeconds}))) return null
  return {...hold, heartbeat: startHeartbeat(db, hold)}
}

const tries = 8
const pauseMs = 250

/**
 * Takes the org's billing lock for a request. Waits up to two seconds while a worker applies events, such as those of a recent purchase. Throws
 * CHANGE_IN_PROGRESS after that time, or at once if a plan change of the org is not settled.
 */
export const holdWithRetry = async (db: Pool, org: string): Promise<BillingLease> => {
  for (let left = tries; ; left--) {
    const billingLease = await holdBilling(db, org)
    if (billingLease) return billingLease
    if (left === 1 || (await findUnsettledChange(db, org))) throw changeInProgress()
    await setTimeout(pauseMs)
  }
}

/** Returns whether the lock is held to apply events. Such a holder also applies events that arrive before the release. */
export const isForEvents = (holder: string | null): boolean => holder?.startsWith('events:') ?? false

/**
 * Keeps the billing lock until the transaction ends. Call this in transactions that store results. Throws LeaseGone if the lock expired or
 * another process has the lock.
 */
export const assertHeld = async (tx: Tx, billingLease: BillingLease): Promise<void> => {
  if (!(await lockHold(tx, billingLease))) throw leaseGone(billingLease.org)
}

export class LeaseGone extends Error {
  override name = 'LeaseGone'
}

const leaseGone = (org: string) => new LeaseGone(`The billing lock of ${org} expired`)

/** Renews the lease and gives the next step of longer work two minutes. Throws LeaseGone if the lease expired. */
export const keepLease = async (db: Pool, {org, holder, heartbeat}: BillingLease): Promise<void> => {
  if (!(await renewHold(db, {org, holder, seconds: leaseSeconds}))) throw leaseGone(org)
  heartbeat.extend()
}

/** Releases the lock. In the same transaction, enqueues the events that arrived meanwhile. */
export const releaseBilling = ({db, queue}: BillingLeaseDeps, billingLease: BillingLease): Promise<void> => {
  billingLease.heartbeat.stop()
  return db.transaction(async tx => {
    if (!(await dropHold(tx, billingLease))) return
    for (const event of await listDeferredEvents(tx, billingLease.org)) await enqueue(queue, applyPaymentEvent, {event}, {tx, track: false})
  })
}

/** Runs `work` under the org's billing lock. Throws CHANGE_IN_PROGRESS if the lock stays taken. */
export const underBillingLease = async <T>(
  deps: BillingLeaseDeps,
  org: string,
  work: (billingLease: BillingLease) => Promise<T>,
): Promise<T> => {
  const billingLease = await holdWithRetry(deps.db, org)
  try {
    return await work(billingLease)
  } finally {
    await releaseBilling(deps, billingLease)
  }
}

export const changeInProgress = () =>
  new Refusal('CHANGE_IN_PROGRESS', 'Another change to the plan of this org is in progress. Try again in a minute', {
    retryAfterMs: 5000,
  })
