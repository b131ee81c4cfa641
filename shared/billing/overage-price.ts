import type {Pool} from '../../sql/database.ts'
import {findOverageItem, listOverageItems} from '../../sql/overage.ts'
import type {Log} from '../log.ts'
import type {Queue} from '../queue.ts'
import {holdBilling, releaseBilling} from './lease.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

type Tools = {db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

const perLook = 100

/**
 * For once a day: rows beyond the plan are billed at the price of the plan the org is on, wherever it had switched them on. A price of rows is asked
 * for when the month is billed, so the new plan's is on in time. Answers how many were moved.
 */
export const alignOverage = async (tools: Tools, {most}: {most: number}): Promise<number> => {
  const {db, payment, log} = tools
  if (!payment.isConfigured) return 0
  let moved = 0
  for (let after = '', done = 0; done < most; ) {
    const all = await listOverageItems(db, {after, limit: perLook})
    for (const one of all) {
      try {
        if (await alignOne(tools, one)) moved++
      } catch (error) {
        if (!(error instanceof PaymentFailure)) throw error
        log.warn({err: error, org: one.org}, 'the price of overage could not be compared')
        if (error.kind !== 'refused') return moved
      }
    }
    done += all.length
    if (all.length < perLook) break
    after = all.at(-1)!.org
  }
  return moved
}

/** It has no key: twice the same price is the same price. */
const alignOne = async (tools: Tools, {org, item, price}: {org: string; item: string; price: string}): Promise<boolean> => {
  const {db, payment} = tools
  const found = await payment.ask('subscription_item', stripe => stripe.subscriptionItems.retrieve(item))
  if (found.price.id === price) return false
  const held = await holdBilling(db, org)
  if (!held) return false
  try {
    // The plan may have changed since they were listed; from here on it does not.
    const now = await findOverageItem(db, org)
    if (now?.item !== item || now.price !== price) return false
    await payment.ask('subscription_item', stripe => stripe.subscriptionItems.update(item, {price, proration_behavior: 'none'}))
    return true
  } finally {
    await releaseBilling(tools, held)
  }
}
