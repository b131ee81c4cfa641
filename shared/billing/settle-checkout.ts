import type {Stripe} from 'stripe'
import {type Checkout, clearPlanCheckout, endCheckout, findCheckout, lockCheckout} from '../../sql/checkouts.ts'
import type {Pool} from '../../sql/database.ts'
import {cutTrial} from '../../sql/plans.ts'
import {recordChanges} from '../configuration/change.ts'
import {announce} from '../notifications/announce.ts'
import type {Queue} from '../queue.ts'
import type {Log} from '../telemetry/log.ts'
import {grantCredits} from './credits/grant.ts'
import {endSecondSubscription} from './duplicate-subscription.ts'
import {noteExpired} from './expire-checkout-session.ts'
import {type BillingLease, keepLease, underBillingLease} from './lease.ts'
import {nullWhereGone, PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {idOf, type ReadSubscription, readSubscription} from './subscription.ts'
import {syncSubscription} from './sync-subscription.ts'

type SettleCheckoutDeps = {db: Pool; queue: Queue; payment: PaymentProvider; log: Log}
type Session = Stripe.Checkout.Session

/**
 * Applies the outcome of a Checkout as read from the provider: a plan, paid credits, or nothing. The call is safe to repeat and to run
 * concurrently. Returns our stored Checkout, or null if the provider or our rows do not have the session. Unless `held` is the org's billing
 * lock, takes the lock for a plan, or throws CHANGE_IN_PROGRESS.
 */
export const settleCheckout = async (deps: SettleCheckoutDeps, held: BillingLease | null, sessionId: string): Promise<Checkout | null> => {
  const expand = ['payment_intent.payment_method', 'invoice']
  const session = await deps.payment
    .ask('checkout.session', stripe => stripe.checkout.sessions.retrieve(sessionId, {expand}))
    .catch(nullWhereGone)
  if (!session) return null
  const named = {session: sessionId, id: session.metadata?.checkout_id ?? null}
  const row = await findCheckout(deps.db, named)
  if (!row) return null
  if (session.status === 'expired') await noteExpired(deps, named)
  if (session.status !== 'complete') return row
  if (row.kind === 'credit_pack') await settlePack(deps, row, session)
  else if (held?.org === row.org) await settlePlan(deps, held, row, session)
  else await underBillingLease(deps, row.org, own => settlePlan(deps, own, row, session))
  return row
}

const settlePlan = async (deps: SettleCheckoutDeps, held: BillingLease, row: Checkout, session: Session) => {
  const read = await readSubscription(deps, idOf(session.subscription)!)
  // The calls to the provider may have used up most of the lease.
  if (row.state !== 'complete') await keepLease(deps.db, held)
  if (read && (await endSecondSubscription(deps, held, {row, read}))) return finishPlan(deps, held, {row, session, read: null})
  if (read && row.state !== 'complete') await keepCard(deps, read)
  await finishPlan(deps, held, {row, session, read})
}

type BoughtPlan = {row: Checkout; session: Session; read: ReadSubscription | null}

const finishPlan = ({db}: SettleCheckoutDeps, held: BillingLease, {row, session, read}: BoughtPlan): Promise<void> =>
  db.transaction(async tx => {
    const {id, org, afterTrial} = row
    if (read) await syncSubscription(tx, held, read, {org, via: 'payment'})
    if (read && !afterTrial) await cutTrial(tx, org)
    await clearPlanCheckout(tx, {org, session: session.id})
    if ((await lockCheckout(tx, id))?.state !== 'complete') await endCheckout(tx, {id, session: session.id, state: 'complete'})
  })

/** Makes the subscription's card the customer's default, for top-ups. A Checkout does not always attach its card to the customer. */
const keepCard = async ({payment, log}: SettleCheckoutDeps, {card, customer}: ReadSubscription) => {
  if (card === null) return
  const settings = {invoice_settings: {default_payment_method: card}}
  await payment
    .ask('customer', stripe => stripe.customers.update(customer, settings))
    .catch(error => {
      if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
      log.warn({err: error, customer}, 'could not make the card of a Checkout the default of its customer')
    })
}

/**
 * Makes the card of this purchase the customer's default for later top-ups, unless the customer has one. A failure of the provider does not prevent
 * the grant of the credits.
 */
const keepFirstCard = async ({payment, log}: SettleCheckoutDeps, session: Session, intent: Stripe.PaymentIntent | null) => {
  const [customer, method] = [idOf(session.customer), intent?.payment_method]
  if (customer === null || typeof method !== 'object' || method?.type !== 'card') return
  try {
    const found = await payment.ask('customer', stripe => stripe.customers.retrieve(customer))
    if (found.deleted || found.invoice_settings.default_payment_method !== null) return
    const settings = {invoice_settings: {default_payment_method: method.id}}
    await payment.ask('customer', stripe => stripe.customers.update(customer, settings))
  } catch (error) {
    if (!(error instanceof PaymentFailure)) throw error
    log.warn({err: error, customer}, 'could not make the card of a Checkout the default of its customer')
  }
}

/**
 * Settles a completed Checkout session for a pack. If the session is paid, grants the credits. If the payment may still succeed, changes nothing.
 * Otherwise voids the invoice and marks the purchase as failed.
 */
const settlePack = async (deps: SettleCheckoutDeps, row: Checkout, session: Session) => {
  const intent = session.payment_intent as Stripe.PaymentIntent | null
  if (session.payment_status !== 'unpaid') {
    if (row.state !== 'paid') await keepFirstCard(deps, session, intent)
    return grantPack(deps, row, session)
  }
  if (['processing', 'requires_action', 'succeeded'].includes(intent?.status ?? '')) return
  await voidInvoice(deps, row, session.invoice as Stripe.Invoice | null)
  await failPack(deps, row, session)
}

/** Grants the credits as sold. The grant's `ref` contains the session's id, so credits are granted once, regardless of the row's state. */
const grantPack = ({db}: SettleCheckoutDeps, {id, org, credits}: Checkout, session: Session): Promise<void> =>
  db.transaction(async tx => {
    const granted = {org, ref: `checkout:${session.id}`, pool: 'purchased' as const, credits: credits!, expiresAt: null}
    const {before, after} = await grantCredits(tx, granted)
    if (after === before) return
    const change = {page: 'usage', subject: 'credits.purchased', before: before.purchased, after: after.purchased}
    await recordChanges(tx, {org, via: 'payment'}, [change])
    await endCheckout(tx, {id, session: session.id, state: 'paid'})
  })

/** Voids an open invoice. A later payment of the invoice would bring no credits. */
const voidInvoice = async ({payment}: SettleCheckoutDeps, {id}: Checkout, invoice: Stripe.Invoice | null) => {
  if (invoice?.status !== 'open') return
  await payment.ask('invoice', stripe => stripe.invoices.voidInvoice(invoice.id!, {}, {idempotencyKey: `cs:${id}:void`}))
}

const failPack = ({db}: SettleCheckoutDeps, {id, org, packKey, quantity, credits}: Checkout, session: Session): Promise<void> =>
  db.transaction(async tx => {
    const {state} = (await lockCheckout(tx, id))!
    if (state === 'failed' || state === 'paid') return
    await endCheckout(tx, {id, session: session.id, state: 'failed'})
    await announce(tx, {org, kind: 'billing.payment_failed', schedule: null, about: {of: 'credit_pack', packKey, quantity, credits}})
  })
