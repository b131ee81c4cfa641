import type {Stripe} from 'stripe'
import {keepAccount, keepCustomer} from '../../sql/billing-accounts.ts'
import {checkAnswer} from '../simulators/payment/schemas.ts'
import {type PaymentSimulator, startPayment} from '../simulators/payment.ts'
import {sdk} from '../simulators/payment-caller.ts'
import type {Deployment, Options, StartedParts} from './deployment.ts'
import {ok} from './importing.ts'

/** A deployment that sells plans, and its payment provider. */
export type Billing = {house: Deployment; payment: PaymentSimulator; stripe: Stripe; prices: Prices}

/** The price ids of the provider: of each plan by interval, of a row beyond the plan, and of credit packs. */
export type Prices = Record<
  'team.month' | 'team.year' | 'business.month' | 'business.year' | 'enterprise.month' | 'enterprise.year',
  string
> &
  Record<'overage' | 'credits_500' | 'credits_2500' | 'credits_10000', string>

export const WEBHOOK_SECRET = 'whsec_of_the_test_world'

export type SaleOptions = Omit<Options, 'crm'> & {webhook?: boolean; taxBehavior?: 'inclusive' | 'exclusive'}

/**
 * Starts a deployment that sells. New orgs are on the free plan. The worker `billing` applies the provider's events. With `webhook: false`,
 * the provider sends no events. The provider's clock starts now and changes only when a test moves it; `pass` moves both clocks.
 */
export const beginSale = async (
  open: (options: Options) => Promise<Deployment>,
  begun: StartedParts,
  {workers = ['billing'], environment = {}, webhook = true, taxBehavior}: SaleOptions = {},
): Promise<Billing> => {
  const now = () => Math.floor(Date.now() / 1000)
  const payment = await startPayment({check: checkAnswer, at: new Date().toISOString(), webhookSecret: WEBHOOK_SECRET, signedAt: now})
  begun(payment.stop)
  const PAYMENT = {PAYMENT_API_KEY: 'sk_test_stand_in', PAYMENT_API_URL: payment.url, PAYMENT_WEBHOOK_SECRETS: WEBHOOK_SECRET}
  const house = await open({workers, environment: {...PAYMENT, DEFAULT_PLAN: 'free', ...environment}})
  const stripe = sdk(payment)
  const prices = await openSale(house, stripe, taxBehavior && {tax_behavior: taxBehavior})
  if (webhook) payment.addEndpoint(`${house.url}/billing/webhook`)
  return {house, payment, stripe, prices}
}

const amounts = {team: [3000, 30_000], business: [9000, 90_000], enterprise: [49_000, 490_000]} as const
const packs = {credits_500: 1000, credits_2500: 4000, credits_10000: 12_000} as const

/** Creates products, prices and a meter at the provider, and stores their ids on plans and packs, as staff do. */
const openSale = async (house: Deployment, stripe: Stripe, tax: Partial<Stripe.PriceCreateParams> = {}): Promise<Prices> => {
  const {id: product} = await stripe.products.create({name: 'Lading'})
  const patch = (path: string, body: object) => ok(house.as(house.adminToken)('PATCH', path, body), 200)
  const price = async (amount: number, more: Partial<Stripe.PriceCreateParams> = {}) =>
    (await stripe.prices.create({product, currency: 'eur', unit_amount: amount, ...tax, ...more})).id
  const meter = await stripe.billing.meters.create({
    display_name: 'Rows beyond the plan',
    event_name: 'lading_rows',
    default_aggregation: {formula: 'sum'},
    customer_mapping: {type: 'by_id', event_payload_key: 'stripe_customer_id'},
    value_settings: {event_payload_key: 'value'},
  })
  const overage = await price(1, {recurring: {interval: 'month', usage_type: 'metered', meter: meter.id}})
  const prices: Record<string, string> = {overage}
  for (const [plan, [month, year]] of Object.entries(amounts)) {
    prices[`${plan}.month`] = await price(month, {recurring: {interval: 'month'}})
    prices[`${plan}.year`] = await price(year, {recurring: {interval: 'year'}})
    const ids = {
      paymentPriceMonthlyId: prices[`${plan}.month`],
      paymentPriceAnnualId: prices[`${plan}.year`],
      paymentPriceOverageId: overage,
    }
    await patch(`/billing/admin/plans/${plan}.1/payment`, {paymentProductId: product, ...ids})
  }
  for (const [pack, amount] of Object.entries(packs)) {
    prices[pack] = await price(amount)
    await patch(`/billing/admin/packs/${pack}/payment`, {paymentProductId: product, paymentPriceId: prices[pack]})
  }
  return prices as Prices
}

export type SeedSubscriptionInput = {
  org: string
  token: string
  planKey: 'team' | 'business' | 'enterprise'
  interval?: 'month' | 'year'
  card?: string
}

/**
 * Creates a customer with card and subscription directly at the provider, and returns the subscription. Our database knows only the
 * customer.
 */
export const seedSubscription = async (
  billing: Billing,
  {org, planKey, interval = 'month', card = 'pm_card_visa'}: Omit<SeedSubscriptionInput, 'token'>,
) => {
  const {house, stripe, prices} = billing
  const metadata = {app: 'lading', env: house.config.PAYMENT_ENVIRONMENT, org_id: org}
  const customer = await stripe.customers.create({name: 'Ana Ono', email: 'ana@example.org', metadata})
  const attached = await stripe.paymentMethods.attach(card, {customer: customer.id})
  await stripe.customers.update(customer.id, {invoice_settings: {default_payment_method: attached.id}})
  await keepAccount(house.db, org)
  await keepCustomer(house.db, {org, customer: customer.id, email: 'ana@example.org'})
  return stripe.subscriptions.create({
    customer: customer.id,
    items: [{price: prices[`${planKey}.${interval}`]}],
    default_payment_method: attached.id,
    metadata: {...metadata, kind: 'plan', plan_key: planKey, plan_version_id: `${planKey}.1`, interval},
  })
}
