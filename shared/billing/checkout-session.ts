import type {Stripe} from 'stripe'
import {endCheckout} from '../../sql/checkouts.ts'
import type {Pool} from '../../sql/database.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Queue} from '../queue.ts'
import type {Log} from '../telemetry/log.ts'
import {expireSession} from './expire-checkout-session.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

export type CheckoutDeps = {config: Config; db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

export type CheckoutCaller = {org: string; person: string; email: string}

type StoredCheckout = {id: string; params: object}

/** Creates a Checkout session, whose page takes the payment. If the org was closed meanwhile, expires the session and throws ORG_CLOSED. */
export const openSession = async (
  deps: CheckoutDeps,
  {org, ...written}: StoredCheckout & {org: string},
): Promise<Stripe.Checkout.Session> => {
  const page = await createSession(deps, written)
  if (await isOpenOrg(deps.db, org)) return page
  await expireSession(deps, page.id)
  throw new Refusal('ORG_CLOSED', 'This org was closed meanwhile. Reopen it before you buy something for it')
}

/**
 * Creates the session of a stored Checkout; repeated calls create only one. If the provider refuses the call, marks the Checkout as failed. If
 * the outcome is unknown or the provider is busy, the Checkout stays unchanged, and `stale-checkouts.ts` resolves it later.
 */
export const createSession = async (
  {db, payment}: Pick<CheckoutDeps, 'db' | 'payment'>,
  {id, params}: StoredCheckout,
): Promise<Stripe.Checkout.Session> => {
  try {
    return await payment.ask('checkout.session', stripe =>
      stripe.checkout.sessions.create(params as Stripe.Checkout.SessionCreateParams, {idempotencyKey: `cs:${id}`}),
    )
  } catch (error) {
    const isUndone = error instanceof PaymentFailure && error.kind !== 'unavailable' && error.kind !== 'busy'
    if (isUndone) await endCheckout(db, {id, session: null, state: 'failed'})
    throw error
  }
}
