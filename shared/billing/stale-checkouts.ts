import {findBillingAccount} from '../../sql/billing-accounts.ts'
import {type Checkout, endCheckout, listStaleCheckouts} from '../../sql/checkouts.ts'
import {Refusal} from '../errors.ts'
import {type CheckoutDeps, createSession} from './checkout-session.ts'
import {expireSession} from './expire-checkout-session.ts'
import {PaymentFailure} from './payment-failure.ts'
import {settleCheckout} from './settle-checkout.ts'

type StaleCheckoutsDeps = Omit<CheckoutDeps, 'config'>

/** A Checkout is stale from this age in minutes. By then, its process has finished or crashed. */
const staleMinutes = 10

/**
 * Settles the org's Checkouts whose outcome may have been missed. A Checkout that cannot be settled is tried again by the next call. Throws
 * a PaymentFailure if the provider does not answer or is busy.
 */
export const settleStaleCheckouts = async (deps: StaleCheckoutsDeps, org: string): Promise<void> => {
  for (const row of await listStaleCheckouts(deps.db, {org, minutes: staleMinutes})) {
    try {
      await settleStale(deps, row)
    } catch (error) {
      if (!isOfThisOne(error)) throw error
      deps.log.warn({err: error, org, checkout: row.id}, 'could not settle a stale Checkout')
    }
  }
}

const isOfThisOne = (error: unknown) =>
  (error instanceof PaymentFailure && error.kind === 'refused') || (error instanceof Refusal && error.code === 'CHANGE_IN_PROGRESS')

const settleStale = async (deps: StaleCheckoutsDeps, row: Checkout): Promise<void> => {
  if (row.session === null) return dropUnanswered(deps, row)
  const isSuperseded = row.kind === 'plan' && (await findBillingAccount(deps.db, row.org))?.planCheckout !== row.session
  if (isSuperseded && (await expireSession(deps, row.session)) === 'expired') return
  const known = await settleCheckout(deps, null, row.session)
  if (!known) deps.log.warn({org: row.org, checkout: row.id}, 'the payment provider does not know the session of a Checkout')
}

/**
 * Ends a Checkout whose process crashed before it stored the session. The same call with the same key returns the session; its URL was
 * never shown, so the page is expired. After a day, the Checkout is marked as failed without a call, because the page has expired.
 */
const dropUnanswered = async (deps: StaleCheckoutsDeps, row: Checkout) => {
  if (row.isOld) return void (await endCheckout(deps.db, {id: row.id, session: null, state: 'failed'}))
  const page = await createSession(deps, row).catch(error => {
    if (error instanceof PaymentFailure && error.kind === 'refused') return null
    throw error
  })
  if (page && (await expireSession(deps, page.id)) === 'complete') await settleCheckout(deps, null, page.id)
}
