import {isDeepStrictEqual} from 'node:util'
import {z} from 'zod'
import type {Pool, Tx} from '../../../sql/database.ts'
import {
  type CreditPack,
  findPlanVersion,
  lockPack,
  lockPricedPlan,
  lockSuspension,
  type PackPayment,
  type PaymentAmounts,
  type PlanPayment,
  type PricedPlan,
  setPackPayment,
  setPlanPayment,
  setSuspended,
} from '../../../sql/plans.ts'
import {findSubscription} from '../../../sql/subscriptions.ts'
import {recordStaffAction, type Staff} from '../../accounts/staff-action.ts'
import type {Config} from '../../config.ts'
import {Refusal} from '../../errors.ts'
import type {Log} from '../../telemetry/log.ts'
import type {PaymentProvider} from '../payment-provider.ts'
import {isOver} from '../subscription.ts'
import {findPackProblems, findPlanProblems, refuseProblems, type VerifiedIds} from '../verify/payment-ids.ts'
import {movePlan, recordPlan} from './plan.ts'
import {type PlanStatus, readPlanStatus} from './plan-status.ts'

type OrgPlacement = {org: string; planVersionId: string; reason: string}

/**
 * Puts an org on a plan version, for staff. A move between two paid plans continues the period; any other move begins a new one. Refuses a sandbox
 * org, and an org that pays for its plan.
 */
export const placeOrg = (db: Pool, staff: Staff, {org, planVersionId, reason}: OrgPlacement): Promise<PlanStatus> =>
  db.transaction(async tx => {
    await holdOrg(tx, org)
    const to = await findPlanVersion(tx, planVersionId)
    if (!to) throw new Refusal('NOT_FOUND', 'No such plan version. GET /billing/admin/plans lists them')
    const before = await readPlanStatus(tx, org)
    if (before.payer !== org) throw new Refusal('SANDBOX_ORG', `This org is a sandbox. Change the plan of ${before.payer}, which it uses`)
    if (before.plan.id === to.id && before.status === 'active') return before
    const paid = await findSubscription(tx, org)
    // The next read of the org's subscription would undo this change.
    if (paid && !isOver(paid))
      throw new Refusal('ALREADY_SUBSCRIBED', 'This org pays for its plan. Change or end its subscription at the payment provider first')
    const anchor = isPaid(before.plan) && isPaid(to) ? null : before.now
    const after = await movePlan(tx, {org, to, status: 'active', anchor})
    await recordStaffAction(tx, staff, {kind: 'org.plan', org, reason, detail: {from: before.plan.id, to: to.id}})
    await recordPlan(tx, {org, via: 'staff'}, 'plan.changed', before, after)
    return after
  })

const isPaid = ({key}: {key: string}) => key !== 'free' && key !== 'trial'

type SuspensionInput = {org: string; suspended: boolean; reason: string | undefined}

/** Suspends an org, or lifts the suspension. A suspended org cannot start metered work, whatever it has paid for. Work in progress completes. */
export const setOrgSuspended = (db: Pool, staff: Staff, {org, suspended, reason}: SuspensionInput): Promise<PlanStatus> =>
  db.transaction(async tx => {
    const {suspendedAt} = await holdOrg(tx, org)
    const before = await readPlanStatus(tx, org)
    if ((suspendedAt !== null) === suspended) return before
    await setSuspended(tx, {id: org, suspended})
    const after = await readPlanStatus(tx, org)
    await recordStaffAction(tx, staff, {kind: suspended ? 'org.suspend' : 'org.unsuspend', org, reason})
    await recordPlan(tx, {org, via: 'staff'}, suspended ? 'plan.suspended' : 'plan.unsuspended', before, after)
    return after
  })

const holdOrg = async (tx: Tx, org: string) => {
  const found = await lockSuspension(tx, org)
  if (!found) throw new Refusal('NOT_FOUND', 'No such org')
  return found
}

const id = (what: string) => z.string().trim().min(1).max(255).nullish().describe(`The payment provider's id of ${what}; null removes it`)
export const PackPaymentBody = z.strictObject({paymentProductId: id('the product'), paymentPriceId: id('the price')})
export const PlanPaymentBody = z.strictObject({
  paymentProductId: id('the product'),
  paymentPriceMonthlyId: id('the monthly price'),
  paymentPriceAnnualId: id('the yearly price'),
  paymentPriceOverageId: id('the price of overage rows'),
})

type PricingDeps = {config: Pick<Config, 'PAYMENT_API_KEY' | 'PAYMENT_AUTOMATIC_TAX'>; db: Pool; payment: PaymentProvider; log: Log}
type PlanPriceInput = z.output<typeof PlanPaymentBody> & {id: string}
type PackPriceInput = z.output<typeof PackPaymentBody> & {key: string}

/** Stores the provider's price ids of a plan. Ids that are left out stay. Throws if an id does not fit the provider's objects. */
export const pricePlan = (deps: PricingDeps, staff: Staff, {id: plan, ...given}: PlanPriceInput): Promise<PricedPlan> =>
  verifyAndStore<PlanPayment, PricedPlan>(deps, given, {
    lock: tx => lockPricedPlan(tx, plan),
    unknown: 'No such plan version. GET /billing/admin/plans lists them',
    find: findPlanProblems,
    async store(tx, next) {
      await recordStaffAction(tx, staff, {kind: 'plan.payment', detail: {plan, ...given}})
      return setPlanPayment(tx, plan, next)
    },
  })

export const pricePack = (deps: PricingDeps, staff: Staff, {key, ...given}: PackPriceInput): Promise<CreditPack> =>
  verifyAndStore<PackPayment, CreditPack>(deps, given, {
    lock: tx => lockPack(tx, key),
    unknown: 'No such pack. GET /billing/admin/packs lists them',
    find: findPackProblems,
    async store(tx, next) {
      await recordStaffAction(tx, staff, {kind: 'pack.payment', detail: {pack: key, ...given}})
      return setPackPayment(tx, key, next)
    },
  })

/** `unknown`: the message if there is no such row. */
type PriceStore<Ids, Row> = {
  lock(tx: Tx): Promise<Row | null>
  unknown: string
  find(...asked: [Parameters<typeof findPlanProblems>[0], Ids]): Promise<VerifiedIds>
  store(tx: Tx, next: Ids & {amounts: PaymentAmounts | null}): Promise<Row>
}

const mostVerifications = 5

/**
 * Verifies the stored ids together with the given ones, then stores the result. No lock is held while the provider is called, so another change may
 * be stored meanwhile. All ids are then verified again.
 */
const verifyAndStore = async <Ids extends object, Row extends Ids>(
  deps: PricingDeps,
  given: {[N in keyof Ids]?: Ids[N] | undefined},
  {lock, unknown, find, store}: PriceStore<Ids, Row>,
): Promise<Row> => {
  const lockNext = async (tx: Tx): Promise<Ids> => {
    const found = await lock(tx)
    if (!found) throw new Refusal('NOT_FOUND', unknown)
    return merge<Ids>(found, given)
  }
  let next = await deps.db.transaction(lockNext)
  for (let left = mostVerifications; left > 0; left--) {
    const verified = next
    const amounts = await refuseProblems(deps, asking => find(asking, verified))
    const stored = await deps.db.transaction(async tx => {
      next = await lockNext(tx)
      return isDeepStrictEqual(next, verified) ? store(tx, {...next, amounts}) : null
    })
    if (stored) return stored
  }
  throw new Refusal(
    'PAYMENT_PROVIDER_UNAVAILABLE',
    'Other changes of these prices were stored during the verification. Send the request again',
  )
}

const merge = <T extends object>(found: T, given: {[N in keyof T]?: T[N] | undefined}): T => ({
  ...found,
  ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
})
