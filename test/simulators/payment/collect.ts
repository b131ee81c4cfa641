import {payIntent} from './charges.ts'
import {change, emit} from './events.ts'
import {markPaid, paymentOf, subscriptionOf} from './invoices.ts'
import {isWaiting, landPendingUpdate} from './pending-updates.ts'
import type {Decline} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {changeSubscription} from './subscriptions.ts'

export type Collected = {invoice: Thing; failure: Decline | 'no card' | null}

/** The card of an invoice: its own, the subscription's, or the customer's. */
export const cardOf = (world: SimulatorState, {customer, default_payment_method: own}: Thing, subscription: string | null): string | null =>
  own ??
  (subscription && world.store.get('subscription', subscription)!.default_payment_method) ??
  world.store.get('customer', customer)!.invoice_settings.default_payment_method

/** Tries once to collect an open invoice. Handles the effect of success on the subscription; the caller handles a failure. */
export const collect = (world: SimulatorState, invoice: Thing, {card = null as string | null, isPresent = false} = {}): Collected => {
  if (invoice.status === 'paid') return {invoice: settled(world, invoice), failure: null}
  const subscription = subscriptionOf(invoice)
  const from = card ?? cardOf(world, invoice, subscription)
  const payment = paymentOf(world, invoice)!
  if (from === null) return {invoice: failed(world, invoice, 'no card'), failure: 'no card'}
  const intent = world.store.get('payment_intent', payment.payment.payment_intent)!
  const {decline} = payIntent(world, intent, from, {isPresent})
  if (decline) return {invoice: failed(world, invoice, decline), failure: decline}
  const paidPayment = change(
    world,
    payment,
    {
      amount_paid: invoice.amount_due,
      status: 'paid',
      status_transitions: {...payment.status_transitions, paid_at: world.clock.now()},
    },
    'invoice_payment.paid',
  )
  return {invoice: settled(world, markPaid(world, invoice, paidPayment.amount_paid)), failure: null}
}

const failed = (world: SimulatorState, invoice: Thing, failure: Decline | 'no card'): Thing => {
  const patch = {attempted: true, attempt_count: invoice.attempt_count + 1}
  const tried = change(world, invoice, patch, 'invoice.payment_failed')
  if (failure === 'authentication_required') emit(world, 'invoice.payment_action_required', tried)
  return tried
}

/** A paid invoice reactivates its subscription. */
const settled = (world: SimulatorState, invoice: Thing): Thing => {
  const id = subscriptionOf(invoice)
  const subscription = id === null ? undefined : world.store.get('subscription', id)
  if (!subscription || subscription.ended_at !== null) return invoice
  if (isWaiting(world, subscription.id, invoice.id)) {
    landPendingUpdate(world, subscription)
    return invoice
  }
  const isOwing = world.store
    .all('invoice')
    .some(one => one.id !== invoice.id && one.status === 'open' && subscriptionOf(one) === subscription.id && one.attempted)
  const wakes = subscription.status === 'incomplete' || (['past_due', 'unpaid'].includes(subscription.status) && !isOwing)
  if (wakes) changeSubscription(world, subscription, {status: 'active'})
  return invoice
}
