import type {Call} from './calls.ts'
import {addIntervals, isSameInterval, nextBoundary} from './clock.ts'
import {createLine, describeSale, nameOf, onDay, priceOf} from './invoice-drafts.ts'
import {mergeMetadata, need, page} from './objects.ts'
import {needRecurring, planOf} from './products.ts'
import {complete} from './schemas.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {applyUpdate, readUpdate, type Update} from './subscription-updates.ts'
import {definedOf, invalid, missing, only} from './wire.ts'

/** The billing anchor of an item, and what was charged for which time. Credits are calculated from it. */
type Books = {anchor: number; debits: {start: number; end: number; amount: number}[]}

type Sale = {price: Thing; quantity?: number; metadata?: Record<string, string>}
type Span = {start: number; end: number; anchor: number}

export const createItem = (world: SimulatorState, subscription: string, sale: Sale, {start, end, anchor}: Span): Thing => {
  const {price, quantity = 1, metadata = {}} = sale
  const id = world.newId('si')
  keepBooks(world, id, {anchor, debits: []})
  const period = {created: world.clock.now(), current_period_start: start, current_period_end: end}
  const item = complete('subscription_item', {id, ...period, metadata, plan: planOf(price), price, subscription, tax_rates: []})
  return withPrice(item, price, quantity)
}

/** Sets the price and quantity of an item. A metered item has no quantity, because its usage is measured. */
export const withPrice = (item: Thing, price: Thing, quantity: number): Thing => {
  const {quantity: _, ...rest} = item
  return {...rest, id: item.id, object: item.object, plan: planOf(price), price, ...(isMetered(price) ? {} : {quantity})}
}

export const isMetered = (price: Thing): boolean => price.recurring?.usage_type === 'metered'

export const booksOf = (world: SimulatorState, item: string) => world.store.get('~books', item) as unknown as Books
export const keepBooks = (world: SimulatorState, id: string, books: Books) => void world.store.put({id, object: '~books', ...books})

export const moveAnchor = (world: SimulatorState, id: string, anchor: number) =>
  keepBooks(world, id, {anchor, debits: booksOf(world, id).debits})

/** Returns the item in its next period, which depends on its anchor. */
export const nextPeriod = (world: SimulatorState, item: Thing): Thing => {
  const start = item.current_period_end
  const end = nextBoundary(booksOf(world, item.id).anchor, item.price.recurring, start)
  return {...item, current_period_start: start, current_period_end: end}
}

/** Returns the item with a new period that starts now. */
export const reanchored = (world: SimulatorState, item: Thing, now: number): Thing => {
  moveAnchor(world, item.id, now)
  return {...item, current_period_start: now, current_period_end: addIntervals(now, item.price.recurring, 1)}
}

/** Returns a line with the full price of the item's period, and records it for later credits. A metered item has no line. */
export const chargePeriod = (world: SimulatorState, item: Thing): Thing[] => {
  if (isMetered(item.price)) return []
  const {current_period_start: start, current_period_end: end, quantity} = item
  const amount = priceOf(item.price, quantity)
  keepBooks(world, item.id, {anchor: booksOf(world, item.id).anchor, debits: [{start, end, amount}]})
  const description = describeSale(world, item.price, quantity)
  return [createLine(world, {item, amount, start, end, description})]
}

/** Returns lines that credit what was charged for the time after `at`. */
export const creditUnused = (world: SimulatorState, item: Thing, at: number): Thing[] => {
  const {anchor, debits} = booksOf(world, item.id)
  const description = `Unused time on ${nameOf(world, item.price)} after ${onDay(at)}`
  const left: Books['debits'] = []
  const lines: Thing[] = []
  for (const debit of debits) {
    const {end} = debit
    const start = Math.max(at, debit.start)
    const credit = end <= at ? 0 : Math.round((debit.amount * (end - start)) / (end - debit.start))
    if (debit.start < at) left.push({...debit, end: Math.min(end, at), amount: debit.amount - credit})
    if (credit !== 0) lines.push(createLine(world, {item, amount: -credit, start, end, description, isProration: true}))
  }
  keepBooks(world, item.id, {anchor, debits: left})
  return lines
}

/** Returns a line with the item's price for the rest of the period from `at`. A metered item has no line. */
export const chargeRest = (world: SimulatorState, item: Thing, at: number): Thing[] => {
  if (isMetered(item.price)) return []
  const {current_period_start: start, current_period_end: end, quantity} = item
  const {anchor, debits} = booksOf(world, item.id)
  const amount = Math.round((priceOf(item.price, quantity) * (end - at)) / (end - start))
  keepBooks(world, item.id, {anchor, debits: [...debits, {start: at, end, amount}]})
  const description = `Remaining time on ${nameOf(world, item.price)} after ${onDay(at)}`
  return [createLine(world, {item, amount, start: at, end, description, isProration: true})]
}

export type ItemChange = {id?: string; price?: string; quantity?: number; metadata?: Record<string, string> | ''; deleted?: boolean}

/** What a change of items does: new items, credit and debit lines, and whether the lines are billed now. */
type ChangedItems = {items: Thing[]; lines: Thing[]; isBilledNow: boolean; patch: Record<string, unknown>}

/**
 * Changes items. An item with another interval, or with `anchorNow` every item, starts a new period, which is charged in full. Other changes are
 * prorated, unless `proration_behavior` is `none`. A trial charges nothing.
 */
export const changeItems = (world: SimulatorState, subscription: Thing, update: Update): ChangedItems => {
  for (const given of update.items ?? []) only(given, ['id', 'price', 'quantity', 'metadata', 'deleted'], 'items')
  const now = world.clock.now()
  const before: Thing[] = movedTrial(subscription, update)
  const at = dateOf(subscription, update, now)
  const changes = (update.items ?? []).map(given => ({given, item: given.id === undefined ? undefined : findItem(before, given.id)}))
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

/** Returns the items. If the trial end changes, their period ends with it. */
const movedTrial = (subscription: Thing, {patch}: Update): Thing[] => {
  const end = patch.trial_end
  return end === undefined ? subscription.items.data : subscription.items.data.map((item: Thing) => ({...item, current_period_end: end}))
}

/** Returns the proration date: a given time within the current period, or now. */
const dateOf = (subscription: Thing, {prorationDate}: Update, now: number): number => {
  if (prorationDate === null || prorationDate === undefined) return now
  const items: Thing[] = subscription.items.data
  const start = Math.min(...items.map(item => item.current_period_start))
  const end = Math.max(...items.map(item => item.current_period_end))
  if (prorationDate >= start && prorationDate <= end) return prorationDate
  throw invalid('Invalid timestamp: `proration_date` must be within the current billing period.', {param: 'proration_date'})
}

const findItem = (items: Thing[], id: string): Thing => {
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

/** Adds an item. Calls for items are updates of the subscription in another form. */
export const createSubscriptionItem = ({world, params}: Call): Thing => {
  const {price, quantity, metadata} = params
  const subscription = need(world, 'subscription', params.subscription, 'subscription')
  refuseEnded(subscription)
  if (quantity !== undefined && world.store.get('price', price)?.recurring?.usage_type === 'metered') {
    throw invalid('Quantity should not be specified where usage_type is `metered`.', {param: 'quantity'})
  }
  return update(world, subscription, params, definedOf({price, quantity, metadata})).at(-1)!
}

export const updateSubscriptionItem = ({world, params, ids}: Call): Thing => {
  const {price, quantity, metadata} = params
  const items = update(world, ownerOf(world, ids[0]!), params, {id: ids[0]!, ...definedOf({price, quantity, metadata})})
  return items.find(item => item.id === ids[0])!
}

export const deleteSubscriptionItem = ({world, params, ids}: Call): Thing => {
  const subscription = ownerOf(world, ids[0]!)
  if (params.clear_usage !== undefined) throw new TypeError('The stand-in does not carry clear_usage')
  if (subscription.items.data.length === 1) throw invalid('A subscription must have at least one active plan.')
  update(world, subscription, params, {id: ids[0]!, deleted: true})
  return {id: ids[0]!, object: 'subscription_item', deleted: true}
}

export const readSubscriptionItem = ({world, ids}: Call): Thing => findItem(ownerOf(world, ids[0]!).items.data, ids[0]!)

export const listSubscriptionItems = (call: Call): any =>
  page(call, need(call.world, 'subscription', call.params.subscription, 'subscription').items.data.toReversed())

const update = (world: SimulatorState, subscription: Thing, params: Call['params'], item: ItemChange): Thing[] => {
  const {proration_behavior, proration_date, payment_behavior} = params
  const given = readUpdate({proration_behavior, proration_date, payment_behavior})
  return applyUpdate(world, subscription, {...given, items: [item], patch: {}}).subscription.items.data
}

const ownerOf = (world: SimulatorState, id: string): Thing => {
  const found = world.store.all('subscription').find(one => one.items.data.some((item: Thing) => item.id === id))
  if (!found) throw missing('subscription_item', id)
  refuseEnded(found)
  return found
}

const refuseEnded = (subscription: Thing) => {
  if (subscription.ended_at !== null) throw invalid('You cannot change the items of a canceled subscription.')
}
