import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {listUnbilledOverage, setOverage} from '../../sql/overage.ts'
import {listPlans} from '../../sql/plans.ts'
import {type Author, recordChanges} from '../configuration/change.ts'
import {Refusal} from '../errors.ts'
import type {Queue} from '../queue.ts'
import type {Log} from '../telemetry/log.ts'
import {readPlanStatus} from './entitlements/plan-status.ts'
import {type BillingLease, changeInProgress, holdBilling, LeaseGone, releaseBilling, underBillingLease} from './lease.ts'
import {assertSells, sandboxRefused} from './offer.ts'
import {PaymentFailure, refuseFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {findLiveSubscription, type ReadSubscription, readSubscription} from './subscription.ts'
import {syncSubscription} from './sync-subscription.ts'

type OverageSwitchDeps = {db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

/**
 * Enables or disables overage: rows beyond the plan's limit, billed per row. Enabling adds the overage price to the subscription. The price
 * stays there when overage is disabled, because it bills only used rows.
 */
export const switchOverage = async (deps: OverageSwitchDeps, author: Author, {enabled}: {enabled: boolean}) => {
  const {db, payment, log} = deps
  const {org} = author
  const {sandbox, overageEnabled} = await readPlanStatus(db, org)
  if (sandbox) throw sandboxRefused()
  if (enabled === overageEnabled) return {overageEnabled}
  if (!enabled) return keepOverage(deps, author, {enabled})
  assertSells(payment)
  return underBillingLease(deps, org, async held => {
    const read = await addItem(deps, held).catch(refuseFailure(log, 'adding the price of overage'))
    return keepOverage(deps, author, {enabled, held, read})
  }).catch(error => {
    throw error instanceof LeaseGone ? changeInProgress() : error
  })
}

type OverageSetting = {enabled: boolean; held?: BillingLease; read?: ReadSubscription}

const keepOverage = ({db}: OverageSwitchDeps, author: Author, {enabled, held, read}: OverageSetting) =>
  db.transaction(async tx => {
    const {org} = author
    if (held && read) await syncSubscription(tx, held, read, {org, via: 'payment'})
    await lockOrg(tx, org)
    if (await setOverage(tx, {org, enabled}))
      await recordChanges(tx, author, [{page: 'plan', subject: 'overage', before: {enabled: !enabled}, after: {enabled}}])
    return {overageEnabled: enabled}
  })

const addItem = async (deps: OverageSwitchDeps, {org}: BillingLease): Promise<ReadSubscription> => {
  const {db} = deps
  const customer = (await findBillingAccount(db, org))?.customer
  const live = customer ? await findLiveSubscription(deps, {customer}) : null
  if (!live) throw new Refusal('NOT_SUBSCRIBED', 'Overage is billed with a plan. Subscribe to a plan by POST /billing/checkout first')
  // The subscription keeps its overage price if the plan loses that price.
  if (live.overageItemId !== null) return live
  const price = (await listPlans(db)).find(({id}) => id === live.planVersionId)?.paymentPriceOverageId
  if (!price) throw new Refusal('NOT_SOLD', 'This plan has no overage price. Change to a plan that has one, or to a higher plan')
  await makeItem(deps, live, price)
  const read = await readSubscription(deps, live.id)
  if (!read?.overageItemId) throw new PaymentFailure('The overage price is not on the subscription', {kind: 'unavailable'})
  return read
}

/**
 * Adds the overage item to the subscription. The item has no quantity, because its price is metered. On a yearly plan, the item has its own
 * monthly period. The idempotency key contains the price and the period, so that the item is added once.
 */
const makeItem = ({payment}: OverageSwitchDeps, {id: subscription, periodStartsAt}: ReadSubscription, price: string) => {
  const idempotencyKey = `ovg:${subscription}:${price}:${periodStartsAt}`
  return payment.ask('subscription_item', stripe =>
    stripe.subscriptionItems.create({subscription, price, proration_behavior: 'none'}, {idempotencyKey}),
  )
}

/**
 * Daily task: adds overage items that were lost, for example through a plan change that was pending when overage was enabled. Returns the
 * number of added items.
 */
export const restoreOverage = async (deps: OverageSwitchDeps, {most}: {most: number}): Promise<number> => {
  if (!deps.payment.isConfigured) return 0
  let restored = 0
  for (const org of await listUnbilledOverage(deps.db, most)) {
    const held = await holdBilling(deps.db, org)
    if (!held) continue
    try {
      const read = await addItem(deps, held)
      await deps.db.transaction(tx => syncSubscription(tx, held, read, {org, via: 'payment'}))
      restored++
    } catch (error) {
      if (!(error instanceof PaymentFailure || error instanceof Refusal)) throw error
      deps.log.warn({err: error, org}, 'could not restore the overage item; overage rows of this org are not billed')
    } finally {
      await releaseBilling(deps, held)
    }
  }
  return restored
}
