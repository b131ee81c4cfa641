import type {Stripe} from 'stripe'
import {clearPlanCheckout, endCheckout, findCheckout} from '../../sql/checkouts.ts'
import type {Pool} from '../../sql/database.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

type Tools = {db: Pool; payment: PaymentProvider}

/**
 * Closes a page, so that nobody pays there any more. Answers `complete` where somebody has: that is for the caller to settle. Asking again
 * is harmless, so it has no key of its own.
 */
export const expireSession = async (tools: Tools, session: string): Promise<'expired' | 'complete'> => {
  const found = await closeOrRead(tools, session)
  if (found?.status === 'complete') return 'complete'
  await noteExpired(tools, {session, id: found?.metadata?.checkout_id ?? null})
  return 'expired'
}

/** Null where the provider knows no such page: nobody pays there either. */
const closeOrRead = async ({payment}: Tools, session: string): Promise<Stripe.Checkout.Session | null> => {
  try {
    return await payment.ask('checkout.session', stripe => stripe.checkout.sessions.expire(session))
  } catch (error) {
    if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
    if (error.status === 404) return null
    const found = await payment.ask('checkout.session', stripe => stripe.checkout.sessions.retrieve(session))
    if (found.status === 'open') throw error
    return found
  }
}

/** Paid for is paid for, whatever comes late. */
export const noteExpired = ({db}: Tools, named: {session: string; id: string | null}): Promise<void> =>
  db.transaction(async tx => {
    const row = await findCheckout(tx, named)
    if (!row) return
    await clearPlanCheckout(tx, {org: row.org, session: named.session})
    if (row.state === 'started' || row.state === 'open') await endCheckout(tx, {id: row.id, session: named.session, state: 'expired'})
  })
