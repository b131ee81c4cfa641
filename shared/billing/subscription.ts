import type {Stripe} from 'stripe'
import type {Pool} from '../../sql/database.ts'
import {listPlans, type PricedPlan} from '../../sql/plans.ts'
import type {Pending, Subscription} from '../../sql/subscriptions.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

export type {Pending}
export type Interval = 'month' | 'year'

/** A subscription as the provider has it at this moment. `planVersionId` is null where its price is none of our plans'. Moments in ISO 8601. */
export type ReadSubscription = Omit<Subscription, 'org' | 'readAt'> & {
  customer: string
  /** The item that is the plan. */
  itemId: string | null
  /** The schedule it is managed by. */
  schedule: string | null
  /** It is cancelled to the end of another item's period, which is before the end of the plan's. */
  endsEarly: boolean
  metadata: Record<string, string>
}

type Tools = {db: Pool; payment: PaymentProvider}

/** What has to be read along with one, for all of it to be known. */
export const EXPAND = ['schedule']

/** Those that are over, and for good. */
const OVER = ['canceled', 'incomplete_expired']
export const isOver = ({status}: {status: string}): boolean => OVER.includes(status)

/** Begun, and its first payment has not come: it ends by itself within a day. */
export const isUnpaid = ({status}: {status: string}): boolean => status === 'incomplete'

/** Null where the provider knows of no such one. */
export const readSubscription = async (tools: Tools, id: string): Promise<ReadSubscription | null> => {
  const found = await tools.payment
    .ask('subscription', stripe => stripe.subscriptions.retrieve(id, {expand: EXPAND}))
    .catch(error => {
      if (error instanceof PaymentFailure && error.status === 404) return null
      throw error
    })
  return found && describeSubscription(found, await listPlans(tools.db))
}

/** The customer's one that is not over, whatever state it is in; the newest where there are several, and one that was ever paid for first. */
export const findLiveSubscription = async (tools: Tools, {customer}: {customer: string}): Promise<ReadSubscription | null> => {
  const expand = EXPAND.map(path => `data.${path}`)
  const {data} = await tools.payment.ask('list', stripe => stripe.subscriptions.list({customer, status: 'all', limit: 100, expand}))
  const [live] = data
    .filter(one => !isOver(one))
    .sort((one, other) => Number(isUnpaid(one)) - Number(isUnpaid(other)) || other.created - one.created)
  return live ? describeSubscription(live, await listPlans(tools.db)) : null
}

/** As an answer of the provider's says it, `EXPAND`ed. */
export const describeSubscription = (found: Stripe.Subscription, plans: readonly PricedPlan[]): ReadSubscription => {
  const items = found.items.data
  const {item, sold} = findPlanItem(items, found.metadata, plans)
  const schedule = typeof found.schedule === 'string' ? null : found.schedule
  const cancelsAt = cancelsAtOf(found, item)
  return {
    ...{id: found.id, status: found.status, customer: idOf(found.customer)!, metadata: found.metadata},
    ...{itemId: item?.id ?? null, priceId: item?.price.id ?? null},
    ...{planVersionId: sold?.plan.id ?? null, interval: sold?.interval ?? null},
    ...{
      periodStartsAt: isoOf(item?.current_period_start),
      periodEndsAt: isoOf(item?.current_period_end),
      trialEndsAt: isoOf(found.trial_end),
    },
    ...{cancelsAt, pending: pendingOf({found, schedule, priceId: item?.price.id ?? null, cancelsAt, plans})},
    overageItemId: findOverageItem(items, plans)?.id ?? null,
    card: idOf(found.default_payment_method),
    schedule: schedule?.id ?? idOf(found.schedule),
    endsEarly: endsEarly(found, item),
  }
}

type Sold = {plan: PricedPlan; interval: Interval}

/** A price that is none of our plans' is one that was agreed with this customer: the plan is the one it was bought as. */
const findPlanItem = (
  items: readonly Stripe.SubscriptionItem[],
  metadata: Record<string, string>,
  plans: readonly PricedPlan[],
): {item: Stripe.SubscriptionItem | null; sold: Sold | null} => {
  for (const item of items) {
    const sold = findSold(plans, item.price.id, metadata)
    if (sold) return {item, sold}
  }
  const item = items.find(({price}) => price.recurring?.usage_type === 'licensed') ?? null
  return {item, sold: soldAs(plans, {...metadata, interval: item?.price.recurring?.interval ?? ''})}
}

/** By what was written on it when it was bought. */
const soldAs = (plans: readonly PricedPlan[], {plan_version_id: version, interval: named}: Record<string, string>): Sold | null => {
  const plan = plans.find(({id}) => id === version)
  const interval = (['month', 'year'] as const).find(one => one === named)
  return plan && interval ? {plan, interval} : null
}

/** The plan sold under this price: the version it was bought as where several share one, else the newest. */
const findSold = (plans: readonly PricedPlan[], price: string, metadata: Record<string, string> = {}): Sold | null => {
  const all = plans.flatMap(plan => [
    ...(plan.paymentPriceMonthlyId === price ? [{plan, interval: 'month' as const}] : []),
    ...(plan.paymentPriceAnnualId === price ? [{plan, interval: 'year' as const}] : []),
  ])
  const newest = all.toSorted((one, other) => other.plan.version - one.plan.version)
  return newest.find(({plan}) => plan.id === metadata.plan_version_id) ?? newest[0] ?? null
}

/** What else is metered is rows under a price that the plans have had before. */
const findOverageItem = (items: readonly Stripe.SubscriptionItem[], plans: readonly PricedPlan[]) =>
  items.find(({price}) => plans.some(({paymentPriceOverageId}) => paymentPriceOverageId === price.id)) ??
  items.find(({price}) => price.recurring?.usage_type === 'metered')

/**
 * Either may say it: the portal sets `cancel_at` on a subscription in flexible billing mode, our API and the dashboard the flag. So does a
 * schedule that ends with it.
 */
const cancelsAtOf = (found: Stripe.Subscription, item: Stripe.SubscriptionItem | null): string | null =>
  isOver(found) ? null : isoOf(found.cancel_at ?? (found.cancel_at_period_end ? item?.current_period_end : null))

/** A date that is no item's period end was chosen by staff; a schedule holds the date of the plan's period. */
const endsEarly = (found: Stripe.Subscription, item: Stripe.SubscriptionItem | null): boolean => {
  const {cancel_at: at, schedule, items} = found
  if (at === null || item === null || schedule !== null || isOver(found)) return false
  return at < item.current_period_end && items.data.some(other => other.current_period_end === at)
}

type Ahead = {
  found: Stripe.Subscription
  schedule: Stripe.SubscriptionSchedule | null
  priceId: string | null
  cancelsAt: string | null
  plans: readonly PricedPlan[]
}

const pendingOf = ({found, schedule, priceId, cancelsAt, plans}: Ahead): Pending | null => {
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
