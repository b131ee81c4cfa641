import type {Stripe} from 'stripe'
import type {Pool} from '../../sql/database.ts'
import {listPlans, type PricedPlan} from '../../sql/plans.ts'
import type {PendingPlan, Subscription} from '../../sql/subscriptions.ts'
import {nullWhereGone} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {taxBehaviorOf} from './verify/price.ts'

export type {PendingPlan as Pending}
export type Interval = 'month' | 'year'

/** A subscription as just read from the provider. `planVersionId`: null if neither price nor metadata name a plan. Times are ISO 8601. */
export type ReadSubscription = Omit<Subscription, 'org' | 'readAt'> & {
  customer: string
  itemId: string | null
  schedule: string | null
  /** Whether the subscription ends with another item's period, before the end of the plan's period. */
  endsEarly: boolean
  metadata: Record<string, string>
}

type SubscriptionDeps = {db: Pool; payment: PaymentProvider}

export const EXPAND = ['schedule']

const OVER = ['canceled', 'incomplete_expired']
export const isOver = ({status}: {status: string}): boolean => OVER.includes(status)

/** Returns whether the first payment is missing. If it stays missing, the subscription ends within a day. */
export const isUnpaid = ({status}: {status: string}): boolean => status === 'incomplete'

/** Reads a subscription. Null if the provider has no such subscription. */
export const readSubscription = async (deps: SubscriptionDeps, id: string): Promise<ReadSubscription | null> => {
  const found = await deps.payment.ask('subscription', stripe => stripe.subscriptions.retrieve(id, {expand: EXPAND})).catch(nullWhereGone)
  return found && describeSubscription(found, await listPlans(deps.db))
}

/** Finds the first of `listLiveSubscriptions`. Null if there is none. */
export const findLiveSubscription = async (deps: SubscriptionDeps, asked: {customer: string}): Promise<ReadSubscription | null> =>
  (await listLiveSubscriptions(deps, asked))[0] ?? null

/** Lists the customer's subscriptions that have not ended, among the newest 100: those whose first payment was made first, then the newest first. */
export const listLiveSubscriptions = async (deps: SubscriptionDeps, {customer}: {customer: string}): Promise<ReadSubscription[]> => {
  const expand = EXPAND.map(path => `data.${path}`)
  const {data} = await deps.payment.ask('list', stripe => stripe.subscriptions.list({customer, status: 'all', limit: 100, expand}))
  const live = data
    .filter(one => !isOver(one))
    .sort((one, other) => Number(isUnpaid(one)) - Number(isUnpaid(other)) || other.created - one.created)
  const plans = await listPlans(deps.db)
  return live.map(one => describeSubscription(one, plans))
}

/** Converts an answer of the provider in which the objects of `EXPAND` are expanded. */
export const describeSubscription = (found: Stripe.Subscription, plans: readonly PricedPlan[]): ReadSubscription => {
  const items = found.items.data
  const {item, sold} = findPlanItem(items, found.metadata, plans)
  const schedule = typeof found.schedule === 'string' ? null : found.schedule
  const cancelsAt = cancelsAtOf(found, item)
  const overage = findOverageItem(items, plans)
  return {
    id: found.id,
    status: found.status,
    customer: idOf(found.customer)!,
    metadata: found.metadata,
    itemId: item?.id ?? null,
    priceId: item?.price.id ?? null,
    planVersionId: sold?.plan.id ?? null,
    interval: sold?.interval ?? null,
    periodStartsAt: isoOf(item?.current_period_start),
    periodEndsAt: isoOf(item?.current_period_end),
    trialEndsAt: isoOf(found.trial_end),
    cancelsAt,
    pending: pendingOf({found, schedule, priceId: item?.price.id ?? null, cancelsAt, plans}),
    overageItemId: overage?.id ?? null,
    card: idOf(found.default_payment_method),
    paid: item && sold && amountsOf(item, sold.interval, overage),
    schedule: schedule?.id ?? idOf(found.schedule),
    endsEarly: endsEarly(found, item),
  }
}

type SoldPlan = {plan: PricedPlan; interval: Interval}

/**
 * Finds the item of the plan. If none of our plans has the price of an item, the price was agreed with this customer, and the subscription's
 * metadata name the plan.
 */
const findPlanItem = (
  items: readonly Stripe.SubscriptionItem[],
  metadata: Record<string, string>,
  plans: readonly PricedPlan[],
): {item: Stripe.SubscriptionItem | null; sold: SoldPlan | null} => {
  for (const item of items) {
    const sold = findSold(plans, item.price.id, metadata)
    if (sold) return {item, sold}
  }
  const item = items.find(({price}) => price.recurring?.usage_type === 'licensed') ?? null
  return {item, sold: soldAs(plans, {...metadata, interval: item?.price.recurring?.interval ?? ''})}
}

const soldAs = (plans: readonly PricedPlan[], {plan_version_id: version, interval: named}: Record<string, string>): SoldPlan | null => {
  const plan = plans.find(({id}) => id === version)
  const interval = (['month', 'year'] as const).find(one => one === named)
  return plan && interval ? {plan, interval} : null
}

/** Finds the plan that is sold at this price. If several versions share the price, returns the version in the metadata, or else the newest. */
const findSold = (plans: readonly PricedPlan[], price: string, metadata: Record<string, string> = {}): SoldPlan | null => {
  const all = plans.flatMap(plan => [
    ...(plan.paymentPriceMonthlyId === price ? [{plan, interval: 'month' as const}] : []),
    ...(plan.paymentPriceAnnualId === price ? [{plan, interval: 'year' as const}] : []),
  ])
  const newest = all.toSorted((one, other) => other.plan.version - one.plan.version)
  return newest.find(({plan}) => plan.id === metadata.plan_version_id) ?? newest[0] ?? null
}

/** Finds the item that bills overage: the item with a current overage price, or else a metered item, which has an earlier overage price. */
const findOverageItem = (items: readonly Stripe.SubscriptionItem[], plans: readonly PricedPlan[]) =>
  items.find(({price}) => plans.some(({paymentPriceOverageId}) => paymentPriceOverageId === price.id)) ??
  items.find(({price}) => price.recurring?.usage_type === 'metered')

/** Returns what the items cost, before discounts. An item without an amount per unit is left out. */
const amountsOf = ({price, quantity = 1}: Stripe.SubscriptionItem, interval: Interval, overage?: Stripe.SubscriptionItem) => {
  const [each, row] = [price.unit_amount_decimal, overage?.price.unit_amount_decimal]
  const amounts = {...(each && {[interval]: String(Number(each) * quantity)}), ...(row && {overage: String(row)})}
  return {priceId: price.id, currency: price.currency, amounts, taxBehavior: taxBehaviorOf(price)}
}

/**
 * Returns when a cancelled subscription ends, or null. We, the portal and an ending schedule set `cancel_at`. The dashboard and earlier releases set
 * the flag `cancel_at_period_end`.
 */
const cancelsAtOf = (found: Stripe.Subscription, item: Stripe.SubscriptionItem | null): string | null =>
  isOver(found) ? null : isoOf(found.cancel_at ?? (found.cancel_at_period_end ? item?.current_period_end : null))

/**
 * Returns whether the subscription ends with the period of another item, before the plan's period ends. Returns false for an end date that is no
 * item's period end, because staff chose that date. A subscription with a schedule ends with the plan's period.
 */
const endsEarly = (found: Stripe.Subscription, item: Stripe.SubscriptionItem | null): boolean => {
  const {cancel_at: at, schedule, items} = found
  if (at === null || item === null || schedule !== null || isOver(found)) return false
  return at < item.current_period_end && items.data.some(other => other.current_period_end === at)
}

type UpcomingPhase = {
  found: Stripe.Subscription
  schedule: Stripe.SubscriptionSchedule | null
  priceId: string | null
  cancelsAt: string | null
  plans: readonly PricedPlan[]
}

const pendingOf = ({found, schedule, priceId, cancelsAt, plans}: UpcomingPhase): PendingPlan | null => {
  if (isOver(found)) return null
  if (cancelsAt !== null) return {planKey: 'free', planVersionId: null, interval: null, at: cancelsAt}
  const current = schedule?.current_phase
  const next = current && schedule.phases.find(({start_date}) => start_date >= current.end_date)
  if (!next) return null
  const metadata = next.metadata ?? {}
  const sold = next.items.map(({price}) => findSold(plans, idOf(price)!, metadata)).find(one => one !== null) ?? soldAs(plans, metadata)
  if (!sold || next.items.some(({price}) => idOf(price) === priceId)) return null
  return {planKey: sold.plan.key, planVersionId: sold.plan.id, interval: sold.interval, at: isoOf(next.start_date)!}
}

export const idOf = (thing: string | {id: string} | null | undefined): string | null =>
  typeof thing === 'string' ? thing : (thing?.id ?? null)

export const isoOf = (seconds: number | null | undefined): string | null =>
  seconds === null || seconds === undefined ? null : new Date(seconds * 1000).toISOString()
