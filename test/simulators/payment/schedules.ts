import type {Call} from './calls.ts'
import {addIntervals, isSameInterval, nextBoundary} from './clock.ts'
import {change, create, mergeMetadata, need} from './objects.ts'
import {needRecurring} from './products.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {booksOf, createItem, moveAnchor, withPrice} from './subscription-items.ts'
import {cancelNow, changeSubscription, withItems} from './subscriptions.ts'
import {definedOf, invalid, only} from './wire.ts'

/** Creates a schedule from a subscription. An update sets its later phases. */
export const createSchedule = ({world, params}: Call): Thing => {
  const {from_subscription: from, metadata} = params
  if (from === undefined) throw new TypeError('The stand-in makes schedules from a subscription only')
  const other = Object.keys(params).find(name => !['from_subscription', 'metadata', 'expand'].includes(name))
  if (other) throw invalid(`You cannot set \`${other}\` if \`from_subscription\` is set.`, {param: other})
  const subscription = need(world, 'subscription', from, 'from_subscription')
  if (subscription.ended_at !== null) throw invalid('You cannot create a subscription schedule from a subscription that has ended.')
  if (subscription.schedule !== null) {
    throw invalid(`You cannot migrate a subscription that is already attached to a schedule: \`${subscription.schedule}\`.`)
  }
  const isEnding = subscription.cancel_at !== null
  const phase = phaseOf(subscription)
  const fields = {
    billing_mode: subscription.billing_mode,
    current_phase: {start_date: phase.start_date, end_date: phase.end_date},
    customer: subscription.customer,
    default_settings: {billing_cycle_anchor: 'automatic', invoice_settings: {issuer: {type: 'self'}}},
    end_behavior: isEnding ? 'cancel' : 'release',
    metadata: mergeMetadata({}, metadata),
    phases: [isEnding ? {...phase, end_date: subscription.cancel_at} : phase],
    status: 'active',
    subscription: subscription.id,
  }
  const schedule = create(world, 'subscription_schedule', world.newId('sub_sched'), fields, 'subscription_schedule.created')
  changeSubscription(world, subscription, {schedule: schedule.id, cancel_at_period_end: false})
  planSchedule(world, schedule)
  return schedule
}

export const updateSchedule = ({world, params, ids}: Call): Thing => {
  const schedule = needLive(world, ids[0]!, 'update')
  const {phases, end_behavior: end = schedule.end_behavior, metadata, proration_behavior: proration} = params
  if (proration === 'always_invoice') throw new TypeError('The stand-in does not invoice the change of a schedule')
  const patch = {
    phases: phases === undefined ? schedule.phases : readPhases(world, schedule, phases),
    end_behavior: end,
    metadata: mergeMetadata(schedule.metadata, metadata),
  }
  const running = patch.phases.find((phase: any) => phase.start_date === schedule.current_phase.start_date)
  const current = {start_date: running.start_date, end_date: running.end_date}
  const changed = change(world, schedule, {...patch, current_phase: current}, 'subscription_schedule.updated')
  const subscription = world.store.get('subscription', schedule.subscription)!
  changeSubscription(world, subscription, datesOf(world, subscription, end === 'cancel' ? changed.phases.at(-1).end_date : null))
  planSchedule(world, changed)
  return changed
}

export const releaseSchedule = ({world, params, ids}: Call): Thing =>
  release(world, needLive(world, ids[0]!, 'release'), params.preserve_cancel_date === true)

/** Releases the subscription from its schedule. Removes the subscription's cancellation date, unless `keepsDate` is set. */
const release = (world: SimulatorState, schedule: Thing, keepsDate: boolean): Thing => {
  const now = world.clock.now()
  world.clock.cancel(`schedule:${schedule.id}`)
  const subscription = world.store.get('subscription', schedule.subscription)!
  changeSubscription(world, subscription, {schedule: null, ...(keepsDate ? {} : datesOf(world, subscription, null))})
  const patch = {status: 'released', released_at: now, released_subscription: subscription.id, subscription: null, current_phase: null}
  return change(world, schedule, patch, 'subscription_schedule.released')
}

/** Returns the fields of a cancellation at a time; null removes it. `cancel_at_period_end` stays as it is. */
const datesOf = (world: SimulatorState, {canceled_at: before, cancellation_details: details}: Thing, at: number | null) => ({
  cancel_at: at,
  canceled_at: at === null ? null : (before ?? world.clock.now()),
  cancellation_details: {...details, reason: at === null ? null : 'cancellation_requested'},
})

/** Cancels a schedule and its subscription. */
export const cancelSchedule = ({world, params, ids}: Call): Thing => {
  const schedule = needLive(world, ids[0]!, 'cancel')
  if (params.invoice_now || params.prorate) throw new TypeError('The stand-in does not carry invoice_now or prorate of a cancellation')
  cancelNow(world, world.store.get('subscription', schedule.subscription)!)
  return world.store.get('subscription_schedule', schedule.id)!
}

const needLive = (world: SimulatorState, id: string, verb: string): Thing => {
  const schedule = need(world, 'subscription_schedule', id)
  if (['active', 'not_started'].includes(schedule.status)) return schedule
  throw invalid(`You cannot ${verb} a subscription schedule that is currently in the \`${schedule.status}\` status.`)
}

/** Plans the end of the current phase before a renewal at the same time, which then charges the price of the new phase. */
const planSchedule = (world: SimulatorState, schedule: Thing) =>
  world.clock.plan(`schedule:${schedule.id}`, schedule.current_phase.end_date, 3)

export const advanceSchedule = (world: SimulatorState, id: string) => {
  const schedule = world.store.get('subscription_schedule', id)!
  const now = world.clock.now()
  if (schedule.status !== 'active') return
  const next = schedule.phases.find((phase: any) => phase.start_date === schedule.current_phase.end_date)
  if (!next) {
    if (schedule.end_behavior !== 'cancel') release(world, schedule, false)
    return
  }
  enterPhase(world, world.store.get('subscription', schedule.subscription)!, next, now)
  const current = {start_date: next.start_date, end_date: next.end_date}
  planSchedule(world, change(world, schedule, {current_phase: current}, 'subscription_schedule.updated'))
}

/** Returns the current state of a subscription as a phase until the end of its period. */
const phaseOf = (subscription: Thing): Record<string, any> => {
  const items: Thing[] = subscription.items.data
  return {
    ...blank(subscription.currency),
    items: items.map(item => phaseItem(item.price.id, item.quantity, {})),
    start_date: Math.min(...items.map(item => item.current_period_start)),
    end_date: Math.max(...items.map(item => item.current_period_end)),
    trial_end: subscription.status === 'trialing' ? subscription.trial_end : null,
  }
}

const blank = (currency: string) => ({
  add_invoice_items: [],
  currency,
  default_tax_rates: [],
  discounts: [],
  metadata: {},
  proration_behavior: 'create_prorations',
  application_fee_percent: null,
  billing_cycle_anchor: null,
  billing_thresholds: null,
  collection_method: null,
  description: null,
  default_payment_method: null,
  invoice_settings: null,
  on_behalf_of: null,
  transfer_data: null,
  trial_end: null as number | null,
})

const phaseItem = (price: string, quantity: number | undefined, metadata: Record<string, string>) => ({
  billing_thresholds: null,
  discounts: [],
  metadata,
  plan: price,
  price,
  ...definedOf({quantity}),
  tax_rates: [],
})

/** Reads the given phases. Each begins at the end of the previous one; the current one must match the subscription. */
const readPhases = (world: SimulatorState, schedule: Thing, given: Record<string, any>[]): Record<string, any>[] => {
  const current = schedule.phases.findIndex((phase: any) => phase.start_date === schedule.current_phase?.start_date)
  const past: Record<string, any>[] = schedule.phases.slice(0, current)
  const [first, ...rest] = given.filter(one => !past.some(phase => phase.start_date === one.start_date))
  if (!first) throw invalid('The current phase must be among the phases.', {param: 'phases'})
  const running = readRunning(world, schedule.phases[current], first, itemsNow(world, schedule))
  const phases = [...past, running]
  for (const one of rest) phases.push(readPhase(world, schedule, one, phases.at(-1)!.end_date, phases.length))
  return phases
}

const itemsNow = (world: SimulatorState, schedule: Thing) =>
  world.store.get('subscription', schedule.subscription)!.items.data.map((item: Thing) => phaseItem(item.price.id, item.quantity, {}))

const readRunning = (world: SimulatorState, current: any, given: Record<string, any>, items: Record<string, any>[]) => {
  if (given.start_date !== current.start_date) {
    throw invalid('You can not modify the start date of the current phase.', {param: 'phases[0][start_date]'})
  }
  const wanted = given.items.map((item: any) => `${item.price} ${item.quantity ?? quantityOf(world, item.price)}`)
  const running = items.map((item: any) => `${item.price} ${item.quantity ?? null}`)
  if (wanted.toSorted().join() !== running.toSorted().join()) throw new TypeError('The stand-in does not change the phase that is running')
  const end = endOf(given, current.start_date) ?? current.end_date
  if (end <= world.clock.now()) throw invalid('The end date of a phase must be in the future.', {param: 'phases[0][end_date]'})
  const trialEnd = given.trial_end ?? current.trial_end
  if (trialEnd !== current.trial_end) throw new TypeError('The stand-in does not move a trial by its schedule')
  return {...current, ...chosen(given), items, end_date: end}
}

const quantityOf = (world: SimulatorState, price: string) =>
  needRecurring(world, price, 'phases').recurring.usage_type === 'metered' ? null : 1

const readPhase = (world: SimulatorState, schedule: Thing, given: Record<string, any>, start: number, index: number) => {
  const at = `phases[${index}]`
  if (given.start_date !== undefined && given.start_date !== start) {
    throw invalid('A phase must begin where the one before it ends.', {param: `${at}[start_date]`})
  }
  const end = endOf(given, start)
  if (end === undefined) throw invalid('You must pass either `duration` or `end_date` for every phase.', {param: `${at}[duration]`})
  const isBeyond = given.trial || given.trial_end || given.add_invoice_items
  if (isBeyond) throw new TypeError('The stand-in has no trials or extra items in later phases')
  if (end <= start) throw invalid('The end date of a phase must be after its start date.', {param: `${at}[end_date]`})
  const items = given.items.map((item: any) => {
    const price = needRecurring(world, item.price, `${at}[items][0][price]`)
    const quantity = price.recurring.usage_type === 'metered' ? undefined : (item.quantity ?? 1)
    return phaseItem(price.id, quantity, item.metadata ?? {})
  })
  return {...blank(schedule.phases[0].currency), ...chosen(given), items, start_date: start, end_date: end}
}

const endOf = ({duration, end_date}: Record<string, any>, start: number): number | undefined =>
  duration ? addIntervals(start, {interval_count: 1, ...duration}, 1) : end_date

const carried = [
  'items',
  'start_date',
  'end_date',
  'duration',
  'trial_end',
  'billing_cycle_anchor',
  'proration_behavior',
  'metadata',
  'automatic_tax',
]

const chosen = (given: Record<string, any>) => {
  only(given, carried, 'phases')
  for (const item of given.items) only(item, ['price', 'quantity', 'metadata'], 'phases[items]')
  const {billing_cycle_anchor, proration_behavior, metadata, automatic_tax: tax} = given
  const automatic_tax = tax && {enabled: tax.enabled, liability: tax.enabled ? {type: 'self'} : null, disabled_reason: null}
  return definedOf({automatic_tax, billing_cycle_anchor, proration_behavior, metadata})
}

/**
 * Applies the items and metadata of the phase. With `phase_start`, an item with a new price starts a period now, and the renewal of this
 * moment charges it. Otherwise, an item with another interval keeps its anchor and is not charged before the next period.
 */
const enterPhase = (world: SimulatorState, subscription: Thing, phase: Record<string, any>, now: number) => {
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
    return isReset && !own ? resetItem(world, changed, now) : moveItem(world, old, changed, now)
  })
  changeSubscription(world, subscription, {
    items: withItems(subscription, items),
    metadata: {...subscription.metadata, ...phase.metadata},
    ...(isReset ? {billing_cycle_anchor: now} : {}),
  })
}

/** Moves the anchor and ends the period now, so that the renewal of this moment starts the next one. */
const resetItem = (world: SimulatorState, item: Thing, now: number): Thing => {
  moveAnchor(world, item.id, now)
  return {...item, current_period_end: now}
}

const moveItem = (world: SimulatorState, old: Thing, changed: Thing, now: number): Thing => {
  const {recurring} = changed.price
  if (isSameInterval(old.price.recurring, recurring)) return changed
  return {...changed, current_period_start: now, current_period_end: nextBoundary(booksOf(world, old.id).anchor, recurring, now)}
}

const newItem = (world: SimulatorState, subscription: Thing, given: any, price: Thing, now: number): Thing => {
  const anchor = subscription.billing_cycle_anchor
  const end = nextBoundary(anchor, price.recurring, now)
  return createItem(world, subscription.id, {price, quantity: given.quantity ?? 1, metadata: given.metadata}, {start: now, end, anchor})
}

/** Ends the schedule of a subscription that ended: completed if the schedule planned the end, otherwise cancelled. */
export const endSchedule = (world: SimulatorState, subscription: Thing) => {
  const schedule = subscription.schedule === null ? undefined : world.store.get('subscription_schedule', subscription.schedule)
  if (schedule?.status !== 'active') return
  world.clock.cancel(`schedule:${schedule.id}`)
  const now = world.clock.now()
  const isPlanned = schedule.end_behavior === 'cancel' && schedule.phases.at(-1).end_date <= now
  const patch = isPlanned ? {status: 'completed', completed_at: now} : {status: 'canceled', canceled_at: now}
  change(world, schedule, {...patch, current_phase: null}, `subscription_schedule.${patch.status}`)
}
