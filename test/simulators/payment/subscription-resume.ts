import type {Call} from './calls.ts'
import {collect} from './collect.ts'
import {createInvoice, finalizeInvoice} from './invoices.ts'
import {chargePeriod, reanchored} from './items.ts'
import {refuseUnpaid} from './payment-behaviour.ts'
import {need} from './products.ts'
import {invalid} from './refusals.ts'
import type {Thing} from './store.ts'
import {changeSubscription, withItems} from './subscriptions.ts'

/** Starts a new period now, which is charged. */
export const resumeSubscription = ({world, params, ids}: Call): Thing => {
  const subscription = need(world, 'subscription', ids[0]!)
  if (subscription.status !== 'paused') throw invalid('You can only resume a subscription that is paused.')
  if (params.billing_cycle_anchor?.type === 'unchanged') throw new TypeError('The stand-in resumes with a new period only')
  const now = world.clock.now()
  const items: Thing[] = subscription.items.data.map((item: Thing) => reanchored(world, item, now))
  const {status_details: _, ...rest} = subscription
  const moved = world.store.put({
    ...rest,
    id: subscription.id,
    object: 'subscription',
    items: withItems(subscription, items),
    billing_cycle_anchor: now,
  })
  const lines = items.flatMap(item => chargePeriod(world, item))
  const {customer, currency} = subscription
  const invoice = finalizeInvoice(
    world,
    createInvoice(world, {customer, currency, lines, reason: 'subscription_update', subscription: moved}),
  )
  const {failure} = collect(world, invoice)
  if (failure) throw refuseUnpaid(failure)
  return changeSubscription(world, moved, {status: 'active', latest_invoice: invoice.id}, 'customer.subscription.resumed')
}
