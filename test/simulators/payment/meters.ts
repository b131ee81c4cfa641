import type {Call} from './calls.ts'
import {create, list, need} from './objects.ts'
import {complete} from './schemas.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {invalid} from './wire.ts'

const minute = 60
const day = 24 * 60 * minute

export const createMeter = ({world, params}: Call): Thing => {
  const {display_name, event_name, default_aggregation, customer_mapping, value_settings, event_time_window = null} = params
  if (world.store.all('billing.meter').some(meter => meter.event_name === event_name && meter.status === 'active')) {
    throw invalid(`There is already an active meter with the event name ${event_name}.`, {param: 'event_name'})
  }
  const fields = {
    customer_mapping: customer_mapping ?? {event_payload_key: 'stripe_customer_id', type: 'by_id'},
    value_settings: value_settings ?? {event_payload_key: 'value'},
    default_aggregation,
    display_name,
    event_name,
    event_time_window,
    status: 'active',
    updated: world.clock.now(),
  }
  return create(world, 'billing.meter', world.newId('mtr_test'), fields, 'billing.meter.created')
}

/** Accepts a meter event. It is counted later, and only then are errors in it reported. */
export const createMeterEvent = ({world, params}: Call): Thing => {
  const {event_name: name, payload, identifier = world.newId('mevt'), timestamp = world.clock.now()} = params
  const now = world.clock.now()
  if (timestamp < now - 35 * day) throw invalid('The timestamp must be within the past 35 calendar days.', {param: 'timestamp'})
  if (timestamp > now + 5 * minute) throw invalid('The timestamp must not be more than 5 minutes in the future.', {param: 'timestamp'})
  const same = world.store.get('~usage', identifier)
  if (same && now - same.takenAt < day)
    throw invalid(`An event already exists with identifier ${identifier}.`, {code: 'duplicate_meter_event'})
  // An identifier is remembered for a day. After that, the same identifier is another event, and both count.
  if (same) world.store.put({...same, id: `${identifier}~${same.takenAt}`})
  const countedAt = now + world.settings.meterDelaySeconds
  const meter = world.store.all('billing.meter').find(one => one.event_name === name && one.status === 'active')
  const customer = payload[meter?.customer_mapping.event_payload_key ?? 'stripe_customer_id']
  const value = Number(payload[meter?.value_settings.event_payload_key ?? 'value'])
  const wrong = wrongOf(world, {meter, customer, value})
  if (wrong) world.store.put({id: identifier, object: '~usageError', at: countedAt, code: wrong, event: name})
  else {
    const usage = {meter: meter!.id, customer, value, timestamp, takenAt: now, countedAt, isCancelled: false}
    world.store.put({id: identifier, object: '~usage', ...usage})
  }
  return withoutId(complete('billing.meter_event', {id: identifier, created: now, event_name: name, identifier, payload, timestamp}))
}

type MeterEvent = {meter: Thing | undefined; customer: string | undefined; value: number}

const wrongOf = (world: SimulatorState, {meter, customer, value}: MeterEvent) => {
  if (!meter) return 'no_meter'
  if (customer === undefined) return 'meter_event_no_customer_defined'
  if (!world.store.get('customer', customer)) return 'meter_event_customer_not_found'
  return Number.isInteger(value) && value >= 0 ? null : 'meter_event_invalid_value'
}

/** Cancels a meter event of the last 24 hours. */
export const createAdjustment = ({world, params}: Call): Thing => {
  const {cancel, event_name: name, type} = params
  const usage = world.store.get('~usage', cancel?.identifier ?? '')
  if (!usage) throw invalid('No such meter event.', {code: 'resource_missing', param: 'cancel[identifier]'})
  if (world.clock.now() - usage.takenAt > day)
    throw invalid('Meter events can be cancelled within 24 hours only.', {param: 'cancel[identifier]'})
  world.store.put({...usage, isCancelled: true})
  const fields = {cancel: {identifier: usage.id}, event_name: name, status: 'pending', type}
  return withoutId(complete('billing.meter_event_adjustment', {id: world.newId('mtradj'), ...fields}))
}

const withoutId = ({id: _, ...thing}: Thing) => thing as Thing

/** Lists one summary of the whole time range, or one per day or hour with usage. */
export const listSummaries = ({world, params, ids, path}: Call): any => {
  const meter = need(world, 'billing.meter', ids[0]!)
  const {customer, start_time: start, end_time: end, value_grouping_window: window} = params
  if (start % minute !== 0 || end % minute !== 0) throw invalid('Timestamps must be aligned with minute boundaries.', {param: 'start_time'})
  const step = window === 'day' ? day : window === 'hour' ? 60 * minute : end - start
  const summaries: Thing[] = []
  for (let from = start; from < end; from += step) {
    const until = Math.min(from + step, end)
    const value = usedIn(world, meter.id, customer, from, until)
    if (value === 0 && window !== undefined) continue
    const summary = {
      id: `mtrusg_${meter.id.slice(-8)}_${from}`,
      aggregated_value: value,
      start_time: from,
      end_time: until,
      meter: meter.id,
    }
    summaries.push(complete('billing.meter_event_summary', summary))
  }
  return list(summaries.toReversed(), path)
}

/** Returns the customer's usage in a time range, excluding `until`, as far as it was counted by now. */
export const usedIn = (world: SimulatorState, meterId: string, customer: string, from: number, until: number): number => {
  const {formula} = world.store.get('billing.meter', meterId)!.default_aggregation
  const counted: number[] = world.store
    .all('~usage')
    .filter(one => one.meter === meterId && one.customer === customer && one.timestamp >= from && one.timestamp < until)
    .filter(one => !one.isCancelled && one.countedAt <= world.clock.now())
    .map(one => one.value)
  if (formula === 'count') return counted.length
  return formula === 'last' ? (counted.at(-1) ?? 0) : counted.reduce((sum, value) => sum + value, 0)
}
