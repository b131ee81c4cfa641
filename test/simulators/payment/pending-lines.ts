import type {Thing} from './store.ts'
import type {World} from './world.ts'

/** Prorations that wait for the next invoice of their subscription. */
export const addPending = (world: World, subscription: string, lines: Thing[]) => {
  for (const line of lines) world.store.put({id: line.id, object: '~pending', subscription, line: withPendingId(world, line)})
}

const withPendingId = (world: World, line: Thing): Thing => {
  const details = {...line.parent.subscription_item_details, invoice_item: world.newId('ii')}
  return {...line, parent: {...line.parent, subscription_item_details: details}}
}

export const pendingOf = (world: World, subscription: string): Thing[] =>
  world.store
    .all('~pending')
    .filter(one => one.subscription === subscription)
    .map(one => one.line)

/** They are on an invoice now. */
export const takePending = (world: World, subscription: string): Thing[] => {
  const lines = pendingOf(world, subscription)
  for (const line of lines) world.store.drop('~pending', line.id)
  return lines
}

export const dropPending = (world: World, subscription: string) => void takePending(world, subscription)
