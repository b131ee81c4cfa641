import {collect} from './collect.ts'
import {change} from './events.ts'
import {finalizeInvoice, subscriptionOf} from './invoices.ts'
import type {Thing} from './store.ts'
import {cancelNow} from './subscription-end.ts'
import {changeSubscription} from './subscriptions.ts'
import type {World} from './world.ts'

const day = 24 * 3600

/** A draft goes out by itself after its hour. */
export const planInvoice = (world: World, invoice: Thing) => {
  if (invoice.automatically_finalizes_at === null) return
  world.clock.plan(`invoice:${invoice.id}`, invoice.automatically_finalizes_at)
}

/** A draft is sent out and asked for; one that could not be collected is asked for again. */
export const advanceInvoice = (world: World, id: string) => {
  const invoice = world.store.get('invoice', id)!
  tryInvoice(world, invoice.status === 'draft' ? finalizeInvoice(world, invoice).id : id)
}

/** One try; when it fails the next one is set, and after the last the subscription bears what the owner has chosen. */
export const tryInvoice = (world: World, id: string) => {
  const open = world.store.get('invoice', id)!
  if (!['open', 'paid'].includes(open.status)) return
  const {invoice, failure} = collect(world, open)
  if (failure) planRetry(world, invoice)
}

/** Sets the next try, or bears out the owner's choice when there is none left. */
export const planRetry = (world: World, invoice: Thing) => {
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

const giveUp = (world: World, subscription: Thing) => {
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

/** Why a subscription stands still. */
export const pausedBy = (reason: string, now: number) => ({
  status: 'paused',
  status_details: {paused: {type: 'subscription', subscription: {type: reason}, transitioned_at: now}},
})
