import {expire} from './checkout.ts'
import {advanceInvoice} from './dunning.ts'
import {advanceSchedule} from './schedules.ts'
import type {SimulatorState} from './simulator-state.ts'
import {advanceSubscription} from './subscription-life.ts'

/** Timed actions by the first part of their name; the rest is an id. A delivery is sent with others of the same time. */
const acts: Record<string, (world: SimulatorState, id: string) => void> = {
  checkout: (world, id) => expire(world, world.store.get('checkout.session', id)!),
  delivery: () => {},
  invoice: advanceInvoice,
  schedule: advanceSchedule,
  subscription: advanceSubscription,
}

export const runDue = (world: SimulatorState, name: string) => {
  const [kind = '', id = ''] = name.split(':')
  const act = acts[kind]
  if (!act) throw new Error(`Nothing is planned under ${name}`)
  act(world, id)
}
