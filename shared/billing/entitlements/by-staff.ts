import {z} from 'zod'
import type {Pool, Tx} from '../../../sql/database.ts'
import {
  type CreditPack,
  findPlanVersion,
  listPacks,
  listPlans,
  lockPack,
  lockPricedPlan,
  lockSuspension,
  type PackPayment,
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
import {findPackProblems, findPlanProblems, refuseProblems} from '../verify/payment-ids.ts'
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
export const pricePlan = async (deps: PricingDeps, staff: Staff, {id: plan, ...given}: PlanPriceInput): Promise<PricedPlan> => {
  const known = (await listPlans(deps.db)).find(({id}) => id === plan)
  if (!known) throw new Refusal('NOT_FOUND', 'No such plan version. GET /billing/admin/plans lists them')
  const amounts = await refuseProblems(deps, asking => findPlanProblems(asking, merge<PlanPayment>(known, given)))
  return deps.db.transaction(async tx => {
    const next = merge<PlanPayment>((await lockPricedPlan(tx, plan))!, given)
    await recordStaffAction(tx, staff, {kind: 'plan.payment', detail: {plan, ...given}})
    return setPlanPayment(tx, plan, {...next, amounts})
  })
}

export const pricePack = async (deps: PricingDeps, staff: Staff, {key, ...given}: PackPriceInput): Promise<CreditPack> => {
  const known = (await listPacks(deps.db)).find(pack => pack.key === key)
  if (!known) throw new Refusal('NOT_FOUND', 'No such pack. GET /billing/admin/packs lists them')
  const amounts = await refuseProblems(deps, asking => findPackProblems(asking, merge<PackPayment>(known, given)))
  return deps.db.transaction(async tx => {
    const next = merge<PackPayment>((await lockPack(tx, key))!, given)
    await recordStaffAction(tx, staff, {kind: 'pack.payment', detail: {pack: key, ...given}})
    return setPackPayment(tx, key, {...next, amounts})
  })
}

const merge = <T extends object>(found: T, given: {[N in keyof T]?: T[N] | undefined}): T => ({
  ...found,
  ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
})
