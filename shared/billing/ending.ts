import {findBillingAccount} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'
import type {Config} from '../config.ts'
import type {Log} from '../log.ts'
import type {Queue} from '../queue.ts'
import {expireSession} from './expire-session.ts'
import {type Held, holdBilling, keepHeld, releaseBilling} from './lease.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {settleConfirming} from './plan-change-confirm.ts'
import {endWithPlan} from './plan-end.ts'
import {projectSubscription} from './project.ts'
import {findLiveSubscription, type ReadSubscription, readSubscription} from './subscription.ts'
import {settleTopups} from './topup.ts'

type Tools = {config: Config; db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

const mostSubscriptions = 5

/**
 * Ends what an org pays for: nobody can pay at a page of it any more, and its subscription ends at the end of what is paid, or `now`, of which
 * nothing is given back and for which nothing more is billed. Asked again it goes on where it stood. Throws while the provider is
 * away, or somebody else has the org's billing; where no provider is configured there is nothing to end.
 */
export const endBillingOf = async (tools: Tools, org: string, {when}: {when: 'period_end' | 'now'}): Promise<boolean> => {
  const {db, payment} = tools
  const customer = (await findBillingAccount(db, org))?.customer
  if (!payment.isConfigured || !customer) return false
  const held = await holdBilling(db, org)
  if (!held) throw new Error(`The billing of ${org} is in other hands`)
  try {
    await expireAll(tools, customer)
    await settleConfirming(tools, held, {givesUp: true})
    for (let left = mostSubscriptions; left > 0; left--) {
      await keepHeld(db, held)
      const live = await findLiveSubscription(tools, {customer})
      if (!live || (when === 'period_end' && live.cancelsAt !== null && !live.endsEarly)) break
      await endSubscription(tools, held, {live, when})
    }
  } finally {
    await releaseBilling(tools, held)
  }
  await settleTopups(tools, org)
  return true
}

/** Also those for packs. Where somebody has just paid, that stands, and is applied when its event comes. */
const expireAll = async (tools: Tools, customer: string) => {
  const {data} = await tools.payment.ask('list', stripe => stripe.checkout.sessions.list({customer, status: 'open', limit: 100}))
  for (const {id} of data) await expireSession(tools, id)
}

type Ending = {live: ReadSubscription; when: 'period_end' | 'now'}

/** No call has a key: what is done twice here is done once. */
const endSubscription = async (tools: Tools, held: Held, {live, when}: Ending) => {
  const {payment, db} = tools
  const {id, schedule} = live
  if (when === 'now') await payment.ask('subscription', stripe => stripe.subscriptions.cancel(id)).catch(passWhereGone)
  else {
    // The schedule would carry out its move down, and refuses the end date while it exists.
    if (schedule !== null)
      await payment.ask('subscription_schedule', stripe => stripe.subscriptionSchedules.release(schedule)).catch(passWhereGone)
    await payment.ask('subscription', stripe => stripe.subscriptions.update(id, {...endWithPlan(live), metadata: {ended_by: 'closing'}}))
  }
  const read = await readSubscription(tools, id)
  await db.transaction(tx => projectSubscription(tx, held, read, {org: held.org, via: 'staff'}))
}

/** Refused because it is so already; what is read next says whether that is why. */
const passWhereGone = (error: unknown) => {
  if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
}
