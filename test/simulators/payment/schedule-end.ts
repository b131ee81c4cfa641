import {change} from './events.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** The end of a subscription ends its schedule: completed if planned, otherwise cancelled. */
export const endSchedule = (world: SimulatorState, subscription: Thing) => {
  const schedule = subscription.schedule === null ? undefined : world.store.get('subscription_schedule', subscription.schedule)
  if (schedule?.status !== 'active') return
  world.clock.cancel(`schedule:${schedule.id}`)
  const now = world.clock.now()
  const isPlanned = schedule.end_behavior === 'cancel' && schedule.phases.at(-1).end_date <= now
  const patch = isPlanned ? {status: 'completed', completed_at: now} : {status: 'canceled', canceled_at: now}
  change(world, schedule, {...patch, current_phase: null}, `subscription_schedule.${patch.status}`)
}
