import {type BillingLease, keepLease} from '../../shared/billing/lease.ts'
import {findChangeAuthor, settleChanges} from '../../shared/billing/plan-change-settle.ts'
import {correctEarlyEnd} from '../../shared/billing/plan-end.ts'
import {findLiveSubscription, isOver, isUnpaid, type ReadSubscription, readSubscription} from '../../shared/billing/subscription.ts'
import {syncSubscription} from '../../shared/billing/sync-subscription.ts'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Tx} from '../../sql/database.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import type {WorkerDeps} from '../deps.ts'

/** The org's subscription at the provider, read once for all events that arrived before the read. */
export type SubscriptionReading = {
  current(): Promise<ReadSubscription | null>
  /** Writes the subscription that was read, unless it is already written and committed. */
  write(tx: Tx): Promise<void>
  /** Notes that the write was committed. Call it after the commit. */
  isWritten(): void
  /** Drops the subscription that was read, because it may have changed at the provider or more events have arrived. */
  forget(): void
}

export const openSubscriptionReading = (tools: WorkerDeps, billingLease: BillingLease): SubscriptionReading => {
  let read: Promise<ReadSubscription | null> | null = null
  let written: Promise<ReadSubscription | null> | null = null
  const forget = () => {
    read = null
  }
  const current = async () => {
    read ??= settleAndRead(tools, billingLease)
    return read.catch(error => {
      forget()
      throw error
    })
  }
  return {
    current,
    forget,
    async write(tx) {
      const found = await current()
      if (read !== written) await writeRead(tx, billingLease, found)
    },
    isWritten() {
      written = read
    },
  }
}

/**
 * Settles open plan changes, because they change the subscription, then reads it. Corrects a cancellation that the provider dated too early.
 */
const settleAndRead = async (tools: WorkerDeps, billingLease: BillingLease) => {
  await settleChanges(tools, billingLease)
  const read = await readCurrent(tools, billingLease.org)
  if (!read?.endsEarly) return read
  await keepLease(tools.db, billingLease)
  return correctEarlyEnd(tools, read)
}

/** Writes the subscription. The author of the change is the person in the org who requested it, or else the payment provider. */
const writeRead = async (tx: Tx, billingLease: BillingLease, read: ReadSubscription | null): Promise<void> => {
  const {org} = billingLease
  const asker = read && (await findChangeAuthor(tx, {org, read}))
  await syncSubscription(tx, billingLease, read, asker ?? {org, via: 'payment'})
}

/**
 * Reads the org's known subscription. If that has ended or was never paid for, reads a live one of the customer instead. Without a live one,
 * returns the known one; null if the provider has none.
 */
const readCurrent = async (tools: Pick<WorkerDeps, 'db' | 'payment'>, org: string): Promise<ReadSubscription | null> => {
  const known = await findSubscription(tools.db, org)
  const own = known && (await readSubscription(tools, known.id))
  if (own && !isOver(own) && !isUnpaid(own)) return own
  const customer = (await findBillingAccount(tools.db, org))?.customer
  const live = customer ? await findLiveSubscription(tools, {customer}) : null
  // The list omits some fields of a subscription, so the subscription is read again.
  return live ? readSubscription(tools, live.id) : own
}
