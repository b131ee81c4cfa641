import {collect} from './collect.ts'
import {change} from './events.ts'
import {finalizeInvoice, subscriptionOf} from './invoices.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {cancelNow} from './subscription-end.ts'
import {changeSubscription} from './subscriptions.ts'

const day = 24 * 3600

/** A draft is finalised automatically after its hour. */
export const planInvoice = (world: SimulatorState, invoice: Thing) => {
  if (invoice.automatically_finalizes_at === null) return
  world.clock.plan(`invoice:${invoice.id}`, invoice.automatically_finalizes_at)
}

/** Finalises and collects a draft, or retries an uncollected invoice. */
export const advanceInvoice = (world: SimulatorState, id: string) => {
  const invoice = world.store.get('invoice', id)!
  tryInvoice(world, invoice.status === 'draft' ? finalizeInvoice(world, invoice).id : id)
}

/** Tries once to collect. A failure plans the next try; after the last one the configured action applies to the subscription. */
export const tryInvoice = (world: SimulatorState, id: string) => {
  const open = world.store.get('invoice', id)!
  if (!['open', 'paid'].includes(open.status)) return
  const {invoice, failure} = collect(world, open)
  if (failure) planRetry(world, invoice)
}

/** Plans the next try, or applies the configured action if none is left. */
export const planRetry = (world: SimulatorState, invoice: Thing) => {
  const days = world.settings.retryAfterDays[invoice.attempt_count - 1]
  const subscription = world.store.get('subscription', subscriptionOf(invoice) ?? '')
  if (days === undefined) {
    change(world, invoice, {next_payment_attempt: null, auto_advance: false}, 'invoice.updated')
    if (subscription && subscription.ended_at === null) giveUp(world, subscription)
    return
  }
  const at = world.clock.now() + days * day
  change(world, invoice, {next_payment_attempt: at}, 'invoice.updated')
  world.clock.plan(`invoice:${invoice.id}`, at)
  if (subscription?.status === 'active') changeSubscription(world, subscription, {status: 'past_due'})
}

const giveUp = (world: SimulatorState, subscription: Thing) => {
  switch (world.settings.afterRetries) {
    case 'unpaid':
      return void changeSubscription(world, subscription, {status: 'unpaid'})
    case 'cancel':
      return void cancelNow(world, subscription, 'payment_failed')
    case 'pause':
      return void changeSubscription(
        world,
        subscription,
        pausedBy('final_payment_failure', world.clock.now()),
        'customer.subscription.paused',
      )
    case 'past_due':
      return void changeSubscription(world, subscription, {status: 'past_due'})
  }
}

/** The reason why a subscription is paused. */
export const pausedBy = (reason: string, now: number) => ({
  status: 'paused',
  status_details: {paused: {type: 'subscription', subscription: {type: reason}, transitioned_at: now}},
})
