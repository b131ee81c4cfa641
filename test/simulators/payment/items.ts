import {complete} from './complete.ts'
import {createLine, describeSale, nameOf, onDay, priceOf} from './lines.ts'
import {addIntervals, nextBoundary} from './periods.ts'
import {planOf} from './products.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** The amount charged for an item and a time span, from which credits are calculated. */
export type Debit = {start: number; end: number; amount: number}

type Span = {start: number; end: number; anchor: number}

export const createItem = (
  world: SimulatorState,
  subscription: string,
  {price, quantity = 1, metadata = {}}: {price: Thing; quantity?: number; metadata?: Record<string, string>},
  {start, end, anchor}: Span,
): Thing => {
  const id = world.newId('si')
  keepBooks(world, id, {anchor, debits: []})
  return withPrice(
    complete('subscription_item', {
      id,
      created: world.clock.now(),
      current_period_start: start,
      current_period_end: end,
      metadata,
      plan: planOf(price),
      price,
      subscription,
      tax_rates: [],
    }),
    price,
    quantity,
  )
}

/** Metered items have no quantity, because their usage is measured. */
export const withPrice = (item: Thing, price: Thing, quantity: number): Thing => {
  const {quantity: _, ...rest} = item
  return {...rest, id: item.id, object: item.object, plan: planOf(price), price, ...(isMetered(price) ? {} : {quantity})}
}

export const isMetered = (price: Thing): boolean => price.recurring?.usage_type === 'metered'

/** The item's billing anchor and its debits. */
export const booksOf = (world: SimulatorState, item: string): {anchor: number; debits: Debit[]} =>
  world.store.get('~books', item) as unknown as {anchor: number; debits: Debit[]}

export const keepBooks = (world: SimulatorState, item: string, books: {anchor: number; debits: Debit[]}) => {
  world.store.put({id: item, object: '~books', ...books})
}

/** The next period by the item's anchor. */
export const nextPeriod = (world: SimulatorState, item: Thing): Thing => {
  const start = item.current_period_end
  const end = nextBoundary(booksOf(world, item.id).anchor, item.price.recurring, start)
  return {...item, current_period_start: start, current_period_end: end}
}

/** Starts a new period of the item now. */
export const reanchored = (world: SimulatorState, item: Thing, now: number): Thing => {
  keepBooks(world, item.id, {anchor: now, debits: booksOf(world, item.id).debits})
  return {...item, current_period_start: now, current_period_end: addIntervals(now, item.price.recurring, 1)}
}

/** Charges the full price of the item's period, and records the debit for later credits. */
export const chargePeriod = (world: SimulatorState, item: Thing): Thing[] => {
  if (isMetered(item.price)) return []
  const {current_period_start: start, current_period_end: end, quantity} = item
  const amount = priceOf(item.price, quantity)
  keepBooks(world, item.id, {anchor: booksOf(world, item.id).anchor, debits: [{start, end, amount}]})
  const description = describeSale(world, item.price, quantity)
  return [createLine(world, {subscription: item.subscription, item, amount, start, end, description, quantity})]
}

/** Credits the amount paid for the time after `at`. */
export const creditUnused = (world: SimulatorState, item: Thing, at: number): Thing[] => {
  const {anchor, debits} = booksOf(world, item.id)
  const left: Debit[] = []
  const lines: Thing[] = []
  for (const debit of debits) {
    const from = Math.max(at, debit.start)
    const credit = debit.end <= at ? 0 : Math.round((debit.amount * (debit.end - from)) / (debit.end - debit.start))
    if (debit.start < at) left.push({...debit, end: Math.min(debit.end, at), amount: debit.amount - credit})
    if (credit === 0) continue
    const description = `Unused time on ${nameOf(world, item.price)} after ${onDay(at)}`
    const {quantity = null} = item
    const {subscription} = item
    lines.push(
      createLine(world, {subscription, item, amount: -credit, start: from, end: debit.end, description, quantity, isProration: true}),
    )
  }
  keepBooks(world, item.id, {anchor, debits: left})
  return lines
}

/** Charges the item's price for the rest of the period from `at`. */
export const chargeRest = (world: SimulatorState, item: Thing, at: number): Thing[] => {
  if (isMetered(item.price)) return []
  const {current_period_start: start, current_period_end: end, quantity, subscription} = item
  const {anchor, debits} = booksOf(world, item.id)
  const amount = Math.round((priceOf(item.price, quantity) * (end - at)) / (end - start))
  keepBooks(world, item.id, {anchor, debits: [...debits, {start: at, end, amount}]})
  const description = `Remaining time on ${nameOf(world, item.price)} after ${onDay(at)}`
  return [createLine(world, {subscription, item, amount, start: at, end, description, quantity, isProration: true})]
}
