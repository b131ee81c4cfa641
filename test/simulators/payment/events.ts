import {isDeepStrictEqual} from 'node:util'
import {complete} from './complete.ts'
import type {Thing} from './store.ts'
import type {World} from './world.ts'

export const apiVersion = '2026-10-28.endive'

/** Notes that something happened, with the thing as it is at this moment, and sends it to whoever listens. */
export const emit = (world: World, type: string, thing: Thing, before?: Thing) => {
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

/** Puts a new thing there and says so. */
export const add = (world: World, thing: Thing, type?: string): Thing => {
  world.store.put(thing)
  if (type) emit(world, type, thing)
  return thing
}

/** Puts the changed thing in the place of the old one; nothing is said when nothing changed. */
export const change = (world: World, thing: Thing, patch: Record<string, unknown>, type?: string): Thing => {
  const after = {...thing, ...patch}
  if (isDeepStrictEqual(after, thing)) return thing
  world.store.put(after)
  if (type) emit(world, type, after, type.endsWith('.updated') ? thing : undefined)
  return after
}

/** Only what changed, as it was before. Objects are compared to their depth, lists as a whole. */
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
