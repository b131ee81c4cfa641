import type {Stripe} from 'stripe'
import {type Checkout, clearPlanCheckout, endCheckout, findCheckout, lockCheckout} from '../../sql/checkouts.ts'
import type {Pool} from '../../sql/database.ts'
import {cutTrial} from '../../sql/plans.ts'
import {grantCredits} from '../credits/grant.ts'
import type {Log} from '../log.ts'
import {announce} from '../notices/announce.ts'
import type {Queue} from '../queue.ts'
import {recordChanges} from '../registry/change.ts'
import {endSecondSubscription} from './duplicate-subscription.ts'
import {noteExpired} from './expire-session.ts'
import {type Held, keepHeld, whileHeld} from './lease.ts'
import {nullWhereGone, PaymentFailure} from './payment-failure.ts'
import type {PaymentProvider} from './payment-provider.ts'
import {projectSubscription} from './project.ts'
import {idOf, type ReadSubscription, readSubscription} from './subscription.ts'

type SettleTools = {db: Pool; queue: Queue; payment: PaymentProvider; log: Log}
type Session = Stripe.Checkout.Session

/**
 * Makes ours what a Checkout has come to at the provider, as it is read now: the plan, or the credits once they are paid for, or nothing. Harmless
 * however often and by however many at once. Answers the Checkout as we knew it, null where it is none of ours. Without `held`, a plan takes
 * the org's hold by itself: CHANGE_IN_PROGRESS where somebody has it.
 */
export const settleCheckout = async (tools: SettleTools, held: Held | null, sessionId: string): Promise<Checkout | null> => {
  const expand = ['payment_intent.payment_method', 'invoice']
  const session = await tools.payment
    .ask('checkout.session', stripe => stripe.checkout.sessions.retrieve(sessionId, {expand}))
    .catch(nullWhereGone)
  if (!session) return null
  const named = {session: sessionId, id: session.metadata?.checkout_id ?? null}
  const row = await findCheckout(tools.db, named)
  if (!row) return null
  if (session.status === 'expired') await noteExpired(tools, named)
  if (session.status !== 'complete') return row
  if (row.kind === 'credit_pack') await settlePack(tools, row, session)
  else if (held?.org === row.org) await settlePlan(tools, held, row, session)
  else await whileHeld(tools, row.org, own => settlePlan(tools, own, row, session))
  return row
}

const settlePlan = async (tools: SettleTools, held: Held, row: Checkout, session: Session) => {
  const read = await readSubscription(tools, idOf(session.subscription)!)
  // Two calls may have taken most of the time there was.
  if (row.state !== 'complete') await keepHeld(tools.db, held)
  if (read && (await endSecondSubscription(tools, held, {row, read}))) return finishPlan(tools, held, {row, session, read: null})
  if (read && row.state !== 'complete') await keepCard(tools, read)
  await finishPlan(tools, held, {row, session, read})
}

type Bought = {row: Checkout; session: Session; read: ReadSubscription | null}

const finishPlan = ({db}: SettleTools, held: Held, {row, session, read}: Bought): Promise<void> =>
  db.transaction(async tx => {
    const {id, org, afterTrial} = row
    if (read) await projectSubscription(tx, held, read, {org, via: 'payment'})
    if (read && !afterTrial) await cutTrial(tx, org)
    await clearPlanCheckout(tx, {org, session: session.id})
    if ((await lockCheckout(tx, id))?.state !== 'complete') await endCheckout(tx, {id, session: session.id, state: 'complete'})
  })

/** What was paid with pays for top-ups too: the page keeps a card with the subscription, and not always with the customer. */
const keepCard = async ({payment, log}: SettleTools, {card, customer}: ReadSubscription) => {
  if (card === null) return
  const settings = {invoice_settings: {default_payment_method: card}}
  await payment
    .ask('customer', stripe => stripe.customers.update(customer, settings))
    .catch(error => {
      if (!(error instanceof PaymentFailure && error.kind === 'refused')) throw error
      log.warn({err: error, customer}, 'the card of a Checkout is not the default of its customer')
    })
}

/** A card that paid for credits pays for the next ones by itself where nothing else does. Credits do not wait for it. */
const keepFirstCard = async ({payment, log}: SettleTools, session: Session, intent: Stripe.PaymentIntent | null) => {
  const [customer, method] = [idOf(session.customer), intent?.payment_method]
  if (customer === null || typeof method !== 'object' || method?.type !== 'card') return
  try {
    const found = await payment.ask('customer', stripe => stripe.customers.retrieve(customer))
    if (found.deleted || found.invoice_settings.default_payment_method !== null) return
    const settings = {invoice_settings: {default_payment_method: method.id}}
    await payment.ask('customer', stripe => stripe.customers.update(customer, settings))
  } catch (error) {
    if (!(error instanceof PaymentFailure)) throw error
    log.warn({err: error, customer}, 'the card of a Checkout is not the default of its customer')
  }
}

/** A page that is done with is paid, or will be when a bank has decided, or will never be. */
const settlePack = async (tools: SettleTools, row: Checkout, session: Session) => {
  const intent = session.payment_intent as Stripe.PaymentIntent | null
  if (session.payment_status !== 'unpaid') {
    if (row.state !== 'paid') await keepFirstCard(tools, session, intent)
    return grantPack(tools, row, session)
  }
  if (intent?.status === 'processing' || intent?.status === 'succeeded') return
  await voidInvoice(tools, row, session.invoice as Stripe.Invoice | null)
  await failPack(tools, row, session)
}

/** The credits as they were sold. Their name is the session's, so they are given once, whatever the row says. */
const grantPack = ({db}: SettleTools, {id, org, credits}: Checkout, session: Session): Promise<void> =>
  db.transaction(async tx => {
    const granted = {org, ref: `checkout:${session.id}`, pool: 'purchased' as const, credits: credits!, expiresAt: null}
    const {before, after} = await grantCredits(tx, granted)
    if (after === before) return
    const change = {page: 'usage', subject: 'credits.purchased', before: before.purchased, after: after.purchased}
    await recordChanges(tx, {org, via: 'payment'}, [change])
    await endCheckout(tx, {id, session: session.id, state: 'paid'})
  })

/** Or somebody could pay it later, for nothing. */
const voidInvoice = async ({payment}: SettleTools, {id}: Checkout, invoice: Stripe.Invoice | null) => {
  if (invoice?.status !== 'open') return
  await payment.ask('invoice', stripe => stripe.invoices.voidInvoice(invoice.id!, {}, {idempotencyKey: `cs:${id}:void`}))
}

const failPack = ({db}: SettleTools, {id, org, packKey, quantity, credits}: Checkout, session: Session): Promise<void> =>
  db.transaction(async tx => {
    const {state} = (await lockCheckout(tx, id))!
    if (state === 'failed' || state === 'paid') return
    await endCheckout(tx, {id, session: session.id, state: 'failed'})
    await announce(tx, {org, kind: 'billing.payment_failed', schedule: null, about: {of: 'credit_pack', packKey, quantity, credits}})
  })
