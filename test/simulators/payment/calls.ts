import * as checkout from './checkout.ts'
import * as customers from './customers.ts'
import * as deliveries from './deliveries.ts'
import {matches, type Spoiled, saveFault, spoilAfter, spoilBefore} from './faults.ts'
import * as invoices from './invoices.ts'
import * as meters from './meters.ts'
import {apiVersion, expand, listOf, need} from './objects.ts'
import * as payments from './payments.ts'
import * as portal from './portal.ts'
import * as products from './products.ts'
import * as schedules from './schedules.ts'
import {requestSchema} from './schemas.ts'
import {attempt, type SimulatorState} from './state.ts'
import * as items from './subscription-items.ts'
import * as updates from './subscription-updates.ts'
import * as subscriptions from './subscriptions.ts'
import {type Answer, invalid, Refusal, type Request, readForm, readParams, watch} from './wire.ts'

/** A call for its handler. `ids`: the ids in the path. */
export type Call = {world: SimulatorState; params: Record<string, any>; ids: string[]; path: string}

/** Handles one API call with its fault and its deliveries. The answer may be cut or dropped. */
export const answerCall = async (world: SimulatorState, request: Request): Promise<Spoiled> => {
  const requestId = world.newId('req')
  const fault = world.faults.take(request.method, request.path)
  const key = request.method === 'POST' ? (headerOf(request, 'idempotency-key') ?? null) : null
  let spoiled: Spoiled
  let isReplay = false
  try {
    const {route, ids, params} = readCall(world, request)
    const before = key === null ? null : world.keys.begin(key, `${request.path}\n${request.body}`, world.clock.now())
    isReplay = before !== null
    const early = await spoilBefore(world, fault, requestId)
    if (early && key !== null && !isReplay) saveFault(world, fault, key, early.answer)
    const answer = early?.answer ?? before ?? perform(world, route, {world, params, ids, path: request.path}, {id: requestId, key})
    if (!early) await leave(world, key, answer, isReplay)
    spoiled = early ?? (await spoilAfter(world, fault, answer, requestId))
    if (!early && key !== null && !isReplay) saveFault(world, fault, key, spoiled.answer)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    spoiled = {answer: refusalOf(error), end: 'answered'}
  }
  const headers = {'request-id': requestId, 'stripe-version': apiVersion, ...(key === null ? {} : {'idempotency-key': key})}
  const replayed = isReplay ? {'idempotent-replayed': 'true'} : {}
  const answer = {...spoiled.answer, headers: {...headers, ...replayed, ...spoiled.answer.headers}}
  const status = spoiled.end === 'dropped' ? null : answer.status
  const version = headerOf(request, 'stripe-version') ?? null
  const {method, path, body} = request
  world.journal.note({at: world.clock.now(), method, path, key, version, requestId, body, status, fault: fault?.id ?? null, isReplay})
  return {...spoiled, answer}
}

/** Checks the key, version and permission, finds the route and reads the parameters. Throws before any object is looked up. */
const readCall = (world: SimulatorState, request: Request): {route: Route; ids: string[]; params: Record<string, any>} => {
  const {method, path, query, body} = request
  const given = /^(?:Bearer (\S+)|Basic (\S+))$/.exec(request.headers.authorization ?? '')
  const secret = given && (given[1] ?? Buffer.from(given[2]!, 'base64').toString().split(':')[0])
  if (!given) throw refuse(401, 'You did not provide an API key.')
  if (secret !== world.secretKey) throw refuse(401, 'Invalid API Key provided: sk_test_****')
  const version = headerOf(request, 'stripe-version')
  if (version !== undefined && version !== apiVersion) throw invalid(`Invalid Stripe API version: ${version}`)
  if (world.settings.forbidden.some(glob => matches(glob, `${method} ${path}`))) throw refuse(403, forbidden)
  const found = findRoute(method, path)
  if (!found) throw refuse(404, `Unrecognized request URL (${method}: ${path}).`)
  const raw = readForm(method === 'GET' || method === 'DELETE' ? query || body : body)
  return {...found, params: readParams(requestSchema(found.route.params), raw)}
}

/** The wording of https://github.com/stripe/stripe-node/issues/2246. */
const forbidden = "The provided key 'rk_test_****' does not have the required permissions for this endpoint on account 'acct_stand_in'."

const refuse = (status: number, message: string) => new Refusal(status, {type: 'invalid_request_error', message})
const refusalOf = ({status, error}: Refusal): Answer => ({status, body: {error}})

/** Executes the call atomically. A refusal becomes an answer, which is also stored under the key. */
const perform = (world: SimulatorState, route: Route, call: Call, cause: {id: string; key: string | null}): Answer => {
  world.cause = cause
  try {
    return attempt(world, () => {
      const {params, unread} = watch(call.params)
      const answer = route.run({...call, params})
      const [left] = unread()
      if (left !== undefined) throw new TypeError(`The stand-in does not carry the parameter ${left} of ${call.path}`)
      return {status: 200, body: expand(world, answer, call.params.expand ?? [])}
    })
  } catch (error) {
    if (error instanceof Refusal) return refusalOf(error)
    if (cause.key !== null) world.keys.forget(cause.key)
    throw error
  } finally {
    world.cause = null
    world.store.commit()
  }
}

/** Stores the answer under the key, sends the events that belong into the call, and waits if a card is slow. */
const leave = async (world: SimulatorState, key: string | null, answer: Answer, isReplay: boolean) => {
  if (key !== null && !isReplay) world.keys.keep(key, answer)
  const slow = world.slowMs
  world.slowMs = 0
  await deliveries.sendDue(world, {onlyDuring: true})
  if (slow > 0) await new Promise(resolve => setTimeout(resolve, slow))
}

const headerOf = ({headers}: Request, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** A route. `params`: the name of the generated schema of its parameters. */
type Route = {method: string; path: string[]; params: string; run: (call: Call) => any}

const at = (method: string, path: string, params: string, run: Route['run']): Route => ({method, path: path.split('/'), params, run})

/** Returns a route that reads one object. */
const read = (path: string, object: string) => at('GET', `${path}/{id}`, 'Retrieve', ({world, ids}) => need(world, object, ids[0]!))

const routes: Route[] = [
  at('POST', 'customers', 'CustomerCreate', customers.createCustomer),
  at('GET', 'customers', 'CustomerList', customers.listCustomers),
  at('GET', 'customers/{id}', 'Retrieve', customers.readCustomer),
  at('POST', 'customers/{id}', 'CustomerUpdate', customers.updateCustomer),
  at('DELETE', 'customers/{id}', 'Retrieve', customers.deleteCustomer),
  at('GET', 'customers/{id}/payment_methods', 'CustomerListPaymentMethods', customers.listPaymentMethods),
  at('POST', 'products', 'ProductCreate', products.createProduct),
  at('GET', 'products', 'ProductList', listOf('product', ['active'])),
  read('products', 'product'),
  at('POST', 'products/{id}', 'ProductUpdate', products.updateProduct),
  at('POST', 'prices', 'PriceCreate', products.createPrice),
  at('GET', 'prices', 'PriceList', products.listPrices),
  read('prices', 'price'),
  at('POST', 'prices/{id}', 'PriceUpdate', products.updatePrice),
  at('POST', 'coupons', 'CouponCreate', products.createCoupon),
  read('coupons', 'coupon'),
  at('GET', 'payment_methods', 'PaymentMethodList', customers.listPaymentMethods),
  read('payment_methods', 'payment_method'),
  at('POST', 'payment_methods/{id}/attach', 'PaymentMethodAttach', customers.attachPaymentMethod),
  at('POST', 'payment_methods/{id}/detach', 'PaymentMethodDetach', customers.detachPaymentMethod),
  at('POST', 'subscriptions', 'SubscriptionCreate', subscriptions.createSubscription),
  at('GET', 'subscriptions', 'SubscriptionList', subscriptions.listSubscriptions),
  read('subscriptions', 'subscription'),
  at('POST', 'subscriptions/{id}', 'SubscriptionUpdate', updates.updateSubscription),
  at('POST', 'subscriptions/{id}/resume', 'SubscriptionResume', subscriptions.resumeSubscription),
  at('DELETE', 'subscriptions/{id}', 'SubscriptionCancel', subscriptions.cancelSubscription),
  at('POST', 'subscription_items', 'SubscriptionItemCreate', items.createSubscriptionItem),
  at('GET', 'subscription_items', 'SubscriptionItemList', items.listSubscriptionItems),
  at('GET', 'subscription_items/{id}', 'Retrieve', items.readSubscriptionItem),
  at('POST', 'subscription_items/{id}', 'SubscriptionItemUpdate', items.updateSubscriptionItem),
  at('DELETE', 'subscription_items/{id}', 'SubscriptionItemDelete', items.deleteSubscriptionItem),
  at('POST', 'subscription_schedules', 'ScheduleCreate', schedules.createSchedule),
  at('GET', 'subscription_schedules', 'ScheduleList', listOf('subscription_schedule', ['customer'])),
  read('subscription_schedules', 'subscription_schedule'),
  at('POST', 'subscription_schedules/{id}', 'ScheduleUpdate', schedules.updateSchedule),
  at('POST', 'subscription_schedules/{id}/release', 'ScheduleRelease', schedules.releaseSchedule),
  at('POST', 'subscription_schedules/{id}/cancel', 'ScheduleCancel', schedules.cancelSchedule),
  at('POST', 'invoices/create_preview', 'InvoiceCreatePreview', invoices.createPreview),
  at('POST', 'invoices', 'InvoiceCreate', invoices.createDraft),
  at('POST', 'invoices/{id}/add_lines', 'InvoiceAddLines', invoices.addLines),
  at('POST', 'invoices/{id}/attach_payment', 'InvoiceAttachPayment', invoices.attachPayment),
  at('GET', 'invoices', 'InvoiceList', invoices.listInvoices),
  read('invoices', 'invoice'),
  at('POST', 'invoices/{id}/finalize', 'InvoiceFinalize', invoices.finalize),
  at('POST', 'invoices/{id}/pay', 'InvoicePay', invoices.pay),
  at('POST', 'invoices/{id}/void', 'InvoiceVoid', invoices.voidCall),
  at('GET', 'invoice_payments', 'InvoicePaymentList', invoices.listInvoicePayments),
  read('invoice_payments', 'invoice_payment'),
  at('POST', 'checkout/sessions', 'CheckoutCreate', checkout.createCheckout),
  at('GET', 'checkout/sessions', 'CheckoutList', listOf('checkout.session', ['customer', 'status', 'subscription', 'payment_intent'])),
  read('checkout/sessions', 'checkout.session'),
  at('POST', 'checkout/sessions/{id}/expire', 'CheckoutExpire', checkout.expireCheckout),
  at('GET', 'checkout/sessions/{id}/line_items', 'CheckoutListLineItems', checkout.listCheckoutLines),
  at('POST', 'billing_portal/configurations', 'PortalConfigurationCreate', portal.createConfiguration),
  at('GET', 'billing_portal/configurations', 'PortalConfigurationList', listOf('billing_portal.configuration', ['active', 'is_default'])),
  read('billing_portal/configurations', 'billing_portal.configuration'),
  at('POST', 'billing_portal/configurations/{id}', 'PortalConfigurationUpdate', portal.updateConfiguration),
  at('POST', 'billing_portal/sessions', 'PortalSessionCreate', portal.createPortal),
  at('POST', 'payment_intents', 'PaymentIntentCreate', payments.createPaymentIntent),
  at('GET', 'payment_intents', 'PaymentIntentList', listOf('payment_intent', ['customer'])),
  read('payment_intents', 'payment_intent'),
  at('POST', 'payment_intents/{id}/confirm', 'PaymentIntentConfirm', payments.confirmIntent),
  at('POST', 'payment_intents/{id}/cancel', 'PaymentIntentCancel', payments.cancelPaymentIntent),
  read('charges', 'charge'),
  at('POST', 'refunds', 'RefundCreate', payments.createRefund),
  read('refunds', 'refund'),
  read('disputes', 'dispute'),
  at('POST', 'billing/meters', 'MeterCreate', meters.createMeter),
  at('GET', 'billing/meters', 'MeterList', listOf('billing.meter', ['status'])),
  read('billing/meters', 'billing.meter'),
  at('GET', 'billing/meters/{id}/event_summaries', 'MeterSummaries', meters.listSummaries),
  at('POST', 'billing/meter_events', 'MeterEventCreate', meters.createMeterEvent),
  at('POST', 'billing/meter_event_adjustments', 'MeterEventAdjustmentCreate', meters.createAdjustment),
  at('GET', 'events', 'EventList', deliveries.listEvents),
  read('events', 'event'),
  at('POST', 'webhook_endpoints', 'WebhookEndpointCreate', deliveries.createEndpoint),
  at('GET', 'webhook_endpoints', 'WebhookEndpointList', listOf('webhook_endpoint', [])),
  read('webhook_endpoints', 'webhook_endpoint'),
  at('POST', 'webhook_endpoints/{id}', 'WebhookEndpointUpdate', deliveries.updateEndpoint),
  at('DELETE', 'webhook_endpoints/{id}', 'Retrieve', deliveries.deleteEndpoint),
]

/** Finds the route of a `/v1/…` path and the ids in it. Fixed paths precede those with an id. */
const findRoute = (method: string, path: string): {route: Route; ids: string[]} | null => {
  if (!path.startsWith('/v1/')) return null
  const segments = path.slice('/v1/'.length).split('/')
  const fits = (route: Route) =>
    route.method === method &&
    route.path.length === segments.length &&
    route.path.every((part, index) => part === '{id}' || part === segments[index])
  const route = routes.find(fits)
  return route ? {route, ids: segments.filter((_, index) => route.path[index] === '{id}').map(decodeURIComponent)} : null
}
