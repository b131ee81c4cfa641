import {cardOf} from './collect.ts'
import {useUpDiscounts} from './discounts.ts'
import {pausedBy, planInvoice} from './dunning.ts'
import {emit} from './events.ts'
import {createInvoice, subscriptionOf, voidInvoice} from './invoices.ts'
import {booksOf, chargePeriod, isMetered, keepBooks, nextPeriod} from './items.ts'
import {createLine, nameOf, priceOf} from './lines.ts'
import {takePending} from './pending-lines.ts'
import {expirePendingUpdate} from './pending-updates.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {endSubscription} from './subscription-end.ts'
import {changeSubscription, withItems} from './subscriptions.ts'
import {usedIn} from './usage.ts'

const hour = 3600
const firstPaymentHours = 23
const noticeDays = 3

export const planSubscription = (world: SimulatorState, subscription: Thing) => {
  const name = `subscription:${subscription.id}`
  const at = nextDue(world, subscription)
  if (at === null) world.clock.cancel(name)
  else world.clock.plan(name, at)
}

const nextDue = (world: SimulatorState, subscription: Thing): number | null => {
  const {status, items, cancel_at, trial_end, pending_update, created} = subscription
  if (['canceled', 'incomplete_expired'].includes(status)) return null
  if (status === 'incomplete') return created + firstPaymentHours * hour
  const ends = status === 'paused' ? [] : items.data.map((item: Thing) => item.current_period_end)
  const notice = status === 'trialing' && !isTold(world, subscription) ? [trial_end - noticeDays * 24 * hour] : []
  const others = [cancel_at, pending_update?.expires_at].filter((at: number | null | undefined) => at !== null && at !== undefined)
  const all = [...ends, ...notice, ...others]
  return all.length === 0 ? null : Math.max(world.clock.now(), Math.min(...all))
}

const isTold = (world: SimulatorState, {id, trial_end}: Thing) => world.store.get('~told', id)?.trial_end === trial_end

export const advanceSubscription = (world: SimulatorState, id: string) => {
  const read = () => world.store.get('subscription', id)!
  const now = world.clock.now()
  if (read().status === 'incomplete') return expireFirst(world, read())
  if (read().pending_update && read().pending_update.expires_at <= now) expirePendingUpdate(world, read())
  const {status, trial_end, cancel_at} = read()
  if (status === 'trialing' && !isTold(world, read()) && trial_end - noticeDays * 24 * hour <= now) {
    world.store.put({id, object: '~told', trial_end})
    emit(world, 'customer.subscription.trial_will_end', read())
  }
  if (cancel_at !== null && cancel_at <= now) return endAtLast(world, read())
  if (status === 'trialing' && trial_end <= now && !endTrial(world, read())) return
  renew(world, read())
  planSubscription(world, read())
}

/** The first payment never arrived. */
const expireFirst = (world: SimulatorState, subscription: Thing) => {
  for (const invoice of openInvoices(world, subscription.id)) voidInvoice(world, invoice)
  changeSubscription(world, subscription, {status: 'incomplete_expired', ended_at: world.clock.now()})
}

export const openInvoices = (world: SimulatorState, subscription: string): Thing[] =>
  world.store.all('invoice').filter(invoice => ['open', 'draft'].includes(invoice.status) && subscriptionOf(invoice) === subscription)

/** Usage of the last period is still charged. */
const endAtLast = (world: SimulatorState, subscription: Thing) => {
  const lines = subscription.items.data.flatMap((item: Thing) => usageLines(world, item, world.clock.now()))
  if (lines.length > 0) bill(world, subscription, lines)
  endSubscription(world, world.store.get('subscription', subscription.id)!)
}

/** Returns false if there is nothing to continue with. */
const endTrial = (world: SimulatorState, subscription: Thing): boolean => {
  const {trial_end, trial_settings, items} = subscription
  const missing = trial_settings.end_behavior.missing_payment_method
  const isBare = cardOf(world, {...subscription, default_payment_method: null, customer: subscription.customer}, subscription.id) === null
  if (isBare && missing === 'cancel') {
    endSubscription(world, subscription)
    return false
  }
  if (isBare && missing === 'pause') {
    changeSubscription(world, subscription, pausedBy('trial_end_without_payment_method', world.clock.now()), 'customer.subscription.paused')
    return false
  }
  for (const item of items.data) keepBooks(world, item.id, {anchor: trial_end, debits: booksOf(world, item.id).debits})
  world.store.put({...subscription, status: 'active', billing_cycle_anchor: trial_end})
  world.store.put({id: subscription.id, object: '~before', before: subscription})
  return true
}

/** Starts the next period of every item whose period has ended, with one invoice for all. */
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

/** The invoice of a renewal; invoices of an unpaid subscription stay drafts. */
const bill = (world: SimulatorState, subscription: Thing, lines: Thing[]): Thing => {
  const {customer, currency, status} = subscription
  const isCollected = status !== 'unpaid'
  const draftSeconds = isCollected ? world.settings.draftSeconds : null
  const invoice = createInvoice(world, {customer, currency, lines, reason: 'subscription_cycle', subscription, draftSeconds})
  useUpDiscounts(world, subscription)
  planInvoice(world, invoice)
  return invoice
}

/** The usage of a metered item since the start of its period. */
export const usageLines = (world: SimulatorState, item: Thing, until: number): Thing[] => {
  if (!isMetered(item.price)) return []
  const {customer} = world.store.get('subscription', item.subscription)!
  const {current_period_start: start} = item
  const quantity = usedIn(world, item.price.recurring.meter, customer, start, until)
  const description = `${quantity} × ${nameOf(world, item.price)}`
  const amount = priceOf(item.price, quantity)
  return [createLine(world, {subscription: item.subscription, item, amount, start, end: until, description, quantity})]
}
