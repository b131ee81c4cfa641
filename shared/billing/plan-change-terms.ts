import type {Stripe} from 'stripe'
import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import {listPlans, type PricedPlan} from '../../sql/plans.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {Refusal} from '../errors.ts'
import {shortHash} from '../short-hash.ts'
import {nullWhereGone} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {describeSubscription, EXPAND, findLiveSubscription, idOf, isOver, type ReadSubscription} from './subscription.ts'

/** A living subscription as it was read this moment: what a change is worked out from, and compared with. */
export type Terms = {
  found: Stripe.Subscription
  read: ReadSubscription
  /** The item that is the plan. */
  item: Stripe.SubscriptionItem
  /** Null where its price is none of our plans'. */
  plan: PricedPlan | null
  schedule: Stripe.SubscriptionSchedule | null
  hasCard: boolean
  /** Of all that a price or a plan of calls rests on: another one, and somebody has changed something. */
  fingerprint: string
}

/** What is asked for with it. */
export const WITH = [...EXPAND, 'schedule.phases.items.price', 'customer', 'latest_invoice']

type Tools = {db: Pool; payment: PaymentProvider}

/** The org's, as our rows name it or as the provider lists it. Refused with NOT_SUBSCRIBED where none is alive, or none was ever paid for. */
export const readTerms = async (tools: Tools, org: string): Promise<Terms> => {
  const known = await findSubscription(tools.db, org)
  const own = known && !isOver(known) ? await readTermsOf(tools, known.id) : null
  const terms = own ?? (await findLiveTerms(tools, org))
  if (!terms) throw new Refusal('NOT_SUBSCRIBED', 'This org has no paid plan yet: buy one by POST /orgs/{org}/billing/checkout')
  if (terms.read.status === 'incomplete')
    throw new Refusal('NOT_SUBSCRIBED', 'The first payment of this plan has not come through: pay it, or buy the plan anew in a day')
  return terms
}

const findLiveTerms = async (tools: Tools, org: string): Promise<Terms | null> => {
  const customer = (await findBillingAccount(tools.db, org))?.customer ?? null
  const live = customer === null ? null : await findLiveSubscription(tools, {customer})
  return live && readTermsOf(tools, live.id)
}

/** Null for one that is over, or that the provider does not know. */
export const readTermsOf = async ({db, payment}: Tools, id: string): Promise<Terms | null> => {
  const found = await payment.ask('subscription', stripe => stripe.subscriptions.retrieve(id, {expand: WITH})).catch(nullWhereGone)
  return found && !isOver(found) ? termsOf(found, await listPlans(db)) : null
}

/** Of an answer that was asked for `WITH` all of it. */
export const termsOf = (found: Stripe.Subscription, plans: readonly PricedPlan[]): Terms => {
  const read = describeSubscription(found, plans)
  const item = found.items.data.find(({id}) => id === read.itemId)
  if (!item) throw new Refusal('NOT_SUBSCRIBED', 'What this org pays for is no plan: write to support to have it moved')
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
    ...[id, price.id, quantity ?? null, from, to],
  ])
  const phases = schedule?.phases.map(({start_date, end_date, items: of}) => [start_date, end_date, of.map(({price}) => idOf(price))])
  const facts = [
    ...[found.status, items, found.cancel_at, found.cancel_at_period_end, found.trial_end, found.discounts.map(one => idOf(one))],
    ...[schedule?.id ?? idOf(found.schedule), schedule?.end_behavior ?? null, phases ?? null, theirs],
  ]
  return shortHash(JSON.stringify(facts)).toString('hex')
}
