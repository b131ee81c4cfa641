import {invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** Percentages by country of the customer's address. Elsewhere no tax is collected. */
const rates: Record<string, number> = {DE: 19, FR: 20}

/** Null if the customer's address is unknown. */
const rateOf = ({address}: Thing): number | null => (address?.country ? (rates[address.country] ?? 0) : null)

export type Taxing = {isTaxed: boolean; customer: Thing; discount: number}

/** The lines with their tax, after a discount spread over all lines. An inclusive price contains its tax. */
export const withTaxes = (world: SimulatorState, lines: Thing[], {isTaxed, customer, discount}: Taxing): Thing[] => {
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

const taxEntry = (tax_behavior: string, amount: number, taxable_amount: number) => ({
  ...{amount, tax_behavior, tax_rate_details: {tax_rate: 'txr_stand_in'}, taxability_reason: 'standard_rated'},
  ...{taxable_amount, type: 'tax_rate_details'},
})

/** One entry per tax behaviour. */
export const sumTaxes = (lines: Thing[]) => {
  const all: {amount: number; tax_behavior: string; taxable_amount: number}[] = lines.flatMap(line => line.taxes ?? [])
  return ['inclusive', 'exclusive'].flatMap(behaviour => {
    const of = all.filter(one => one.tax_behavior === behaviour)
    const sum = (name: 'amount' | 'taxable_amount') => of.reduce((total, one) => total + one[name], 0)
    return of.length === 0 ? [] : [taxEntry(behaviour, sum('amount'), sum('taxable_amount'))]
  })
}

export const automaticTaxOf = (isTaxed: boolean, customer: Thing) =>
  isTaxed
    ? {
        enabled: true,
        liability: {type: 'self'},
        provider: 'stripe',
        status: rateOf(customer) === null ? 'requires_location_inputs' : 'complete',
      }
    : {}
