import {createInvoice, createLine, nameOf, priceOf, subscriptionOf} from './invoice-drafts.ts'
import {finalizeInvoice, intentOf, markPaid, paymentOf, voidInvoice} from './invoices.ts'
import {usedIn} from './meters.ts'
import {change, emit} from './objects.ts'
import {payIntent} from './payments.ts'
import {useUpDiscounts} from './products.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {chargePeriod, isMetered, moveAnchor, nextPeriod} from './subscription-items.ts'
import {expirePendingUpdate, isWaiting, landPendingUpdate, takePending} from './subscription-updates.ts'
import {cancelNow, changeSubscription, endSubscription, withItems} from './subscriptions.ts'
import type {Decline} from './wire.ts'

const hour = 3600
const day = 24 * hour
const firstPayment = 23 * hour
const notice = 3 * day

export const planSubscription = (world: SimulatorState, subscription: Thing) => {
  const name = `subscription:${subscription.id}`
  const at = nextDue(world, subscription)
  if (at === null) world.clock.cancel(name)
  else world.clock.plan(name, at)
}

const nextDue = (world: SimulatorState, subscription: Thing): number | null => {
  const {status, items, cancel_at, trial_end, pending_update, created} = subscription
  if (['canceled', 'incomplete_expired'].includes(status)) return null
  if (status === 'incomplete') return created + firstPayment
  const ends = status === 'paused' ? [] : items.data.map((item: Thing) => item.current_period_end)
  const notices = status === 'trialing' && !isNotified(world, subscription) ? [trial_end - notice] : []
  const others = [cancel_at, pending_update?.expires_at].filter(at => at !== null && at !== undefined)
  const all = [...ends, ...notices, ...others]
  return all.length === 0 ? null : Math.max(world.clock.now(), Math.min(...all))
}

const isNotified = (world: SimulatorState, {id, trial_end}: Thing) => world.store.get('~told', id)?.trial_end === trial_end

export const advanceSubscription = (world: SimulatorState, id: string) => {
  const read = () => world.store.get('subscription', id)!
  const now = world.clock.now()
  if (read().status === 'incomplete') return expireFirst(world, read())
  if (read().pending_update && read().pending_update.expires_at <= now) expirePendingUpdate(world, read())
  const {status, trial_end, cancel_at} = read()
  if (status === 'trialing' && !isNotified(world, read()) && trial_end - notice <= now) {
    world.store.put({id, object: '~told', trial_end})
    emit(world, 'customer.subscription.trial_will_end', read())
  }
  if (cancel_at !== null && cancel_at <= now) return endAtLast(world, read())
  if (status === 'trialing' && trial_end <= now && !endTrial(world, read())) return
  renew(world, read())
  planSubscription(world, read())
}

/** Expires an incomplete subscription whose first payment did not succeed in time. */
const expireFirst = (world: SimulatorState, subscription: Thing) => {
  for (const invoice of openInvoices(world, subscription.id)) voidInvoice(world, invoice)
  changeSubscription(world, subscription, {status: 'incomplete_expired', ended_at: world.clock.now()})
}

export const openInvoices = (world: SimulatorState, subscription: string): Thing[] =>
  world.store.all('invoice').filter(invoice => ['open', 'draft'].includes(invoice.status) && subscriptionOf(invoice) === subscription)

/** Ends a subscription at its `cancel_at`, and bills the usage of the last period. */
const endAtLast = (world: SimulatorState, subscription: Thing) => {
  const lines = subscription.items.data.flatMap((item: Thing) => usageLines(world, item, world.clock.now()))
  if (lines.length > 0) bill(world, subscription, lines)
  endSubscription(world, world.store.get('subscription', subscription.id)!)
}

/** Ends a trial. Returns false if the subscription was cancelled or paused instead, because there is no card. */
const endTrial = (world: SimulatorState, subscription: Thing): boolean => {
  const {trial_end, trial_settings, items} = subscription
  const missing = trial_settings.end_behavior.missing_payment_method
  const isBare = cardOf(world, subscription.customer, subscription) === null
  if (isBare && missing === 'cancel') {
    endSubscription(world, subscription)
    return false
  }
  if (isBare && missing === 'pause') {
    pauseSubscription(world, subscription, 'trial_end_without_payment_method')
    return false
  }
  for (const item of items.data) moveAnchor(world, item.id, trial_end)
  world.store.put({...subscription, status: 'active', billing_cycle_anchor: trial_end})
  world.store.put({id: subscription.id, object: '~before', before: subscription})
  return true
}

/** Starts the next period of every item whose period has ended, with one invoice for all items. */
const renew = (world: SimulatorState, subscription: Thing) => {
  const now = world.clock.now()
  const due = (item: Thing) => item.current_period_end <= now
  if (!subscription.items.data.some(due) || subscription.status === 'paused') return
  const usage = subscription.items.data.filter(due).flatMap((item: Thing) => usageLines(world, item, item.current_period_end))
  const items = subscription.items.data.map((item: Thing) => (due(item) ? nextPeriod(world, item) : item))
  const before = world.store.get('~before', subscription.id)?.before ?? subscription
  world.store.drop('~before', subscription.id)
  const moved = world.store.put({...subscription, items: withItems(subscription, items)})
  const started = items.filter((_: Thing, index: number) => due(subscription.items.data[index]))
  const lines = [...takePending(world, subscription.id), ...usage, ...started.flatMap((item: Thing) => chargePeriod(world, item))]
  const invoice = bill(world, moved, lines)
  const billed = world.store.put({...world.store.get('subscription', moved.id)!, latest_invoice: invoice.id})
  emit(world, 'customer.subscription.updated', billed, before)
}

/** Creates the invoice of a renewal. Invoices of an unpaid subscription stay drafts. */
const bill = (world: SimulatorState, subscription: Thing, lines: Thing[]): Thing => {
  const {customer, currency, status} = subscription
  const draftSeconds = status === 'unpaid' ? null : world.settings.draftSeconds
  const invoice = createInvoice(world, {customer, currency, lines, reason: 'subscription_cycle', subscription, draftSeconds})
  useUpDiscounts(world, subscription)
  if (invoice.automatically_finalizes_at !== null) world.clock.plan(`invoice:${invoice.id}`, invoice.automatically_finalizes_at)
  return invoice
}

/** Returns a line with the usage of a metered item since the start of its period; no line for other items. */
export const usageLines = (world: SimulatorState, item: Thing, until: number): Thing[] => {
  if (!isMetered(item.price)) return []
  const {customer} = world.store.get('subscription', item.subscription)!
  const {current_period_start: start} = item
  const quantity = usedIn(world, item.price.recurring.meter, customer, start, until)
  const description = `${quantity} × ${nameOf(world, item.price)}`
  const amount = priceOf(item.price, quantity)
  return [createLine(world, {item, amount, start, end: until, description, quantity})]
}

export type Collected = {invoice: Thing; failure: Decline | 'no card' | null}

/** Returns the card for an invoice: that of the subscription, or else the customer's default; null without one. */
const cardOf = (world: SimulatorState, customer: string, subscription: Thing | null): string | null =>
  subscription?.default_payment_method ?? world.store.get('customer', customer)!.invoice_settings.default_payment_method

/** Tries once to collect an open invoice. Applies a success to the subscription; the caller handles a failure. */
export const collect = (world: SimulatorState, invoice: Thing, {card = null as string | null, isPresent = false} = {}): Collected => {
  if (invoice.status === 'paid') return {invoice: settled(world, invoice), failure: null}
  const subscription = world.store.get('subscription', subscriptionOf(invoice) ?? '') ?? null
  const from = card ?? invoice.default_payment_method ?? cardOf(world, invoice.customer, subscription)
  const payment = paymentOf(world, invoice)!
  if (from === null) return {invoice: failed(world, invoice, 'no card'), failure: 'no card'}
  const {decline} = payIntent(world, intentOf(world, payment), from, {isPresent})
  if (decline) return {invoice: failed(world, invoice, decline), failure: decline}
  const amount = invoice.amount_due
  const transitions = {...payment.status_transitions, paid_at: world.clock.now()}
  change(world, payment, {amount_paid: amount, status: 'paid', status_transitions: transitions}, 'invoice_payment.paid')
  return {invoice: settled(world, markPaid(world, invoice, amount)), failure: null}
}

const failed = (world: SimulatorState, invoice: Thing, failure: Decline | 'no card'): Thing => {
  const patch = {attempted: true, attempt_count: invoice.attempt_count + 1}
  const tried = change(world, invoice, patch, 'invoice.payment_failed')
  if (failure === 'authentication_required') emit(world, 'invoice.payment_action_required', tried)
  return tried
}

/** Applies a paid invoice to its subscription: applies a waiting update, or reactivates the subscription unless another invoice is overdue. */
const settled = (world: SimulatorState, invoice: Thing): Thing => {
  const subscription = world.store.get('subscription', subscriptionOf(invoice) ?? '')
  if (!subscription || subscription.ended_at !== null) return invoice
  const {id, status} = subscription
  if (isWaiting(world, id, invoice.id)) {
    landPendingUpdate(world, subscription)
    return invoice
  }
  const isOwing = openInvoices(world, id).some(one => one.id !== invoice.id && one.status === 'open' && one.attempted)
  const wakes = status === 'incomplete' || (['past_due', 'unpaid'].includes(status) && !isOwing)
  if (wakes) changeSubscription(world, subscription, {status: 'active'})
  return invoice
}

/** Finalises a draft and collects it, or retries an open invoice. */
export const advanceInvoice = (world: SimulatorState, id: string) => {
  const invoice = world.store.get('invoice', id)!
  tryInvoice(world, invoice.status === 'draft' ? finalizeInvoice(world, invoice).id : id)
}

/**
 * Tries once to collect an invoice. A failure plans the next try; after the last try, the setting `afterRetries` applies to the
 * subscription.
 */
export const tryInvoice = (world: SimulatorState, id: string) => {
  const open = world.store.get('invoice', id)!
  if (!['open', 'paid'].includes(open.status)) return
  const {invoice, failure} = collect(world, open)
  if (failure) planRetry(world, invoice)
}

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
  const {afterRetries} = world.settings
  if (afterRetries === 'cancel') cancelNow(world, subscription, 'payment_failed')
  else if (afterRetries === 'pause') pauseSubscription(world, subscription, 'final_payment_failure')
  else changeSubscription(world, subscription, {status: afterRetries})
}

export const pauseSubscription = (world: SimulatorState, subscription: Thing, reason: string): Thing => {
  const paused = {type: 'subscription', subscription: {type: reason}, transitioned_at: world.clock.now()}
  return changeSubscription(world, subscription, {status: 'paused', status_details: {paused}}, 'customer.subscription.paused')
}
