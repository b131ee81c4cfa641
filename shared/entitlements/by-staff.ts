import {z} from 'zod'
import type {Pool, Tx} from '../../sql/database.ts'
import {
  findPlanVersion,
  listPacks,
  listPlans,
  lockPack,
  lockPricedPlan,
  lockSuspension,
  type Pack,
  type PackPayment,
  type PlanPayment,
  type PricedPlan,
  setPackPayment,
  setPlanPayment,
  setSuspended,
} from '../../sql/plans.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import type {PaymentProvider} from '../billing/payment-provider.ts'
import {isOver} from '../billing/subscription.ts'
import {findPackProblems, findPlanProblems, refuseProblems} from '../billing/verify/payment-ids.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../log.ts'
import {recordStaffAction, type Staff} from '../people/staff-action.ts'
import {movePlan, recordPlan} from './plan.ts'
import {readStanding, type Standing} from './standing.ts'

type Placed = {org: string; planVersionId: string; reason: string}

/** Puts an org on any version of any plan. From and to a plan that nobody pays for, a period begins; between paid plans it goes on. */
export const placeOrg = (db: Pool, staff: Staff, {org, planVersionId, reason}: Placed): Promise<Standing> =>
  db.transaction(async tx => {
    await holdOrg(tx, org)
    const to = await findPlanVersion(tx, planVersionId)
    if (!to) throw new Refusal('NOT_FOUND', 'No such plan version: GET /billing/admin/plans lists them')
    const before = await readStanding(tx, org)
    if (before.payer !== org) throw new Refusal('SANDBOX_ORG', `This org is a sandbox: its plan is that of ${before.payer}`)
    if (before.plan.id === to.id && before.status === 'active') return before
    const paid = await findSubscription(tx, org)
    // It would be read again, and its plan put back.
    if (paid && !isOver(paid))
      throw new Refusal('ALREADY_SUBSCRIBED', 'This org pays for its plan: change or end its subscription at the payment provider first')
    const anchor = isPaid(before.plan) && isPaid(to) ? null : before.now
    const after = await movePlan(tx, {org, to, status: 'active', anchor})
    await recordStaffAction(tx, staff, {kind: 'org.plan', org, reason, detail: {from: before.plan.id, to: to.id}})
    await recordPlan(tx, {org, via: 'staff'}, 'plan.changed', before, after)
    return after
  })

const isPaid = ({key}: {key: string}) => key !== 'free' && key !== 'trial'

type Suspended = {org: string; suspended: boolean; reason: string | undefined}

/** Whatever an org has paid for, it begins nothing metered while it is suspended; what it has begun completes. */
export const setOrgSuspended = (db: Pool, staff: Staff, {org, suspended, reason}: Suspended): Promise<Standing> =>
  db.transaction(async tx => {
    const {suspendedAt} = await holdOrg(tx, org)
    const before = await readStanding(tx, org)
    if ((suspendedAt !== null) === suspended) return before
    await setSuspended(tx, {id: org, suspended})
    const after = await readStanding(tx, org)
    await recordStaffAction(tx, staff, {kind: suspended ? 'org.suspend' : 'org.unsuspend', org, reason})
    await recordPlan(tx, {org, via: 'staff'}, suspended ? 'plan.suspended' : 'plan.unsuspended', before, after)
    return after
  })

const holdOrg = async (tx: Tx, org: string) => {
  const found = await lockSuspension(tx, org)
  if (!found) throw new Refusal('NOT_FOUND', 'No such org')
  return found
}

const id = (what: string) =>
  z.string().trim().min(1).max(255).nullish().describe(`The payment provider's id of ${what}; null takes it away`)
export const PackPaymentBody = z.strictObject({paymentProductId: id('the product'), paymentPriceId: id('the price')})
export const PlanPaymentBody = z.strictObject({
  paymentProductId: id('the product'),
  paymentPriceMonthlyId: id('the price of a month'),
  paymentPriceAnnualId: id('the price of a year'),
  paymentPriceOverageId: id('the price of rows beyond the plan'),
})

type PricingTools = {config: Pick<Config, 'PAYMENT_API_KEY' | 'PAYMENT_AUTOMATIC_TAX'>; db: Pool; payment: PaymentProvider; log: Log}
type GivenPlan = z.output<typeof PlanPaymentBody> & {id: string}
type GivenPack = z.output<typeof PackPaymentBody> & {key: string}

/** What is left out stays. Ids that do not fit what the provider has are refused. */
export const pricePlan = async (tools: PricingTools, staff: Staff, {id: plan, ...given}: GivenPlan): Promise<PricedPlan> => {
  const known = (await listPlans(tools.db)).find(({id}) => id === plan)
  if (!known) throw new Refusal('NOT_FOUND', 'No such plan version: GET /billing/admin/plans lists them')
  const amounts = await refuseProblems(tools, asking => findPlanProblems(asking, merge<PlanPayment>(known, given)))
  return tools.db.transaction(async tx => {
    const next = merge<PlanPayment>((await lockPricedPlan(tx, plan))!, given)
    await recordStaffAction(tx, staff, {kind: 'plan.payment', detail: {plan, ...given}})
    return setPlanPayment(tx, plan, {...next, amounts})
  })
}

export const pricePack = async (tools: PricingTools, staff: Staff, {key, ...given}: GivenPack): Promise<Pack> => {
  const known = (await listPacks(tools.db)).find(pack => pack.key === key)
  if (!known) throw new Refusal('NOT_FOUND', 'No such pack: GET /billing/admin/packs lists them')
  const amounts = await refuseProblems(tools, asking => findPackProblems(asking, merge<PackPayment>(known, given)))
  return tools.db.transaction(async tx => {
    const next = merge<PackPayment>((await lockPack(tx, key))!, given)
    await recordStaffAction(tx, staff, {kind: 'pack.payment', detail: {pack: key, ...given}})
    return setPackPayment(tx, key, {...next, amounts})
  })
}

const merge = <T extends object>(found: T, given: {[N in keyof T]?: T[N] | undefined}): T => ({
  ...found,
  ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
})
