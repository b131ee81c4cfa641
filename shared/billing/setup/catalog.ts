import type {Stripe} from 'stripe'
import type {Config} from '../../config.ts'
import {shortHash} from '../../security/short-hash.ts'
import {APP, isOurs} from '../metadata.ts'
import {nullWhereGone} from '../payment-failure.ts'
import type {PaymentProvider} from '../payment-provider.ts'

export type SetupDeps = {config: Config; payment: PaymentProvider}

/** Returns the idempotency key of one creation. Equal facts give equal keys, so repeated setups create one object. */
const setupKey = ({config}: SetupDeps, kind: string, facts: unknown): string =>
  `setup:${config.PAYMENT_ENVIRONMENT}:${kind}:${shortHash(JSON.stringify(facts)).toString('hex')}`

const mostReplays = 20

type Creation<T> = {
  kind: string
  facts: unknown
  create(idempotencyKey: string): Promise<T>
  read(id: string): Promise<T>
  isUsable(object: T): boolean
}

/**
 * Creates an object, once for the same facts. The provider repeats its answer to a key for at least a day
 * (https://docs.stripe.com/api/idempotent_requests), even after the object was archived or deleted. For such an object, a replacement is created
 * under another key.
 */
export const createOnce = async <T extends {id: string}>(deps: SetupDeps, creation: Creation<T>): Promise<T> => {
  const {kind, facts, create, read, isUsable} = creation
  let replaces: string | null = null
  for (let tries = 0; tries < mostReplays; tries++) {
    const made: T = await create(setupKey(deps, kind, [facts, replaces]))
    const now: T | null = await read(made.id).catch(nullWhereGone)
    if (now && isUsable(now)) return made
    replaces = made.id
  }
  throw new Error(`The ${kind} was created ${mostReplays} times and is still not active. Look for it in the provider's dashboard`)
}

export const setupMetadata = ({config}: SetupDeps) => ({app: APP, env: config.PAYMENT_ENVIRONMENT})

/** Returns a name that is unique in an account, which several deployments may share. */
const ownName = ({config}: SetupDeps, ...parts: string[]) =>
  ['lading', config.PAYMENT_ENVIRONMENT, ...parts].map(part => part.replace(/[^\w-]/g, '_')).join('_')

/**
 * Finds the product of a plan or pack by its fixed id, or creates it, and returns the id. Activates an archived product, because its prices
 * could not be bought.
 */
export const keepProduct = async (deps: SetupDeps, {key, name}: {key: string; name: string}): Promise<string> => {
  const {payment} = deps
  const id = ownName(deps, key)
  const read = () => payment.ask('product', stripe => stripe.products.retrieve(id))
  const found = await read().catch(nullWhereGone)
  if (found && !found.active) await payment.ask('product', stripe => stripe.products.update(id, {active: true}))
  if (found) return id
  const params = {id, name, metadata: setupMetadata(deps)}
  await createOnce(deps, {
    kind: 'product',
    facts: params,
    read,
    isUsable: () => true,
    create: idempotencyKey => payment.ask('product', stripe => stripe.products.create(params, {idempotencyKey})),
  })
  return id
}

export const keepMeter = async (deps: SetupDeps): Promise<string> => {
  const event_name = ownName(deps, 'rows')
  const {data} = await deps.payment.ask('list', stripe => stripe.billing.meters.list({status: 'active', limit: 100}))
  const found = data.find(meter => meter.event_name === event_name)
  if (found) return found.id
  const params: Stripe.Billing.MeterCreateParams = {
    display_name: 'Rows beyond the plan',
    event_name,
    default_aggregation: {formula: 'sum'},
    customer_mapping: {type: 'by_id', event_payload_key: 'stripe_customer_id'},
    value_settings: {event_payload_key: 'value'},
  }
  const {id} = await createOnce(deps, {
    kind: 'meter',
    facts: params,
    create: idempotencyKey => deps.payment.ask('billing.meter', stripe => stripe.billing.meters.create(params, {idempotencyKey})),
    read: made => deps.payment.ask('billing.meter', stripe => stripe.billing.meters.retrieve(made)),
    isUsable: ({status}) => status === 'active',
  })
  return id
}

type WantedPrice = {
  name: string[]
  product: string
  currency: string
  /** The amount in the currency's smallest unit, as a decimal. */
  amount: string
  taxBehavior?: 'inclusive' | 'exclusive' | undefined
  recurring?: Stripe.PriceCreateParams.Recurring
}

/**
 * Finds the active price under its lookup key, or creates it, and returns its id. The provider's prices cannot be changed, so another amount
 * needs a new price, which takes over the lookup key. Subscribers to the earlier price keep that price.
 */
export const keepPrice = async (deps: SetupDeps, wantedPrice: WantedPrice): Promise<string> => {
  const {payment} = deps
  const lookup_key = ownName(deps, ...wantedPrice.name)
  const {data} = await payment.ask('list', stripe => stripe.prices.list({lookup_keys: [lookup_key], active: true, limit: 1}))
  const [found] = data
  if (found && isSame(found, wantedPrice)) return found.id
  const {Stripe: Sdk} = await import('stripe')
  const params: Stripe.PriceCreateParams = {
    product: wantedPrice.product,
    currency: wantedPrice.currency,
    unit_amount_decimal: Sdk.Decimal.from(wantedPrice.amount),
    ...(wantedPrice.recurring && {recurring: wantedPrice.recurring}),
    ...(wantedPrice.taxBehavior && {tax_behavior: wantedPrice.taxBehavior}),
    lookup_key,
    transfer_lookup_key: true,
    metadata: setupMetadata(deps),
  }
  const {id} = await createOnce(deps, {
    kind: 'price',
    facts: [wantedPrice, found?.id ?? null],
    create: idempotencyKey => payment.ask('price', stripe => stripe.prices.create(params, {idempotencyKey})),
    read: made => payment.ask('price', stripe => stripe.prices.retrieve(made)),
    isUsable: price => price.active && price.lookup_key === lookup_key,
  })
  return id
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
  // A plan change in the portal would bypass previews and pending changes.
  subscription_update: {enabled: false},
}

export const keepPortalConfiguration = async (deps: SetupDeps): Promise<string> => {
  const {config, payment} = deps
  const {data} = await payment.ask('list', stripe => stripe.billingPortal.configurations.list({active: true, limit: 100}))
  const found = data.find(({metadata}) => isOurs(config, metadata))
  const of = 'billing_portal.configuration'
  if (found) return (await payment.ask(of, stripe => stripe.billingPortal.configurations.update(found.id, {features}))).id
  const params = {features, metadata: setupMetadata(deps)}
  const {id} = await createOnce(deps, {
    kind: 'portal',
    facts: params,
    create: idempotencyKey => payment.ask(of, stripe => stripe.billingPortal.configurations.create(params, {idempotencyKey})),
    read: made => payment.ask(of, stripe => stripe.billingPortal.configurations.retrieve(made)),
    isUsable: ({active}) => active,
  })
  return id
}
