import type {Stripe} from 'stripe'
import type {Pool} from '../../sql/database.ts'
import type {Log} from '../telemetry/log.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {type ReadSubscription, readSubscription} from './subscription.ts'

/**
 * Returns the parameters that end a subscription with the paid period of its plan. The flag `cancel_at_period_end` does not do that: with a yearly
 * plan and monthly overage it "always resolves to the earliest item period end" (https://docs.stripe.com/changelog/basil/2025-07-30/cancel-at-enums).
 * By default, a date inside another item's period causes a proration. If no item is known as the plan, the latest period end keeps everything that is
 * paid.
 */
export const endWithPlan = ({periodEndsAt}: Pick<ReadSubscription, 'periodEndsAt'>): EndParams => ({
  cancel_at: periodEndsAt === null ? 'max_period_end' : Date.parse(periodEndsAt) / 1000,
  proration_behavior: 'none',
})

type EndParams = Pick<Stripe.SubscriptionUpdateParams, 'cancel_at' | 'proration_behavior'>

/** Returns when the plan ends, or would end if it were cancelled now. */
export const planEndOf = ({cancelsAt, periodEndsAt, endsEarly}: ReadSubscription): string | null =>
  endsEarly ? periodEndsAt : (cancelsAt ?? periodEndsAt)

type PlanEndDeps = {db: Pool; payment: PaymentProvider; log: Log}

/**
 * Moves a cancellation from the end of a shorter item to the end of the plan's period, and returns the updated subscription. The portal, the
 * dashboard and earlier releases set such a date. The call is safe to repeat.
 */
export const correctEarlyEnd = async (deps: PlanEndDeps, read: ReadSubscription): Promise<ReadSubscription | null> => {
  const {id, cancelsAt, periodEndsAt} = read
  if (!read.endsEarly) return read
  deps.log.error(
    {subscription: id, cancelsAt, periodEndsAt},
    'a cancellation would have ended a plan before its paid period; moving its date',
  )
  await deps.payment.ask('subscription', stripe => stripe.subscriptions.update(id, endWithPlan(read)))
  return readSubscription(deps, id)
}
