import type {Call} from './calls.ts'
import {change, create, listOf, mergeMetadata, need, orNull} from './objects.ts'
import {complete} from './schemas.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {invalid, only} from './wire.ts'

export const createProduct = ({world, params}: Call): Thing => {
  const {id, name, description, metadata, active = true} = params
  if (id !== undefined && world.store.get('product', id)) throw invalid(`Product already exists: ${id}`, {code: 'resource_already_exists'})
  const fields = {active, name, description: orNull(description), metadata: mergeMetadata({}, metadata)}
  const common = {updated: world.clock.now(), default_price: null, type: 'service'}
  return create(world, 'product', id ?? world.newId('prod'), {...fields, ...common}, 'product.created')
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
  const fields = {
    active: params.active ?? true,
    currency: currency.toLowerCase(),
    lookup_key: orNull(key),
    nickname: orNull(nickname),
    recurring: recurring ? {interval_count: 1, meter: null, trial_period_days: null, usage_type: 'licensed', ...recurring} : null,
    tax_behavior: tax,
    unit_amount: amount ?? (Number.isInteger(Number(decimal)) ? Number(decimal) : null),
    unit_amount_decimal: decimal ?? String(amount),
  }
  return addPrice(world, {...fields, metadata: mergeMetadata({}, metadata), product}, 'price.created')
}

export const addPrice = (world: SimulatorState, fields: Record<string, unknown>, event?: string): Thing =>
  create(
    world,
    'price',
    world.newId('price'),
    {billing_scheme: 'per_unit', type: fields.recurring ? 'recurring' : 'one_time', ...fields},
    event,
  )

/** Frees a lookup key, which only one price can have. Throws if another price has it and `transfer_lookup_key` is not set. */
const takeLookupKey = (world: SimulatorState, key: string, isTransferred: boolean) => {
  const holder = world.store.all('price').find(price => price.lookup_key === key)
  if (!holder) return
  if (!isTransferred) throw invalid(`A price (\`${holder.id}\`) already uses that lookup key.`, {param: 'lookup_key'})
  change(world, holder, {lookup_key: null}, 'price.updated')
}

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

export const listPrices = listOf('price', ['active', 'product', 'type'], ({lookup_keys: keys}) => price => {
  return keys === undefined || keys.includes(price.lookup_key)
})

export const createCoupon = ({world, params}: Call): Thing => {
  const {id, percent_off: percent, amount_off: amount, currency, duration = 'once', duration_in_months: months, name, metadata} = params
  if ((percent === undefined) === (amount === undefined)) throw invalid('You must pass either percent_off or amount_off.')
  const fields = {
    amount_off: amount ?? null,
    percent_off: percent ?? null,
    currency: currency ?? null,
    duration,
    duration_in_months: months ?? null,
    name: orNull(name),
    metadata: mergeMetadata({}, metadata),
    times_redeemed: 0,
    valid: true,
  }
  return create(world, 'coupon', id ?? world.newId('co').slice(3, 11), fields, 'coupon.created')
}

/** Returns an active, recurring price. Throws for any other price. */
export const needRecurring = (world: SimulatorState, id: string, param: string): Thing => {
  const price = need(world, 'price', id, param)
  if (!price.recurring) {
    throw invalid(`The price specified is set to \`type=one_time\` but this field only accepts prices with \`type=recurring\`.`, {param})
  }
  if (!price.active) throw invalid('The price specified is inactive. This field only accepts active prices.', {param})
  return price
}

/** Returns the plan object that mirrors a price. Subscription items still have one. */
export const planOf = (price: Thing): Thing => {
  const {id, active, unit_amount: amount, unit_amount_decimal: amount_decimal, billing_scheme, created, currency, recurring} = price
  const {metadata, nickname, product} = price
  const {interval, interval_count, meter, usage_type} = recurring
  const period = {interval, interval_count, meter, usage_type}
  return complete('plan', {id, active, amount, amount_decimal, billing_scheme, created, currency, ...period, metadata, nickname, product})
}

/** Returns the discounts of the subscription's coupons. A negative amount has no discount. */
export const discountOf = (world: SimulatorState, subtotal: number, subscription: Thing | null): {amount: number; discount: string}[] => {
  let left = Math.max(0, subtotal)
  return (subscription?.discounts ?? []).map((id: string) => {
    const discount = world.store.get('discount', id)!
    const coupon = world.store.get('coupon', discount.source.coupon)!
    const amount = Math.min(left, coupon.amount_off ?? Math.round((left * coupon.percent_off) / 100))
    left -= amount
    return {amount, discount: id}
  })
}

export const addDiscount = (world: SimulatorState, subscription: Thing, couponId: string): Thing => {
  const coupon = need(world, 'coupon', couponId, 'coupon')
  const discount = complete('discount', {
    id: world.newId('di'),
    customer: subscription.customer,
    source: {type: 'coupon', coupon: coupon.id},
    start: world.clock.now(),
    subscription: subscription.id,
  })
  world.store.put(discount)
  world.store.put({...coupon, times_redeemed: coupon.times_redeemed + 1})
  return change(world, subscription, {discounts: [...subscription.discounts, discount.id]}, 'customer.subscription.updated')
}

/** Removes the discounts of coupons for one use. Called after an invoice has used them. */
export const useUpDiscounts = (world: SimulatorState, subscription: Thing): Thing => {
  const left = subscription.discounts.filter((id: string) => {
    const {source} = world.store.get('discount', id)!
    return world.store.get('coupon', source.coupon)!.duration !== 'once'
  })
  return left.length === subscription.discounts.length ? subscription : change(world, subscription, {discounts: left})
}
