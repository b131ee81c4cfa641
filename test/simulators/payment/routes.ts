import type {Call} from './calls.ts'
import * as checkout from './checkout.ts'
import * as customers from './customers.ts'
import * as endpoints from './endpoints.ts'
import * as intents from './intents.ts'
import * as invoices from './invoice-calls.ts'
import * as drafts from './invoice-drafts.ts'
import * as meters from './meters.ts'
import * as cards from './payment-methods.ts'
import * as portal from './portal.ts'
import {createPreview} from './preview.ts'
import * as products from './products.ts'
import {createRefund} from './refunds.ts'
import * as schedules from './schedules.ts'
import {cancelSubscription} from './subscription-end.ts'
import * as items from './subscription-items.ts'
import {resumeSubscription} from './subscription-resume.ts'
import {updateSubscription} from './subscription-update.ts'
import * as subscriptions from './subscriptions.ts'

/** `params` names the generated schema of the call's parameters. */
export type Route = {method: string; path: string[]; params: string; run: (call: Call) => unknown}

const at = (method: string, path: string, params: string, run: Route['run']): Route => ({
  method,
  path: path.split('/'),
  params,
  run,
})

const {readOf} = products

const routes: Route[] = [
  at('POST', 'customers', 'CustomerCreate', customers.createCustomer),
  at('GET', 'customers', 'CustomerList', customers.listCustomers),
  at('GET', 'customers/{id}', 'Retrieve', customers.readCustomer),
  at('POST', 'customers/{id}', 'CustomerUpdate', customers.updateCustomer),
  at('DELETE', 'customers/{id}', 'Retrieve', customers.deleteCustomer),
  at('GET', 'customers/{id}/payment_methods', 'CustomerListPaymentMethods', cards.listPaymentMethods),
  at('POST', 'products', 'ProductCreate', products.createProduct),
  at('GET', 'products', 'ProductList', products.listProducts),
  at('GET', 'products/{id}', 'Retrieve', readOf('product')),
  at('POST', 'products/{id}', 'ProductUpdate', products.updateProduct),
  at('POST', 'prices', 'PriceCreate', products.createPrice),
  at('GET', 'prices', 'PriceList', products.listPrices),
  at('GET', 'prices/{id}', 'Retrieve', readOf('price')),
  at('POST', 'prices/{id}', 'PriceUpdate', products.updatePrice),
  at('POST', 'coupons', 'CouponCreate', products.createCoupon),
  at('GET', 'coupons/{id}', 'Retrieve', readOf('coupon')),
  at('GET', 'payment_methods', 'PaymentMethodList', cards.listPaymentMethods),
  at('GET', 'payment_methods/{id}', 'Retrieve', readOf('payment_method')),
  at('POST', 'payment_methods/{id}/attach', 'PaymentMethodAttach', cards.attachPaymentMethod),
  at('POST', 'payment_methods/{id}/detach', 'PaymentMethodDetach', cards.detachPaymentMethod),
  at('POST', 'subscriptions', 'SubscriptionCreate', subscriptions.createSubscription),
  at('GET', 'subscriptions', 'SubscriptionList', subscriptions.listSubscriptions),
  at('GET', 'subscriptions/{id}', 'Retrieve', readOf('subscription')),
  at('POST', 'subscriptions/{id}', 'SubscriptionUpdate', updateSubscription),
  at('POST', 'subscriptions/{id}/resume', 'SubscriptionResume', resumeSubscription),
  at('DELETE', 'subscriptions/{id}', 'SubscriptionCancel', cancelSubscription),
  at('POST', 'subscription_items', 'SubscriptionItemCreate', items.createSubscriptionItem),
  at('GET', 'subscription_items', 'SubscriptionItemList', items.listSubscriptionItems),
  at('GET', 'subscription_items/{id}', 'Retrieve', items.readSubscriptionItem),
  at('POST', 'subscription_items/{id}', 'SubscriptionItemUpdate', items.updateSubscriptionItem),
  at('DELETE', 'subscription_items/{id}', 'SubscriptionItemDelete', items.deleteSubscriptionItem),
  at('POST', 'subscription_schedules', 'ScheduleCreate', schedules.createSchedule),
  at('GET', 'subscription_schedules', 'ScheduleList', schedules.listSchedules),
  at('GET', 'subscription_schedules/{id}', 'Retrieve', readOf('subscription_schedule')),
  at('POST', 'subscription_schedules/{id}', 'ScheduleUpdate', schedules.updateSchedule),
  at('POST', 'subscription_schedules/{id}/release', 'ScheduleRelease', schedules.releaseSchedule),
  at('POST', 'subscription_schedules/{id}/cancel', 'ScheduleCancel', schedules.cancelSchedule),
  at('POST', 'invoices/create_preview', 'InvoiceCreatePreview', createPreview),
  at('POST', 'invoices', 'InvoiceCreate', drafts.createDraft),
  at('POST', 'invoices/{id}/add_lines', 'InvoiceAddLines', drafts.addLines),
  at('POST', 'invoices/{id}/attach_payment', 'InvoiceAttachPayment', drafts.attachPayment),
  at('GET', 'invoices', 'InvoiceList', invoices.listInvoices),
  at('GET', 'invoices/{id}', 'Retrieve', readOf('invoice')),
  at('POST', 'invoices/{id}/finalize', 'InvoiceFinalize', invoices.finalize),
  at('POST', 'invoices/{id}/pay', 'InvoicePay', invoices.pay),
  at('POST', 'invoices/{id}/void', 'InvoiceVoid', invoices.voidCall),
  at('GET', 'invoice_payments', 'InvoicePaymentList', invoices.listInvoicePayments),
  at('GET', 'invoice_payments/{id}', 'Retrieve', readOf('invoice_payment')),
  at('POST', 'checkout/sessions', 'CheckoutCreate', checkout.createCheckout),
  at('GET', 'checkout/sessions', 'CheckoutList', checkout.listCheckouts),
  at('GET', 'checkout/sessions/{id}', 'Retrieve', readOf('checkout.session')),
  at('POST', 'checkout/sessions/{id}/expire', 'CheckoutExpire', checkout.expireCheckout),
  at('GET', 'checkout/sessions/{id}/line_items', 'CheckoutListLineItems', checkout.listCheckoutLines),
  at('POST', 'billing_portal/configurations', 'PortalConfigurationCreate', portal.createConfiguration),
  at('GET', 'billing_portal/configurations', 'PortalConfigurationList', portal.listConfigurations),
  at('GET', 'billing_portal/configurations/{id}', 'Retrieve', readOf('billing_portal.configuration')),
  at('POST', 'billing_portal/configurations/{id}', 'PortalConfigurationUpdate', portal.updateConfiguration),
  at('POST', 'billing_portal/sessions', 'PortalSessionCreate', portal.createPortal),
  at('POST', 'payment_intents', 'PaymentIntentCreate', intents.createIntent),
  at('GET', 'payment_intents', 'PaymentIntentList', intents.listIntents),
  at('GET', 'payment_intents/{id}', 'Retrieve', readOf('payment_intent')),
  at('POST', 'payment_intents/{id}/confirm', 'PaymentIntentConfirm', intents.confirmIntent),
  at('POST', 'payment_intents/{id}/cancel', 'PaymentIntentCancel', intents.cancelIntent),
  at('GET', 'charges/{id}', 'Retrieve', readOf('charge')),
  at('POST', 'refunds', 'RefundCreate', createRefund),
  at('GET', 'refunds/{id}', 'Retrieve', readOf('refund')),
  at('GET', 'disputes/{id}', 'Retrieve', readOf('dispute')),
  at('POST', 'billing/meters', 'MeterCreate', meters.createMeter),
  at('GET', 'billing/meters', 'MeterList', meters.listMeters),
  at('GET', 'billing/meters/{id}', 'Retrieve', readOf('billing.meter')),
  at('GET', 'billing/meters/{id}/event_summaries', 'MeterSummaries', meters.listSummaries),
  at('POST', 'billing/meter_events', 'MeterEventCreate', meters.createMeterEvent),
  at('POST', 'billing/meter_event_adjustments', 'MeterEventAdjustmentCreate', meters.createAdjustment),
  at('GET', 'events', 'EventList', endpoints.listEvents),
  at('GET', 'events/{id}', 'Retrieve', readOf('event')),
  at('POST', 'webhook_endpoints', 'WebhookEndpointCreate', endpoints.createEndpoint),
  at('GET', 'webhook_endpoints', 'WebhookEndpointList', endpoints.listEndpoints),
  at('GET', 'webhook_endpoints/{id}', 'Retrieve', readOf('webhook_endpoint')),
  at('POST', 'webhook_endpoints/{id}', 'WebhookEndpointUpdate', endpoints.updateEndpoint),
  at('DELETE', 'webhook_endpoints/{id}', 'Retrieve', endpoints.deleteEndpoint),
]

/** The route of `/v1/…`, and the ids in its path. Fixed paths precede those with an id. */
export const findRoute = (method: string, path: string): {route: Route; ids: string[]} | null => {
  const segments = path.replace(/^\/v1\//, '').split('/')
  if (!path.startsWith('/v1/')) return null
  const isMet = (route: Route) =>
    route.method === method &&
    route.path.length === segments.length &&
    route.path.every((part, index) => part === '{id}' || part === segments[index])
  const route = routes.find(isMet)
  if (!route) return null
  return {route, ids: segments.filter((_, index) => route.path[index] === '{id}').map(decodeURIComponent)}
}
