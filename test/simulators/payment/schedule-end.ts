import {change} from './events.ts'
import type {Thing} from './store.ts'
import type {World} from './world.ts'

/** A subscription that ends takes its schedule with it: done when that was planned, cancelled when not. */
export const endSchedule = (world: World, subscription: Thing) => {
  const schedule = subscription.schedule === null ? undefined : world.store.get('subscription_schedule', subscription.schedule)
  if (schedule?.status !== 'active') return
  world.clock.cancel(`schedule:${schedule.id}`)
  const now = world.clock.now()
  const isPlanned = schedule.end_behavior === 'cancel' && schedule.phases.at(-1).end_date <= now
  const patch = isPlanned ? {status: 'completed', completed_at: now} : {status: 'canceled', canceled_at: now}
  change(world, schedule, {...patch, current_phase: null}, `subscription_schedule.${patch.status}`)
}
