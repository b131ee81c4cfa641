import {chargePeriod, chargeRest, createItem, creditUnused, isMetered, reanchored, withPrice} from './items.ts'
import {mergeMetadata} from './metadata.ts'
import {only} from './only.ts'
import {isSameInterval, nextBoundary} from './periods.ts'
import {needRecurring} from './products.ts'
import {invalid, missing} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import type {Update} from './subscription-update.ts'

export type ItemChange = {id?: string; price?: string; quantity?: number; metadata?: Record<string, string> | ''; deleted?: boolean}

/** The result of a change of items: the new items, the credit and debit lines, and whether they are charged now. */
export type Turn = {items: Thing[]; lines: Thing[]; isBilledNow: boolean; patch: Record<string, unknown>}

/** A change of interval starts a new period, paid in full; any other change is charged for the rest of the period. */
export const changeItems = (world: SimulatorState, subscription: Thing, update: Update): Turn => {
  for (const given of update.items ?? []) only(given, ['id', 'price', 'quantity', 'metadata', 'deleted'], 'items')
  const now = world.clock.now()
  const before: Thing[] = movedTrial(subscription, update)
  const at = dateOf(subscription, update, now)
  const changes = (update.items ?? []).map(given => ({given, item: findItem(before, given)}))
  const isTrial = ((update.patch.trial_end as number | null) ?? subscription.trial_end ?? 0) > now && subscription.status === 'trialing'
  const credits: Thing[] = []
  const debits: Thing[] = []
  const restarting = new Set(update.anchorNow ? before.map(item => item.id) : [])
  const isProrated = update.prorationBehaviour !== 'none'
  const after = new Map(before.map(item => [item.id, item]))
  for (const {given, item} of changes) {
    const changed = item ? changedItem(world, item, given) : addedItem(world, subscription, given, now)
    const isOtherPeriod = item !== undefined && !isSameInterval(item.price.recurring, changed.price.recurring)
    if (given.deleted) after.delete(changed.id)
    else after.set(changed.id, changed)
    if (isTrial || isSameSale(item, changed, given)) continue
    if (isOtherPeriod) restarting.add(item.id)
    if (item && isProrated) credits.push(...creditUnused(world, item, at))
    if (!given.deleted && isProrated && !isOtherPeriod && !update.anchorNow) debits.push(...chargeRest(world, changed, at))
  }
  let items = [...after.values()]
  if (items.length === 0) throw invalid('A subscription must have at least one active plan.', {param: 'items'})
  const isReanchored = restarting.size > 0 && !isTrial
  if (isReanchored) {
    const begins = (item: Thing) => restarting.has(item.id)
    if (items.some(item => begins(item) && isMetered(item.price))) throw new TypeError('The stand-in does not cut a metered period short')
    items = items.map(item => (begins(item) ? reanchored(world, item, now) : item))
    if (update.anchorNow && isProrated) credits.push(...before.flatMap(item => creditUnused(world, item, now)))
    debits.push(...items.filter(begins).flatMap(item => chargePeriod(world, item)))
  }
  return {
    items,
    lines: [...credits, ...debits],
    isBilledNow: isReanchored || update.prorationBehaviour === 'always_invoice',
    patch: isReanchored ? {billing_cycle_anchor: now} : {},
  }
}

const isSameSale = (item: Thing | undefined, changed: Thing, given: ItemChange) =>
  item !== undefined && !given.deleted && item.price.id === changed.price.id && item.quantity === changed.quantity

/** The items of a trial end with it. */
const movedTrial = (subscription: Thing, {patch}: Update): Thing[] => {
  const end = patch.trial_end
  return end === undefined ? subscription.items.data : subscription.items.data.map((item: Thing) => ({...item, current_period_end: end}))
}

/** The proration date: now, or a given time within the current period. */
const dateOf = (subscription: Thing, {prorationDate}: Update, now: number): number => {
  if (prorationDate === null || prorationDate === undefined) return now
  const items: Thing[] = subscription.items.data
  const start = Math.min(...items.map(item => item.current_period_start))
  const end = Math.max(...items.map(item => item.current_period_end))
  if (prorationDate >= start && prorationDate <= end) return prorationDate
  throw invalid('Invalid timestamp: `proration_date` must be within the current billing period.', {param: 'proration_date'})
}

const findItem = (items: Thing[], {id}: ItemChange): Thing | undefined => {
  if (id === undefined) return undefined
  const item = items.find(one => one.id === id)
  if (!item) throw missing('subscription_item', id, 'items[0][id]')
  return item
}

const changedItem = (world: SimulatorState, item: Thing, given: ItemChange): Thing => {
  const price = given.price === undefined ? item.price : needRecurring(world, given.price, 'items[0][price]')
  if (price.currency !== item.price.currency)
    throw invalid('The price specified has another currency than the subscription.', {param: 'items'})
  const quantity = given.quantity ?? item.quantity ?? 1
  return {...withPrice(item, price, quantity), metadata: mergeMetadata(item.metadata, given.metadata)} as Thing
}

const addedItem = (world: SimulatorState, subscription: Thing, given: ItemChange, now: number): Thing => {
  if (given.price === undefined)
    throw invalid('Missing required param: items[0][price].', {code: 'parameter_missing', param: 'items[0][price]'})
  const price = needRecurring(world, given.price, 'items[0][price]')
  const twin = subscription.items.data.find((item: Thing) => item.price.id === price.id)
  if (twin) throw invalid(`Cannot add multiple subscription items with the same plan: ${price.id}`, {param: 'items[0][price]'})
  const {billing_cycle_anchor: anchor} = subscription
  if (subscription.billing_mode.type !== 'flexible' && !isSameInterval(price.recurring, subscription.items.data[0].price.recurring)) {
    throw invalid('Currently, all items on a subscription must have the same billing interval.', {param: 'items[0][price]'})
  }
  const quantity = isMetered(price) ? 1 : (given.quantity ?? 1)
  const metadata = mergeMetadata({}, given.metadata)
  const end = subscription.status === 'trialing' ? subscription.trial_end : nextBoundary(anchor, price.recurring, now)
  return createItem(world, subscription.id, {price, quantity, metadata}, {start: now, end, anchor})
}
