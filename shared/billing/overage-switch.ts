import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {listUnbilledOverage, setOverage} from '../../sql/overage.ts'
import {listPlans} from '../../sql/plans.ts'
import {readStanding} from '../entitlements/standing.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../log.ts'
import type {Queue} from '../queue.ts'
import {type Author, recordChanges} from '../registry/change.ts'
import {changeInProgress, type Held, holdBilling, LeaseGone, releaseBilling, whileHeld} from './lease.ts'
import {assertSells, sandboxRefused} from './offer.ts'
import {PaymentFailure, refuseFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {projectSubscription} from './project.ts'
import {findLiveSubscription, type ReadSubscription, readSubscription} from './subscription.ts'

type Tools = {db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

/**
 * Lets rows beyond the plan's through, to be paid for one by one, or lets them no more. What they cost is on the subscription from the first time
 * on, and stays there: it bills what was used, and that may be nothing.
 */
export const switchOverage = async (tools: Tools, author: Author, {enabled}: {enabled: boolean}) => {
  const {db, payment, log} = tools
  const {org} = author
  const {sandbox, overageEnabled} = await readStanding(db, org)
  if (sandbox) throw sandboxRefused()
  if (enabled === overageEnabled) return {overageEnabled}
  if (!enabled) return keepOverage(tools, author, {enabled})
  assertSells(payment)
  return whileHeld(tools, org, async held => {
    const read = await addItem(tools, held).catch(refuseFailure(log, 'adding the price of overage'))
    return keepOverage(tools, author, {enabled, held, read})
  }).catch(error => {
    throw error instanceof LeaseGone ? changeInProgress() : error
  })
}

type Kept = {enabled: boolean; held?: Held; read?: ReadSubscription}

const keepOverage = ({db}: Tools, author: Author, {enabled, held, read}: Kept) =>
  db.transaction(async tx => {
    const {org} = author
    if (held && read) await projectSubscription(tx, held, read, {org, via: 'payment'})
    await lockOrg(tx, org)
    if (await setOverage(tx, {org, enabled}))
      await recordChanges(tx, author, [{page: 'plan', subject: 'overage', before: {enabled: !enabled}, after: {enabled}}])
    return {overageEnabled: enabled}
  })

/** On the subscription once, whoever put it there. */
const addItem = async (tools: Tools, {org}: Held): Promise<ReadSubscription> => {
  const {db} = tools
  const customer = (await findBillingAccount(db, org))?.customer
  const live = customer ? await findLiveSubscription(tools, {customer}) : null
  if (!live)
    throw new Refusal('NOT_SUBSCRIBED', 'Rows beyond a plan are billed with it: subscribe to a plan by POST /billing/checkout first')
  const price = (await listPlans(db)).find(({id}) => id === live.planVersionId)?.paymentPriceOverageId
  if (!price) throw new Refusal('NOT_SOLD', 'This plan has no price for rows beyond it: change to a plan that has, or to a higher one')
  if (live.overageItemId !== null) return live
  await makeItem(tools, live, price)
  const read = await readSubscription(tools, live.id)
  if (!read?.overageItemId) throw new PaymentFailure('The price of overage is not on the subscription', {kind: 'unavailable'})
  return read
}

/** No quantity, because it is metered; its month is its own on a yearly plan. The same key for the same price in a period: it is added once. */
const makeItem = ({payment}: Tools, {id: subscription, periodStartsAt}: ReadSubscription, price: string) => {
  const idempotencyKey = `ovg:${subscription}:${price}:${periodStartsAt}`
  return payment.ask('subscription_item', stripe =>
    stripe.subscriptionItems.create({subscription, price, proration_behavior: 'none'}, {idempotencyKey}),
  )
}

/**
 * For once a day: what bills rows beyond the plan is put back where it was lost, as with a plan that was waiting when overage was switched on. Answers
 * how many it was put back for.
 */
export const restoreOverage = async (tools: Tools, {most}: {most: number}): Promise<number> => {
  if (!tools.payment.isConfigured) return 0
  let restored = 0
  for (const org of await listUnbilledOverage(tools.db, most)) {
    const held = await holdBilling(tools.db, org)
    if (!held) continue
    try {
      const read = await addItem(tools, held)
      await tools.db.transaction(tx => projectSubscription(tx, held, read, {org, via: 'payment'}))
      restored++
    } catch (error) {
      if (!(error instanceof PaymentFailure || error instanceof Refusal)) throw error
      tools.log.warn({err: error, org}, 'rows beyond the plan of this org are not billed')
    } finally {
      await releaseBilling(tools, held)
    }
  }
  return restored
}
