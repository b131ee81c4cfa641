import type {Stripe} from 'stripe'
import {endCheckout} from '../../sql/checkouts.ts'
import type {Pool} from '../../sql/database.ts'
import {isOpenOrg} from '../../sql/orgs.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Log} from '../log.ts'
import type {Queue} from '../queue.ts'
import {expireSession} from './expire-session.ts'
import {PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'

export type CheckoutTools = {config: Config; db: Pool; queue: Queue; payment: PaymentProvider; log: Log}

/** The admin who asks. */
export type Asker = {org: string; person: string; email: string}

type Written = {id: string; params: object}

/**
 * A page for somebody to pay at. Whoever closes an org ends the pages there are; one that was made at that very moment is closed by whoever
 * made it: ORG_CLOSED.
 */
export const openSession = async (tools: CheckoutTools, {org, ...written}: Written & {org: string}): Promise<Stripe.Checkout.Session> => {
  const page = await createSession(tools, written)
  if (await isOpenOrg(tools.db, org)) return page
  await expireSession(tools, page.id)
  throw new Refusal('ORG_CLOSED', 'This org was closed meanwhile: once it is open again, something can be bought for it')
}

/**
 * The session of a row that is written, once however often it is asked for. What was definitely not done is marked; what may have been stays
 * as it is, and is looked into later (stale-checkouts.ts).
 */
export const createSession = async (
  {db, payment}: Pick<CheckoutTools, 'db' | 'payment'>,
  {id, params}: Written,
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
