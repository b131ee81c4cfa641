import {collect, openInvoices, planSubscription} from './billing.ts'
import type {Call} from './calls.ts'
import {addIntervals} from './clock.ts'
import {needCustomer} from './customers.ts'
import {createInvoice, createLine, nameOf} from './invoice-drafts.ts'
import {finalizeInvoice, voidInvoice} from './invoices.ts'
import {change, emit, list, listOf, mergeMetadata, need} from './objects.ts'
import {needRecurring} from './products.ts'
import {endSchedule} from './schedules.ts'
import {complete} from './schemas.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {chargePeriod, createItem, isMetered, reanchored} from './subscription-items.ts'
import {takePending} from './subscription-updates.ts'
import {invalid, missing, only, refuseUnpaid} from './wire.ts'

export type SubscriptionSpec = {
  customer: string
  items: {price: string; quantity?: number; metadata?: Record<string, string>}[]
  card?: string | null
  trialEnd?: number | null
  metadata?: Record<string, string>
  behaviour?: string
  billingMode?: 'classic' | 'flexible'
  missingCard?: string
  description?: string | null
  isPresent?: boolean
  isTaxed?: boolean
}

export const createSubscription = ({world, params}: Call): Thing => {
  const {customer, items = [], default_payment_method: card = null, metadata, description, payment_behavior: behaviour} = params
  const {trial_end, trial_period_days: days, billing_mode, trial_settings} = params
  needCustomer(world, customer)
  if (card !== null) needCard(world, customer, card)
  const asked = trial_end === 'now' ? null : (trial_end ?? (days === undefined ? null : world.clock.now() + days * 24 * 3600))
  if (asked !== null) checkFuture(world, asked)
  for (const item of items) only(item, ['price', 'quantity', 'metadata'], 'items')
  return startSubscription(world, {
    customer,
    items,
    card,
    trialEnd: asked,
    metadata: mergeMetadata({}, metadata),
    behaviour,
    billingMode: billing_mode?.type ?? 'flexible',
    missingCard: trial_settings?.end_behavior.missing_payment_method,
    description: description ?? null,
    isTaxed: params.automatic_tax?.enabled === true,
  })
}

export const checkFuture = (world: SimulatorState, trialEnd: number) => {
  if (trialEnd > world.clock.now()) return
  throw invalid('Invalid timestamp: must be an integer Unix timestamp in the future.', {param: 'trial_end'})
}

/** Creates a subscription and its first invoice. If the invoice is not paid, the payment behaviour decides what happens. */
export const startSubscription = (world: SimulatorState, spec: SubscriptionSpec): Thing => {
  const {behaviour = 'allow_incomplete', trialEnd = null, isPresent = false} = spec
  const prices = spec.items.map(item => needRecurring(world, item.price, 'items[0][price]'))
  if (prices.length === 0) throw invalid('Missing required param: items.', {code: 'parameter_missing', param: 'items'})
  if (new Set(prices.map(price => price.currency)).size > 1) throw invalid('All prices on a subscription must use the same currency.')
  const bare = blankSubscription(world, spec, prices[0]!)
  const now = world.clock.now()
  const items = spec.items.map(({quantity = 1, metadata = {}}, index) => {
    const price = prices[index]!
    const end = trialEnd ?? addIntervals(now, price.recurring, 1)
    return createItem(world, bare.id, {price, quantity, metadata}, {start: now, end, anchor: trialEnd ?? now})
  })
  const made = world.store.put({...bare, items: list(items, `/v1/subscription_items?subscription=${bare.id}`)})
  const lines = trialEnd === null ? items.flatMap(item => chargePeriod(world, item)) : items.flatMap(item => trialLine(world, item))
  const {customer} = spec
  const {currency} = bare
  const draft = createInvoice(world, {customer, currency, lines, reason: 'subscription_create', subscription: made})
  const invoice = finalizeInvoice(world, draft)
  const started = world.store.put({...made, latest_invoice: invoice.id})
  if (invoice.status === 'paid') return begin(world, {...started, status: trialEnd === null ? 'active' : 'trialing'})
  if (behaviour === 'default_incomplete') return begin(world, started)
  const {failure} = collect(world, invoice, {isPresent})
  if (failure && behaviour !== 'allow_incomplete') throw refuseUnpaid(failure)
  return begin(world, world.store.get('subscription', made.id)!)
}

const begin = (world: SimulatorState, subscription: Thing): Thing => {
  world.store.put(subscription)
  emit(world, 'customer.subscription.created', subscription)
  planSubscription(world, subscription)
  return subscription
}

const trialLine = (world: SimulatorState, item: Thing): Thing[] => {
  if (isMetered(item.price)) return []
  const {current_period_start: start, current_period_end: end} = item
  return [createLine(world, {item, amount: 0, start, end, description: `Trial period for ${nameOf(world, item.price)}`})]
}

const blankSubscription = (world: SimulatorState, spec: SubscriptionSpec, price: Thing): Thing => {
  const {customer, trialEnd = null, billingMode = 'flexible', missingCard = 'create_invoice'} = spec
  const now = world.clock.now()
  return complete('subscription', {
    id: world.newId('sub'),
    automatic_tax: spec.isTaxed ? {enabled: true, liability: {type: 'self'}} : {},
    billing_cycle_anchor: trialEnd ?? now,
    billing_mode:
      billingMode === 'flexible' ? {type: 'flexible', flexible: {proration_discounts: 'included'}} : {type: 'classic', flexible: null},
    cancellation_details: {comment: null, feedback: null, feedback_option: null, reason: null},
    collection_method: 'charge_automatically',
    created: now,
    currency: price.currency,
    customer,
    default_payment_method: spec.card ?? null,
    description: spec.description ?? null,
    invoice_settings: {issuer: {type: 'self'}},
    items: list([], ''),
    metadata: spec.metadata ?? {},
    payment_settings: {save_default_payment_method: 'off'},
    start_date: now,
    status: 'incomplete',
    trial_end: trialEnd,
    trial_start: trialEnd === null ? null : now,
    trial_settings: {end_behavior: {billing_cycle_anchor: null, missing_payment_method: missingCard}},
  })
}

/** Changes the subscription, emits an event if a value differs, and plans its next action. */
export const changeSubscription = (world: SimulatorState, subscription: Thing, patch: Record<string, unknown>, event?: string): Thing => {
  const after = {...subscription, ...patch}
  const flag = after.cancel_at_period_end && after.ended_at === null ? {cancel_at: earliestEnd(after)} : {}
  const changed = change(world, subscription, {...patch, ...flag}, event ?? 'customer.subscription.updated')
  planSubscription(world, changed)
  return changed
}

/** Returns the fields of a cancellation at a time; null removes it. */
export const cancelPatch = (world: SimulatorState, {cancellation_details: details}: Thing, at: number | null, isFlag = false) => ({
  cancel_at: at,
  cancel_at_period_end: isFlag,
  canceled_at: at === null ? null : world.clock.now(),
  cancellation_details: {...details, reason: at === null ? null : 'cancellation_requested'},
})

/**
 * Returns the earliest period end of the items. `cancel_at_period_end` resolves to this time again whenever the items change. A date, or
 * `max_period_end`, is resolved once (https://docs.stripe.com/changelog/basil/2025-07-30/cancel-at-enums).
 */
export const earliestEnd = (subscription: Thing): number => Math.min(...endsOf(subscription))
export const latestEnd = (subscription: Thing): number => Math.max(...endsOf(subscription))

const endsOf = ({items}: Thing): number[] => items.data.map((item: Thing) => item.current_period_end)

export const withItems = (subscription: Thing, items: Thing[]) => ({...subscription.items, data: items})

export const needCard = (world: SimulatorState, customer: string, card: string) => {
  const param = 'default_payment_method'
  if (need(world, 'payment_method', card, param).customer === customer) return
  const message = `The customer does not have a payment method with the ID ${card}. The payment method must be attached to the customer.`
  throw invalid(message, {code: 'resource_missing', param})
}

/** Lists subscriptions. Cancelled ones are omitted unless `status` requests them. */
export const listSubscriptions = listOf('subscription', ['customer'], ({status, price}) => one => {
  return isOfStatus(one, status) && (price === undefined || one.items.data.some((item: Thing) => item.price.id === price))
})

const isOfStatus = ({status}: Thing, asked: string | undefined): boolean => {
  if (asked === undefined) return status !== 'canceled'
  if (asked === 'all') return true
  return asked === 'ended' ? ['canceled', 'incomplete_expired'].includes(status) : status === asked
}

export const cancelSubscription = ({world, params, ids}: Call): Thing => {
  const subscription = need(world, 'subscription', ids[0]!)
  const {invoice_now: isBilled, prorate: isProrated, cancellation_details: details} = params
  if (isBilled || isProrated) throw new TypeError('The stand-in does not carry invoice_now or prorate of a cancellation')
  if (subscription.ended_at !== null) throw missing('subscription', subscription.id)
  const noted = {...subscription, cancellation_details: {...subscription.cancellation_details, ...details}}
  return cancelNow(world, world.store.put(noted))
}

export const cancelNow = (world: SimulatorState, subscription: Thing, reason = 'cancellation_requested'): Thing => {
  const details = {...subscription.cancellation_details, reason}
  return endSubscription(world, {...subscription, canceled_at: world.clock.now(), cancellation_details: details})
}

/** Ends the subscription: drops pending lines, stops retries, voids drafts without automatic finalisation, and ends its schedule. */
export const endSubscription = (world: SimulatorState, subscription: Thing): Thing => {
  const now = world.clock.now()
  takePending(world, subscription.id)
  for (const invoice of openInvoices(world, subscription.id)) {
    if (invoice.status === 'open') {
      world.clock.cancel(`invoice:${invoice.id}`)
      change(world, invoice, {auto_advance: false, next_payment_attempt: null}, 'invoice.updated')
    } else if (invoice.automatically_finalizes_at === null) voidInvoice(world, invoice)
  }
  endSchedule(world, subscription)
  world.store.put(subscription)
  const patch = {
    status: subscription.status === 'incomplete' ? 'incomplete_expired' : 'canceled',
    canceled_at: subscription.canceled_at ?? now,
    ended_at: now,
    schedule: null,
    pending_update: null,
  }
  return changeSubscription(world, subscription, patch, 'customer.subscription.deleted')
}

/** Resumes a paused subscription: starts a new period now, and charges it. */
export const resumeSubscription = ({world, params, ids}: Call): Thing => {
  const subscription = need(world, 'subscription', ids[0]!)
  if (subscription.status !== 'paused') throw invalid('You can only resume a subscription that is paused.')
  if (params.billing_cycle_anchor?.type === 'unchanged') throw new TypeError('The stand-in resumes with a new period only')
  const now = world.clock.now()
  const items: Thing[] = subscription.items.data.map((item: Thing) => reanchored(world, item, now))
  const {status_details: _, ...rest} = subscription
  const moved = world.store.put({...rest, items: withItems(subscription, items), billing_cycle_anchor: now} as Thing)
  const lines = items.flatMap(item => chargePeriod(world, item))
  const {customer, currency} = subscription
  const draft = createInvoice(world, {customer, currency, lines, reason: 'subscription_update', subscription: moved})
  const invoice = finalizeInvoice(world, draft)
  const {failure} = collect(world, invoice)
  if (failure) throw refuseUnpaid(failure)
  return changeSubscription(world, moved, {status: 'active', latest_invoice: invoice.id}, 'customer.subscription.resumed')
}
