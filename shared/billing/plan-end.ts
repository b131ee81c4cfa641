import type {Stripe} from 'stripe'
import type {Pool} from '../../sql/database.ts'
import type {Log} from '../log.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {type ReadSubscription, readSubscription} from './subscription.ts'

/**
 * Parameters that end a subscription with the period its plan is paid for. The flag `cancel_at_period_end` would not: with a yearly plan and
 * monthly overage it "always resolves to the earliest item period end"
 * (https://docs.stripe.com/changelog/basil/2025-07-30/cancel-at-enums). A date inside another item's later period prorates unless told not to.
 * If no item is known as the plan, the latest end loses nothing that is paid.
 */
export const endWithPlan = ({periodEndsAt}: Pick<ReadSubscription, 'periodEndsAt'>): EndParams => ({
  cancel_at: periodEndsAt === null ? 'max_period_end' : Date.parse(periodEndsAt) / 1000,
  proration_behavior: 'none',
})

type EndParams = Pick<Stripe.SubscriptionUpdateParams, 'cancel_at' | 'proration_behavior'>

/** When the plan ends, or would end if it were cancelled now. */
export const planEndOf = ({cancelsAt, periodEndsAt, endsEarly}: ReadSubscription): string | null =>
  endsEarly ? periodEndsAt : (cancelsAt ?? periodEndsAt)

type Tools = {db: Pool; payment: PaymentProvider; log: Log}

/**
 * Moves a cancellation that the provider dated to the end of a shorter item to the end of the plan's period, and answers the subscription as
 * it is then. The portal and the dashboard cancel like that, and so did earlier builds. Setting the same date twice changes nothing.
 */
export const correctEarlyEnd = async (tools: Tools, read: ReadSubscription): Promise<ReadSubscription | null> => {
  const {id, cancelsAt, periodEndsAt} = read
  if (!read.endsEarly) return read
  tools.log.error(
    {subscription: id, cancelsAt, periodEndsAt},
    'a cancellation would have ended a plan before its paid period; its date is moved',
  )
  await tools.payment.ask('subscription', stripe => stripe.subscriptions.update(id, endWithPlan(read)))
  return readSubscription(tools, id)
}
