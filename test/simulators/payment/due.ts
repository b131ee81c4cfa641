import {expire} from './checkout.ts'
import {advanceInvoice} from './dunning.ts'
import {advanceSchedule} from './schedules.ts'
import {advanceSubscription} from './subscription-life.ts'
import type {World} from './world.ts'

/** What happens by itself, by the first part of the name it was planned under; the rest is an id. A delivery goes out with the others of its moment. */
const acts: Record<string, (world: World, id: string) => void> = {
  checkout: (world, id) => expire(world, world.store.get('checkout.session', id)!),
  delivery: () => {},
  invoice: advanceInvoice,
  schedule: advanceSchedule,
  subscription: advanceSubscription,
}

export const runDue = (world: World, name: string) => {
  const [kind = '', id = ''] = name.split(':')
  const act = acts[kind]
  if (!act) throw new Error(`Nothing is planned under ${name}`)
  act(world, id)
}
