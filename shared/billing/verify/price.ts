import type {Stripe} from 'stripe'
import type {Config} from '../../config.ts'
import {isLiveKey} from '../key-mode.ts'
import {nullWhereGone} from '../payment-failure.ts'
import type {PaymentProvider} from '../payment-provider.ts'

/** What a price id is written as. */
export type PriceUse = 'month' | 'year' | 'overage' | 'pack'

type Tools = {config: Pick<Config, 'PAYMENT_API_KEY' | 'PAYMENT_AUTOMATIC_TAX'>; payment: PaymentProvider}
type AskedPrice = {id: string; use: PriceUse; product: string | null}

/** A price as the provider has it, and why it cannot be sold as what it is written as; null where it can. */
export type TaxBehavior = 'inclusive' | 'exclusive'
export type VerifiedPrice = {currency: string | null; amount: string | null; taxBehavior: TaxBehavior | null; problem: string | null}

/** Reads a price and compares it with its use: mode, state, interval, usage and product. */
export const verifyPrice = async (tools: Tools, {id, use, product}: AskedPrice): Promise<VerifiedPrice> => {
  const price = await tools.payment.ask('price', stripe => stripe.prices.retrieve(id)).catch(nullWhereGone)
  const mode = isLiveKey(tools.config.PAYMENT_API_KEY) ? 'live' : 'test'
  if (!price) return {currency: null, amount: null, taxBehavior: null, problem: `The payment provider has no price ${id} in ${mode} mode`}
  const problem =
    modeProblem(price, mode) ??
    useProblem(price, use) ??
    productProblem(price, product) ??
    taxProblem(tools, price) ??
    (await meterProblem(tools, price))
  const amount = price.unit_amount_decimal && String(price.unit_amount_decimal)
  return {currency: price.currency, amount, taxBehavior: taxBehaviorOf(price), problem}
}

const modeProblem = ({id, livemode, active}: Stripe.Price, mode: 'live' | 'test') => {
  if (livemode !== (mode === 'live')) return `The price ${id} is of ${livemode ? 'live' : 'test'} mode, and the key of ${mode} mode`
  return active ? null : `The price ${id} is archived`
}

const useProblem = ({id, type, recurring, unit_amount_decimal: each}: Stripe.Price, use: PriceUse): string | null => {
  if (each === null) return `The price ${id} has no amount per unit`
  if (use === 'pack') return type === 'one_time' ? null : `The price ${id} is recurring, and a pack is paid once`
  if (!recurring) return `The price ${id} is paid once, and a plan recurs`
  const {interval, interval_count: count, usage_type: usage} = recurring
  const wanted = use === 'year' ? 'year' : 'month'
  if (interval !== wanted || count !== 1) return `The price ${id} recurs every ${count} ${interval}, and 1 ${wanted} is needed`
  const wantedUsage = use === 'overage' ? 'metered' : 'licensed'
  return usage === wantedUsage ? null : `The price ${id} is ${usage}, and ${wantedUsage} is needed`
}

const productProblem = ({id, product: of}: Stripe.Price, product: string | null) =>
  product === null || of === product ? null : `The price ${id} belongs to another product than ${product}`

/** Null where the price does not say, and the provider goes by the account's default. */
export const taxBehaviorOf = ({tax_behavior: behavior}: Stripe.Price): TaxBehavior | null =>
  behavior === 'inclusive' || behavior === 'exclusive' ? (behavior as TaxBehavior) : null

const taxProblem = ({config}: Tools, price: Stripe.Price): string | null =>
  config.PAYMENT_AUTOMATIC_TAX && taxBehaviorOf(price) === null
    ? `The price ${price.id} has no tax behavior, and PAYMENT_AUTOMATIC_TAX is on`
    : null

const meterProblem = async ({payment}: Tools, {id, recurring}: Stripe.Price): Promise<string | null> => {
  if (!recurring?.meter) return null
  const {meter: meterId} = recurring
  const meter = await payment.ask('billing.meter', stripe => stripe.billing.meters.retrieve(meterId))
  if (meter.status !== 'active') return `The meter of the price ${id} is not active`
  return meter.default_aggregation.formula === 'sum' ? null : `The meter of the price ${id} does not sum what is reported`
}
