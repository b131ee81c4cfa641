import type {Call} from './calls.ts'
import {complete} from './complete.ts'
import {add, change} from './events.ts'
import {mergeMetadata, orNull} from './metadata.ts'
import {only} from './only.ts'
import {page} from './paging.ts'
import {invalid, missing} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

export const createProduct = ({world, params}: Call): Thing => {
  const {id, name, description, metadata, active = true} = params
  if (id !== undefined && world.store.get('product', id)) throw invalid(`Product already exists: ${id}`, {code: 'resource_already_exists'})
  const product = complete('product', {
    id: id ?? world.newId('prod'),
    active,
    created: world.clock.now(),
    updated: world.clock.now(),
    default_price: null,
    description: orNull(description),
    metadata: mergeMetadata({}, metadata),
    name,
    type: 'service',
  })
  return add(world, product, 'product.created')
}

export const updateProduct = ({world, params, ids}: Call): Thing => {
  const product = need(world, 'product', ids[0]!)
  const {name = product.name, description, metadata, active = product.active} = params
  const patch = {
    name,
    active,
    description: orNull(description, product.description),
    metadata: mergeMetadata(product.metadata, metadata),
    updated: world.clock.now(),
  }
  return change(world, product, patch, 'product.updated')
}

export const listProducts = (call: Call): any => {
  const {active} = call.params
  return page(
    call,
    call.world.store.all('product').filter(one => active === undefined || one.active === active),
  )
}

export const createPrice = ({world, params}: Call): Thing => {
  const {product, currency, unit_amount: amount, unit_amount_decimal: decimal, recurring, metadata, nickname, lookup_key: key} = params
  const {tax_behavior: tax = 'unspecified', transfer_lookup_key: isTransferred = false} = params
  if (product === undefined) throw invalid('Missing required param: product.', {code: 'parameter_missing', param: 'product'})
  need(world, 'product', product, 'product')
  if (amount === undefined && decimal === undefined) throw invalid('Missing required param: unit_amount.', {param: 'unit_amount'})
  only(recurring, ['interval', 'interval_count', 'meter', 'usage_type'], 'recurring')
  const meter = recurring?.meter
  if (meter !== undefined) need(world, 'billing.meter', meter, 'recurring[meter]')
  if (recurring?.usage_type === 'metered' && meter === undefined) {
    throw invalid('Metered prices must be backed by meters.', {param: 'recurring[meter]'})
  }
  if (key !== undefined) takeLookupKey(world, key, isTransferred)
  const price = complete('price', {
    id: world.newId('price'),
    active: params.active ?? true,
    billing_scheme: 'per_unit',
    created: world.clock.now(),
    currency: currency.toLowerCase(),
    lookup_key: orNull(key),
    metadata: mergeMetadata({}, metadata),
    nickname: orNull(nickname),
    product,
    recurring: recurring ? recurringOf(recurring) : null,
    tax_behavior: tax,
    type: recurring ? 'recurring' : 'one_time',
    unit_amount: amount ?? (Number.isInteger(Number(decimal)) ? Number(decimal) : null),
    unit_amount_decimal: decimal ?? String(amount),
  })
  return add(world, price, 'price.created')
}

/** A lookup key belongs to one price; `transfer_lookup_key` moves it. */
const takeLookupKey = (world: SimulatorState, key: string, isTransferred: boolean) => {
  const holder = world.store.all('price').find(price => price.lookup_key === key)
  if (!holder) return
  if (!isTransferred) throw invalid(`A price (\`${holder.id}\`) already uses that lookup key.`, {param: 'lookup_key'})
  change(world, holder, {lookup_key: null}, 'price.updated')
}

const recurringOf = ({interval, interval_count = 1, meter = null, usage_type = 'licensed'}: Record<string, any>) => ({
  interval,
  interval_count,
  meter,
  trial_period_days: null,
  usage_type,
})

export const updatePrice = ({world, params, ids}: Call): Thing => {
  const price = need(world, 'price', ids[0]!)
  const {active = price.active, nickname, metadata, lookup_key: key} = params
  const patch = {
    active,
    nickname: orNull(nickname, price.nickname),
    lookup_key: orNull(key, price.lookup_key),
    metadata: mergeMetadata(price.metadata, metadata),
  }
  return change(world, price, patch, 'price.updated')
}

export const listPrices = (call: Call): any => {
  const {active, product, type, lookup_keys: keys} = call.params
  const isAsked = (one: Thing) =>
    (active === undefined || one.active === active) &&
    (product === undefined || one.product === product) &&
    (type === undefined || one.type === type) &&
    (keys === undefined || keys.includes(one.lookup_key))
  return page(call, call.world.store.all('price').filter(isAsked))
}

export const createCoupon = ({world, params}: Call): Thing => {
  const {id, percent_off: percent, amount_off: amount, currency, duration = 'once', duration_in_months: months, name, metadata} = params
  if ((percent === undefined) === (amount === undefined)) throw invalid('You must pass either percent_off or amount_off.')
  const coupon = complete('coupon', {
    id: id ?? world.newId('co').slice(3, 11),
    amount_off: amount ?? null,
    percent_off: percent ?? null,
    currency: currency ?? null,
    duration,
    duration_in_months: months ?? null,
    name: orNull(name),
    metadata: mergeMetadata({}, metadata),
    created: world.clock.now(),
    times_redeemed: 0,
    valid: true,
  })
  return add(world, coupon, 'coupon.created')
}

/** An active, recurring price, for a subscription. */
export const needRecurring = (world: SimulatorState, id: string, param: string): Thing => {
  const price = need(world, 'price', id, param)
  if (!price.recurring) {
    throw invalid(`The price specified is set to \`type=one_time\` but this field only accepts prices with \`type=recurring\`.`, {param})
  }
  if (!price.active) throw invalid('The price specified is inactive. This field only accepts active prices.', {param})
  return price
}

export const need = (world: SimulatorState, object: string, id: string, param = 'id'): Thing => {
  const found = world.store.get(object, id)
  if (!found) throw missing(object, id, param)
  return found
}

export const readOf =
  (object: string) =>
  ({world, ids}: Call): Thing =>
    need(world, object, ids[0]!)

/** Subscription items still have a plan object that mirrors their price. */
export const planOf = (price: Thing): Thing =>
  complete('plan', {
    id: price.id,
    active: price.active,
    amount: price.unit_amount,
    amount_decimal: price.unit_amount_decimal,
    billing_scheme: price.billing_scheme,
    created: price.created,
    currency: price.currency,
    interval: price.recurring.interval,
    interval_count: price.recurring.interval_count,
    meter: price.recurring.meter,
    metadata: price.metadata,
    nickname: price.nickname,
    product: price.product,
    usage_type: price.recurring.usage_type,
  })
