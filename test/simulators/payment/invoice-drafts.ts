import {create, list} from './objects.ts'
import {discountOf} from './products.ts'
import {complete} from './schemas.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {invalid} from './wire.ts'

export type InvoiceSpec = {
  customer: string
  currency: string
  lines: Thing[]
  reason: string
  subscription?: Thing | null
  prorationDate?: number | null
  metadata?: Record<string, string>
  card?: string | null
  isTaxed?: boolean
  description?: string | null
  /** The seconds until automatic finalisation; null if the caller finalises the draft itself. */
  draftSeconds?: number | null
}

export const createInvoice = (world: SimulatorState, spec: InvoiceSpec): Thing => {
  const {subscription = null, draftSeconds = null, isTaxed = subscription?.automatic_tax.enabled === true} = spec
  const id = world.newId('in')
  const now = world.clock.now()
  const customer = world.store.get('customer', spec.customer)!
  const {lines, totals} = reckon(world, spec.lines, {customer, subscription, isTaxed})
  const fields = {
    ...totals,
    attempt_count: 0,
    auto_advance: true,
    automatic_tax: automaticTaxOf(isTaxed, customer),
    automatically_finalizes_at: draftSeconds === null ? null : now + draftSeconds,
    billing_reason: spec.reason,
    collection_method: 'charge_automatically',
    currency: spec.currency,
    customer: spec.customer,
    customer_address: customer.address ?? null,
    customer_email: customer.email,
    customer_name: customer.name,
    customer_tax_exempt: 'none',
    description: spec.description ?? null,
    default_payment_method: spec.card ?? null,
    issuer: {type: 'self'},
    lines: listOfLines(id, lines),
    metadata: spec.metadata ?? {},
    parent: subscription && parentOf(subscription, spec.prorationDate ?? null),
    payment_settings: {},
    period_start: now,
    period_end: now,
    post_payment_credit_notes_amount: 0,
    pre_payment_credit_notes_amount: 0,
    status: 'draft',
    status_transitions: {},
  }
  return create(world, 'invoice', id, fields, 'invoice.created')
}

const listOfLines = (invoice: string, lines: Thing[]) => {
  return list(
    lines.map(line => ({...line, invoice})),
    `/v1/invoices/${invoice}/lines`,
  )
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

/** Calculates the lines and totals: less discounts, plus taxes, less the customer's credit balance. */
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
    subtotal,
    total,
    total_discount_amounts: discounts,
    total_taxes: taxes,
    starting_balance: customer.balance,
    discounts: discounts.map(one => one.discount),
    subtotal_excluding_tax: subtotal - taxOf('inclusive'),
    total_excluding_tax: total - taxOf('inclusive') - taxOf('exclusive'),
  }
  return {lines, totals}
}

export const subscriptionOf = (invoice: Thing): string | null => invoice.parent?.subscription_details?.subscription ?? null

export type LineSpec = {
  item: Thing
  amount: number
  start: number
  end: number
  description: string
  quantity?: number | null
  isProration?: boolean
}

/** Creates a line for a subscription item. `quantity`: by default the quantity of the item. */
export const createLine = (world: SimulatorState, spec: LineSpec): Thing => {
  const {item, amount, start, end, description, quantity = item.quantity ?? null, isProration = false} = spec
  const {subscription} = item
  const details = {
    invoice_item: null,
    proration: isProration,
    proration_details: {credited_items: null},
    subscription,
    subscription_item: item.id,
  }
  return completeLine(world, item.price, quantity, {
    amount,
    description,
    subscription,
    period: {start, end},
    metadata: item.metadata ?? {},
    discountable: !isProration,
    parent: {type: 'subscription_item_details', invoice_item_details: null, subscription_item_details: details},
  })
}

export const createSaleLine = (world: SimulatorState, price: Thing, quantity: number): Thing => {
  const now = world.clock.now()
  const amount = priceOf(price, quantity)
  const fields = {amount, description: nameOf(world, price), discountable: true, metadata: {}, parent: null, period: {start: now, end: now}}
  return completeLine(world, price, quantity, fields)
}

const completeLine = (world: SimulatorState, price: Thing, quantity: number | null, fields: Record<string, unknown>): Thing => {
  const {id, currency, product, unit_amount_decimal} = price
  const pricing = {type: 'price_details', price_details: {price: id, product}, unit_amount_decimal}
  const quantities = {quantity, quantity_decimal: quantity === null ? null : String(quantity)}
  return complete('line_item', {id: world.newId('il'), currency, pricing, ...quantities, subtotal: fields.amount, ...fields})
}

/** Returns the amount in the smallest unit of the currency, rounded. */
export const priceOf = (price: Thing, quantity: number): number => Math.round(Number(price.unit_amount_decimal) * quantity)

export const nameOf = (world: SimulatorState, price: Thing): string => world.store.get('product', price.product)?.name ?? price.product

/** Describes a sale: `1 × Team (at 25.00 EUR / month)`. */
export const describeSale = (world: SimulatorState, price: Thing, quantity: number): string => {
  const each = (price.unit_amount ?? 0) / 100
  return `${quantity} × ${nameOf(world, price)} (at ${each.toFixed(2)} ${price.currency.toUpperCase()} / ${price.recurring.interval})`
}

export const onDay = (at: number): string => new Date(at * 1000).toISOString().slice(0, 10)

/** Tax rates in percent by the country of the customer's address. In other countries, no tax is collected. */
const rates: Record<string, number> = {DE: 19, FR: 20}

/** Returns the tax rate in percent; null if the country is unknown. */
const rateOf = ({address}: Thing): number | null => (address?.country ? (rates[address.country] ?? 0) : null)

type Taxing = {isTaxed: boolean; customer: Thing; discount: number}

/** Returns the lines with their taxes. A discount reduces all lines in proportion. An inclusive price contains its tax. */
const withTaxes = (world: SimulatorState, lines: Thing[], {isTaxed, customer, discount}: Taxing): Thing[] => {
  const rate = isTaxed ? rateOf(customer) : null
  if (rate === null) return lines
  const subtotal = lines.reduce((sum, line) => sum + line.amount, 0)
  const share = subtotal === 0 ? 1 : (subtotal - discount) / subtotal
  return lines.map(line => ({...line, taxes: [taxOf(world, line, rate, share)]}))
}

const taxOf = (world: SimulatorState, line: Thing, rate: number, share: number) => {
  const price = world.store.get('price', line.pricing.price_details.price)!
  const behaviour = price.tax_behavior
  if (behaviour === 'unspecified') {
    throw invalid(`The price ${price.id} has no \`tax_behavior\`, which automatic tax needs.`, {code: 'stripe_tax_inactive'})
  }
  const base = line.amount * share
  const amount = Math.round(behaviour === 'inclusive' ? (base * rate) / (100 + rate) : (base * rate) / 100)
  return taxEntry(behaviour, amount, Math.round(base) - (behaviour === 'inclusive' ? amount : 0))
}

const taxEntry = (tax_behavior: string, amount: number, taxable_amount: number) => {
  const type = {tax_rate_details: {tax_rate: 'txr_stand_in'}, taxability_reason: 'standard_rated', type: 'tax_rate_details'}
  return {amount, tax_behavior, taxable_amount, ...type}
}

/** Sums the taxes of the lines, with one entry per tax behaviour. */
const sumTaxes = (lines: Thing[]) =>
  ['inclusive', 'exclusive'].flatMap(behaviour => {
    const taxes: ReturnType<typeof taxEntry>[] = lines.flatMap(line => line.taxes ?? []).filter(tax => tax.tax_behavior === behaviour)
    const sum = (name: 'amount' | 'taxable_amount') => taxes.reduce((total, tax) => total + tax[name], 0)
    return taxes.length === 0 ? [] : [taxEntry(behaviour, sum('amount'), sum('taxable_amount'))]
  })

const automaticTaxOf = (isTaxed: boolean, customer: Thing) => {
  const status = rateOf(customer) === null ? 'requires_location_inputs' : 'complete'
  return isTaxed ? {enabled: true, liability: {type: 'self'}, provider: 'stripe', status} : {}
}
