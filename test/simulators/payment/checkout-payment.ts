import {createIntent, payIntent} from './charges.ts'
import {checkTrialEnd, detailsOf} from './checkout.ts'
import {beginLater, isLater} from './checkout-later.ts'
import {collect} from './collect.ts'
import {complete} from './complete.ts'
import {add, change} from './events.ts'
import {createInvoice, finalizeInvoice, paymentOf} from './invoices.ts'
import {createSaleLine} from './lines.ts'
import {mergeMetadata} from './metadata.ts'
import {newCard} from './payment-methods.ts'
import {declined, invalid} from './refusals.ts'
import {attempt, type SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {startSubscription} from './subscriptions.ts'

/** Pays at the page. A refusal leaves the session open and nothing else changed. */
export const payCheckout = (
  world: SimulatorState,
  id: string,
  {card = 'pm_card_visa', email, country = 'DE'}: {card?: string; email?: string; country?: string} = {},
): Thing =>
  attempt(world, () => {
    const session = world.store.get('checkout.session', id)
    if (!session) throw new TypeError(`No such checkout: ${id}`)
    if (session.status !== 'open') throw invalid('This Checkout Session is no longer active.')
    const customer = session.customer ?? addCustomer(world, email ?? 'guest@example.org')
    if (session.automatic_tax.enabled) keepAddress(world, customer, country)
    const method = attachUnasked(world, card, customer)
    const done = session.mode === 'subscription' ? subscribe(world, session, customer, method) : sell(world, session, customer, method)
    world.clock.cancel(`checkout:${id}`)
    const patch = {
      ...done,
      ...amountsOf(world, session, 'invoice' in done ? done.invoice : null),
      customer,
      customer_details: detailsOf(world, customer),
      status: 'complete',
      url: null,
    }
    return change(world, session, patch, 'checkout.session.completed')
  })

/** The address entered at the page is stored on the customer. */
const keepAddress = (world: SimulatorState, id: string, country: string) => {
  const address = {city: null, country, line1: null, line2: null, postal_code: null, state: null}
  change(world, world.store.get('customer', id)!, {address}, 'customer.updated')
}

/** The tax can be calculated once the address is known. */
const amountsOf = (world: SimulatorState, session: Thing, id: string | null | undefined) => {
  const invoice = id ? world.store.get('invoice', id) : undefined
  if (!invoice || !session.automatic_tax.enabled) return {}
  const tax = invoice.total_taxes.reduce((sum: number, one: {amount: number}) => sum + one.amount, 0)
  const total_details = {...session.total_details, amount_tax: tax}
  return {amount_total: invoice.total, total_details, automatic_tax: {...session.automatic_tax, status: 'complete'}}
}

const addCustomer = (world: SimulatorState, email: string): string => {
  const id = world.newId('cus')
  const bare = {balance: 0, created: world.clock.now(), email, invoice_prefix: id.slice(-8).toUpperCase(), next_invoice_sequence: 1}
  add(world, complete('customer', {id, ...bare, tax_exempt: 'none', preferred_locales: [], delinquent: false}), 'customer.created')
  return id
}

/** Attaches the card without asking the bank, because the payment follows. */
const attachUnasked = (world: SimulatorState, token: string, customer: string): string => {
  const card = newCard(world, token)
  return change(world, card, {customer}, 'payment_method.attached').id
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
  const {line_items: lines, payment_intent_data: data, invoice_data: about} = world.store.get('~checkout', session.id)!
  if (session.invoice_creation.enabled) return sellByInvoice(world, {session, customer, card, lines: lines.data, data, about})
  const intent = createIntent(world, {
    amount: session.amount_total,
    currency: session.currency,
    customer,
    metadata: mergeMetadata({}, data.metadata),
    description: data.description ?? null,
    setupFutureUsage: data.setup_future_usage ?? null,
  })
  if (isLater(world, card)) return beginLater(world, session, intent, card)
  const {decline} = payIntent(world, intent, card, {isPresent: true})
  if (decline) throw declined(decline)
  return {payment_intent: intent.id, payment_status: 'paid'}
}

type Sale = {session: Thing; customer: string; card: string; lines: Thing[]; data: Record<string, any>; about: Record<string, any>}

const sellByInvoice = (world: SimulatorState, {session, customer, card, lines, data, about}: Sale) => {
  const draft = createInvoice(world, {
    customer,
    currency: session.currency,
    lines: lines.map(line => createSaleLine(world, line.price, line.quantity)),
    reason: 'manual',
    metadata: mergeMetadata({}, about.metadata),
    card,
    isTaxed: session.automatic_tax.enabled,
  })
  const open = finalizeInvoice(world, draft)
  const payment = paymentOf(world, open)
  if (!payment) return {invoice: open.id, payment_status: 'paid'}
  const intent = world.store.get('payment_intent', payment.payment.payment_intent)!
  const metadata = mergeMetadata({}, data.metadata)
  const meant = world.store.put({...intent, metadata, setup_future_usage: data.setup_future_usage ?? null})
  if (isLater(world, card)) return {invoice: open.id, ...beginLater(world, session, meant, card)}
  const {failure} = collect(world, open, {card, isPresent: true})
  if (failure) throw declined(failure === 'no card' ? 'card_declined' : failure)
  return {invoice: open.id, payment_intent: intent.id, payment_status: 'paid'}
}
