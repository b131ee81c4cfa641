import type {Stripe} from 'stripe'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import {listPlans, type PricedPlan} from '../../sql/plans.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {Refusal} from '../errors.ts'
import {shortHash} from '../security/short-hash.ts'
import {nullWhereGone} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {describeSubscription, EXPAND, findLiveSubscription, idOf, isOver, type ReadSubscription} from './subscription.ts'

/** A live subscription as just read, from which a change and its price are computed. */
export type Terms = {
  found: Stripe.Subscription
  read: ReadSubscription
  item: Stripe.SubscriptionItem
  /** The plan of the subscription's price; null if none of our plans has this price. */
  plan: PricedPlan | null
  schedule: Stripe.SubscriptionSchedule | null
  hasCard: boolean
  /** Hash of every value that a price or a planned call depends on. If the fingerprint differs, the subscription has changed. */
  fingerprint: string
}

export const WITH = [...EXPAND, 'schedule.phases.items.price', 'customer', 'latest_invoice']

type PlanTermsDeps = {db: Pool; payment: PaymentProvider}

/**
 * Reads the org's subscription by the id in our rows, or else from the provider's list. Throws NOT_SUBSCRIBED if none is live, or if the first
 * payment is missing.
 */
export const readTerms = async (deps: PlanTermsDeps, org: string): Promise<Terms> => {
  const known = await findSubscription(deps.db, org)
  const own = known && !isOver(known) ? await readTermsOf(deps, known.id) : null
  const terms = own ?? (await findLiveTerms(deps, org))
  if (!terms) throw new Refusal('NOT_SUBSCRIBED', 'This org has no paid plan. Buy one by POST /orgs/{org}/billing/checkout')
  if (terms.read.status === 'incomplete')
    throw new Refusal('NOT_SUBSCRIBED', 'The first payment of this plan has not succeeded. Pay it, or buy the plan again in a day')
  return terms
}

const findLiveTerms = async (deps: PlanTermsDeps, org: string): Promise<Terms | null> => {
  const customer = (await findBillingAccount(deps.db, org))?.customer ?? null
  const live = customer === null ? null : await findLiveSubscription(deps, {customer})
  return live && readTermsOf(deps, live.id)
}

/** Reads a subscription by its id. Null if it has ended or the provider does not know it. */
export const readTermsOf = async ({db, payment}: PlanTermsDeps, id: string): Promise<Terms | null> => {
  const found = await payment.ask('subscription', stripe => stripe.subscriptions.retrieve(id, {expand: WITH})).catch(nullWhereGone)
  return found && !isOver(found) ? termsOf(found, await listPlans(db)) : null
}

/** Converts an answer of the provider in which all objects of `WITH` are expanded. */
export const termsOf = (found: Stripe.Subscription, plans: readonly PricedPlan[]): Terms => {
  const read = describeSubscription(found, plans)
  const item = found.items.data.find(({id}) => id === read.itemId)
  if (!item) throw new Refusal('NOT_SUBSCRIBED', 'The subscription of this org contains no plan. Contact support')
  const schedule = typeof found.schedule === 'string' ? null : found.schedule
  const plan = plans.find(({id}) => id === read.planVersionId) ?? null
  return {found, read, item, plan, schedule, hasCard: hasCard(found), fingerprint: fingerprintOf(found, schedule)}
}

const hasCard = ({default_payment_method, default_source, customer}: Stripe.Subscription) => {
  if (default_payment_method || default_source) return true
  if (typeof customer === 'string' || customer.deleted) return false
  return Boolean(customer.invoice_settings.default_payment_method ?? customer.default_source)
}

const fingerprintOf = (found: Stripe.Subscription, schedule: Stripe.SubscriptionSchedule | null): string => {
  const {customer} = found
  const theirs = typeof customer === 'string' || customer.deleted ? [] : [customer.balance, customer.discount?.id ?? null]
  const items = found.items.data.map(({id, price, quantity, current_period_start: from, current_period_end: to}) => [
    id,
    price.id,
    quantity ?? null,
    from,
    to,
  ])
  const phases = schedule?.phases.map(({start_date, end_date, items: of}) => [start_date, end_date, of.map(({price}) => idOf(price))])
  const facts = [
    found.status,
    items,
    found.cancel_at,
    found.cancel_at_period_end,
    found.trial_end,
    found.discounts.map(one => idOf(one)),
    schedule?.id ?? idOf(found.schedule),
    schedule?.end_behavior ?? null,
    phases ?? null,
    theirs,
  ]
  return shortHash(JSON.stringify(facts)).toString('hex')
}
