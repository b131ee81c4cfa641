import {readdirSync, readFileSync} from 'node:fs'
import type {Schema} from './generate.ts'

const folder = (name: string) => new URL(`./${name}/`, import.meta.url)
const kept = new Map<string, Schema>()

const read = (path: string): Schema => {
  let schema = kept.get(path)
  if (!schema) kept.set(path, (schema = JSON.parse(readFileSync(new URL(`./${path}.json`, import.meta.url), 'utf8')) as Schema))
  return schema
}

export const requestSchema = (name: string): Schema => read(`requests/${name}`)
export const objectSchema = (name: string): Schema => read(`objects/${name}`)
export const objectNames = (): string[] =>
  readdirSync(folder('objects'))
    .map(file => file.replace('.json', ''))
    .toSorted()

/** The schema name for each value of `object` on the wire. */
export const schemaNames: Record<string, string> = {
  customer: 'Customer',
  product: 'Product',
  price: 'Price',
  plan: 'Plan',
  coupon: 'Coupon',
  discount: 'Discount',
  payment_method: 'PaymentMethod',
  subscription: 'Subscription',
  subscription_item: 'SubscriptionItem',
  subscription_schedule: 'SubscriptionSchedule',
  invoice: 'Invoice',
  line_item: 'InvoiceLineItem',
  invoice_payment: 'InvoicePayment',
  item: 'LineItem',
  'checkout.session': 'CheckoutSession',
  'billing_portal.session': 'PortalSession',
  'billing_portal.configuration': 'PortalConfiguration',
  payment_intent: 'PaymentIntent',
  charge: 'Charge',
  refund: 'Refund',
  dispute: 'Dispute',
  'billing.meter': 'Meter',
  'billing.meter_event': 'MeterEvent',
  'billing.meter_event_summary': 'MeterEventSummary',
  'billing.meter_event_adjustment': 'MeterEventAdjustment',
  webhook_endpoint: 'WebhookEndpoint',
  event: 'Event',
}
