import type {Call} from './calls.ts'
import {changeItems, type ItemChange} from './item-changes.ts'
import {mergeMetadata, orNull} from './metadata.ts'
import {addPending} from './pending-lines.ts'
import {need} from './products.ts'
import {invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {changeSubscription, earliestEnd, latestEnd, needCard, withItems} from './subscriptions.ts'
import {askForMoney} from './update-payment.ts'

export type Update = {
  items?: ItemChange[]
  prorationBehaviour?: 'always_invoice' | 'create_prorations' | 'none'
  prorationDate?: number | null
  paymentBehaviour?: string
  anchorNow?: boolean
  patch: Record<string, unknown>
  /** Calculates without charging. */
  isPreview?: boolean
}

export const updateSubscription = ({world, params, ids}: Call): Thing => {
  const subscription = need(world, 'subscription', ids[0]!)
  refuseEnded(subscription, params)
  if (params.payment_behavior === 'pending_if_incomplete') refuseBeyondPending(params)
  return applyUpdate(world, subscription, {...readUpdate(params), patch: patchOf(world, subscription, params)}).subscription
}

/** The parameters that affect items and money, the same for an update and its preview. */
export const readUpdate = (params: Record<string, any>): Omit<Update, 'patch'> => {
  const {items, proration_behavior, proration_date, payment_behavior, billing_cycle_anchor: anchor} = params
  if (anchor?.type === 'now' && proration_date !== undefined) {
    throw invalid('You cannot specify `proration_date` when `billing_cycle_anchor=now`', {param: 'proration_date'})
  }
  return {
    items,
    prorationBehaviour: proration_behavior ?? 'create_prorations',
    prorationDate: proration_date ?? null,
    paymentBehaviour: payment_behavior ?? 'allow_incomplete',
    anchorNow: anchor?.type === 'now',
  }
}

/** Applies items, money and fields together; a refusal changes nothing. */
export const applyUpdate = (world: SimulatorState, before: Thing, update: Update): {subscription: Thing; invoice: Thing | null} => {
  const books = before.items.data.map((item: Thing) => world.store.get('~books', item.id)!)
  const turn = changeItems(world, before, update)
  const subscription = {...before, ...update.patch, ...turn.patch, items: withItems(before, turn.items)} as Thing
  const {isBilledNow, lines} = turn
  if (!isBilledNow && update.prorationBehaviour === 'create_prorations') addPending(world, before.id, lines)
  world.store.put(subscription)
  if (!isBilledNow || lines.length === 0) return {subscription: land(world, before, subscription), invoice: null}
  const {latest, invoice} = askForMoney(world, before, subscription, {...update, lines, books})
  return {subscription: land(world, before, latest), invoice}
}

const land = (world: SimulatorState, before: Thing, after: Thing): Thing => {
  world.store.put(before)
  return changeSubscription(world, before, after)
}

const refuseEnded = (subscription: Thing, params: Record<string, any>) => {
  if (subscription.ended_at === null) return
  const other = Object.keys(params).find(name => !['metadata', 'cancellation_details', 'expand'].includes(name))
  if (other) throw invalid('A canceled subscription can only update its cancellation_details and metadata.', {param: other})
}

const withPending = [
  'expand',
  'payment_behavior',
  'proration_behavior',
  'proration_date',
  'billing_cycle_anchor',
  'items',
  'trial_end',
  'trial_from_plan',
  'add_invoice_items',
  'metadata',
  'discounts',
  'cancel_at_period_end',
]

const refuseBeyondPending = (params: Record<string, any>) => {
  const other = Object.keys(params).find(name => !withPending.includes(name))
  if (other) {
    throw invalid(`You cannot set \`payment_behavior=pending_if_incomplete\` when also passing the unsupported param \`${other}\`.`, {
      param: other,
    })
  }
}

const patchOf = (world: SimulatorState, subscription: Thing, params: Record<string, any>): Record<string, unknown> => {
  const {default_payment_method: card, description, metadata, cancellation_details: details, trial_settings: trial} = params
  if (card) needCard(world, subscription.customer, card)
  return {
    default_payment_method: orNull(card, subscription.default_payment_method),
    description: orNull(description, subscription.description),
    metadata: mergeMetadata(subscription.metadata, metadata),
    ...(details ? {cancellation_details: {...subscription.cancellation_details, ...details}} : {}),
    ...(trial ? {trial_settings: {end_behavior: {...subscription.trial_settings.end_behavior, ...trial.end_behavior}}} : {}),
    ...cancelPatch(world, subscription, params),
    ...trialPatch(world, subscription, params),
  }
}

/** The flag and the date exclude each other, and an existing schedule decides instead of both. */
const cancelPatch = (world: SimulatorState, subscription: Thing, params: Record<string, any>): Record<string, unknown> => {
  const {cancel_at: at, cancel_at_period_end: flag} = params
  if (at === undefined && flag === undefined) return {}
  if (at !== undefined && flag !== undefined) {
    throw invalid('You may only specify one of these parameters: cancel_at, cancel_at_period_end.', {param: 'cancel_at'})
  }
  if (subscription.schedule !== null) {
    throw invalid(
      `The subscription is managed by the subscription schedule \`${subscription.schedule}\`, and updating any cancelation behavior directly is not allowed. Please update the schedule instead.`,
    )
  }
  if (at === '' || flag === false) return {cancel_at: null, cancel_at_period_end: false, canceled_at: null, ...reasonOf(subscription, null)}
  const now = world.clock.now()
  const cancelAt = typeof at === 'number' ? at : at === 'max_period_end' ? latestEnd(subscription) : earliestEnd(subscription)
  if (cancelAt <= now) throw invalid('Invalid timestamp: must be in the future.', {param: 'cancel_at'})
  const reason = reasonOf(subscription, 'cancellation_requested')
  return {cancel_at: cancelAt, cancel_at_period_end: flag === true, canceled_at: now, ...reason}
}

const reasonOf = ({cancellation_details: details}: Thing, reason: string | null) => ({cancellation_details: {...details, reason}})

const trialPatch = (world: SimulatorState, subscription: Thing, {trial_end: end}: Record<string, any>): Record<string, unknown> => {
  if (end === undefined) return {}
  if (subscription.status !== 'trialing' || end === 'now') throw new TypeError('The stand-in moves the end of a running trial only')
  if (end <= world.clock.now()) {
    throw invalid('Invalid timestamp: must be an integer Unix timestamp in the future.', {param: 'trial_end'})
  }
  return {trial_end: end, billing_cycle_anchor: end}
}
