import type {Stripe} from 'stripe'
import type {PlanChange, PlannedCall} from '../../sql/plan-changes.ts'
import type {Config} from '../config.ts'
import {metadataOf} from './metadata.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {type Terms, WITH} from './plan-change-terms.ts'
import {endWithPlan} from './plan-end.ts'
import {idOf} from './subscription.ts'

type PlanChangeInput = Pick<PlanChange, 'id' | 'org' | 'person' | 'kind' | 'target'> & {prorationDate: number; isConfirming: boolean}
export type NextCall = Pick<PlannedCall, 'name' | 'on' | 'params'>

type Settings = Pick<Config, 'PAYMENT_ENVIRONMENT'>

/**
 * Returns the next call that a change needs in the current state of the subscription; null if none is left. The caller asks again after every call,
 * so that a call that succeeded without an answer is not repeated. Other items of the subscription stay unchanged, because overage rows are billed in
 * the period in which they were written.
 */
export const nextCall = (settings: Settings, asked: PlanChangeInput, terms: Terms): NextCall | null => {
  switch (asked.kind) {
    case 'now':
      return upgrade(settings, asked, terms)
    case 'at_renewal':
      return moveAtRenewal(settings, asked, terms)
    case 'cancel':
      return cancel(settings, asked, terms)
    case 'take_back':
      return isOfStaff(terms) ? null : (release(terms) ?? takeBackEnd(settings, asked, terms))
  }
}

/**
 * Returns whether staff made the schedule and its next phase keeps the plan, so that no change is pending. The result is false for our own schedule,
 * because its next phase may have a price that is no longer sold.
 */
const isOfStaff = ({read, schedule}: Terms) =>
  read.pending === null &&
  schedule?.metadata?.change_id === undefined &&
  (schedule?.phases ?? []).some(({start_date}) => start_date >= (schedule?.current_phase?.end_date ?? 0))

/** Returns whether the payment of this call can wait for the customer to confirm it on the provider's page. */
export const isConfirmCall = ({params}: Pick<PlannedCall, 'params'>): boolean => params.payment_behavior === 'pending_if_incomplete'

export const isSameStep = (one: Pick<PlannedCall, 'name' | 'params'>, other: Pick<PlannedCall, 'name' | 'params'>): boolean =>
  one.name === other.name && 'items' in one.params === 'items' in other.params

/** Returns whether the provider delays the upgrade until its invoice is paid. The provider drops an unpaid upgrade within 23 hours. */
export const waitsForConfirmation = (asked: Pick<PlanChangeInput, 'kind' | 'target'>, {found, item}: Terms): boolean =>
  asked.kind === 'now' && item.price.id !== asked.target.price && found.pending_update !== null

/**
 * Returns the next call of an upgrade. One call contains price, payment and author, so that it succeeds or fails as a whole. The call also
 * removes a cancellation, unless the customer must confirm the payment or a schedule exists. A pending schedule is released afterwards, so that
 * a declined card leaves the schedule in place. A change of the interval charges immediately and starts a new period.
 */
const upgrade = (settings: Settings, asked: PlanChangeInput, terms: Terms): NextCall | null => {
  const {found, item} = terms
  const {price} = asked.target
  if (item.price.id === price) return release(terms) ?? takeBackEnd(settings, asked, terms)
  if (waitsForConfirmation(asked, terms)) return null
  const sold = {
    items: [{id: item.id, price: price!}],
    proration_behavior: 'always_invoice',
    proration_date: asked.prorationDate,
    metadata: {...saidBy(settings, asked), ...soldAs(asked)},
  } satisfies Stripe.SubscriptionUpdateParams
  // A pending update accepts no end date, so a cancellation is removed after the payment.
  if (asked.isConfirming) return update(found, {...sold, payment_behavior: 'pending_if_incomplete'})
  const withEnd = found.schedule === null && isEnding(found) ? withoutEnd(found) : {}
  return update(found, {...sold, payment_behavior: 'error_if_incomplete', ...withEnd})
}

/**
 * Returns the next call of a change at the renewal. The first call creates a schedule, the second sets its phases, because the provider
 * accepts no phases at creation. If the subscription was cancelled, it keeps its end until the second call.
 */
const moveAtRenewal = (settings: Settings, asked: PlanChangeInput, terms: Terms): NextCall | null => {
  const {found, read, schedule, item} = terms
  const {planVersionId, interval, price} = asked.target
  // The renewal took effect before the subscription was read, so it already has the price.
  if (item.price.id === price && read.pending === null) return null
  if (!schedule) return {name: 'schedule', on: found.id, params: {from_subscription: found.id}}
  if (read.pending?.planVersionId === planVersionId && read.pending?.interval === interval) return null
  const running = runningPhase(terms)
  const next = {
    items: running.items.map(one => (one.price === item.price.id ? {...one, price: price!} : one)),
    duration: {interval: interval!, interval_count: 1},
    // Without `phase_start`, a new interval keeps the old anchor, and the provider charges nothing.
    billing_cycle_anchor: 'phase_start' as const,
    proration_behavior: 'none' as const,
    metadata: {...saidBy(settings, asked), ...soldAs(asked)},
    ...(running.discounts ? {discounts: running.discounts} : {}),
    ...(running.automatic_tax ? {automatic_tax: running.automatic_tax} : {}),
  }
  return setPhases(settings, asked, schedule, {end_behavior: 'release', phases: [running, next]})
}

/**
 * Returns the next call of a cancellation. If there is a schedule, the subscription is set to end after the current phase of the schedule. The
 * provider refuses an end date on a subscription with a schedule.
 */
const cancel = (settings: Settings, asked: PlanChangeInput, terms: Terms): NextCall | null => {
  const {found, schedule, read} = terms
  if (isEnding(found) && !read.endsEarly) return null
  if (schedule) return setPhases(settings, asked, schedule, {end_behavior: 'cancel', phases: [runningPhase(terms)]})
  return update(found, {...endWithPlan(read), metadata: saidBy(settings, asked)})
}

const takeBackEnd = (settings: Settings, asked: PlanChangeInput, {found}: Terms): NextCall | null =>
  isEnding(found) ? update(found, {...withoutEnd(found), metadata: saidBy(settings, asked)}) : null

/**
 * Returns the call that releases the schedule; null without a schedule. A release also drops the changes in the schedule, including the end
 * of the subscription.
 */
const release = ({found}: Terms): NextCall | null => {
  const schedule = idOf(found.schedule)
  return schedule === null ? null : {name: 'release', on: schedule, params: {}}
}

const isEnding = ({cancel_at, cancel_at_period_end}: Stripe.Subscription) => cancel_at !== null || cancel_at_period_end

/**
 * Returns the parameters that remove a cancellation. Earlier releases and the dashboard set the flag `cancel_at_period_end`; we and the portal
 * set a date.
 */
const withoutEnd = ({cancel_at_period_end: flag}: Stripe.Subscription) => (flag ? {cancel_at_period_end: false} : {cancel_at: '' as const})

const update = ({id}: Stripe.Subscription, params: Stripe.SubscriptionUpdateParams): NextCall => ({
  name: 'update',
  on: id,
  params: {...params, expand: WITH},
})

const setPhases = (
  settings: Settings,
  asked: PlanChangeInput,
  {id}: {id: string},
  params: Stripe.SubscriptionScheduleUpdateParams,
): NextCall => ({
  name: 'phases',
  on: id,
  params: {...params, proration_behavior: 'none', metadata: saidBy(settings, asked)},
})

/**
 * Returns all values of the schedule's current phase, because the provider drops omitted ones. The phase ends with the plan's period. The
 * items come from the subscription, because the schedule may lack later changes, such as a paid upgrade or an overage item.
 */
const runningPhase = ({found, schedule, item}: Terms) => {
  const {phases, current_phase: current} = schedule!
  const phase = phases.find(({start_date}) => start_date === current?.start_date)
  if (!phase) throw new Error(`The schedule ${schedule!.id} has no current phase`)
  const discounts = discountsOf(phase.discounts)
  const card = idOf(phase.default_payment_method)
  return {
    items: found.items.data.map(phaseItem),
    start_date: phase.start_date,
    end_date: item.current_period_end,
    proration_behavior: phase.proration_behavior,
    ...(phase.trial_end === null ? {} : {trial_end: phase.trial_end}),
    ...(discounts.length ? {discounts} : {}),
    ...(found.automatic_tax.enabled ? {automatic_tax: {enabled: true}} : {}),
    ...(card === null ? {} : {default_payment_method: card}),
    ...(Object.keys(phase.metadata ?? {}).length ? {metadata: phase.metadata!} : {}),
  }
}

/** A metered item has no quantity. */
const phaseItem = ({price, quantity, discounts, tax_rates: taxes}: Stripe.SubscriptionItem) => ({
  price: price.id,
  ...(quantity === undefined ? {} : {quantity}),
  ...(discounts.length ? {discounts: discounts.map(one => ({discount: idOf(one)!}))} : {}),
  ...(taxes?.length ? {tax_rates: taxes.map(({id}) => id)} : {}),
})

const discountsOf = (all: Stripe.SubscriptionSchedule.Phase.Discount[]) =>
  all.map(({coupon, discount, promotion_code: code}) => {
    if (discount) return {discount: idOf(discount)!}
    return coupon ? {coupon: idOf(coupon)!} : {promotion_code: idOf(code)!}
  })

const saidBy = (settings: Settings, {id, org, person}: PlanChangeInput) =>
  metadataOf(settings, {org, kind: 'plan', change_id: id, requested_by: person})

const soldAs = ({target: {planKey, planVersionId, interval}}: PlanChangeInput) => ({
  plan_key: planKey,
  plan_version_id: planVersionId!,
  interval: interval!,
})

const timeoutMs = 40_000

/** Sends the call once. The caller repeats it only after it has checked the outcome. */
export const sendCall = (payment: PaymentProvider, {name, on, params, key}: PlannedCall): Promise<ChangedObject> => {
  const options = {idempotencyKey: key, timeout: timeoutMs, maxNetworkRetries: 0}
  if (name === 'update') return payment.ask<ChangedObject>('subscription', stripe => stripe.subscriptions.update(on, params, options))
  return payment.ask<ChangedObject>('subscription_schedule', stripe => {
    if (name === 'schedule') return stripe.subscriptionSchedules.create(params, options)
    return name === 'phases'
      ? stripe.subscriptionSchedules.update(on, params, options)
      : stripe.subscriptionSchedules.release(on, params, options)
  })
}

export type ChangedObject = Stripe.Subscription | Stripe.SubscriptionSchedule
