import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** Prorations for the next invoice of their subscription. */
export const addPending = (world: SimulatorState, subscription: string, lines: Thing[]) => {
  for (const line of lines) world.store.put({id: line.id, object: '~pending', subscription, line: withPendingId(world, line)})
}

const withPendingId = (world: SimulatorState, line: Thing): Thing => {
  const details = {...line.parent.subscription_item_details, invoice_item: world.newId('ii')}
  return {...line, parent: {...line.parent, subscription_item_details: details}}
}

export const pendingOf = (world: SimulatorState, subscription: string): Thing[] =>
  world.store
    .all('~pending')
    .filter(one => one.subscription === subscription)
    .map(one => one.line)

/** Removes pending lines that are now on an invoice. */
export const takePending = (world: SimulatorState, subscription: string): Thing[] => {
  const lines = pendingOf(world, subscription)
  for (const line of lines) world.store.drop('~pending', line.id)
  return lines
}

export const dropPending = (world: SimulatorState, subscription: string) => void takePending(world, subscription)
