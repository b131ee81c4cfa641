import type {Stripe} from 'stripe'
import type {Config} from '../../config.ts'
import {isLiveKey} from '../key-mode.ts'
import {nullWhereGone} from '../payment-failure.ts'
import type {PaymentProvider} from '../payment-provider.ts'

export type PriceUse = 'month' | 'year' | 'overage' | 'pack'

type VerifyPriceDeps = {config: Pick<Config, 'PAYMENT_API_KEY' | 'PAYMENT_AUTOMATIC_TAX'>; payment: PaymentProvider}
type AskedPrice = {id: string; use: PriceUse; product: string | null}

export type TaxBehavior = 'inclusive' | 'exclusive'
/**
 * A price as read from the provider. `amount`: in the currency's smallest unit, as a decimal. `problem`: why the price cannot be sold for
 * this use; null if it can.
 */
export type VerifiedPrice = {currency: string | null; amount: string | null; taxBehavior: TaxBehavior | null; problem: string | null}

export const verifyPrice = async (deps: VerifyPriceDeps, {id, use, product}: AskedPrice): Promise<VerifiedPrice> => {
  const price = await deps.payment.ask('price', stripe => stripe.prices.retrieve(id)).catch(nullWhereGone)
  const mode = isLiveKey(deps.config.PAYMENT_API_KEY) ? 'live' : 'test'
  if (!price) return {currency: null, amount: null, taxBehavior: null, problem: `The payment provider has no price ${id} in ${mode} mode`}
  const problem =
    modeProblem(price, mode) ??
    useProblem(price, use) ??
    (await productProblem(deps, price, product)) ??
    taxProblem(deps, price) ??
    (await meterProblem(deps, price))
  const amount = price.unit_amount_decimal && String(price.unit_amount_decimal)
  return {currency: price.currency, amount, taxBehavior: taxBehaviorOf(price), problem}
}

const modeProblem = ({id, livemode, active}: Stripe.Price, mode: 'live' | 'test') => {
  if (livemode !== (mode === 'live')) return `The price ${id} belongs to ${livemode ? 'live' : 'test'} mode, but the key to ${mode} mode`
  return active ? null : `The price ${id} is archived`
}

const useProblem = ({id, type, recurring, unit_amount_decimal: each}: Stripe.Price, use: PriceUse): string | null => {
  if (each === null) return `The price ${id} has no amount per unit`
  if (use === 'pack' && !Number.isInteger(Number(each)))
    return `The price ${id} has a fraction of the smallest unit, but a pack is charged in whole units`
  if (use === 'pack') return type === 'one_time' ? null : `The price ${id} is recurring, but a pack is paid once`
  if (!recurring) return `The price ${id} is paid once, but a plan recurs`
  const {interval, interval_count: count, usage_type: usage} = recurring
  const wanted = use === 'year' ? 'year' : 'month'
  if (interval !== wanted || count !== 1) return `The price ${id} recurs every ${count} ${interval}, but 1 ${wanted} is needed`
  const wantedUsage = use === 'overage' ? 'metered' : 'licensed'
  return usage === wantedUsage ? null : `The price ${id} is ${usage}, but ${wantedUsage} is needed`
}

/**
 * Returns why the price's product prevents a sale, or null. An active price of an archived product cannot be bought. Source:
 * https://github.com/stripe/stripe-node/issues/2131.
 */
const productProblem = async (
  {payment}: VerifyPriceDeps,
  {id, product: of}: Stripe.Price,
  product: string | null,
): Promise<string | null> => {
  if (product !== null && of !== product) return `The price ${id} belongs to another product than ${product}`
  const {active} = await payment.ask('product', stripe => stripe.products.retrieve(of as string))
  return active ? null : `The product ${of} of the price ${id} is archived`
}

/** Returns the price's tax behavior. Null if the price names none; the provider then uses the account's default. */
export const taxBehaviorOf = ({tax_behavior: behavior}: Stripe.Price): TaxBehavior | null =>
  behavior === 'inclusive' || behavior === 'exclusive' ? (behavior as TaxBehavior) : null

const taxProblem = ({config}: VerifyPriceDeps, price: Stripe.Price): string | null =>
  config.PAYMENT_AUTOMATIC_TAX && taxBehaviorOf(price) === null
    ? `The price ${price.id} has no tax behavior, and PAYMENT_AUTOMATIC_TAX is on`
    : null

const meterProblem = async ({payment}: VerifyPriceDeps, {id, recurring}: Stripe.Price): Promise<string | null> => {
  if (!recurring?.meter) return null
  const {meter: meterId} = recurring
  const meter = await payment.ask('billing.meter', stripe => stripe.billing.meters.retrieve(meterId))
  if (meter.status !== 'active') return `The meter of the price ${id} is not active`
  return meter.default_aggregation.formula === 'sum' ? null : `The meter of the price ${id} does not sum the reported values`
}
