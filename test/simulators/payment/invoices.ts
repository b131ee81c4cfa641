import {createIntent} from './charges.ts'
import {complete} from './complete.ts'
import {discountOf} from './discounts.ts'
import {add, change, emit} from './events.ts'
import {list} from './expand.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'
import {automaticTaxOf, sumTaxes, withTaxes} from './taxes.ts'

export type InvoiceSpec = {
  customer: string
  currency: string
  lines: Thing[]
  reason: string
  subscription?: Thing | null
  prorationDate?: number | null
  period?: {start: number; end: number}
  metadata?: Record<string, string>
  card?: string | null
  isTaxed?: boolean
  description?: string | null
  /** Seconds until automatic finalisation; null if the caller continues at once. */
  draftSeconds?: number | null
}

export const createInvoice = (world: SimulatorState, spec: InvoiceSpec): Thing => {
  const {subscription = null, draftSeconds = null, isTaxed = subscription?.automatic_tax.enabled === true} = spec
  const id = world.newId('in')
  const now = world.clock.now()
  const customer = world.store.get('customer', spec.customer)!
  const {lines, totals} = reckon(world, spec.lines, {customer, subscription, isTaxed})
  const invoice = complete('invoice', {
    id,
    ...totals,
    attempt_count: 0,
    auto_advance: true,
    automatic_tax: automaticTaxOf(isTaxed, customer),
    automatically_finalizes_at: draftSeconds === null ? null : now + draftSeconds,
    billing_reason: spec.reason,
    collection_method: 'charge_automatically',
    created: now,
    currency: spec.currency,
    customer: spec.customer,
    customer_address: customer.address ?? null,
    customer_email: customer.email,
    customer_name: customer.name,
    customer_tax_exempt: 'none',
    description: spec.description ?? null,
    default_payment_method: spec.card ?? null,
    issuer: {type: 'self'},
    lines: list(
      lines.map(line => ({...line, invoice: id})),
      `/v1/invoices/${id}/lines`,
    ),
    metadata: spec.metadata ?? {},
    parent: subscription && parentOf(subscription, spec.prorationDate ?? null),
    payment_settings: {},
    period_start: spec.period?.start ?? now,
    period_end: spec.period?.end ?? now,
    post_payment_credit_notes_amount: 0,
    pre_payment_credit_notes_amount: 0,
    status: 'draft',
    status_transitions: {},
  })
  return add(world, invoice, 'invoice.created')
}

const parentOf = (subscription: Thing, prorationDate: number | null) => ({
  type: 'subscription_details',
  quote_details: null,
  subscription_details: {
    metadata: subscription.metadata,
    subscription: subscription.id,
    ...(prorationDate === null ? {} : {subscription_proration_date: prorationDate}),
  },
})

type Reckoning = {customer: Thing; subscription: Thing | null; isTaxed: boolean}

/** The totals of lines, less discount, plus taxes, less the customer's credit balance. */
export const reckon = (world: SimulatorState, given: Thing[], {customer, subscription, isTaxed}: Reckoning) => {
  const subtotal = given.reduce((sum, line) => sum + line.amount, 0)
  const discounts = discountOf(world, subtotal, subscription)
  const discount = discounts.reduce((sum, one) => sum + one.amount, 0)
  const lines = withTaxes(world, given, {isTaxed, customer, discount})
  const taxes = sumTaxes(lines)
  const taxOf = (behaviour: string) => taxes.find(one => one.tax_behavior === behaviour)?.amount ?? 0
  const total = subtotal - discount + taxOf('exclusive')
  const due = Math.max(0, total + customer.balance)
  const totals = {
    amount_due: due,
    amount_overpaid: 0,
    amount_paid: 0,
    amount_remaining: due,
    amount_shipping: 0,
    discounts: discounts.map(one => one.discount),
    starting_balance: customer.balance,
    subtotal,
    subtotal_excluding_tax: subtotal - taxOf('inclusive'),
    total,
    total_discount_amounts: discounts,
    total_excluding_tax: total - taxOf('inclusive') - taxOf('exclusive'),
    total_taxes: taxes,
  }
  return {lines, totals}
}

export const subscriptionOf = (invoice: Thing): string | null => invoice.parent?.subscription_details?.subscription ?? null

/** Finalises the invoice, which is then due. An invoice of zero is paid at once. */
export const finalizeInvoice = (world: SimulatorState, draft: Thing): Thing => {
  const now = world.clock.now()
  const customer = world.store.get('customer', draft.customer)!
  const balance = Math.min(0, draft.total + customer.balance)
  const due = Math.max(0, draft.total + customer.balance)
  const after = draft.total === 0 ? customer.balance : balance
  const sequence = customer.next_invoice_sequence
  change(world, customer, {balance: after, next_invoice_sequence: sequence + 1})
  if (after !== customer.balance) emit(world, 'customer.updated', world.store.get('customer', customer.id)!, customer)
  const open = change(
    world,
    draft,
    {
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
    },
    'invoice.finalized',
  )
  return due === 0 ? markPaid(world, open, 0) : addPayment(world, open)
}

const addPayment = (world: SimulatorState, invoice: Thing): Thing => {
  const {amount_due: amount, currency, customer} = invoice
  const intent = createIntent(world, {amount, currency, customer, description: describeReason(invoice)})
  const payment = complete('invoice_payment', {
    id: world.newId('inpay'),
    amount_requested: amount,
    created: world.clock.now(),
    currency,
    invoice: invoice.id,
    is_default: true,
    payment: {type: 'payment_intent', payment_intent: intent.id},
    status: 'open',
    status_transitions: {},
  })
  world.store.put(payment)
  return invoice
}

const describeReason = ({billing_reason: reason}: Thing) =>
  ({subscription_create: 'Subscription creation', subscription_update: 'Subscription update', subscription_cycle: 'Subscription update'})[
    reason as string
  ] ?? 'Payment for Invoice'

export const paymentOf = (world: SimulatorState, invoice: Thing): Thing | undefined =>
  world.store.all('invoice_payment').find(payment => payment.invoice === invoice.id && payment.status === 'open')

/** Marks the invoice as paid by this card amount; the credit balance was applied before. */
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

/** Voids the invoice and cancels its open payment. */
export const voidInvoice = (world: SimulatorState, invoice: Thing): Thing => {
  const payment = paymentOf(world, invoice)
  if (payment) {
    change(world, payment, {status: 'canceled', status_transitions: {...payment.status_transitions, canceled_at: world.clock.now()}})
    const intent = world.store.get('payment_intent', payment.payment.payment_intent)!
    const patch = {status: 'canceled', canceled_at: world.clock.now(), cancellation_reason: 'void_invoice'}
    change(world, intent, patch, 'payment_intent.canceled')
  }
  world.clock.cancel(`invoice:${invoice.id}`)
  giveBackCredit(world, invoice)
  const transitions = {...invoice.status_transitions, voided_at: world.clock.now()}
  const patch = {status: 'void', auto_advance: false, next_payment_attempt: null, status_transitions: transitions}
  return change(world, invoice, patch, 'invoice.voided')
}

/** Returns the credit balance that a finalised invoice used. */
const giveBackCredit = (world: SimulatorState, {customer: id, starting_balance: start, ending_balance: end}: Thing) => {
  const customer = world.store.get('customer', id)!
  if (end !== null && end !== start) change(world, customer, {balance: customer.balance + start - end}, 'customer.updated')
}
