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

/** Per-org billing lock, held across calls to the provider, where no transaction may stay open. */
export type Held = {org: string; holder: string; heartbeat: Heartbeat}

type Tools = {db: Pool; queue: Queue}

/** Null while another holder has the lock. A heartbeat renews the hold until `releaseBilling`; the hold of a process that died ends by itself. */
export const holdBilling = async (db: Pool, org: string, what: 'change' | 'events' = 'change'): Promise<Held | null> => {
  await keepAccount(db, org)
  const hold = {org, holder: `${what}:${randomUUID()}`}
  if (!(await takeHold(db, {...hold, seconds: leaseSeconds}))) return null
  return {...hold, heartbeat: startHeartbeat(db, hold)}
}

const tries = 8
const pauseMs = 250

/**
 * For a request: waits up to two seconds while a worker applies events, such as those of a purchase made a moment ago. A plan change that somebody
 * else is making is not waited for: CHANGE_IN_PROGRESS.
 */
export const holdPatiently = async (db: Pool, org: string): Promise<Held> => {
  for (let left = tries; ; left--) {
    const held = await holdBilling(db, org)
    if (held) return held
    if (left === 1 || (await findUnsettledChange(db, org))) throw changeInProgress()
    await setTimeout(pauseMs)
  }
}

/** Whether it is held by whoever applies events, and comes to those that come meanwhile before letting go. */
export const isForEvents = (holder: string | null): boolean => holder?.startsWith('events:') ?? false

/** For a transaction that writes what was learnt meanwhile: the hold is ours to its end, or LeaseGone is thrown. */
export const assertHeld = async (tx: Tx, held: Held): Promise<void> => {
  if (!(await lockHold(tx, held))) throw leaseGone(held.org)
}

export class LeaseGone extends Error {
  override name = 'LeaseGone'
}

const leaseGone = (org: string) => new LeaseGone(`The hold on the billing of ${org} expired`)

/** Before each step of work of several steps: gives the step two minutes. LeaseGone if the hold expired. */
export const keepHeld = async (db: Pool, {org, holder, heartbeat}: Held): Promise<void> => {
  if (!(await renewHold(db, {org, holder, seconds: leaseSeconds}))) throw leaseGone(org)
  heartbeat.extend()
}

/** Gives it back; events that came meanwhile are sent to be applied in the same transaction. */
export const releaseBilling = ({db, queue}: Tools, held: Held): Promise<void> => {
  held.heartbeat.stop()
  return db.transaction(async tx => {
    if (!(await dropHold(tx, held))) return
    for (const event of await listDeferredEvents(tx, held.org)) await enqueue(queue, applyPaymentEvent, {event}, {tx, track: false})
  })
}

/** Holds the org's billing for a piece of work. CHANGE_IN_PROGRESS while somebody else keeps it. */
export const whileHeld = async <T>(tools: Tools, org: string, work: (held: Held) => Promise<T>): Promise<T> => {
  const held = await holdPatiently(tools.db, org)
  try {
    return await work(held)
  } finally {
    await releaseBilling(tools, held)
  }
}

export const changeInProgress = () =>
  new Refusal('CHANGE_IN_PROGRESS', 'Something about the plan of this org is being changed at this moment: try again in a minute', {
    retryAfterMs: 5000,
  })
