import {findBillingAccount} from '../../sql/billing-accounts.ts'
import {type Checkout, endCheckout, listStaleCheckouts} from '../../sql/checkouts.ts'
import {Refusal} from '../errors.ts'
import {type CheckoutTools, createSession} from './checkout-session.ts'
import {expireSession} from './expire-session.ts'
import {PaymentFailure} from './payment-failure.ts'
import {settleCheckout} from './settle-checkout.ts'

type Tools = Omit<CheckoutTools, 'config'>

/** Whoever made it has answered by then, or died. */
const staleMinutes = 10

/**
 * Looks at the org's Checkouts that may have come to something without our having heard. One that cannot be settled is left to the next time; a
 * PaymentFailure is thrown where the provider does not answer at all.
 */
export const settleStaleCheckouts = async (tools: Tools, org: string): Promise<void> => {
  for (const row of await listStaleCheckouts(tools.db, {org, minutes: staleMinutes})) {
    try {
      await settleStale(tools, row)
    } catch (error) {
      if (!isOfThisOne(error)) throw error
      tools.log.warn({err: error, org, checkout: row.id}, 'a Checkout is left as it is')
    }
  }
}

const isOfThisOne = (error: unknown) =>
  (error instanceof PaymentFailure && error.kind === 'refused') || (error instanceof Refusal && error.code === 'CHANGE_IN_PROGRESS')

const settleStale = async (tools: Tools, row: Checkout): Promise<void> => {
  if (row.session === null) return dropUnheard(tools, row)
  const isSuperseded = row.kind === 'plan' && (await findBillingAccount(tools.db, row.org))?.planCheckout !== row.session
  if (isSuperseded && (await expireSession(tools, row.session)) === 'expired') return
  const known = await settleCheckout(tools, null, row.session)
  if (!known) tools.log.warn({org: row.org, checkout: row.id}, 'the payment provider does not know the session of a Checkout')
}

/**
 * One whose session nobody lived to note: the same call under the same key says which it is. Nobody was ever told where the page is, so it is
 * closed. After a day the provider has closed it by itself.
 */
const dropUnheard = async (tools: Tools, row: Checkout) => {
  if (row.isOld) return void (await endCheckout(tools.db, {id: row.id, session: null, state: 'failed'}))
  const page = await createSession(tools, row).catch(error => {
    if (error instanceof PaymentFailure && error.kind === 'refused') return null
    throw error
  })
  if (page && (await expireSession(tools, page.id)) === 'complete') await settleCheckout(tools, null, page.id)
}
