import {complete} from './complete.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

export type LineSpec = {
  subscription: string
  item: Thing
  amount: number
  start: number
  end: number
  description: string
  quantity: number | null
  isProration?: boolean
  pendingId?: string | null
  price?: Thing
}

export const createLine = (world: SimulatorState, spec: LineSpec): Thing => {
  const {subscription, item, amount, start, end, description, quantity, isProration = false, pendingId = null, price = item.price} = spec
  return complete('line_item', {
    id: world.newId('il'),
    amount,
    currency: price.currency,
    description,
    discountable: !isProration,
    metadata: item.metadata ?? {},
    parent: {
      type: 'subscription_item_details',
      invoice_item_details: null,
      subscription_item_details: {
        invoice_item: pendingId,
        proration: isProration,
        proration_details: {credited_items: null},
        subscription,
        subscription_item: item.id,
      },
    },
    period: {start, end},
    pricing: {
      type: 'price_details',
      price_details: {price: price.id, product: price.product},
      unit_amount_decimal: price.unit_amount_decimal,
    },
    quantity,
    quantity_decimal: quantity === null ? null : String(quantity),
    subscription,
    subtotal: amount,
  })
}

export const createSaleLine = (world: SimulatorState, price: Thing, quantity: number): Thing => {
  const now = world.clock.now()
  return complete('line_item', {
    id: world.newId('il'),
    amount: priceOf(price, quantity),
    currency: price.currency,
    description: nameOf(world, price),
    discountable: true,
    metadata: {},
    parent: null,
    period: {start: now, end: now},
    pricing: {
      type: 'price_details',
      price_details: {price: price.id, product: price.product},
      unit_amount_decimal: price.unit_amount_decimal,
    },
    quantity,
    quantity_decimal: String(quantity),
    subtotal: priceOf(price, quantity),
  })
}

/** In the smallest unit of the currency, rounded. */
export const priceOf = (price: Thing, quantity: number): number => Math.round(Number(price.unit_amount_decimal) * quantity)

export const nameOf = (world: SimulatorState, price: Thing): string => world.store.get('product', price.product)?.name ?? price.product

/** `1 × Team (at $25.00 / month)` */
export const describeSale = (world: SimulatorState, price: Thing, quantity: number): string => {
  const each = (price.unit_amount ?? 0) / 100
  return `${quantity} × ${nameOf(world, price)} (at ${each.toFixed(2)} ${price.currency.toUpperCase()} / ${price.recurring.interval})`
}

export const onDay = (at: number): string => new Date(at * 1000).toISOString().slice(0, 10)
