import type {Stripe} from 'stripe'
import {PaymentFailure} from '../payment-failure.ts'
import type {PaymentProvider} from '../payment-provider.ts'

const none = 'lading_permission_check'
const page = {limit: 1}
const daysAgo = (days: number) => Math.floor(Date.now() / 1000) - days * 86_400

/**
 * One call for each permission that the service needs. A call for a read permission lists or retrieves objects. A call for a write permission
 * names a missing object or a report that is too old, so even a permitted call changes nothing.
 */
const CALLS: Record<string, (stripe: Stripe) => Promise<unknown>> = {
  'read products': stripe => stripe.products.list(page),
  'read prices': stripe => stripe.prices.list(page),
  'read meters': stripe => stripe.billing.meters.list(page),
  'read charges': stripe => stripe.charges.retrieve(none),
  'read disputes': stripe => stripe.disputes.retrieve(none),
  'read invoices': stripe => stripe.invoices.list(page),
  'read payment methods': stripe => stripe.paymentMethods.retrieve(none),
  'read portal configurations': stripe => stripe.billingPortal.configurations.list(page),
  'read webhook endpoints': stripe => stripe.webhookEndpoints.list(page),
  'write customers': stripe => stripe.customers.update(none, {metadata: {}}),
  'write subscriptions': stripe => stripe.subscriptions.update(none, {metadata: {}}),
  'write subscription items': stripe => stripe.subscriptionItems.update(none, {metadata: {}}),
  'write subscription schedules': stripe => stripe.subscriptionSchedules.release(none),
  'write Checkout sessions': stripe => stripe.checkout.sessions.expire(none),
  'write portal sessions': stripe => stripe.billingPortal.sessions.create({customer: none}),
  'write payment intents': stripe => stripe.paymentIntents.cancel(none),
  // The service refunds a plan that was bought twice.
  'write refunds': stripe => stripe.refunds.create({payment_intent: none}),
  'write invoices': stripe => stripe.invoices.createPreview({subscription: none}),
  'write meter events': stripe =>
    stripe.billing.meterEvents.create({event_name: none, payload: {stripe_customer_id: none, value: '0'}, timestamp: daysAgo(40)}),
}

/** Returns the permissions that the key lacks. Throws a PaymentFailure if the provider does not answer or does not accept the key. */
export const findMissingPermissions = async ({payment}: {payment: PaymentProvider}): Promise<string[]> => {
  const missing: string[] = []
  for (const [name, call] of Object.entries(CALLS)) if (!(await isPermitted(payment, call))) missing.push(name)
  return missing
}

const isPermitted = async (payment: PaymentProvider, call: (stripe: Stripe) => Promise<unknown>): Promise<boolean> => {
  try {
    await payment.ask('list', call as never)
    return true
  } catch (error) {
    if (!(error instanceof PaymentFailure) || error.kind !== 'refused' || error.status === 401) throw error
    return error.status !== 403
  }
}
