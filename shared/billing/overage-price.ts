import type {Stripe} from 'stripe'
import type {Pool} from '../../sql/database.ts'
import {findOverageItem, listOverageItems} from '../../sql/overage.ts'
import {listPlans} from '../../sql/plans.ts'
import type {Queue} from '../queue.ts'
import type {Log} from '../telemetry/log.ts'
import {holdBilling, releaseBilling} from './lease.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

type OveragePriceDeps = {db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

const perLook = 100

/**
 * Daily task: after a plan change, gives overage items the overage price of the org's current plan. Subscribers keep the price of their plan when
 * that plan gets another price. The provider applies the price when it bills the month, so a daily check is in time. Stops after about `most`
 * items, or if the provider does not answer. Returns the number of changed items.
 */
export const alignOverage = async (deps: OveragePriceDeps, {most}: {most: number}): Promise<number> => {
  const {db, payment, log} = deps
  if (!payment.isConfigured) return 0
  let moved = 0
  for (let after = '', done = 0; done < most; ) {
    const all = await listOverageItems(db, {after, limit: perLook})
    for (const one of all) {
      try {
        if (await alignOne(deps, one)) moved++
      } catch (error) {
        if (!(error instanceof PaymentFailure)) throw error
        log.warn({err: error, org: one.org}, 'could not compare the overage price')
        if (error.kind !== 'refused') return moved
      }
    }
    done += all.length
    if (all.length < perLook) break
    after = all.at(-1)!.org
  }
  return moved
}

/**
 * Sets the price of one item; returns whether the price changed. The call has no idempotency key, because repeating it has no further
 * effect.
 */
const alignOne = async (deps: OveragePriceDeps, {org, item, price}: {org: string; item: string; price: string}): Promise<boolean> => {
  const {db, payment} = deps
  const found = await payment.ask('subscription_item', stripe => stripe.subscriptionItems.retrieve(item))
  if (found.price.id === price || !(await needsPrice(deps, found.price, price))) return false
  const held = await holdBilling(db, org)
  if (!held) return false
  try {
    // The plan may have changed after the list was read. The billing lock prevents further changes.
    const now = await findOverageItem(db, org)
    if (now?.item !== item || now.price !== price) return false
    await payment.ask('subscription_item', stripe => stripe.subscriptionItems.update(item, {price, proration_behavior: 'none'}))
    return true
  } finally {
    await releaseBilling(deps, held)
  }
}

/**
 * Returns whether an item needs the plan's price `wanted`: the item's price is that of another plan, which has it now or has another product, or the
 * item's price has another meter, so that it would not bill the reported rows.
 */
const needsPrice = async ({db, payment}: OveragePriceDeps, {id, product, recurring}: Stripe.Price, wanted: string): Promise<boolean> => {
  if ((await listPlans(db)).some(({paymentPriceOverageId}) => paymentPriceOverageId === id)) return true
  const price = await payment.ask('price', stripe => stripe.prices.retrieve(wanted))
  return price.product !== product || price.recurring?.meter !== recurring?.meter
}
