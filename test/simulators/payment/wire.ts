import type {IncomingHttpHeaders, IncomingMessage} from 'node:http'
import type {Schema} from './schemas/generate.ts'
import type {Thing} from './store.ts'

export type Request = {method: string; path: string; query: string; headers: IncomingHttpHeaders; body: string}

const longestBody = 1024 * 1024

export const readRequest = async (incoming: IncomingMessage): Promise<Request> => {
  const [path = '/', ...query] = (incoming.url ?? '/').split('?')
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > longestBody) throw new TypeError('The body is too long')
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks).toString()
  return {method: incoming.method ?? 'GET', path, query: query.join('?'), headers: incoming.headers, body}
}

/** A parsed form before the schema gives types to its texts. */
type Raw = string | Raw[] | {[name: string]: Raw}

/** Parses a form such as `a[b][0][c]=x&expand[]=y`. Brackets nest; keys 0, 1, 2… make a list, and `[]` appends to one. */
export const readForm = (text: string): Record<string, Raw> => {
  const root: Branch = new Map()
  for (const [name, value] of new URLSearchParams(text)) place(root, pathOf(name), value)
  return listed(root) as Record<string, Raw>
}

type Branch = Map<string, Branch | string>

const pathOf = (name: string): string[] => {
  const [head = '', ...rest] = name.split('[')
  return [head, ...rest.map(part => part.replace(/\]$/, ''))]
}

const place = (branch: Branch, path: string[], value: string) => {
  const [first = '', ...rest] = path
  const name = first === '' ? String(branch.size) : first
  if (rest.length === 0) return void branch.set(name, value)
  const below = branch.get(name)
  const next: Branch = below instanceof Map ? below : new Map()
  branch.set(name, next)
  place(next, rest, value)
}

const listed = (branch: Branch): Raw => {
  const entries = [...branch].map(([name, value]) => [name, typeof value === 'string' ? value : listed(value)] as const)
  const isList = entries.length > 0 && entries.every(([name], index) => name === String(index))
  return isList ? entries.map(([, value]) => value) : Object.fromEntries(entries)
}

/** Converts a form by its schema: gives numbers and booleans their types, and refuses unknown keys. */
export const readParams = (schema: Schema, raw: Record<string, Raw>): Record<string, any> => {
  const read = take(schema, raw, '')
  if (read.refusal) throw read.refusal
  return read.value
}

type ReadParam = {value: any; refusal?: Refusal; depth?: number}

const take = (schema: Schema, raw: Raw, at: string): ReadParam => {
  if (schema.anyOf) return takeAny(schema.anyOf, raw, at)
  if (schema.enum) return schema.enum.includes(raw) ? {value: raw} : wrong(at, `Invalid ${at}: must be one of ${words(schema.enum)}`)
  if ('const' in schema) return String(schema.const) === raw ? {value: schema.const} : wrong(at, `Invalid ${at}`)
  switch (schema.type) {
    case 'string':
      return typeof raw === 'string' ? {value: raw} : wrong(at, `Invalid string: ${at}`)
    case 'number':
      if (typeof raw === 'string' && /^-?\d+(\.\d+)?$/.test(raw)) return {value: Number(raw)}
      return wrong(at, `Invalid integer: ${text(raw)}`, 'parameter_invalid_integer')
    case 'boolean':
      return raw === 'true' || raw === 'false' ? {value: raw === 'true'} : wrong(at, `Invalid boolean: ${text(raw)}`)
    case 'null':
      return raw === '' ? {value: null} : wrong(at, `Invalid ${at}`)
    case 'array':
      return takeList(schema.items, raw, at)
    case 'object':
      return takeObject(schema, raw, at)
    default:
      return {value: raw}
  }
}

const order = (schema: Schema) =>
  schema.enum || 'const' in schema ? 0 : ['null', 'string', 'number', 'boolean'].indexOf(schema.type) + 1 || 9

/** Reads a value of a union: tries constants, then texts, then numbers. If none fits, returns the most specific refusal. */
const takeAny = (schemas: Schema[], raw: Raw, at: string): ReadParam => {
  let deepest: ReadParam | null = null
  for (const schema of schemas.toSorted((a, b) => order(a) - order(b))) {
    const read = take(schema, raw, at)
    if (!read.refusal) return read
    if (!deepest || (read.depth ?? 0) > (deepest.depth ?? 0) || (schema.type === 'object' && typeof raw === 'object')) deepest = read
  }
  return deepest!
}

const takeList = (items: Schema, raw: Raw, at: string): ReadParam => {
  if (!Array.isArray(raw)) return wrong(at, 'Invalid array', 'parameter_invalid_empty')
  const reads = raw.map((one, index) => take(items, one, `${at}[${index}]`))
  return reads.find(read => read.refusal) ?? {value: reads.map(read => read.value)}
}

const takeObject = (schema: Schema, raw: Raw, at: string): ReadParam => {
  if (typeof raw === 'string') return wrong(at, 'Invalid object')
  const pathTo = (name: string) => (at === '' ? name : `${at}[${name}]`)
  const value: Record<string, any> = {}
  for (const [name, part] of Object.entries(raw)) {
    const own = schema.properties?.[name] ?? (schema.additionalProperties || undefined)
    if (!own) return wrong(pathTo(name), `Received unknown parameter: ${pathTo(name)}`, 'parameter_unknown')
    const read = take(own === true ? {} : own, part, pathTo(name))
    if (read.refusal) return read
    value[name] = read.value
  }
  const absent = (schema.required ?? []).find((name: string) => !(name in value))
  return absent === undefined ? {value} : wrong(pathTo(absent), `Missing required param: ${pathTo(absent)}.`, 'parameter_missing')
}

const words = (all: unknown[]) => (all.length > 12 ? `${all.slice(0, 12).join(', ')}…` : all.join(', '))
const text = (raw: Raw) => (typeof raw === 'string' ? raw : JSON.stringify(raw))
const wrong = (param: string, message: string, code?: string): ReadParam => ({
  value: undefined,
  refusal: invalid(message, {...(code ? {code} : {}), param}),
  depth: param.split('[').length,
})

/** Omits undefined values. */
export const definedOf = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {[K in keyof T]?: Exclude<T[K], undefined>}

/** Records which parameters a handler reads. An unread parameter is one that the stand-in does not support. */
export const watch = (given: Record<string, any>): {params: Record<string, any>; unread: () => string[]} => {
  const read = new Set<string>(['expand'])
  const params = new Proxy(given, {
    get: (target, name) => {
      read.add(String(name))
      return Reflect.get(target, name)
    },
  })
  return {params, unread: () => Object.keys(given).filter(name => !read.has(name))}
}

/** Throws if `given` has a key that `names` lacks. The error is not a refusal, so that an unsupported parameter never passes unnoticed. */
export const only = (given: object | undefined, names: string[], whole: string) => {
  const other = Object.keys(given ?? {}).find(name => !names.includes(name))
  if (other !== undefined) throw new TypeError(`The stand-in does not carry ${whole}[${other}]`)
}

export type Answer = {status: number; body?: unknown; text?: string; type?: string; headers?: Record<string, string>}

export const html = (text: string, status = 200): Answer => ({status, text, type: 'text/html; charset=utf-8'})

/** An error answer in the provider's envelope. `keep`: the earlier effects of the call stay. */
export class Refusal extends Error {
  status: number
  error: Record<string, unknown>
  keep: boolean
  constructor(status: number, error: {type: string; message: string; [name: string]: unknown}, {keep = false} = {}) {
    super(error.message)
    this.status = status
    this.error = error
    this.keep = keep
  }
}

export const invalid = (message: string, more: {param?: string; code?: string} = {}) =>
  new Refusal(400, {type: 'invalid_request_error', message, ...more})

export const missing = (object: string, id: string, param = 'id') =>
  new Refusal(404, {type: 'invalid_request_error', code: 'resource_missing', message: `No such ${nameOf(object)}: '${id}'`, param})

const nameOf = (object: string) => ({payment_method: 'PaymentMethod', subscription_item: 'subscription item'})[object] ?? object

/** The wording of https://github.com/stripe/stripe-node/issues/2246. */
export const forbidden = () =>
  new Refusal(403, {
    type: 'invalid_request_error',
    message: "The provided key 'rk_test_****' does not have the required permissions for this endpoint on account 'acct_stand_in'.",
  })

export const declined = (decline: Decline, more: {payment_intent?: Thing; payment_method?: Thing; charge?: string} = {}, keep = false) =>
  new Refusal(402, {type: 'card_error', ...declines[decline], ...more}, {keep})

export type Decline = keyof typeof declines

export const declines = {
  card_declined: {code: 'card_declined', decline_code: 'generic_decline', message: 'Your card was declined.'},
  insufficient_funds: {code: 'card_declined', decline_code: 'insufficient_funds', message: 'Your card has insufficient funds.'},
  expired_card: {code: 'expired_card', decline_code: 'expired_card', message: 'Your card has expired.'},
  authentication_required: {
    code: 'authentication_required',
    decline_code: 'authentication_required',
    message: 'Your card was declined. This transaction requires authentication.',
  },
  subscription_payment_intent_requires_action: {
    code: 'subscription_payment_intent_requires_action',
    message:
      'Payment for this subscription requires additional user action before it can be completed successfully. Payment can be completed using the PaymentIntent associated with `subscription.latest_invoice`.',
  },
} as const

/** Returns the refusal of an update or a new subscription that was not paid. */
export const refuseUnpaid = (failure: Decline | 'no card'): Refusal => {
  if (failure === 'no card') return noCard()
  return declined(failure === 'authentication_required' ? 'subscription_payment_intent_requires_action' : failure)
}

export const noCard = () =>
  new Refusal(400, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message:
      'This customer has no attached payment source or default payment method. Please consider adding a default payment method. For more information, visit https://stripe.com/docs/billing/payment-methods/setting#payment-method-priority.',
  })
