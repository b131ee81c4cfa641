import type {Stripe} from 'stripe'
import type {Pool} from '../../sql/database.ts'
import type {Log} from '../telemetry/log.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {type ReadSubscription, readSubscription} from './subscription.ts'

/**
 * Returns the parameters that end a subscription at the end of its plan's paid period. The flag `cancel_at_period_end` cannot do this: with a
 * yearly plan and monthly overage it "always resolves to the earliest item period end"
 * (https://docs.stripe.com/changelog/basil/2025-07-30/cancel-at-enums). `proration_behavior: none`, because a date within another item's
 * period causes a proration by default. If no item is known as the plan, the latest period end keeps everything that is paid.
 */
export const endWithPlan = ({periodEndsAt}: Pick<ReadSubscription, 'periodEndsAt'>): EndParams => ({
  cancel_at: periodEndsAt === null ? 'max_period_end' : Date.parse(periodEndsAt) / 1000,
  proration_behavior: 'none',
})

type EndParams = Pick<Stripe.SubscriptionUpdateParams, 'cancel_at' | 'proration_behavior'>

/** Returns when the plan ends, or would end if it were cancelled now. ISO 8601. */
export const planEndOf = ({cancelsAt, periodEndsAt, endsEarly}: ReadSubscription): string | null =>
  endsEarly ? periodEndsAt : (cancelsAt ?? periodEndsAt)

type PlanEndDeps = {db: Pool; payment: PaymentProvider; log: Log}

/**
 * If the subscription would end with a shorter item, moves its end to the end of the plan's period. Returns the subscription as read afterwards, or
 * null if the provider no longer has it. Returns any other subscription unchanged. The portal, the dashboard and earlier releases set such early
 * dates. The call is safe to repeat.
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
