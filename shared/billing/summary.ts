import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {listRecentNotices} from '../../sql/notices.ts'
import {listPacks, listPlans, type PaymentAmounts, type PricedPlan} from '../../sql/plans.ts'
import {findSubscription, type Subscription} from '../../sql/subscriptions.ts'
import {holdCurrent} from './credits/balance.ts'
import {describePlanStatus, usageOf} from './entitlements/describe.ts'
import {listPlansForSale, priceOf} from './offer.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {isOver} from './subscription.ts'
import {describeTopup} from './topup-settings.ts'

type SummaryDeps = {db: Pool; payment: Pick<PaymentProvider, 'isConfigured'>}

const noticeDays = 30
const mostNotices = 50

/** Returns the data of an org's billing page. Reads only our own rows, not the provider. */
export const readSummary = ({db, payment}: SummaryDeps, org: string) =>
  db.transaction(async tx => {
    const {planStatus, balance} = await holdCurrent(tx, org)
    const {plan, status, period, trial, pastDue, overageEnabled} = describePlanStatus(planStatus)
    const [account, known] = [await findBillingAccount(tx, org), await findSubscription(tx, org)]
    const live = known && !isOver(known) ? known : null
    const own = (await listPlans(tx)).find(({id}) => id === live?.planVersionId) ?? null
    return {
      plan,
      status,
      period,
      trial,
      pastDue,
      ...describeSubscription(live, own),
      balance,
      usage: await usageOf(tx, planStatus),
      autotopup: await describeTopup(tx, org),
      overage: {enabled: overageEnabled, available: (own?.paymentPriceOverageId ?? live?.overageItemId ?? null) !== null},
      plans: (await listPlansForSale(tx)).map(describePlan),
      packs: await describePacks(tx),
      notices: await listRecentNotices(tx, {org, kinds: ['billing', 'usage'], days: noticeDays, limit: mostNotices}),
      customer: Boolean(account?.customer),
      checkoutOpen: Boolean(account?.planCheckout),
      configured: payment.isConfigured,
      sandbox: planStatus.sandbox,
    }
  })

/** `own`: the plan that the subscription pays for. It may be an earlier version than the one for sale. */
const describeSubscription = (live: Subscription | null, own: PricedPlan | null) => ({
  interval: live?.interval ?? null,
  cancelsAt: live?.cancelsAt ?? null,
  pendingChange: live?.pending ?? null,
  subscription: live && {
    status: live.status,
    planVersionId: live.planVersionId,
    plan: own && describePlan({...own, amounts: amountsPaid(live, own)}),
    readAt: live.readAt,
    period: {start: live.periodStartsAt, end: live.periodEndsAt},
    trialEndsAt: live.trialEndsAt,
  },
})

/**
 * Returns the amounts that the org pays. They differ from the plan's amounts if the plan's price changed after the org subscribed, or if staff agreed
 * a price. For the other interval and for overage that the org never enabled, the result has the plan's amounts. Null if the amounts are not known.
 */
const amountsPaid = ({paid, priceId, interval}: Subscription, own: PricedPlan): PaymentAmounts | null => {
  const {amounts} = own
  if (paid?.priceId !== priceId) return interval !== null && priceId === priceOf(own, interval) ? amounts : null
  const isAlike = amounts?.currency === paid.currency && (amounts.taxBehavior ?? null) === (paid.taxBehavior ?? null)
  return {...paid, amounts: {...(isAlike && amounts.amounts), ...paid.amounts}}
}

const describePlan = (plan: PricedPlan) => {
  const {id, key, version, name, limits, features} = plan
  const intervals = (['month', 'year'] as const).filter(interval => priceOf(plan, interval) !== null)
  return {id, key, version, name, limits, features, intervals, prices: describePrices(plan)}
}

/**
 * Describes the prices of a plan. Null if the provider's amounts were never read. The price of an overage row is a decimal, because it may
 * be below the smallest unit.
 */
const describePrices = ({amounts: known}: PricedPlan) => {
  if (known === null) return null
  const {currency, amounts} = known
  return {
    currency,
    month: wholeOf(amounts.month),
    year: wholeOf(amounts.year),
    row: amounts.overage ?? null,
    taxBehavior: known.taxBehavior ?? null,
  }
}

const wholeOf = (amount: string | undefined): number | null => (amount === undefined ? null : Math.round(Number(amount)))

const describePacks = async (tx: Tx) =>
  (await listPacks(tx)).map(({key, name, credits, paymentPriceId, amounts: known}) => ({
    key,
    name,
    credits,
    purchasable: paymentPriceId !== null,
    price: known?.amounts.pack === undefined ? null : describePackPrice(known, known.amounts.pack),
  }))

const describePackPrice = ({currency, taxBehavior}: PaymentAmounts, amount: string) => ({
  amount: wholeOf(amount),
  currency,
  taxBehavior: taxBehavior ?? null,
})
