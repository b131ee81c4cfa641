import type {Call} from './calls.ts'
import {isSameInterval} from './clock.ts'
import {needCustomer} from './customers.ts'
import {nameOf, priceOf} from './invoice-drafts.ts'
import {change, create, list, mergeMetadata, need, page} from './objects.ts'
import {complete} from './schemas.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {invalid, only} from './wire.ts'

const hour = 3600

export const createCheckout = ({world, params}: Call): Thing => {
  const {mode, customer = null, line_items: asked = [], expires_at: expires = world.clock.now() + 24 * hour} = params
  if (mode !== 'payment' && mode !== 'subscription') throw new TypeError('The stand-in has checkouts for payments and subscriptions')
  if (customer !== null) needCustomer(world, customer)
  checkUrls(params)
  checkExpiry(world, expires)
  checkCustomerUpdate(params, customer)
  checkTax(world, params, customer)
  only(params.payment_intent_data, ['metadata', 'description', 'setup_future_usage'], 'payment_intent_data')
  only(params.invoice_creation?.invoice_data, ['metadata'], 'invoice_creation[invoice_data]')
  if (params.subscription_data) checkSubscriptionData(world, mode, params.subscription_data)
  const id = world.newId('cs_test')
  const lines = readLines(world, id, mode, asked)
  const total = lines.reduce((sum, line) => sum + line.amount_total, 0)
  const due = params.subscription_data?.trial_end === undefined ? total : 0
  world.store.put({id, object: '~checkout', line_items: list(lines, `/v1/checkout/sessions/${id}/line_items`), ...dataOf(params)})
  const fields = {
    ...chosen(params),
    amount_subtotal: due,
    amount_total: due,
    automatic_tax: params.automatic_tax?.enabled
      ? {enabled: true, liability: {type: 'self'}, provider: 'stripe', status: 'requires_location_inputs'}
      : {},
    currency: lines[0]!.currency,
    custom_text: {},
    customer,
    customer_creation: customer === null ? (mode === 'payment' ? 'if_required' : 'always') : null,
    customer_details: customer === null ? null : detailsOf(world, customer),
    expires_at: expires,
    invoice_creation: mode === 'payment' ? {enabled: params.invoice_creation?.enabled === true, invoice_data: {}} : null,
    metadata: mergeMetadata({}, params.metadata),
    mode,
    payment_method_types: ['card'],
    payment_status: 'unpaid',
    status: 'open',
    total_details: {amount_discount: 0, amount_shipping: 0, amount_tax: 0},
    ui_mode: 'hosted_page',
    url: `${world.baseUrl}/c/pay/${id}`,
  }
  world.clock.plan(`checkout:${id}`, expires)
  return create(world, 'checkout.session', id, fields)
}

const chosen = (params: Call['params']) => {
  const {billing_address_collection = null, client_reference_id = null, success_url, cancel_url = null, locale = null} = params
  const {
    allowed_payment_method_types = null,
    allow_promotion_codes = null,
    payment_method_collection = 'always',
    tax_id_collection,
  } = params
  return {
    billing_address_collection,
    client_reference_id,
    success_url,
    cancel_url,
    locale,
    allowed_payment_method_types,
    allow_promotion_codes,
    payment_method_collection,
    ...(tax_id_collection ? {tax_id_collection: {enabled: tax_id_collection.enabled, required: 'never'}} : {}),
  }
}

/** Returns the parameters for objects that the payment creates later. */
const dataOf = ({subscription_data = {}, payment_intent_data = {}, invoice_creation}: Call['params']) => ({
  subscription_data,
  payment_intent_data,
  invoice_data: invoice_creation?.invoice_data ?? {},
})

const checkUrls = ({success_url, cancel_url}: Record<string, any>) => {
  if (success_url === undefined) throw invalid('Missing required param: success_url.', {code: 'parameter_missing', param: 'success_url'})
  for (const [param, url] of Object.entries({success_url, cancel_url})) {
    if (url !== undefined && !URL.canParse(url.replaceAll(/[{}]/g, ''))) throw invalid('Not a valid URL', {code: 'url_invalid', param})
  }
}

const checkExpiry = (world: SimulatorState, expires: number) => {
  const ahead = expires - world.clock.now()
  const param = 'expires_at'
  if (ahead < hour / 2) throw invalid('The `expires_at` timestamp must be at least 30 minutes from Checkout Session creation.', {param})
  if (ahead > 24 * hour) throw invalid('The `expires_at` timestamp must be less than 24 hours from Checkout Session creation.', {param})
}

const checkCustomerUpdate = ({customer_update: update, tax_id_collection: tax}: Record<string, any>, customer: string | null) => {
  if (update && customer === null) throw invalid('`customer_update` can only be used with `customer`.', {param: 'customer_update'})
  if (tax?.enabled && customer !== null && update?.name !== 'auto') {
    throw invalid(
      'Tax ID collection requires updating business name on the customer. To enable tax ID collection for an existing customer, please set `customer_update[name]` to `auto`.',
    )
  }
}

const checkTax = (world: SimulatorState, {automatic_tax: tax, customer_update: update}: Record<string, any>, customer: string | null) => {
  if (!tax?.enabled || customer === null || update?.address === 'auto') return
  if (world.store.get('customer', customer)!.address) return
  throw invalid(
    "Automatic tax calculation in Checkout requires a valid address on the Customer. Add a valid address to the Customer or set `customer_update[address]` to 'auto'.",
    {code: 'customer_tax_location_invalid'},
  )
}

const checkSubscriptionData = (world: SimulatorState, mode: string, data: Record<string, any>) => {
  if (mode !== 'subscription') throw invalid('You can not pass `subscription_data` in `payment` mode.', {param: 'subscription_data'})
  const known = ['metadata', 'trial_end', 'trial_period_days', 'trial_settings', 'billing_mode', 'description']
  only(data, known, 'subscription_data')
  if (data.trial_end !== undefined) checkTrialEnd(world, data.trial_end)
}

/** Checks that a trial ends in 2 to 730 days. The payment of the page checks it again. */
export const checkTrialEnd = (world: SimulatorState, end: number) => {
  const ahead = end - world.clock.now()
  const param = 'subscription_data[trial_end]'
  if (ahead < 48 * hour) throw invalid('The `trial_end` date has to be at least 2 days in the future.', {param})
  if (ahead > 730 * 24 * hour) throw invalid('The `trial_end` date can not be more than 730 days in the future.', {param})
}

const readLines = (world: SimulatorState, session: string, mode: string, asked: Record<string, any>[]): Thing[] => {
  for (const line of asked) only(line, ['price', 'quantity'], 'line_items')
  if (asked.length === 0) throw invalid('You must pass `line_items`.', {code: 'parameter_missing', param: 'line_items'})
  const lines = asked.map((one, index) => readLine(world, session, mode, one, `line_items[${index}]`))
  const [first, ...rest] = lines
  if (mode === 'subscription' && rest.some(line => !isSameInterval(line.price.recurring, first!.price.recurring))) {
    throw invalid('Checkout does not support multiple prices with different billing intervals.', {param: 'line_items'})
  }
  return lines
}

const readLine = (world: SimulatorState, session: string, mode: string, {price: id, quantity}: Record<string, any>, at: string): Thing => {
  if (id === undefined) throw new TypeError('The stand-in sells known prices only')
  const price = need(world, 'price', id, `${at}[price]`)
  if (!price.active) throw invalid('The price specified is inactive. This field only accepts active prices.', {param: `${at}[price]`})
  if (mode === 'payment' && price.recurring) {
    const message =
      'You specified `payment` mode but passed a recurring price. Either switch to `subscription` mode or use only one-time prices.'
    throw invalid(message, {param: 'mode'})
  }
  if (mode === 'subscription' && !price.recurring) {
    throw invalid('You must provide at least one recurring price in `subscription` mode.', {param: 'line_items'})
  }
  const isMetered = price.recurring?.usage_type === 'metered'
  if (!isMetered && quantity === undefined) throw invalid('Quantity is required.', {code: 'parameter_missing', param: `${at}[quantity]`})
  if (isMetered && quantity !== undefined) throw invalid('Quantity should not be specified where usage_type is `metered`.', {param: at})
  const amount = isMetered ? 0 : priceOf(price, quantity)
  return complete('item', {
    id: `li_${session.slice(-16)}_${at.replaceAll(/\D/g, '')}`,
    amount_discount: 0,
    amount_subtotal: amount,
    amount_tax: 0,
    amount_total: amount,
    currency: price.currency,
    description: nameOf(world, price),
    price,
    quantity: quantity ?? null,
  })
}

export const detailsOf = (world: SimulatorState, customer: string) => {
  const {email, name, phone} = world.store.get('customer', customer)!
  return {address: null, business_name: null, email, individual_name: null, name, phone: phone ?? null, tax_exempt: 'none', tax_ids: []}
}

export const expireCheckout = ({world, ids}: Call): Thing => {
  const session = need(world, 'checkout.session', ids[0]!)
  if (session.status !== 'open') {
    throw invalid(
      `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of \`${session.status}\`.`,
    )
  }
  return expire(world, session)
}

export const expire = (world: SimulatorState, session: Thing): Thing => {
  world.clock.cancel(`checkout:${session.id}`)
  return change(world, session, {status: 'expired', url: null}, 'checkout.session.expired')
}

export const listCheckoutLines = (call: Call): any => {
  need(call.world, 'checkout.session', call.ids[0]!)
  return page(call, call.world.store.get('~checkout', call.ids[0]!)!.line_items.data.toReversed())
}
