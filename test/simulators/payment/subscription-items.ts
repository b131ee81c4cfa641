import type {Call} from './calls.ts'
import {page} from './paging.ts'
import {need} from './products.ts'
import {invalid, missing} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {applyUpdate, readUpdate, type Update} from './subscription-update.ts'

/** Item calls are updates of the subscription in another form. */
export const createSubscriptionItem = ({world, params}: Call): Thing => {
  const {price, quantity, metadata} = params
  const subscription = need(world, 'subscription', params.subscription, 'subscription')
  refuseEnded(subscription)
  if (quantity !== undefined && world.store.get('price', price)?.recurring?.usage_type === 'metered') {
    throw invalid('Quantity should not be specified where usage_type is `metered`.', {param: 'quantity'})
  }
  const item = {price, ...(quantity === undefined ? {} : {quantity}), ...(metadata === undefined ? {} : {metadata})}
  const {items} = update(world, subscription, params, item)
  return items.data.at(-1)
}

export const updateSubscriptionItem = ({world, params, ids}: Call): Thing => {
  const {price, quantity, metadata} = params
  const subscription = ownerOf(world, ids[0]!)
  const item = {
    id: ids[0]!,
    ...(price === undefined ? {} : {price}),
    ...(quantity === undefined ? {} : {quantity}),
    ...(metadata === undefined ? {} : {metadata}),
  }
  return update(world, subscription, params, item).items.data.find((one: Thing) => one.id === ids[0])
}

export const deleteSubscriptionItem = ({world, params, ids}: Call): Thing => {
  const subscription = ownerOf(world, ids[0]!)
  if (params.clear_usage !== undefined) throw new TypeError('The stand-in does not carry clear_usage')
  if (subscription.items.data.length === 1) throw invalid('A subscription must have at least one active plan.')
  update(world, subscription, params, {id: ids[0]!, deleted: true})
  return {id: ids[0]!, object: 'subscription_item', deleted: true}
}

export const readSubscriptionItem = ({world, ids}: Call): Thing =>
  ownerOf(world, ids[0]!).items.data.find((item: Thing) => item.id === ids[0])

export const listSubscriptionItems = (call: Call): any =>
  page(call, need(call.world, 'subscription', call.params.subscription, 'subscription').items.data.toReversed())

const update = (
  world: SimulatorState,
  subscription: Thing,
  params: Record<string, any>,
  item: NonNullable<Update['items']>[number],
): Thing => {
  const {proration_behavior, proration_date, payment_behavior} = params
  const asked = readUpdate({proration_behavior, proration_date, payment_behavior})
  return applyUpdate(world, subscription, {...asked, items: [item], patch: {}}).subscription
}

const ownerOf = (world: SimulatorState, id: string): Thing => {
  const found = world.store.all('subscription').find(one => one.items.data.some((item: Thing) => item.id === id))
  if (!found) throw missing('subscription_item', id)
  refuseEnded(found)
  return found
}

const refuseEnded = (subscription: Thing) => {
  if (subscription.ended_at !== null) throw invalid('You cannot change the items of a canceled subscription.')
}
