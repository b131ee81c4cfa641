import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import {findUnsettledChange} from '../../sql/plan-changes.ts'
import {findSubscription} from '../../sql/subscriptions.ts'
import type {Config} from '../config.ts'
import type {Queue} from '../queue.ts'
import type {Log} from '../telemetry/log.ts'
import {expireSession} from './expire-checkout-session.ts'
import {type BillingLease, holdBilling, keepLease, releaseBilling} from './lease.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {settleConfirming} from './plan-change-confirm.ts'
import {supersede} from './plan-change-settle.ts'
import {endWithPlan} from './plan-end.ts'
import {isUnpaid, listLiveSubscriptions, type ReadSubscription, readSubscription} from './subscription.ts'
import {syncSubscription} from './sync-subscription.ts'
import {settleTopups} from './topup.ts'

type EndBillingDeps = {config: Config; db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

/**
 * Ends what an org pays for: expires its open payment pages, and ends its subscriptions at the end of their paid periods. With `now`, they
 * end immediately, without a refund or another invoice. A repeated call continues where the last one failed. Throws if the
 * provider is unavailable or the org's billing lock is taken. Returns false if no provider is configured or the org has no customer there.
 */
export const endBillingOf = async (deps: EndBillingDeps, org: string, {when}: {when: 'period_end' | 'now'}): Promise<boolean> => {
  const {db, payment} = deps
  const customer = (await findBillingAccount(db, org))?.customer
  if (!payment.isConfigured || !customer) return false
  const billingLease = await holdBilling(db, org)
  if (!billingLease) throw new Error(`The billing lock of ${org} is taken`)
  try {
    await expireAll(deps, customer)
    await settleConfirming(deps, billingLease, {givesUp: true})
    // Completing an unfinished change later could charge the card or remove the end of the plan.
    const unsettled = await findUnsettledChange(db, org)
    if (unsettled) await supersede(deps, billingLease, unsettled)
    const known = await findSubscription(db, org)
    const isKnown = (live: ReadSubscription) => live.id === known?.id && !isUnpaid(live)
    const all = (await listLiveSubscriptions(deps, {customer})).toSorted((one, other) => Number(isKnown(other)) - Number(isKnown(one)))
    for (const [at, live] of all.entries()) {
      if (when === 'period_end' && endsInTime(live)) continue
      await keepLease(db, billingLease)
      // An unpaid subscription has no paid period, so it ends at once.
      await endSubscription(deps, {live, when: isUnpaid(live) ? 'now' : when})
      // Only the first one is stored, because storing another one would move the org to its plan.
      if (at === 0) await storeEnd(deps, billingLease, live)
    }
  } finally {
    await releaseBilling(deps, billingLease)
  }
  await settleTopups(deps, org)
  return true
}

/**
 * Expires the customer's open payment pages, at most 100, including those for packs. A page that was just paid stays paid; the provider's event
 * then applies the purchase.
 */
const expireAll = async (deps: EndBillingDeps, customer: string) => {
  const {data} = await deps.payment.ask('list', stripe => stripe.checkout.sessions.list({customer, status: 'open', limit: 100}))
  for (const {id} of data) await expireSession(deps, id)
}

/** Returns whether the subscription ends with the plan's paid period, or at an earlier date that staff chose. */
const endsInTime = ({cancelsAt, periodEndsAt, endsEarly}: ReadSubscription): boolean =>
  cancelsAt !== null && !endsEarly && (periodEndsAt === null || cancelsAt <= periodEndsAt)

type SubscriptionEnd = {live: ReadSubscription; when: 'period_end' | 'now'}

/** The calls have no idempotency keys, because repeating them has no further effect. */
const endSubscription = async ({payment}: EndBillingDeps, {live, when}: SubscriptionEnd) => {
  const {id, schedule} = live
  if (when === 'now') await payment.ask('subscription', stripe => stripe.subscriptions.cancel(id)).catch(ignoreIfGone)
  else {
    // The schedule is released first, because it would apply its pending downgrade. The provider also refuses an end date while there is a
    // schedule.
    if (schedule !== null)
      await payment.ask('subscription_schedule', stripe => stripe.subscriptionSchedules.release(schedule)).catch(ignoreIfGone)
    await payment.ask('subscription', stripe => stripe.subscriptions.update(id, {...endWithPlan(live), metadata: {ended_by: 'closing'}}))
  }
}

const storeEnd = async (deps: EndBillingDeps, billingLease: BillingLease, {id}: ReadSubscription) => {
  const read = await readSubscription(deps, id)
  await deps.db.transaction(tx => syncSubscription(tx, billingLease, read, {org: billingLease.org, via: 'staff'}))
}

/** For `catch`: ignores a refusal. The provider refuses a change that is already in effect; the later read shows whether that was the reason. */
const ignoreIfGone = (error: unknown) => {
  if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
}
