import {collect, planRetry} from './billing.ts'
import type {Call} from './calls.ts'
import {createInvoice} from './invoice-drafts.ts'
import {finalizeInvoice, voidInvoice} from './invoices.ts'
import {emit, mergeMetadata, need, orNull} from './objects.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {changeItems, type ItemChange} from './subscription-items.ts'
import {cancelPatch, changeSubscription, checkFuture, earliestEnd, latestEnd, needCard, withItems} from './subscriptions.ts'
import {invalid, refuseUnpaid} from './wire.ts'

export type Update = {
  items?: ItemChange[]
  prorationBehaviour?: 'always_invoice' | 'create_prorations' | 'none'
  prorationDate?: number | null
  paymentBehaviour?: string
  anchorNow?: boolean
  patch: Record<string, unknown>
  /** Whether the update is only calculated and nothing is collected. */
  isPreview?: boolean
}

export const updateSubscription = ({world, params, ids}: Call): Thing => {
  const subscription = need(world, 'subscription', ids[0]!)
  refuseEnded(subscription, params)
  if (params.payment_behavior === 'pending_if_incomplete') refuseBeyondPending(params)
  return applyUpdate(world, subscription, {...readUpdate(params), patch: patchOf(world, subscription, params)}).subscription
}

/** Reads the parameters that affect items and amounts. An update and its preview use them alike. */
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

/** Applies items, charges and fields together. Throws if a payment fails that `error_if_incomplete` requires. */
export const applyUpdate = (world: SimulatorState, before: Thing, update: Update): {subscription: Thing; invoice: Thing | null} => {
  const books = before.items.data.map((item: Thing) => world.store.get('~books', item.id)!)
  const {items, lines, isBilledNow, patch} = changeItems(world, before, update)
  const subscription = world.store.put({...before, ...update.patch, ...patch, items: withItems(before, items)} as Thing)
  if (!isBilledNow && update.prorationBehaviour === 'create_prorations') addPending(world, before.id, lines)
  const isCharged = isBilledNow && lines.length > 0
  const {latest, invoice} = isCharged
    ? askForMoney(world, before, subscription, {...update, lines, books})
    : {latest: subscription, invoice: null}
  world.store.put(before)
  return {subscription: changeSubscription(world, before, latest), invoice}
}

const refuseEnded = (subscription: Thing, params: Record<string, any>) => {
  if (subscription.ended_at === null) return
  const other = Object.keys(params).find(name => !['metadata', 'cancellation_details', 'expand'].includes(name))
  if (other) throw invalid('A canceled subscription can only update its cancellation_details and metadata.', {param: other})
}

const pendingParams = [
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
  const other = Object.keys(params).find(name => !pendingParams.includes(name))
  if (other === undefined) return
  const message = `You cannot set \`payment_behavior=pending_if_incomplete\` when also passing the unsupported param \`${other}\`.`
  throw invalid(message, {param: other})
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
    ...cancellationOf(world, subscription, params),
    ...trialPatch(world, subscription, params),
  }
}

/** Reads the cancellation of an update. Refuses `cancel_at` together with `cancel_at_period_end`, and either one if a schedule exists. */
const cancellationOf = (world: SimulatorState, subscription: Thing, params: Record<string, any>): Record<string, unknown> => {
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
  if (at === '' || flag === false) return cancelPatch(world, subscription, null)
  const cancelAt = typeof at === 'number' ? at : at === 'max_period_end' ? latestEnd(subscription) : earliestEnd(subscription)
  if (cancelAt <= world.clock.now()) throw invalid('Invalid timestamp: must be in the future.', {param: 'cancel_at'})
  return cancelPatch(world, subscription, cancelAt, flag === true)
}

const trialPatch = (world: SimulatorState, subscription: Thing, {trial_end: end}: Record<string, any>): Record<string, unknown> => {
  if (end === undefined) return {}
  if (subscription.status !== 'trialing' || end === 'now') throw new TypeError('The stand-in moves the end of a running trial only')
  checkFuture(world, end)
  return {trial_end: end, billing_cycle_anchor: end}
}

type MoneyRequest = {latest: Thing; invoice: Thing}
type BilledUpdate = Update & {lines: Thing[]; books: Thing[]}

/** Charges the invoice of an update at once. If the payment fails, the payment behaviour decides what happens to the update. */
const askForMoney = (world: SimulatorState, before: Thing, after: Thing, update: BilledUpdate): MoneyRequest => {
  const {customer, currency} = after
  const {prorationDate = null, isPreview = false, paymentBehaviour} = update
  const lines = [...takePending(world, after.id), ...update.lines]
  const ask = (subscription: Thing) =>
    createInvoice(world, {customer, currency, lines, reason: 'subscription_update', subscription, prorationDate})
  if (isPreview) return {latest: after, invoice: ask(after)}
  const mark = world.store.mark()
  const invoice = finalizeInvoice(world, ask(after))
  const latest = world.store.put({...world.store.get('subscription', after.id)!, latest_invoice: invoice.id})
  if (invoice.status === 'paid') return {latest, invoice}
  if (paymentBehaviour === 'default_incomplete') return {latest: {...latest, status: 'past_due'}, invoice}
  const {failure, invoice: tried} = collect(world, invoice)
  if (failure && paymentBehaviour === 'error_if_incomplete') throw refuseUnpaid(failure)
  if (failure && paymentBehaviour === 'pending_if_incomplete') {
    world.store.restore(mark)
    return waitForPayment(world, before, after, update.books, () => finalizeInvoice(world, ask(before)))
  }
  if (failure) planRetry(world, tried)
  return {latest: world.store.get('subscription', after.id)!, invoice: world.store.get('invoice', invoice.id)!}
}

const lifetime = 23 * 3600

/** Stores the update with the subscription. It applies once its invoice is paid. */
const waitForPayment = (world: SimulatorState, before: Thing, after: Thing, booksBefore: Thing[], ask: () => Thing): MoneyRequest => {
  const books = after.items.data.map((item: Thing) => world.store.get('~books', item.id))
  for (const one of [...booksBefore, before]) world.store.put(one)
  const {invoice} = collect(world, ask())
  const isOtherAnchor = after.billing_cycle_anchor !== before.billing_cycle_anchor
  const pending = {
    billing_cycle_anchor: isOtherAnchor ? after.billing_cycle_anchor : null,
    cancel_at_period_end: after.cancel_at_period_end === before.cancel_at_period_end ? null : after.cancel_at_period_end,
    expires_at: world.clock.now() + lifetime,
    subscription_items: after.items.data,
    discount: null,
    discounts: null,
    metadata: null,
    trial_end: null,
    trial_from_plan: null,
  }
  world.store.put({id: before.id, object: '~update', after, invoice: invoice.id, books})
  return {latest: {...before, pending_update: pending, latest_invoice: invoice.id}, invoice}
}

export const isWaiting = (world: SimulatorState, subscription: string, invoice: string): boolean =>
  world.store.get('~update', subscription)?.invoice === invoice

/** Drops the update that waits for this invoice to be paid. Called when the invoice is voided. */
export const dropUpdateOf = (world: SimulatorState, invoice: Thing) => {
  const subscription = world.store.all('subscription').find(({id}) => isWaiting(world, id, invoice.id))
  if (!subscription) return
  world.store.drop('~update', subscription.id)
  changeSubscription(world, subscription, {pending_update: null})
}

export const landPendingUpdate = (world: SimulatorState, subscription: Thing) => {
  const {after, books} = world.store.get('~update', subscription.id)!
  world.store.drop('~update', subscription.id)
  for (const one of books) if (one) world.store.put(one)
  const {items, billing_cycle_anchor, metadata, cancel_at, cancel_at_period_end} = after
  const patch = {items, billing_cycle_anchor, metadata, cancel_at, cancel_at_period_end, pending_update: null}
  emit(world, 'customer.subscription.pending_update_applied', changeSubscription(world, subscription, patch))
}

export const expirePendingUpdate = (world: SimulatorState, subscription: Thing) => {
  const {invoice} = world.store.get('~update', subscription.id)!
  world.store.drop('~update', subscription.id)
  voidInvoice(world, world.store.get('invoice', invoice)!)
  const without = changeSubscription(world, subscription, {pending_update: null})
  emit(world, 'customer.subscription.pending_update_expired', without)
}

/** Stores prorations for the next invoice of the subscription. */
const addPending = (world: SimulatorState, subscription: string, lines: Thing[]) => {
  for (const line of lines) {
    const details = {...line.parent.subscription_item_details, invoice_item: world.newId('ii')}
    const pending = {...line, parent: {...line.parent, subscription_item_details: details}}
    world.store.put({id: line.id, object: '~pending', subscription, line: pending})
  }
}

export const pendingOf = ({store}: SimulatorState, subscription: string): Thing[] => {
  const pending = store.all('~pending').filter(one => one.subscription === subscription)
  return pending.map(one => one.line)
}

/** Removes the pending lines of a subscription and returns them for its invoice. */
export const takePending = (world: SimulatorState, subscription: string): Thing[] => {
  const lines = pendingOf(world, subscription)
  for (const {id} of lines) world.store.drop('~pending', id)
  return lines
}
