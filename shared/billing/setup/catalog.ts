import type {Stripe} from 'stripe'
import type {Config} from '../../config.ts'
import {shortHash} from '../../short-hash.ts'
import {APP, isOurs} from '../metadata.ts'
import {nullWhereGone} from '../payment-failure.ts'
import type {PaymentProvider} from '../payment-provider.ts'

export type SetupTools = {config: Config; payment: PaymentProvider}

/** The key of one creation: the same parameters, seen in the same state, create one object however often the setup runs. */
export const setupKey = ({config}: SetupTools, kind: string, facts: unknown): string =>
  `setup:${config.PAYMENT_ENVIRONMENT}:${kind}:${shortHash(JSON.stringify(facts)).toString('hex')}`

export const setupMetadata = ({config}: SetupTools) => ({app: APP, env: config.PAYMENT_ENVIRONMENT})

/** A name that is unique in an account which several deployments share. */
const ownName = ({config}: SetupTools, ...parts: string[]) =>
  ['lading', config.PAYMENT_ENVIRONMENT, ...parts].map(part => part.replace(/[^\w-]/g, '_')).join('_')

/** Finds the product of a plan or pack by its fixed id, or creates it. */
export const keepProduct = async (tools: SetupTools, {key, name}: {key: string; name: string}): Promise<string> => {
  const id = ownName(tools, key)
  const found = await tools.payment.ask('product', stripe => stripe.products.retrieve(id)).catch(nullWhereGone)
  if (found) return id
  const params = {id, name, metadata: setupMetadata(tools)}
  await tools.payment.ask('product', stripe => stripe.products.create(params, {idempotencyKey: setupKey(tools, 'product', params)}))
  return id
}

/** Finds the meter that counts rows beyond plans by its event name, or creates it. */
export const keepMeter = async (tools: SetupTools): Promise<string> => {
  const event_name = ownName(tools, 'rows')
  const {data} = await tools.payment.ask('list', stripe => stripe.billing.meters.list({status: 'active', limit: 100}))
  const found = data.find(meter => meter.event_name === event_name)
  if (found) return found.id
  const params: Stripe.Billing.MeterCreateParams = {
    ...{display_name: 'Rows beyond the plan', event_name, default_aggregation: {formula: 'sum'}},
    ...{customer_mapping: {type: 'by_id', event_payload_key: 'stripe_customer_id'}, value_settings: {event_payload_key: 'value'}},
  }
  const idempotencyKey = setupKey(tools, 'meter', params)
  return (await tools.payment.ask('billing.meter', stripe => stripe.billing.meters.create(params, {idempotencyKey}))).id
}

type WantedPrice = {
  name: string[]
  product: string
  currency: string
  /** In the smallest unit, as a decimal. */
  amount: string
  taxBehavior?: 'inclusive' | 'exclusive' | undefined
  recurring?: Stripe.PriceCreateParams.Recurring
}

/**
 * Finds the active price under its lookup key, or creates it. Prices cannot be changed at the provider: another amount is another price, and the
 * lookup key moves to it. Who subscribed to the earlier price keeps it.
 */
export const keepPrice = async (tools: SetupTools, wanted: WantedPrice): Promise<string> => {
  const {payment} = tools
  const lookup_key = ownName(tools, ...wanted.name)
  const {data} = await payment.ask('list', stripe => stripe.prices.list({lookup_keys: [lookup_key], active: true, limit: 1}))
  const [found] = data
  if (found && isSame(found, wanted)) return found.id
  const {Stripe: Sdk} = await import('stripe')
  const params: Stripe.PriceCreateParams = {
    ...{product: wanted.product, currency: wanted.currency, unit_amount_decimal: Sdk.Decimal.from(wanted.amount)},
    ...(wanted.recurring && {recurring: wanted.recurring}),
    ...(wanted.taxBehavior && {tax_behavior: wanted.taxBehavior}),
    ...{lookup_key, transfer_lookup_key: true, metadata: setupMetadata(tools)},
  }
  const idempotencyKey = setupKey(tools, 'price', [wanted, found?.id ?? null])
  return (await payment.ask('price', stripe => stripe.prices.create(params, {idempotencyKey}))).id
}

const isSame = (price: Stripe.Price, {product, currency, amount, taxBehavior, recurring}: WantedPrice): boolean => {
  const {recurring: had, unit_amount_decimal: each} = price
  const hasTerms = had?.interval === recurring?.interval && (had?.meter ?? undefined) === recurring?.meter
  const isTaxed = (price.tax_behavior ?? 'unspecified') === (taxBehavior ?? 'unspecified')
  return hasTerms && isTaxed && price.currency === currency && price.product === product && Number(each) === Number(amount)
}

const features: Stripe.BillingPortal.ConfigurationCreateParams.Features = {
  customer_update: {enabled: true, allowed_updates: ['name', 'address', 'tax_id']},
  invoice_history: {enabled: true},
  payment_method_update: {enabled: true},
  subscription_cancel: {enabled: true, mode: 'at_period_end', proration_behavior: 'none'},
  // A plan changed there would bypass previews and pending changes.
  subscription_update: {enabled: false},
}

/** Finds this deployment's portal configuration, or creates it. */
export const keepPortalConfiguration = async (tools: SetupTools): Promise<string> => {
  const {config, payment} = tools
  const {data} = await payment.ask('list', stripe => stripe.billingPortal.configurations.list({active: true, limit: 100}))
  const found = data.find(({metadata}) => isOurs(config, metadata))
  const of = 'billing_portal.configuration'
  if (found) return (await payment.ask(of, stripe => stripe.billingPortal.configurations.update(found.id, {features}))).id
  const params = {features, metadata: setupMetadata(tools)}
  const idempotencyKey = setupKey(tools, 'portal', params)
  return (await payment.ask(of, stripe => stripe.billingPortal.configurations.create(params, {idempotencyKey}))).id
}
