import type {Db, Pool} from '../../sql/database.ts'
import type {ChangeTarget} from '../../sql/plan-changes.ts'
import {findPlanVersion} from '../../sql/plans.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import {type Code, Refusal} from '../errors.ts'
import {type ChangeKind, classify, type WantedPlace} from './classify.ts'
import {holdCurrent} from './credits/balance.ts'
import {readPlanStatus} from './entitlements/plan-status.ts'
import {limitRefusal} from './entitlements/refusal.ts'
import {assertSells, findPlanForSale, sandboxRefused} from './offer.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {describePending} from './plan-change-answer.ts'
import type {Terms} from './plan-change-terms.ts'
import type {Interval} from './subscription.ts'

export type WantedPlan = {target: ChangeTarget; wanted: WantedPlace}

export type RequestedPlan = {planKey: string; interval: Interval}

/**
 * Finds the requested plan. A request for the present plan cancels a pending change. The present plan then keeps its version and price, even if they
 * are not for sale. Throws NOT_SOLD if another plan is not for sale.
 */
export const findRequestedPlan = async (db: Db, terms: Terms, {planKey, interval}: RequestedPlan): Promise<WantedPlan> => {
  if (planKey === 'free') return {target: {planKey, planVersionId: null, interval: null, price: null}, wanted: 'free'}
  const own = presentPlanTarget(terms)
  if (terms.plan && own.planKey === planKey && own.interval === interval)
    return {target: own, wanted: {planKey, rank: terms.plan.rank, interval}}
  const {plan, price} = await findPlanForSale(db, {planKey, interval})
  return {target: {planKey, planVersionId: plan.id, interval, price}, wanted: {planKey, rank: plan.rank, interval}}
}

/** Returns the plan that the subscription pays for. A change to this plan cancels a pending change. */
export const presentPlanTarget = ({plan, read, item}: Terms): ChangeTarget => ({
  planKey: plan?.key ?? 'unknown',
  planVersionId: read.planVersionId,
  interval: read.interval,
  price: item.price.id,
})

/** Throws NOT_SOLD if the plan is neither for sale nor stored as the org's plan. Does not call the payment provider. */
export const assertPlanRequestable = async (db: Db, org: string, {planKey, interval}: RequestedPlan): Promise<void> => {
  if (planKey === 'free') return
  const own = await findSubscription(db, org)
  const plan = own?.interval === interval && own.planVersionId !== null ? await findPlanVersion(db, own.planVersionId) : null
  if (plan?.key !== planKey) await findPlanForSale(db, {planKey, interval})
}

export const assertMayBuy = async ({db, payment}: {db: Db; payment: PaymentProvider}, org: string): Promise<void> => {
  const {sandbox} = await readPlanStatus(db, org)
  if (sandbox) throw sandboxRefused()
  assertSells(payment)
}

/** Returns the kind of the requested change of this subscription. Throws if nothing would change or the change is not allowed. */
export const kindOf = async (db: Pool, org: string, terms: Terms, {wanted}: WantedPlan): Promise<ChangeKind> => {
  const {read, plan} = terms
  if (wanted === 'free') return 'cancel'
  if (plan === null || read.interval === null)
    throw new Refusal('NOT_SUBSCRIBED', 'The subscription of this org is for none of the current plans. Contact support')
  const kind = classify({planKey: plan.key, rank: plan.rank, interval: read.interval}, read.pending, wanted)
  if (kind === null)
    throw new Refusal('NO_CHANGE', 'This org already has that plan, and no change is pending', {stands: describePending(terms)})
  if (kind === 'now') await assertPaid(db, org, read.status)
  return kind
}

/** Refuses an upgrade of an org whose last payment failed. The org can still downgrade or cancel. */
const assertPaid = async (db: Pool, org: string, status: string) => {
  if (status === 'past_due')
    throw await refusePayment(
      db,
      org,
      'STATUS_PAST_DUE',
      'The last payment for this plan failed. Pay the invoice or change the card before you upgrade',
    )
  if (status === 'unpaid' || status === 'paused')
    throw await refusePayment(
      db,
      org,
      'STATUS_SUSPENDED',
      'This plan is suspended until it is paid. Pay the invoice or change the card before you upgrade',
    )
}

export const refusePayment = (db: Pool, org: string, code: Code, message: string, extra: Record<string, unknown> = {}): Promise<Refusal> =>
  db.transaction(async tx => limitRefusal((await holdCurrent(tx, org)).balance, {code, message, lift: [{by: 'payment'}], extra}))
