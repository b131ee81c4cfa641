import type {Held} from '../../shared/billing/lease.ts'
import {findLiveSubscription, isOver, type ReadSubscription, readSubscription} from '../../shared/billing/subscription.ts'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import type {Tools} from '../tools.ts'

/** The org's subscription as the provider has it, asked once for all events that came before it was asked. */
export type Reading = {
  current(): Promise<ReadSubscription | null>
  /** What was read is no longer the newest: something was asked of the provider, or more events have come. */
  forget(): void
}

export const openReading = (tools: Pick<Tools, 'db' | 'payment'>, {org}: Held): Reading => {
  let read: Promise<ReadSubscription | null> | null = null
  const forget = () => {
    read = null
  }
  return {
    async current() {
      read ??= readCurrent(tools, org)
      return read.catch(error => {
        forget()
        throw error
      })
    },
    forget,
  }
}

/** The one we know, unless it is over and its customer has another; null where there is none, or none the provider still knows. */
const readCurrent = async (tools: Pick<Tools, 'db' | 'payment'>, org: string): Promise<ReadSubscription | null> => {
  const known = await findSubscription(tools.db, org)
  const own = known && (await readSubscription(tools, known.id))
  if (own && !isOver(own)) return own
  const customer = (await findBillingAccount(tools.db, org))?.customer
  const live = customer ? await findLiveSubscription(tools, {customer}) : null
  // A list does not carry all that is read of a single one.
  return live ? readSubscription(tools, live.id) : own
}
