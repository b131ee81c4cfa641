import {collect, tryInvoice, usageLines} from './billing.ts'
import type {Call} from './calls.ts'
import {needCustomer} from './customers.ts'
import {createInvoice, createSaleLine, reckon, subscriptionOf} from './invoice-drafts.ts'
import {change, create, emit, listOf, mergeMetadata, need} from './objects.ts'
import {cancelIntent, createIntent} from './payments.ts'
import {addPrice} from './products.ts'
import {runAndRollBack, type SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {chargePeriod, nextPeriod} from './subscription-items.ts'
import {applyUpdate, dropUpdateOf, pendingOf, readUpdate} from './subscription-updates.ts'
import {startSubscription} from './subscriptions.ts'
import {declined, invalid, noCard, only} from './wire.ts'

export const listInvoices = listOf('invoice', ['customer', 'status'], ({subscription: id}) => invoice => {
  return id === undefined || subscriptionOf(invoice) === id
})

/** Finalises a draft. Collects it at once, unless `auto_advance` is false. */
export const finalize = ({world, params, ids}: Call): Thing => {
  const draft = need(world, 'invoice', ids[0]!)
  if (draft.status !== 'draft')
    throw invalid('This invoice is already finalized, you can’t re-finalize a non-draft invoice.', {code: 'invoice_not_editable'})
  const open = finalizeInvoice(world, draft)
  if (params.auto_advance === false) return world.store.put({...open, auto_advance: false})
  tryInvoice(world, open.id)
  return world.store.get('invoice', open.id)!
}

/** Pays an invoice. A failed payment throws, but the attempt stays recorded on the invoice. */
export const pay = ({world, params, ids}: Call): Thing => {
  const given = need(world, 'invoice', ids[0]!)
  if (given.status === 'paid') throw invalid('Invoice is already paid', {code: 'invoice_already_paid'})
  if (['void', 'uncollectible'].includes(given.status)) throw invalid('This invoice can no longer be paid.')
  const open = given.status === 'draft' ? finalizeInvoice(world, given) : given
  const {invoice, failure} = collect(world, open, {card: params.payment_method ?? null, isPresent: params.off_session === false})
  if (failure === 'no card') throw noCard()
  if (failure !== null) throw declined(failure, {}, true)
  return world.store.get('invoice', invoice.id)!
}

export const voidCall = ({world, ids}: Call): Thing => {
  const invoice = need(world, 'invoice', ids[0]!)
  if (invoice.status !== 'open') throw invalid(`You can only pass in open invoices. This invoice isn’t open (${invoice.status}).`)
  dropUpdateOf(world, invoice)
  return voidInvoice(world, invoice)
}

export const listInvoicePayments = listOf('invoice_payment', ['invoice', 'status'], ({payment: wanted}) => ({payment}) => {
  return wanted === undefined || wanted.payment_intent === payment.payment_intent
})

/** Creates a draft without lines, which is not finalised automatically. */
export const createDraft = ({world, params}: Call): Thing => {
  const {collection_method: method, auto_advance: advances, pending_invoice_items_behavior: pending, discounts} = params
  const isKnown = method === 'charge_automatically' && advances === false && pending === 'exclude' && discounts === ''
  if (!isKnown)
    throw new TypeError('The stand-in makes drafts that are not collected and that take no pending items and no coupon of the customer')
  needCustomer(world, params.customer)
  const {customer, currency, description = null, automatic_tax: tax} = params
  const metadata = mergeMetadata({}, params.metadata)
  const isTaxed = tax?.enabled === true
  const invoice = createInvoice(world, {customer, currency, lines: [], reason: 'manual', metadata, description, isTaxed})
  return world.store.put({...invoice, auto_advance: false})
}

export const addLines = ({world, params, ids}: Call): Thing => {
  const draft = need(world, 'invoice', ids[0]!)
  if (draft.status !== 'draft') throw invalid('You can only add lines to draft invoices.', {code: 'invoice_not_editable'})
  const added = params.lines.map((given: Record<string, any>) => {
    only(given, ['price_data', 'quantity', 'description'], 'lines')
    const line = createSaleLine(world, addInlinePrice(world, given.price_data), given.quantity ?? 1)
    return {...line, invoice: draft.id, description: given.description ?? line.description}
  })
  const customer = needCustomer(world, draft.customer)
  const isTaxed = draft.automatic_tax.enabled
  const {lines, totals} = reckon(world, [...draft.lines.data, ...added], {customer, subscription: null, isTaxed})
  return change(world, draft, {...totals, lines: {...draft.lines, data: lines}}, 'invoice.updated')
}

/** Adds an inactive price for this one sale. */
const addInlinePrice = (world: SimulatorState, given: Record<string, any>): Thing => {
  only(given, ['currency', 'product', 'unit_amount', 'tax_behavior'], 'lines[price_data]')
  const {currency, product, unit_amount, tax_behavior = 'unspecified'} = given
  need(world, 'product', product, 'lines[price_data][product]')
  const amounts = {currency, tax_behavior, unit_amount, unit_amount_decimal: String(unit_amount)}
  return addPrice(world, {...amounts, active: false, metadata: {}, product, recurring: null})
}

/** Attaches a succeeded payment, which pays the invoice at once and replaces the invoice's own payment. An excess becomes credit. */
export const attachPayment = ({world, params, ids}: Call): Thing => {
  const invoice = need(world, 'invoice', ids[0]!)
  const intent = need(world, 'payment_intent', params.payment_intent, 'payment_intent')
  if (invoice.status !== 'open') throw invalid('Payments can only be attached to open invoices.')
  if (intent.customer !== invoice.customer) throw invalid('The PaymentIntent belongs to another customer.', {param: 'payment_intent'})
  if (intent.status !== 'succeeded') throw new TypeError('The stand-in attaches payments that succeeded')
  if (world.store.all('invoice_payment').some(one => one.payment.payment_intent === intent.id)) {
    throw invalid('The PaymentIntent is attached to an invoice already.', {param: 'payment_intent'})
  }
  cancelPayment(world, invoice, null)
  const amounts = {amount_paid: intent.amount_received, amount_requested: intent.amount}
  const paid = {is_default: false, status: 'paid', status_transitions: {paid_at: world.clock.now()}}
  addPayment(world, invoice, intent, {...amounts, ...paid}, 'invoice_payment.paid')
  const over = intent.amount_received - invoice.amount_due
  if (over < 0) throw new TypeError('The stand-in takes no part of an invoice')
  const customer = needCustomer(world, invoice.customer)
  if (over > 0) change(world, customer, {balance: customer.balance - over}, 'customer.updated')
  return markPaid(world, {...world.store.get('invoice', invoice.id)!, amount_overpaid: over}, intent.amount_received)
}

/** Finalises the invoice and applies the customer's credit balance. If nothing is due then, the invoice is paid at once. */
export const finalizeInvoice = (world: SimulatorState, draft: Thing): Thing => {
  const now = world.clock.now()
  const customer = world.store.get('customer', draft.customer)!
  const due = Math.max(0, draft.total + customer.balance)
  const after = draft.total === 0 ? customer.balance : Math.min(0, draft.total + customer.balance)
  const sequence = customer.next_invoice_sequence
  change(world, customer, {balance: after, next_invoice_sequence: sequence + 1})
  if (after !== customer.balance) emit(world, 'customer.updated', world.store.get('customer', customer.id)!, customer)
  const patch = {
    amount_due: due,
    amount_remaining: due,
    automatically_finalizes_at: null,
    effective_at: now,
    starting_balance: customer.balance,
    ending_balance: after,
    number: `${customer.invoice_prefix}-${String(sequence).padStart(4, '0')}`,
    hosted_invoice_url: `${world.baseUrl}/i/${draft.id}`,
    status: 'open',
    status_transitions: {...draft.status_transitions, finalized_at: now},
  }
  const open = change(world, draft, patch, 'invoice.finalized')
  if (due === 0) return markPaid(world, open, 0)
  const intent = createIntent(world, {amount: due, currency: open.currency, customer: open.customer, description: describeReason(open)})
  addPayment(world, open, intent, {amount_requested: due, is_default: true, status: 'open', status_transitions: {}})
  return open
}

const addPayment = (world: SimulatorState, invoice: Thing, intent: Thing, fields: Record<string, unknown>, event?: string): Thing => {
  const payment = {type: 'payment_intent', payment_intent: intent.id}
  const common = {currency: invoice.currency, invoice: invoice.id, payment}
  return create(world, 'invoice_payment', world.newId('inpay'), {...common, ...fields}, event)
}

const describeReason = ({billing_reason: reason}: Thing) => {
  if (reason === 'subscription_create') return 'Subscription creation'
  return ['subscription_update', 'subscription_cycle'].includes(reason) ? 'Subscription update' : 'Payment for Invoice'
}

export const paymentOf = (world: SimulatorState, invoice: Thing): Thing | undefined =>
  world.store.all('invoice_payment').find(payment => payment.invoice === invoice.id && payment.status === 'open')

/** Marks the invoice as paid. `amount`: what the card paid; the credit balance was applied earlier. */
export const markPaid = (world: SimulatorState, invoice: Thing, amount: number): Thing => {
  const patch = {
    amount_paid: amount,
    amount_remaining: 0,
    attempted: true,
    attempt_count: invoice.attempt_count + (amount > 0 ? 1 : 0),
    auto_advance: false,
    next_payment_attempt: null,
    status: 'paid',
    status_transitions: {...invoice.status_transitions, paid_at: world.clock.now()},
  }
  const paid = change(world, invoice, patch, 'invoice.paid')
  emit(world, 'invoice.payment_succeeded', paid)
  world.clock.cancel(`invoice:${invoice.id}`)
  return paid
}

/** Voids the invoice, cancels its open payment and gives used credit back. */
export const voidInvoice = (world: SimulatorState, invoice: Thing): Thing => {
  cancelPayment(world, invoice, 'void_invoice')
  world.clock.cancel(`invoice:${invoice.id}`)
  giveBackCredit(world, invoice)
  const transitions = {...invoice.status_transitions, voided_at: world.clock.now()}
  const patch = {status: 'void', auto_advance: false, next_payment_attempt: null, status_transitions: transitions}
  return change(world, invoice, patch, 'invoice.voided')
}

const cancelPayment = (world: SimulatorState, invoice: Thing, reason: string | null) => {
  const payment = paymentOf(world, invoice)
  if (!payment) return
  change(world, payment, {status: 'canceled', status_transitions: {...payment.status_transitions, canceled_at: world.clock.now()}})
  cancelIntent(world, intentOf(world, payment), reason)
}

/** Returns the payment intent of a payment. */
export const intentOf = (world: SimulatorState, {payment}: Thing): Thing => world.store.get('payment_intent', payment.payment_intent)!

/** Gives the customer back the credit balance that the invoice used. */
const giveBackCredit = (world: SimulatorState, {customer: id, starting_balance: start, ending_balance: end}: Thing) => {
  const customer = world.store.get('customer', id)!
  if (end !== null && end !== start) change(world, customer, {balance: customer.balance + start - end}, 'customer.updated')
}

/** Previews an invoice. Executes the change, reads the invoice and rolls back, so that lines and totals equal those of the change. */
export const createPreview = ({world, params}: Call): Thing => {
  const {subscription: id, customer, subscription_details: details = {}, currency, schedule, schedule_details, invoice_items: sold} = params
  if (schedule || schedule_details || currency) throw new TypeError('The stand-in previews subscriptions only')
  const known = ['items', 'proration_behavior', 'proration_date', 'billing_cycle_anchor', 'cancel_at_period_end', 'billing_mode']
  only(details, known, 'subscription_details')
  if (sold) return runAndRollBack(world, () => previewSale(world, params))
  if (id === undefined) return runAndRollBack(world, () => previewNew(world, customer, details))
  const subscription = need(world, 'subscription', id, 'subscription')
  const isOthers = customer !== undefined && customer !== subscription.customer
  if (isOthers) throw invalid('The subscription is not this customer’s.', {param: 'customer'})
  if (subscription.ended_at !== null)
    throw invalid('You cannot preview the upcoming invoice for a canceled subscription.', {code: 'invoice_upcoming_none'})
  return runAndRollBack(world, () => previewChange(world, subscription, details))
}

/** Previews the invoice of a single sale, with tax. */
const previewSale = (world: SimulatorState, {customer, invoice_items: sold, automatic_tax: tax, discounts}: Record<string, any>): Thing => {
  if (discounts !== '') throw new TypeError('The stand-in previews sales without the coupon of the customer')
  for (const one of sold) only(one, ['price', 'quantity'], 'invoice_items')
  needCustomer(world, customer)
  const lines = sold.map((one: Record<string, any>) => createSaleLine(world, need(world, 'price', one.price, 'price'), one.quantity ?? 1))
  const {currency} = lines[0]
  return asPreview(world, createInvoice(world, {customer, currency, lines, reason: 'manual', isTaxed: tax?.enabled === true}))
}

const previewNew = (world: SimulatorState, customer: string | undefined, {items = []}: Record<string, any>): Thing => {
  if (customer === undefined) throw invalid('You must provide either a customer or a subscription.', {param: 'customer'})
  needCustomer(world, customer)
  const started = startSubscription(world, {customer, items, behaviour: 'default_incomplete'})
  return asPreview(world, world.store.get('invoice', started.latest_invoice)!)
}

const previewChange = (world: SimulatorState, subscription: Thing, details: Record<string, any>): Thing => {
  const update = {...readUpdate({...details, billing_cycle_anchor: details.billing_cycle_anchor}), patch: {}, isPreview: true}
  const {subscription: after, invoice} = applyUpdate(world, subscription, update)
  return asPreview(world, invoice ?? renewalOf(world, after))
}

/** Creates the invoice that the end of the period would bring. Throws if it would have no lines. */
const renewalOf = (world: SimulatorState, subscription: Thing): Thing => {
  const items: Thing[] = subscription.items.data
  const end = Math.min(...items.map(item => item.current_period_end))
  const due = items.filter(item => item.current_period_end === end)
  const isEnding = subscription.cancel_at !== null && subscription.cancel_at <= end
  const lines = [
    ...pendingOf(world, subscription.id),
    ...due.flatMap(item => usageLines(world, item, end)),
    ...(isEnding ? [] : due.flatMap(item => chargePeriod(world, nextPeriod(world, item)))),
  ]
  if (lines.length === 0) throw invalid('No upcoming invoices for customer', {code: 'invoice_upcoming_none'})
  const {customer, currency} = subscription
  return createInvoice(world, {customer, currency, lines, reason: 'upcoming', subscription})
}

const asPreview = (world: SimulatorState, invoice: Thing): Thing => {
  const id = `upcoming_${invoice.id}`
  const {number: _, ...rest} = invoice
  return {
    ...rest,
    id,
    object: 'invoice',
    created: world.clock.now(),
    number: null,
    status: 'draft',
    hosted_invoice_url: null,
    status_transitions: {finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null},
    lines: {...invoice.lines, data: invoice.lines.data.map((line: Thing) => ({...line, invoice: id}))},
  }
}
