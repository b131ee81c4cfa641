import {booksOf, createItem, keepBooks, withPrice} from './items.ts'
import {isSameInterval, nextBoundary} from './periods.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {changeSubscription, withItems} from './subscriptions.ts'

/**
 * Applies the items and metadata of the phase. With `phase_start` a new period begins and is charged by the renewal of this
 * moment. Otherwise an item with another interval keeps the old anchor, and nothing is charged until then.
 */
export const enterPhase = (world: SimulatorState, subscription: Thing, phase: Record<string, any>, now: number) => {
  const isReset = phase.billing_cycle_anchor === 'phase_start'
  const unmatched: Thing[] = subscription.items.data.filter((item: Thing) => !phase.items.some((one: any) => one.price === item.price.id))
  const items = phase.items.map((given: any) => {
    const price = world.store.get('price', given.price)!
    const own = subscription.items.data.find((item: Thing) => item.price.id === given.price)
    const old = own ?? unmatched.shift()
    if (!old) return newItem(world, subscription, given, price, now)
    if (old.current_period_end > now && phase.proration_behavior !== 'none' && !own) {
      throw new TypeError('The stand-in does not prorate a phase that begins within a period')
    }
    const changed = {...withPrice(old, price, given.quantity ?? 1), metadata: given.metadata} as Thing
    return moved(world, old, changed, {isReset: isReset && !own, now})
  })
  changeSubscription(world, subscription, {
    items: withItems(subscription, items),
    metadata: {...subscription.metadata, ...phase.metadata},
    ...(isReset ? {billing_cycle_anchor: now} : {}),
  })
}

const moved = (world: SimulatorState, old: Thing, changed: Thing, {isReset, now}: {isReset: boolean; now: number}): Thing => {
  const books = booksOf(world, old.id)
  if (isReset) {
    keepBooks(world, old.id, {anchor: now, debits: books.debits})
    return {...changed, current_period_end: now}
  }
  if (isSameInterval(old.price.recurring, changed.price.recurring)) return changed
  return {...changed, current_period_start: now, current_period_end: nextBoundary(books.anchor, changed.price.recurring, now)}
}

const newItem = (world: SimulatorState, subscription: Thing, given: any, price: Thing, now: number): Thing => {
  const anchor = subscription.billing_cycle_anchor
  const end = nextBoundary(anchor, price.recurring, now)
  return createItem(world, subscription.id, {price, quantity: given.quantity ?? 1, metadata: given.metadata}, {start: now, end, anchor})
}
