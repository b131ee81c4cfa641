import {Stripe} from 'stripe'
import {openClient} from './client.ts'

/** Prices in the payment stand-in, in euro cents: per month and per year. They are examples, not an offer. */
const plans: Record<string, [month: number, year: number]> = {
  team: [4900, 49_000],
  business: [19_900, 199_000],
  enterprise: [79_900, 799_000],
}
const packs: Record<string, number> = {credits_500: 1000, credits_2500: 4000, credits_10000: 12_000}
/** The price of a row beyond the plan, in euro cents. */
const overage = 1
const currency = 'eur'

type PricedSale = {id: string; key: string; sold: boolean; paymentPriceMonthlyId: string | null}
type Pack = {key: string; name: string; paymentPriceId: string | null}
type SalePlace = {apiUrl: string; adminToken: string; payment: {url: string; key: string}}

/** Creates products and prices in the payment stand-in and registers their ids, unless an earlier start did. */
export const openSale = async ({apiUrl, adminToken, payment}: SalePlace): Promise<void> => {
  const staff = openClient(apiUrl, adminToken)
  const {hostname: host, port} = new URL(payment.url)
  const stripe = new Stripe(payment.key, {host, port, protocol: 'http', telemetry: false})
  const known = async (price: string | null) => price !== null && (await stripe.prices.retrieve(price).catch(nullIfMissing)) !== null
  const sold = (await staff.call<{plans: PricedSale[]}>('GET', '/billing/admin/plans')).plans.filter(({key, sold}) => sold && plans[key])
  for (const {id, key, paymentPriceMonthlyId} of sold) {
    if (await known(paymentPriceMonthlyId)) continue
    await staff.call('PATCH', `/billing/admin/plans/${id}/payment`, {body: await pricePlan(stripe, key)})
  }
  for (const {key, name, paymentPriceId} of (await staff.call<{packs: Pack[]}>('GET', '/billing/admin/packs')).packs) {
    if (packs[key] === undefined || (await known(paymentPriceId))) continue
    const {id: product} = await stripe.products.create({name})
    const {id} = await stripe.prices.create({product, currency, unit_amount: packs[key]})
    await staff.call('PATCH', `/billing/admin/packs/${key}/payment`, {body: {paymentProductId: product, paymentPriceId: id}})
  }
  await openPortal(stripe)
}

/**
 * Creates the portal configuration, unless there is one. The first configuration is the default: card, invoices and cancelling, without
 * plan changes.
 */
const openPortal = async (stripe: Stripe) => {
  const {data} = await stripe.billingPortal.configurations.list({limit: 1})
  if (data.length > 0) return
  await stripe.billingPortal.configurations.create({
    features: {
      invoice_history: {enabled: true},
      payment_method_update: {enabled: true},
      subscription_cancel: {enabled: true, mode: 'at_period_end', proration_behavior: 'none'},
    },
  })
}

const nullIfMissing = (error: unknown) => {
  if (error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 404) return null
  throw error
}

const pricePlan = async (stripe: Stripe, key: string) => {
  const {id: product} = await stripe.products.create({name: `Lading ${key}`})
  const [month, year] = plans[key]!
  const price = async (more: Partial<Stripe.PriceCreateParams>) => (await stripe.prices.create({product, currency, ...more})).id
  return {
    paymentProductId: product,
    paymentPriceMonthlyId: await price({unit_amount: month, recurring: {interval: 'month'}}),
    paymentPriceAnnualId: await price({unit_amount: year, recurring: {interval: 'year'}}),
    paymentPriceOverageId: await price({
      unit_amount: overage,
      recurring: {interval: 'month', usage_type: 'metered', meter: await meterOf(stripe)},
    }),
  }
}

const eventName = 'lading_rows'

const meterOf = async (stripe: Stripe) => {
  const {data} = await stripe.billing.meters.list({limit: 100})
  const known = data.find(({event_name}) => event_name === eventName)
  if (known) return known.id
  const made = await stripe.billing.meters.create({
    display_name: 'Rows beyond the plan',
    event_name: eventName,
    default_aggregation: {formula: 'sum'},
    customer_mapping: {type: 'by_id', event_payload_key: 'stripe_customer_id'},
    value_settings: {event_payload_key: 'value'},
  })
  return made.id
}
