import type {Call} from './calls.ts'
import {needCustomer} from './customers.ts'
import {createInvoice} from './invoices.ts'
import {chargePeriod, nextPeriod} from './items.ts'
import {createSaleLine} from './lines.ts'
import {only} from './only.ts'
import {pendingOf} from './pending-lines.ts'
import {need} from './products.ts'
import {invalid} from './refusals.ts'
import {runAndRollBack, type SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {usageLines} from './subscription-life.ts'
import {applyUpdate, readUpdate} from './subscription-update.ts'
import {startSubscription} from './subscriptions.ts'

/** Executes the change, reads the invoice and rolls back, so lines and totals equal those of the real change. */
export const createPreview = ({world, params}: Call): Thing => {
  const {subscription: id, customer, subscription_details: details = {}, currency, schedule, schedule_details, invoice_items: sold} = params
  if (schedule || schedule_details || currency) throw new TypeError('The stand-in previews subscriptions only')
  const known = ['items', 'proration_behavior', 'proration_date', 'billing_cycle_anchor', 'cancel_at_period_end', 'billing_mode']
  only(details, known, 'subscription_details')
  if (sold) return runAndRollBack(world, () => previewSale(world, params))
  if (id === undefined) return runAndRollBack(world, () => previewNew(world, customer, details))
  const subscription = need(world, 'subscription', id, 'subscription')
  if (customer !== undefined && customer !== subscription.customer)
    throw invalid('The subscription is not this customer’s.', {param: 'customer'})
  if (subscription.ended_at !== null)
    throw invalid('You cannot preview the upcoming invoice for a canceled subscription.', {code: 'invoice_upcoming_none'})
  return runAndRollBack(world, () => previewChange(world, subscription, details))
}

/** The cost of a single sale, with tax. */
const previewSale = (world: SimulatorState, {customer, invoice_items: sold, automatic_tax: tax}: Record<string, any>): Thing => {
  for (const one of sold) only(one, ['price', 'quantity'], 'invoice_items')
  needCustomer(world, customer)
  const lines = sold.map((one: Record<string, any>) => createSaleLine(world, need(world, 'price', one.price, 'price'), one.quantity ?? 1))
  const {currency} = lines[0]
  return asPreview(world, createInvoice(world, {customer, currency, lines, reason: 'manual', isTaxed: tax?.enabled === true}))
}

const previewNew = (world: SimulatorState, customer: string | undefined, {items = []}: Record<string, any>): Thing => {
  if (customer === undefined) throw invalid('You must provide either a customer or a subscription.', {param: 'customer'})
  needCustomer(world, customer)
  const started = startSubscription(world, {customer, items, behaviour: 'default_incomplete'})
  return asPreview(world, world.store.get('invoice', started.latest_invoice)!)
}

const previewChange = (world: SimulatorState, subscription: Thing, details: Record<string, any>): Thing => {
  const update = {...readUpdate({...details, billing_cycle_anchor: details.billing_cycle_anchor}), patch: {}, isPreview: true}
  const {subscription: after, invoice} = applyUpdate(world, subscription, update)
  return asPreview(world, invoice ?? renewalOf(world, after))
}

/** The invoice at the end of the period. */
const renewalOf = (world: SimulatorState, subscription: Thing): Thing => {
  const items: Thing[] = subscription.items.data
  const end = Math.min(...items.map(item => item.current_period_end))
  const due = items.filter(item => item.current_period_end === end)
  const isEnding = subscription.cancel_at !== null && subscription.cancel_at <= end
  const lines = [
    ...pendingOf(world, subscription.id),
    ...due.flatMap(item => usageLines(world, item, end)),
    ...(isEnding ? [] : due.flatMap(item => chargePeriod(world, nextPeriod(world, item)))),
  ]
  if (lines.length === 0) throw invalid('No upcoming invoices for customer', {code: 'invoice_upcoming_none'})
  const {customer, currency} = subscription
  return createInvoice(world, {customer, currency, lines, reason: 'upcoming', subscription})
}

const asPreview = (world: SimulatorState, invoice: Thing): Thing => {
  const id = `upcoming_${invoice.id}`
  const {number: _, ...rest} = invoice
  return {
    ...rest,
    id,
    object: 'invoice',
    created: world.clock.now(),
    number: null,
    status: 'draft',
    hosted_invoice_url: null,
    status_transitions: {finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null},
    lines: {...invoice.lines, data: invoice.lines.data.map((line: Thing) => ({...line, invoice: id}))},
  }
}
