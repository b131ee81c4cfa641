import type {Stripe} from 'stripe'
import type {PlanChange, PlannedCall} from '../../sql/plan-changes.ts'
import type {Config} from '../config.ts'
import {metadataOf} from './metadata.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {type Terms, WITH} from './plan-change-terms.ts'
import {endWithPlan} from './plan-end.ts'
import {idOf} from './subscription.ts'

/** A change as far as its calls go. */
type Asked = Pick<PlanChange, 'id' | 'org' | 'person' | 'kind' | 'target'> & {prorationDate: number; isConfirming: boolean}
export type NextCall = Pick<PlannedCall, 'name' | 'on' | 'params'>

type Settings = Pick<Config, 'PAYMENT_ENVIRONMENT'>

/**
 * The call that brings a subscription nearer to what a change wants of it, from where it stands; null when it stands there. Worked out anew after
 * every call, so one that was done and not heard of is not done again.
 *
 * Whatever else is on the subscription rides along as it is: rows beyond the plan are billed with the period they were written in.
 */
export const nextCall = (settings: Settings, asked: Asked, terms: Terms): NextCall | null => {
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

/** A schedule of somebody else's, by which the plan stays what it is: nothing waits. One of ours may hold a price that is sold no more. */
const isOfStaff = ({read, schedule}: Terms) =>
  read.pending === null &&
  schedule?.metadata?.change_id === undefined &&
  (schedule?.phases ?? []).some(({start_date}) => start_date >= (schedule?.current_phase?.end_date ?? 0))

/** The call after which the payment waits for the customer at the provider's page. */
export const isConfirmCall = ({params}: Pick<PlannedCall, 'params'>): boolean => params.payment_behavior === 'pending_if_incomplete'

/** Two calls that do the same part of a change. */
export const isSameStep = (one: Pick<PlannedCall, 'name' | 'params'>, other: Pick<PlannedCall, 'name' | 'params'>): boolean =>
  one.name === other.name && 'items' in one.params === 'items' in other.params

/** The provider holds the upgrade until its invoice is paid. It drops the upgrade after 23 hours at most. */
export const waitsForConfirmation = (asked: Pick<Asked, 'kind' | 'target'>, {found, item}: Terms): boolean =>
  asked.kind === 'now' && item.price.id !== asked.target.price && found.pending_update !== null

/**
 * Price, payment, who asked and the taking back of a cancellation in one call: paid for, or nothing of it. What waits on a schedule goes
 * afterwards, so that a declined card finds it there. Another interval bills and begins its period by itself.
 */
const upgrade = (settings: Settings, asked: Asked, terms: Terms): NextCall | null => {
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
  // A pending update takes no end date: a cancellation is taken back after the payment.
  if (asked.isConfirming) return update(found, {...sold, payment_behavior: 'pending_if_incomplete'})
  const withEnd = found.schedule === null && isEnding(found) ? withoutEnd(found) : {}
  return update(found, {...sold, payment_behavior: 'error_if_incomplete', ...withEnd})
}

/** A schedule cannot be made with its phases. Made of a subscription that ends it ends too, until it has them. */
const moveAtRenewal = (settings: Settings, asked: Asked, terms: Terms): NextCall | null => {
  const {found, read, schedule, item} = terms
  const {planVersionId, interval, price} = asked.target
  // The renewal has come and gone, before anybody knew that it would bring this.
  if (item.price.id === price && read.pending === null) return null
  if (!schedule) return {name: 'schedule', on: found.id, params: {from_subscription: found.id}}
  if (read.pending?.planVersionId === planVersionId && read.pending?.interval === interval) return null
  const running = runningPhase(terms)
  const next = {
    items: running.items.map(one => (one.price === item.price.id ? {...one, price: price!} : one)),
    duration: {interval: interval!, interval_count: 1},
    // Without it another interval keeps the old anchor, and nobody is asked to pay for it.
    billing_cycle_anchor: 'phase_start' as const,
    proration_behavior: 'none' as const,
    metadata: {...saidBy(settings, asked), ...soldAs(asked)},
    ...(running.discounts ? {discounts: running.discounts} : {}),
    ...(running.automatic_tax ? {automatic_tax: running.automatic_tax} : {}),
  }
  return setPhases(settings, asked, schedule, {end_behavior: 'release', phases: [running, next]})
}

/** A subscription that a schedule manages refuses a date of its own. */
const cancel = (settings: Settings, asked: Asked, terms: Terms): NextCall | null => {
  const {found, schedule, read} = terms
  if (isEnding(found) && !read.endsEarly) return null
  if (schedule) return setPhases(settings, asked, schedule, {end_behavior: 'cancel', phases: [runningPhase(terms)]})
  return update(found, {...endWithPlan(read), metadata: saidBy(settings, asked)})
}

const takeBackEnd = (settings: Settings, asked: Asked, {found}: Terms): NextCall | null =>
  isEnding(found) ? update(found, {...withoutEnd(found), metadata: saidBy(settings, asked)}) : null

/** With a schedule goes what it held, the end of the subscription too. */
const release = ({found}: Terms): NextCall | null => {
  const schedule = idOf(found.schedule)
  return schedule === null ? null : {name: 'release', on: schedule, params: {}}
}

const isEnding = ({cancel_at, cancel_at_period_end}: Stripe.Subscription) => cancel_at !== null || cancel_at_period_end

/** Earlier builds and the dashboard set the flag; we and the portal set a date. */
const withoutEnd = ({cancel_at_period_end: flag}: Stripe.Subscription) => (flag ? {cancel_at_period_end: false} : {cancel_at: '' as const})

const update = ({id}: Stripe.Subscription, params: Stripe.SubscriptionUpdateParams): NextCall => ({
  name: 'update',
  on: id,
  params: {...params, expand: WITH},
})

const setPhases = (settings: Settings, asked: Asked, {id}: {id: string}, params: Stripe.SubscriptionScheduleUpdateParams): NextCall => ({
  name: 'phases',
  on: id,
  params: {...params, proration_behavior: 'none', metadata: saidBy(settings, asked)},
})

/**
 * The phase under way has to be sent back whole, or what is left out is dropped. It ends with the plan's period. What is on the subscription by
 * now is what it holds: a schedule need not know what came after it, an upgrade that was paid for or rows beyond the plan.
 */
const runningPhase = ({found, schedule, item}: Terms) => {
  const {phases, current_phase: current} = schedule!
  const phase = phases.find(({start_date}) => start_date === current?.start_date)
  if (!phase) throw new Error(`The schedule ${schedule!.id} has no phase under way`)
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

/** What is metered has no quantity. */
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

const saidBy = (settings: Settings, {id, org, person}: Asked) =>
  metadataOf(settings, {org, kind: 'plan', change_id: id, requested_by: person})

const soldAs = ({target: {planKey, planVersionId, interval}}: Asked) => ({
  plan_key: planKey,
  plan_version_id: planVersionId!,
  interval: interval!,
})

/** A charge may take this long; then nobody waits for it any more. */
const timeoutMs = 40_000

/** One try: whether there is another one is decided by who has looked what became of the first. */
export const sendCall = (payment: PaymentProvider, {name, on, params, key}: PlannedCall): Promise<Sent> => {
  const options = {idempotencyKey: key, timeout: timeoutMs, maxNetworkRetries: 0}
  if (name === 'update') return payment.ask<Sent>('subscription', stripe => stripe.subscriptions.update(on, params, options))
  return payment.ask<Sent>('subscription_schedule', stripe => {
    if (name === 'schedule') return stripe.subscriptionSchedules.create(params, options)
    return name === 'phases'
      ? stripe.subscriptionSchedules.update(on, params, options)
      : stripe.subscriptionSchedules.release(on, params, options)
  })
}

export type Sent = Stripe.Subscription | Stripe.SubscriptionSchedule
