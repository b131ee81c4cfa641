import {readSubscription} from '../../shared/billing/subscription.ts'
import {syncSubscription} from '../../shared/billing/sync-subscription.ts'
import {announce} from '../../shared/notifications/announce.ts'
import {dropCustomer} from '../../sql/billing-accounts.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {stopTopup} from '../../sql/topups.ts'
import type {ApplyEventInput, EventEffect} from './apply.ts'

/**
 * Removes the customer from the org, because a person deleted the customer at the provider. Stops top-ups and writes the subscription as the
 * provider has it. Ignores the event if the customer still exists.
 */
export const applyCustomerGone = async ({tools, held, reading, event}: ApplyEventInput): Promise<EventEffect> => {
  const {org} = held
  const customer = event.hint.customer!
  const found = await tools.payment.ask('customer', stripe => stripe.customers.retrieve(customer))
  if (!found.deleted) return {ignoredFor: 'STILL_THERE'}
  tools.log.error({event: event.id, org, customer}, 'the customer of an org was deleted at the payment provider')
  reading.forget()
  const known = await findSubscription(tools.db, org)
  const read = known && (await readSubscription(tools, known.id))
  return {
    async write(tx) {
      await dropCustomer(tx, org)
      const reason = 'customer_gone'
      if (await stopTopup(tx, {org, reason})) await announce(tx, {org, kind: 'billing.topup_stopped', schedule: null, about: {reason}})
      await syncSubscription(tx, held, read, {org, via: 'payment'})
    },
  }
}
