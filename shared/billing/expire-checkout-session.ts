import type {Stripe} from 'stripe'
import {clearPlanCheckout, endCheckout, findCheckout} from '../../sql/checkouts.ts'
import type {Pool} from '../../sql/database.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

type ExpireSessionDeps = {db: Pool; payment: PaymentProvider}

/**
 * Expires a payment page. Returns `complete` if the page was already paid; the caller then settles the purchase. The call has no
 * idempotency key and is safe to repeat.
 */
export const expireSession = async (deps: ExpireSessionDeps, session: string): Promise<'expired' | 'complete'> => {
  const found = await closeOrRead(deps, session)
  if (found?.status === 'complete') return 'complete'
  await noteExpired(deps, {session, id: found?.metadata?.checkout_id ?? null})
  return 'expired'
}

const closeOrRead = async ({payment}: ExpireSessionDeps, session: string): Promise<Stripe.Checkout.Session | null> => {
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

/** Marks a stored Checkout as expired, unless it has ended already, and forgets it as the org's open page for a plan. */
export const noteExpired = ({db}: ExpireSessionDeps, named: {session: string; id: string | null}): Promise<void> =>
  db.transaction(async tx => {
    const row = await findCheckout(tx, named)
    if (!row) return
    await clearPlanCheckout(tx, {org: row.org, session: named.session})
    if (row.state === 'started' || row.state === 'open') await endCheckout(tx, {id: row.id, session: named.session, state: 'expired'})
  })
