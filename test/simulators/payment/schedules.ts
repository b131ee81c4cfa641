import type {Call} from './calls.ts'
import {complete} from './complete.ts'
import {add, change} from './events.ts'
import {mergeMetadata} from './metadata.ts'
import {page} from './paging.ts'
import {enterPhase} from './phase-entry.ts'
import {phaseOf, readPhases} from './phases.ts'
import {need} from './products.ts'
import {invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {cancelNow} from './subscription-end.ts'
import {changeSubscription} from './subscriptions.ts'

/** Makes a schedule from a subscription only; its phases are set afterwards. */
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
  const schedule = complete('subscription_schedule', {
    id: world.newId('sub_sched'),
    billing_mode: subscription.billing_mode,
    created: world.clock.now(),
    current_phase: {start_date: phase.start_date, end_date: phase.end_date},
    customer: subscription.customer,
    default_settings: {billing_cycle_anchor: 'automatic', invoice_settings: {issuer: {type: 'self'}}},
    end_behavior: isEnding ? 'cancel' : 'release',
    metadata: mergeMetadata({}, metadata),
    phases: [isEnding ? {...phase, end_date: subscription.cancel_at} : phase],
    status: 'active',
    subscription: subscription.id,
  })
  add(world, schedule, 'subscription_schedule.created')
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
  const cancelAt = end === 'cancel' ? changed.phases.at(-1).end_date : null
  const reason = {...subscription.cancellation_details, reason: cancelAt === null ? null : 'cancellation_requested'}
  changeSubscription(world, subscription, {
    cancel_at: cancelAt,
    canceled_at: cancelAt === null ? null : (subscription.canceled_at ?? world.clock.now()),
    cancellation_details: reason,
  })
  planSchedule(world, changed)
  return changed
}

export const releaseSchedule = ({world, params, ids}: Call): Thing =>
  release(world, needLive(world, ids[0]!, 'release'), params.preserve_cancel_date === true)

/** The subscription continues unchanged; an end date set by the schedule is removed with it. */
const release = (world: SimulatorState, schedule: Thing, keepsDate: boolean): Thing => {
  const now = world.clock.now()
  world.clock.cancel(`schedule:${schedule.id}`)
  const subscription = world.store.get('subscription', schedule.subscription)!
  const dates = keepsDate
    ? {}
    : {cancel_at: null, canceled_at: null, cancellation_details: {...subscription.cancellation_details, reason: null}}
  changeSubscription(world, subscription, {schedule: null, ...dates})
  const patch = {status: 'released', released_at: now, released_subscription: subscription.id, subscription: null, current_phase: null}
  return change(world, schedule, patch, 'subscription_schedule.released')
}

/** Cancels the subscription, too. */
export const cancelSchedule = ({world, params, ids}: Call): Thing => {
  const schedule = needLive(world, ids[0]!, 'cancel')
  if (params.invoice_now || params.prorate) throw new TypeError('The stand-in does not carry invoice_now or prorate of a cancellation')
  cancelNow(world, world.store.get('subscription', schedule.subscription)!)
  return world.store.get('subscription_schedule', schedule.id)!
}

export const listSchedules = (call: Call): any => {
  const {customer} = call.params
  return page(
    call,
    call.world.store.all('subscription_schedule').filter(one => customer === undefined || one.customer === customer),
  )
}

const needLive = (world: SimulatorState, id: string, verb: string): Thing => {
  const schedule = need(world, 'subscription_schedule', id)
  if (['active', 'not_started'].includes(schedule.status)) return schedule
  throw invalid(`You cannot ${verb} a subscription schedule that is currently in the \`${schedule.status}\` status.`)
}

/** Runs before the renewal of the same time, which then charges the price of the new phase. */
const planSchedule = (world: SimulatorState, schedule: Thing) => {
  const before = 3
  world.clock.plan(`schedule:${schedule.id}`, schedule.current_phase.end_date, before)
}

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
