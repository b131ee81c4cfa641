import {only} from './only.ts'
import {addIntervals} from './periods.ts'
import {needRecurring} from './products.ts'
import {invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** The current state of a subscription as a phase until the end of its period. */
export const phaseOf = (subscription: Thing): Record<string, any> => {
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
  application_fee_percent: null,
  billing_cycle_anchor: null,
  billing_thresholds: null,
  collection_method: null,
  currency,
  default_payment_method: null,
  default_tax_rates: [],
  description: null,
  discounts: [],
  invoice_settings: null,
  metadata: {},
  on_behalf_of: null,
  proration_behavior: 'create_prorations',
  transfer_data: null,
  trial_end: null as number | null,
})

const phaseItem = (price: string, quantity: number | undefined, metadata: Record<string, string>) => ({
  billing_thresholds: null,
  discounts: [],
  metadata,
  plan: price,
  price,
  ...(quantity === undefined ? {} : {quantity}),
  tax_rates: [],
})

/** The given phases, each beginning at the end of the one before; the current one must match the subscription. */
export const readPhases = (world: SimulatorState, schedule: Thing, given: Record<string, any>[]): Record<string, any>[] => {
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
  const standing = items.map((item: any) => `${item.price} ${item.quantity ?? null}`)
  if (wanted.toSorted().join() !== standing.toSorted().join()) throw new TypeError('The stand-in does not change the phase that is running')
  const end = given.duration ? addIntervals(current.start_date, spanOf(given.duration), 1) : (given.end_date ?? current.end_date)
  if (end <= world.clock.now()) throw invalid('The end date of a phase must be in the future.', {param: 'phases[0][end_date]'})
  if ((given.trial_end ?? current.trial_end) !== current.trial_end)
    throw new TypeError('The stand-in does not move a trial by its schedule')
  return {...current, ...chosen(given), items, end_date: end}
}

const quantityOf = (world: SimulatorState, price: string) =>
  needRecurring(world, price, 'phases').recurring.usage_type === 'metered' ? null : 1

const readPhase = (world: SimulatorState, schedule: Thing, given: Record<string, any>, start: number, index: number) => {
  const at = `phases[${index}]`
  if (given.start_date !== undefined && given.start_date !== start) {
    throw invalid('A phase must begin where the one before it ends.', {param: `${at}[start_date]`})
  }
  if (given.duration === undefined && given.end_date === undefined) {
    throw invalid('You must pass either `duration` or `end_date` for every phase.', {param: `${at}[duration]`})
  }
  if (given.trial || given.trial_end || given.add_invoice_items)
    throw new TypeError('The stand-in has no trials or extra items in later phases')
  const end = given.duration ? addIntervals(start, spanOf(given.duration), 1) : given.end_date
  if (end <= start) throw invalid('The end date of a phase must be after its start date.', {param: `${at}[end_date]`})
  const items = given.items.map((item: any) => {
    const price = needRecurring(world, item.price, `${at}[items][0][price]`)
    const quantity = price.recurring.usage_type === 'metered' ? undefined : (item.quantity ?? 1)
    return phaseItem(price.id, quantity, item.metadata ?? {})
  })
  return {...blank(schedule.phases[0].currency), ...chosen(given), items, start_date: start, end_date: end}
}

const spanOf = ({interval, interval_count = 1}: any) => ({interval, interval_count})

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
  return {
    ...(tax === undefined
      ? {}
      : {automatic_tax: {enabled: tax.enabled, liability: tax.enabled ? {type: 'self'} : null, disabled_reason: null}}),
    ...(billing_cycle_anchor === undefined ? {} : {billing_cycle_anchor}),
    ...(proration_behavior === undefined ? {} : {proration_behavior}),
    ...(metadata === undefined ? {} : {metadata}),
  }
}
