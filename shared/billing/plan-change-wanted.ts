import type {Db, Pool} from '../../sql/database.ts'
import type {ChangeTarget} from '../../sql/plan-changes.ts'
import {holdCurrent} from '../credits/balance.ts'
import {limitRefusal} from '../entitlements/refusal.ts'
import {readStanding} from '../entitlements/standing.ts'
import {type Code, Refusal} from '../errors.ts'
import {type ChangeKind, classify, type Wanted} from './classify.ts'
import {assertSells, findPlanForSale, sandboxRefused} from './offer.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {describeStanding} from './plan-change-answer.ts'
import type {Terms} from './plan-change-terms.ts'
import type {Interval} from './subscription.ts'

export type WantedPlan = {target: ChangeTarget; wanted: Wanted}

/** What is asked for, as it is sold now. Refused with NOT_SOLD where it is not. */
export const findWanted = async (db: Db, {planKey, interval}: {planKey: string; interval: Interval}): Promise<WantedPlan> => {
  if (planKey === 'free') return {target: {planKey, planVersionId: null, interval: null, price: null}, wanted: 'free'}
  const {plan, price} = await findPlanForSale(db, {planKey, interval})
  return {target: {planKey, planVersionId: plan.id, interval, price}, wanted: {planKey, rank: plan.rank, interval}}
}

/** Before the provider is asked for anything. */
export const assertMayBuy = async ({db, payment}: {db: Db; payment: PaymentProvider}, org: string): Promise<void> => {
  const {sandbox} = await readStanding(db, org)
  if (sandbox) throw sandboxRefused()
  assertSells(payment)
}

/** What the change would be, as the subscription stands. Refused where it is none, or where it may not be made. */
export const kindOf = async (db: Pool, org: string, terms: Terms, {wanted}: WantedPlan): Promise<ChangeKind> => {
  const {read, plan} = terms
  if (wanted === 'free') return 'cancel'
  if (plan === null || read.interval === null)
    throw new Refusal('NOT_SUBSCRIBED', 'What this org pays for is none of the plans here: write to support to have it moved')
  const kind = classify({planKey: plan.key, rank: plan.rank, interval: read.interval}, read.pending, wanted)
  if (kind === null)
    throw new Refusal('NO_CHANGE', 'This org is on that plan already, and nothing waits', {stands: describeStanding(terms)})
  if (kind === 'now') await assertPaid(db, org, read.status)
  return kind
}

/** More is not sold to who owes for less; going down, and ending it, is open to them. */
const assertPaid = async (db: Pool, org: string, status: string) => {
  if (status === 'past_due')
    throw await refusePayment(
      db,
      org,
      'STATUS_PAST_DUE',
      'The last payment for this plan failed: pay it, or change the card, and then go up',
    )
  if (status === 'unpaid' || status === 'paused')
    throw await refusePayment(
      db,
      org,
      'STATUS_SUSPENDED',
      'This plan is suspended until it is paid for: pay, or change the card, and then go up',
    )
}

/** 402 with the balance. */
export const refusePayment = (db: Pool, org: string, code: Code, message: string, extra: Record<string, unknown> = {}): Promise<Refusal> =>
  db.transaction(async tx => limitRefusal((await holdCurrent(tx, org)).balance, {code, message, lift: [{by: 'payment'}], extra}))
