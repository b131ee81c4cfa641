import {readFileSync} from 'node:fs'
import type {Schema} from './schemas/generate.ts'
import type {Thing} from './store.ts'

const read = new Map<string, Schema>()

const readSchema = (path: string): Schema => {
  const schema = read.get(path) ?? (JSON.parse(readFileSync(new URL(`./schemas/${path}.json`, import.meta.url), 'utf8')) as Schema)
  read.set(path, schema)
  return schema
}

export const requestSchema = (name: string): Schema => readSchema(`requests/${name}`)
export const objectSchema = (name: string): Schema => readSchema(`objects/${name}`)

/** The schema name for each value of `object` in the API. */
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

/**
 * Completes an object by its schema: a missing value becomes null, an empty list or false, as the schema allows. Throws if a missing value
 * has no such default.
 */
export const complete = (object: string, given: {id: string; [name: string]: unknown}): Thing => {
  const name = schemaNames[object]
  if (!name) throw new TypeError(`No schema: ${object}`)
  return fill(objectSchema(name), {...given, object}, object) as Thing
}

const fill = (schema: Schema, value: Record<string, any>, at: string): Record<string, any> => {
  const filled = {...value}
  for (const name of schema.required ?? []) {
    const own = schema.properties[name]
    const given = filled[name]
    if (given === undefined) filled[name] = blank(own, `${at}.${name}`)
    else if (isPlain(given)) filled[name] = fillAny(own, given, `${at}.${name}`)
  }
  return filled
}

/** Completes a value of a union only if the union has exactly one object form. */
const fillAny = (schema: Schema, value: Record<string, any>, at: string): Record<string, any> => {
  const shapes = (schema.anyOf ?? [schema]).filter((one: Schema) => one.type === 'object' && one.properties)
  return shapes.length === 1 ? fill(shapes[0], value, at) : value
}

const blank = (schema: Schema, at: string): unknown => {
  const parts: Schema[] = schema.anyOf ?? [schema]
  if (parts.some(part => part.type === 'null')) return null
  if (parts.some(part => part.type === 'array')) return []
  if (parts.some(part => part.type === 'boolean')) return false
  const [only] = parts
  if (parts.length === 1 && only!.enum?.length === 1) return only!.enum[0]
  if (parts.length === 1 && only!.type === 'object') return only!.properties ? fill(only!, {}, at) : {}
  throw new TypeError(`The stand-in left out ${at}`)
}

/**
 * Returns the position at which a value violates its schema, or null. Supports only the parts of JSON Schema that `schemas/generate.ts`
 * writes. Interprets the schemas, because compiling them takes longer than all checks of a test file.
 */
export const misfitOf = (schema: Schema, value: unknown, at = 'it'): string | null => {
  const {$ref, type, enum: values, anyOf, items} = schema
  if ($ref !== undefined) return misfitOf(objectSchema($ref), value, at)
  if (type !== undefined && !isOf[type]!(value)) return `${at} is no ${type}`
  if (values !== undefined && !values.includes(value)) return `${at} is none of ${values.join(', ')}`
  if (anyOf?.every((one: Schema) => misfitOf(one, value, at) !== null)) return `${at} is nothing it may be: ${JSON.stringify(value)}`
  if (Array.isArray(value)) return items === undefined ? null : first(value, (item, index) => misfitOf(items, item, `${at}[${index}]`))
  return isPlain(value) ? misfitIn(schema, value, at) : null
}

const isPlain = (value: unknown): value is Record<string, any> => typeof value === 'object' && value !== null && !Array.isArray(value)

const isOf: Record<string, (value: unknown) => boolean> = {
  null: value => value === null,
  string: value => typeof value === 'string',
  number: Number.isFinite,
  boolean: value => typeof value === 'boolean',
  array: Array.isArray,
  object: value => isPlain(value),
}

/** Checks the keys of an object. An undefined value counts as missing, but its key must be in the schema. */
const misfitIn = ({properties = {}, required = [], additionalProperties: others}: Schema, value: Record<string, unknown>, at: string) =>
  first(required as string[], key => (value[key] === undefined ? `${at} has no ${key}` : null)) ??
  first(Object.keys(value), key => {
    if (Object.hasOwn(properties, key)) return value[key] === undefined ? null : misfitOf(properties[key], value[key], `${at}.${key}`)
    if (others === false) return `${at} has a key ${key} too many`
    return others === undefined ? null : misfitOf(others, value[key], `${at}.${key}`)
  })

const first = <T>(all: T[], look: (one: T, index: number) => string | null): string | null =>
  all
    .values()
    .map(look)
    .find(found => found !== null) ?? null

/** Throws if an answer, or the object in an event, violates the provider's types. */
export const checkAnswer = (thing: any): void => {
  if (thing?.deleted === true) return
  if (thing?.object === 'list') return void thing.data.forEach(checkAnswer)
  const name = schemaNames[thing?.object]
  if (name === undefined) throw new TypeError(`An answer that is nothing known: ${JSON.stringify(thing).slice(0, 200)}`)
  const misfit = misfitOf(objectSchema(name), thing)
  if (misfit !== null) throw new TypeError(`${name}: ${misfit}`)
  if (thing.object === 'event') checkAnswer(thing.data.object)
}
