import {collect} from './billing.ts'
import {checkTrialEnd, detailsOf} from './checkout.ts'
import {addCustomer, behaviourOf, emptyAddress, newCard, setBehaviour} from './customers.ts'
import {createInvoice, createSaleLine} from './invoice-drafts.ts'
import {finalizeInvoice, intentOf, paymentOf} from './invoices.ts'
import {change, emit, mergeMetadata} from './objects.ts'
import {createIntent, payIntent} from './payments.ts'
import {attempt, type SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {startSubscription} from './subscriptions.ts'
import {declined, invalid} from './wire.ts'

type Payer = {card?: string; email?: string; country?: string}

/** Pays a Checkout page. A refusal changes nothing, and the session stays open. */
export const payCheckout = (world: SimulatorState, id: string, {card = 'pm_card_visa', email, country = 'DE'}: Payer = {}): Thing =>
  attempt(world, () => {
    const session = world.store.get('checkout.session', id)
    if (!session) throw new TypeError(`No such checkout: ${id}`)
    if (session.status !== 'open') throw invalid('This Checkout Session is no longer active.')
    const customer = session.customer ?? addCustomer(world, {balance: 0, email: email ?? 'guest@example.org'}).id
    if (session.automatic_tax.enabled) keepAddress(world, customer, country)
    // The bank is not asked when the card is attached, because the payment follows.
    const method = change(world, newCard(world, card), {customer}, 'payment_method.attached').id
    const done = session.mode === 'subscription' ? subscribe(world, session, customer, method) : sell(world, session, customer, method)
    world.clock.cancel(`checkout:${id}`)
    const amounts = amountsOf(world, session, 'invoice' in done ? done.invoice : null)
    const patch = {...done, ...amounts, customer, customer_details: detailsOf(world, customer), status: 'complete', url: null}
    return change(world, session, patch, 'checkout.session.completed')
  })

/** Stores the country that was entered at the page as the customer's address. */
const keepAddress = (world: SimulatorState, id: string, country: string) =>
  change(world, world.store.get('customer', id)!, {address: {...emptyAddress, country}}, 'customer.updated')

/** Returns the amounts with tax, which needs the address. Without automatic tax, nothing changes. */
const amountsOf = (world: SimulatorState, session: Thing, id: string | null | undefined) => {
  const invoice = id ? world.store.get('invoice', id) : undefined
  if (!invoice || !session.automatic_tax.enabled) return {}
  const tax = invoice.total_taxes.reduce((sum: number, one: {amount: number}) => sum + one.amount, 0)
  const total_details = {...session.total_details, amount_tax: tax}
  return {amount_total: invoice.total, total_details, automatic_tax: {...session.automatic_tax, status: 'complete'}}
}

const subscribe = (world: SimulatorState, session: Thing, customer: string, card: string) => {
  const {line_items: lines, subscription_data: data} = world.store.get('~checkout', session.id)!
  if (isLater(world, card)) throw invalid('A plan is paid by card.')
  if (data.trial_end !== undefined) checkTrialEnd(world, data.trial_end)
  const days = data.trial_period_days
  const subscription = startSubscription(world, {
    customer,
    items: lines.data.map(({price, quantity}: Thing) => ({price: price.id, ...(quantity === null ? {} : {quantity})})),
    card,
    trialEnd: data.trial_end ?? (days === undefined ? null : world.clock.now() + days * 24 * 3600),
    metadata: mergeMetadata({}, data.metadata),
    behaviour: 'error_if_incomplete',
    billingMode: data.billing_mode?.type ?? 'flexible',
    missingCard: data.trial_settings?.end_behavior.missing_payment_method,
    description: data.description ?? null,
    isPresent: true,
    isTaxed: session.automatic_tax.enabled,
  })
  const paid = subscription.status === 'trialing' ? 'no_payment_required' : 'paid'
  return {subscription: subscription.id, invoice: subscription.latest_invoice, payment_status: paid}
}

const sell = (world: SimulatorState, session: Thing, customer: string, card: string) => {
  const {payment_intent_data: data} = world.store.get('~checkout', session.id)!
  const {metadata: given, description = null, setup_future_usage = null} = data
  const metadata = mergeMetadata({}, given)
  if (session.invoice_creation.enabled) return sellByInvoice(world, session, {customer, card, metadata, setup_future_usage})
  const {amount_total: amount, currency} = session
  const intent = createIntent(world, {amount, currency, customer, metadata, description, setup_future_usage})
  if (isLater(world, card)) return beginLater(world, session, intent, card)
  const {decline} = payIntent(world, intent, card, {isPresent: true})
  if (decline) throw declined(decline)
  return {payment_intent: intent.id, payment_status: 'paid'}
}

type Sale = {customer: string; card: string; metadata: Record<string, string>; setup_future_usage: string | null}

const sellByInvoice = (world: SimulatorState, session: Thing, {customer, card, metadata, setup_future_usage}: Sale) => {
  const {line_items: items, invoice_data: about} = world.store.get('~checkout', session.id)!
  const lines = items.data.map(({price, quantity}: Thing) => createSaleLine(world, price, quantity))
  const {currency} = session
  const isTaxed = session.automatic_tax.enabled
  const ofInvoice = mergeMetadata({}, about.metadata)
  const draft = createInvoice(world, {customer, currency, lines, reason: 'manual', metadata: ofInvoice, card, isTaxed})
  const open = finalizeInvoice(world, draft)
  const payment = paymentOf(world, open)
  if (!payment) return {invoice: open.id, payment_status: 'paid'}
  const intent = world.store.put({...intentOf(world, payment), metadata, setup_future_usage})
  if (isLater(world, card)) return {invoice: open.id, ...beginLater(world, session, intent, card)}
  const {failure} = collect(world, open, {card, isPresent: true})
  if (failure) throw declined(failure === 'no card' ? 'card_declined' : failure)
  return {invoice: open.id, payment_intent: intent.id, payment_status: 'paid'}
}

const isLater = (world: SimulatorState, means: string): boolean => behaviourOf(world, means) === 'later'

/** Starts a bank debit: the page is complete, and the payment is pending. */
const beginLater = (world: SimulatorState, session: Thing, intent: Thing, means: string) => {
  const allowed: string[] | null = session.allowed_payment_method_types
  if (allowed && !allowed.includes('sepa_debit')) throw invalid('This payment method is not allowed here.')
  change(world, intent, {status: 'processing', payment_method: means}, 'payment_intent.processing')
  return {payment_intent: intent.id, payment_status: 'unpaid'}
}

/** Decides a pending bank debit. */
export const settleCheckout = (world: SimulatorState, id: string, outcome: 'succeeded' | 'failed'): Thing =>
  attempt(world, () => {
    const session = world.store.get('checkout.session', id)
    const intent = world.store.get('payment_intent', session?.payment_intent ?? '')
    if (!session || intent?.status !== 'processing') throw new TypeError(`Nothing is decided later at ${id}`)
    setBehaviour(world, intent.payment_method, outcome === 'succeeded' ? 'ok' : 'card_declined')
    if (session.invoice === null) payIntent(world, intent, intent.payment_method)
    else collect(world, world.store.get('invoice', session.invoice)!, {card: intent.payment_method})
    const settled = change(world, session, {payment_status: outcome === 'succeeded' ? 'paid' : 'unpaid'})
    emit(world, `checkout.session.async_payment_${outcome}`, settled)
    return settled
  })
