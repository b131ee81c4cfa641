import type {Call} from './calls.ts'
import {collect} from './collect.ts'
import {complete} from './complete.ts'
import {needCustomer} from './customers.ts'
import {add, change} from './events.ts'
import {list} from './expand.ts'
import {createInvoice, finalizeInvoice} from './invoices.ts'
import {chargePeriod, createItem, isMetered} from './items.ts'
import {createLine, nameOf} from './lines.ts'
import {mergeMetadata} from './metadata.ts'
import {only} from './only.ts'
import {page} from './paging.ts'
import {refuseUnpaid} from './payment-behaviour.ts'
import {addIntervals} from './periods.ts'
import {need, needRecurring} from './products.ts'
import {invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {planSubscription} from './subscription-life.ts'

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
  const now = world.clock.now()
  const asked = trial_end === 'now' ? null : (trial_end ?? (days === undefined ? null : now + days * 24 * 3600))
  if (asked !== null && asked <= now)
    throw invalid('Invalid timestamp: must be an integer Unix timestamp in the future.', {param: 'trial_end'})
  return startSubscription(world, {
    customer,
    items: items.map(readItem),
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

const readItem = (given: SubscriptionSpec['items'][number]) => {
  only(given, ['price', 'quantity', 'metadata'], 'items')
  return given
}

/** Makes a subscription with its first invoice; the payment behaviour decides if it is not paid. */
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
  const draft = createInvoice(world, {
    customer: spec.customer,
    currency: bare.currency,
    lines,
    reason: 'subscription_create',
    subscription: made,
  })
  const invoice = finalizeInvoice(world, draft)
  const started = world.store.put({...made, latest_invoice: invoice.id})
  if (invoice.status === 'paid') return begin(world, {...started, status: trialEnd === null ? 'active' : 'trialing'})
  if (behaviour === 'default_incomplete') return begin(world, started)
  const {failure} = collect(world, invoice, {isPresent})
  if (failure && behaviour !== 'allow_incomplete') throw refuseUnpaid(failure)
  return begin(world, world.store.get('subscription', made.id)!)
}

const begin = (world: SimulatorState, subscription: Thing): Thing => {
  add(world, subscription, 'customer.subscription.created')
  planSubscription(world, subscription)
  return subscription
}

const trialLine = (world: SimulatorState, item: Thing): Thing[] => {
  if (isMetered(item.price)) return []
  const {current_period_start: start, current_period_end: end, quantity} = item
  const description = `Trial period for ${nameOf(world, item.price)}`
  return [createLine(world, {subscription: item.subscription, item, amount: 0, start, end, description, quantity})]
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

/** Changes the subscription, emits the event, and plans its next action. */
export const changeSubscription = (
  world: SimulatorState,
  subscription: Thing,
  patch: Record<string, unknown>,
  event = 'customer.subscription.updated',
): Thing => {
  const changed = change(world, subscription, {...patch, ...flagEnd({...subscription, ...patch})}, event)
  planSubscription(world, changed)
  return changed
}

/**
 * Where item intervals differ, the flag `cancel_at_period_end` resolves to the earliest item period end and follows the items; a date, or
 * `max_period_end`, is resolved once (https://docs.stripe.com/changelog/basil/2025-07-30/cancel-at-enums).
 */
export const earliestEnd = (subscription: Thing): number => Math.min(...endsOf(subscription))
export const latestEnd = (subscription: Thing): number => Math.max(...endsOf(subscription))

const endsOf = ({items}: Thing): number[] => items.data.map((item: Thing) => item.current_period_end)

const flagEnd = (subscription: Thing) =>
  subscription.cancel_at_period_end && subscription.ended_at === null ? {cancel_at: earliestEnd(subscription)} : {}

export const withItems = (subscription: Thing, items: Thing[]) => ({...subscription.items, data: items})

export const needCard = (world: SimulatorState, customer: string, card: string) => {
  if (need(world, 'payment_method', card, 'default_payment_method').customer !== customer) {
    throw invalid(`The customer does not have a payment method with the ID ${card}. The payment method must be attached to the customer.`, {
      code: 'resource_missing',
      param: 'default_payment_method',
    })
  }
}

/** Cancelled subscriptions are omitted unless requested. */
export const listSubscriptions = (call: Call): any => {
  const {customer, status, price} = call.params
  const isAsked = (one: Thing) =>
    (customer === undefined || one.customer === customer) &&
    (price === undefined || one.items.data.some((item: Thing) => item.price.id === price)) &&
    isOfStatus(one, status)
  return page(call, call.world.store.all('subscription').filter(isAsked))
}

const isOfStatus = ({status}: Thing, asked: string | undefined): boolean => {
  if (asked === undefined) return status !== 'canceled'
  if (asked === 'all') return true
  return asked === 'ended' ? ['canceled', 'incomplete_expired'].includes(status) : status === asked
}
