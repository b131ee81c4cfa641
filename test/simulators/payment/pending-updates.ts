import {collect} from './collect.ts'
import {emit} from './events.ts'
import {voidInvoice} from './invoices.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {changeSubscription} from './subscriptions.ts'

const lifetime = 23 * 3600

/** Stores the update with the subscription; it applies once its invoice is paid. */
export const waitForPayment = (
  world: SimulatorState,
  before: Thing,
  after: Thing,
  booksBefore: Thing[],
  ask: () => Thing,
): {latest: Thing; invoice: Thing} => {
  const books = after.items.data.map((item: Thing) => world.store.get('~books', item.id))
  for (const one of [...booksBefore, before]) world.store.put(one)
  const {invoice} = collect(world, ask())
  const isOtherAnchor = after.billing_cycle_anchor !== before.billing_cycle_anchor
  const pending = {
    billing_cycle_anchor: isOtherAnchor ? after.billing_cycle_anchor : null,
    cancel_at_period_end: after.cancel_at_period_end === before.cancel_at_period_end ? null : after.cancel_at_period_end,
    discount: null,
    discounts: null,
    expires_at: world.clock.now() + lifetime,
    metadata: null,
    subscription_items: after.items.data,
    trial_end: null,
    trial_from_plan: null,
  }
  world.store.put({id: before.id, object: '~update', after, invoice: invoice.id, books})
  return {latest: {...before, pending_update: pending, latest_invoice: invoice.id}, invoice}
}

export const isWaiting = (world: SimulatorState, subscription: string, invoice: string): boolean =>
  world.store.get('~update', subscription)?.invoice === invoice

/** Drops the subscription update that waits for this invoice to be paid. Called when the invoice is voided. */
export const dropUpdateOf = (world: SimulatorState, invoice: Thing) => {
  const subscription = world.store.all('subscription').find(({id}) => isWaiting(world, id, invoice.id))
  if (!subscription) return
  world.store.drop('~update', subscription.id)
  changeSubscription(world, subscription, {pending_update: null})
}

export const landPendingUpdate = (world: SimulatorState, subscription: Thing) => {
  const {after, books} = world.store.get('~update', subscription.id)!
  world.store.drop('~update', subscription.id)
  for (const one of books) if (one) world.store.put(one)
  const {items, billing_cycle_anchor, metadata, cancel_at, cancel_at_period_end} = after
  const patch = {items, billing_cycle_anchor, metadata, cancel_at, cancel_at_period_end, pending_update: null}
  emit(world, 'customer.subscription.pending_update_applied', changeSubscription(world, subscription, patch))
}

export const expirePendingUpdate = (world: SimulatorState, subscription: Thing) => {
  const {invoice} = world.store.get('~update', subscription.id)!
  world.store.drop('~update', subscription.id)
  voidInvoice(world, world.store.get('invoice', invoice)!)
  const without = changeSubscription(world, subscription, {pending_update: null})
  emit(world, 'customer.subscription.pending_update_expired', without)
}
