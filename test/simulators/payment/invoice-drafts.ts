import type {Call} from './calls.ts'
import {complete} from './complete.ts'
import {needCustomer} from './customers.ts'
import {add, change} from './events.ts'
import {createInvoice, markPaid, paymentOf, reckon} from './invoices.ts'
import {createSaleLine} from './lines.ts'
import {mergeMetadata} from './metadata.ts'
import {only} from './only.ts'
import {need} from './products.ts'
import {invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** A draft without lines, which is not finalised automatically. */
export const createDraft = ({world, params}: Call): Thing => {
  const {collection_method: method, auto_advance: advances, pending_invoice_items_behavior: pending} = params
  const isKnown = method === 'charge_automatically' && advances === false && pending === 'exclude'
  if (!isKnown) throw new TypeError('The stand-in makes drafts that nobody collects and that take no pending items')
  needCustomer(world, params.customer)
  const invoice = createInvoice(world, {
    ...{customer: params.customer, currency: params.currency, lines: [], reason: 'manual'},
    ...{metadata: mergeMetadata({}, params.metadata), description: params.description ?? null},
    isTaxed: params.automatic_tax?.enabled === true,
  })
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

/** A price for this single sale. */
const addInlinePrice = (world: SimulatorState, given: Record<string, any>): Thing => {
  only(given, ['currency', 'product', 'unit_amount', 'tax_behavior'], 'lines[price_data]')
  need(world, 'product', given.product, 'lines[price_data][product]')
  const price = complete('price', {
    ...{id: world.newId('price'), active: false, billing_scheme: 'per_unit', created: world.clock.now(), currency: given.currency},
    ...{metadata: {}, product: given.product, recurring: null, tax_behavior: given.tax_behavior ?? 'unspecified', type: 'one_time'},
    ...{unit_amount: given.unit_amount, unit_amount_decimal: String(given.unit_amount)},
  })
  return world.store.put(price)
}

/** A succeeded payment pays the invoice at once and replaces the invoice's own payment. */
export const attachPayment = ({world, params, ids}: Call): Thing => {
  const invoice = need(world, 'invoice', ids[0]!)
  const intent = need(world, 'payment_intent', params.payment_intent, 'payment_intent')
  if (invoice.status !== 'open') throw invalid('Payments can only be attached to open invoices.')
  if (intent.customer !== invoice.customer) throw invalid('The PaymentIntent belongs to another customer.', {param: 'payment_intent'})
  if (intent.status !== 'succeeded') throw new TypeError('The stand-in attaches payments that succeeded')
  if (world.store.all('invoice_payment').some(one => one.payment.payment_intent === intent.id)) {
    throw invalid('The PaymentIntent is attached to an invoice already.', {param: 'payment_intent'})
  }
  dropPayment(world, invoice)
  const now = world.clock.now()
  const payment = complete('invoice_payment', {
    ...{id: world.newId('inpay'), amount_paid: intent.amount_received, amount_requested: intent.amount, created: now},
    ...{currency: invoice.currency, invoice: invoice.id, is_default: false, status: 'paid'},
    ...{payment: {type: 'payment_intent', payment_intent: intent.id}, status_transitions: {paid_at: now}},
  })
  add(world, payment, 'invoice_payment.paid')
  const over = intent.amount_received - invoice.amount_due
  if (over < 0) throw new TypeError('The stand-in takes no part of an invoice')
  const customer = needCustomer(world, invoice.customer)
  if (over > 0) change(world, customer, {balance: customer.balance - over}, 'customer.updated')
  return markPaid(world, {...world.store.get('invoice', invoice.id)!, amount_overpaid: over}, intent.amount_received)
}

const dropPayment = (world: SimulatorState, invoice: Thing) => {
  const payment = paymentOf(world, invoice)
  if (!payment) return
  change(world, payment, {status: 'canceled', status_transitions: {...payment.status_transitions, canceled_at: world.clock.now()}})
  const intent = world.store.get('payment_intent', payment.payment.payment_intent)!
  change(world, intent, {status: 'canceled', canceled_at: world.clock.now()}, 'payment_intent.canceled')
}
