import {isDeepStrictEqual} from 'node:util'
import type {Call} from './calls.ts'
import {complete} from './schemas.ts'
import type {SimulatorState} from './state.ts'
import type {Thing} from './store.ts'
import {invalid, missing} from './wire.ts'

export const apiVersion = '2026-10-28.endive'

/** Records an event with the current state of the object. It is sent to endpoints with the next deliveries. */
export const emit = (world: SimulatorState, type: string, thing: Thing, before?: Thing) => {
  const event = complete('event', {
    id: world.newId('evt'),
    api_version: apiVersion,
    created: world.clock.now(),
    type,
    data: {object: thing, ...(before ? {previous_attributes: previous(before, thing)} : {})},
    request: {id: world.cause?.id ?? null, idempotency_key: world.cause?.key ?? null},
    pending_webhooks: 0,
  })
  world.store.put(event)
  world.store.put({id: event.id, object: '~fresh'})
}

/** Creates an object with the current time, completed by its schema. Emits an event if one is given. */
export const create = (world: SimulatorState, object: string, id: string, fields: Record<string, unknown>, event?: string): Thing => {
  const thing = world.store.put(complete(object, {id, created: world.clock.now(), ...fields}))
  if (event) emit(world, event, thing)
  return thing
}

/** Changes an object. Emits an event if one is given. Does nothing if no value differs. */
export const change = (world: SimulatorState, thing: Thing, patch: Record<string, unknown>, type?: string): Thing => {
  const after = {...thing, ...patch}
  if (isDeepStrictEqual(after, thing)) return thing
  world.store.put(after)
  if (type) emit(world, type, after, type.endsWith('.updated') ? thing : undefined)
  return after
}

/** Returns the earlier values of changed properties. Compares objects deeply, and lists as a whole. */
const previous = (before: Record<string, any>, after: Record<string, any>): Record<string, unknown> => {
  const changed: Record<string, unknown> = {}
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[name] ?? null, after[name] ?? null]
    if (isDeepStrictEqual(was, is)) continue
    const isNested = [was, is].every(value => typeof value === 'object' && value !== null && !Array.isArray(value))
    changed[name] = isNested ? previous(was, is) : was
  }
  return changed
}

export const need = (world: SimulatorState, object: string, id: string, param = 'id'): Thing => {
  const found = world.store.get(object, id)
  if (!found) throw missing(object, id, param)
  return found
}

/** Merges metadata. An empty value removes its key; '' instead of an object removes all keys. */
export const mergeMetadata = (before: Record<string, string> | null, given: Record<string, string> | '' | undefined) => {
  if (given === undefined) return before ?? {}
  if (given === '') return {}
  return Object.fromEntries(Object.entries({...before, ...given}).filter(([, value]) => value !== '' && value !== null))
}

/** Returns the given text. An empty text becomes null; without a text, the earlier value stays. */
export const orNull = <T>(given: T | '' | undefined, before: T | null = null): T | null =>
  given === undefined ? before : given === '' ? null : given

/** Replaces ids in the answer by their objects, as far as `expand` names them. */
export const expand = (world: SimulatorState, answer: Thing, paths: string[]): Thing => {
  let expanded: any = answer
  for (const path of paths) {
    if (path.split('.').length > 5) throw invalid(`You can only expand up to 4 levels of properties: ${path}`, {param: 'expand'})
    expanded = expandPath(world, expanded, path.split('.'), path)
  }
  return expanded
}

const expandPath = (world: SimulatorState, value: any, names: string[], path: string): any => {
  if (typeof value === 'string') return expandPath(world, world.store.find(value), names, path) ?? value
  const [name, ...rest] = names
  if (name === undefined || value === null || value === undefined) return value
  if (Array.isArray(value)) return value.map(one => expandPath(world, one, names, path))
  const own = value[name] === undefined ? includable(world, value, name) : value[name]
  if (own === undefined) throw invalid(`This property cannot be expanded (${path}).`, {param: 'expand'})
  return {...value, [name]: Array.isArray(own) ? own.map(one => expandPath(world, one, rest, path)) : expandPath(world, own, rest, path)}
}

/** Returns a list that an answer contains only if `expand` names it. */
const includable = (world: SimulatorState, thing: Thing, name: string): Thing | undefined => {
  if (thing.object === 'checkout.session' && name === 'line_items') return world.store.get('~checkout', thing.id)?.line_items
  if (thing.object !== 'invoice' || name !== 'payments') return undefined
  const payments = world.store.all('invoice_payment').filter(payment => payment.invoice === thing.id)
  return list(payments, `/v1/invoice_payments?invoice=${thing.id}`)
}

/** Creates a handler that lists the objects of a kind. `names`: parameters that must equal the property of the same name. */
export const listOf =
  (object: string, names: string[], testOf: (params: Call['params']) => (thing: Thing) => boolean = () => () => true) =>
  (call: Call): any => {
    const wanted = names.map(name => [name, call.params[name]]).filter(([, value]) => value !== undefined)
    const passes = testOf(call.params)
    const fits = (thing: Thing) => passes(thing) && wanted.every(([name, value]) => thing[name] === value)
    return page(call, call.world.store.all(object).filter(fits))
  }

export const list = (data: unknown[], url: string, more = false): any => ({object: 'list', data, has_more: more, url})

/** Returns a page of things, newest first: after `starting_after` or before `ending_before`, up to `limit`. `created` is a time or a range. */
export const page = ({params, path}: Call, things: Thing[]): any => {
  const {limit = 10, starting_after: after, ending_before: before, created} = params
  const newest = things.filter(thing => isCreatedIn(created, thing.created)).toReversed()
  const size = Math.min(Math.max(limit, 1), 100)
  if (before !== undefined) {
    const end = indexOf(newest, before, 'ending_before')
    const start = Math.max(0, end - size)
    return list(newest.slice(start, end), path, start > 0)
  }
  const start = after === undefined ? 0 : indexOf(newest, after, 'starting_after') + 1
  return list(newest.slice(start, start + size), path, newest.length > start + size)
}

const indexOf = (things: Thing[], id: string, param: string) => {
  const index = things.findIndex(thing => thing.id === id)
  if (index === -1) throw missing(things[0]?.object ?? 'object', id, param)
  return index
}

const isCreatedIn = (range: any, at: number): boolean => {
  if (range === undefined) return true
  if (typeof range === 'number') return at === range
  const {gt = -1, gte = 0, lt = Number.POSITIVE_INFINITY, lte = lt} = range
  return at > gt && at >= gte && at < lt && at <= lte
}
