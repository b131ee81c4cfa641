import {isDeepStrictEqual} from 'node:util'
import {complete} from './complete.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

export const apiVersion = '2026-10-28.endive'

/** Records an event with the current state of the object, and sends it to endpoints. */
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

/** Adds an object and emits its event. */
export const add = (world: SimulatorState, thing: Thing, type?: string): Thing => {
  world.store.put(thing)
  if (type) emit(world, type, thing)
  return thing
}

/** Replaces an object and emits its event, unless nothing changed. */
export const change = (world: SimulatorState, thing: Thing, patch: Record<string, unknown>, type?: string): Thing => {
  const after = {...thing, ...patch}
  if (isDeepStrictEqual(after, thing)) return thing
  world.store.put(after)
  if (type) emit(world, type, after, type.endsWith('.updated') ? thing : undefined)
  return after
}

/** The earlier values of changed properties. Objects are compared deeply, lists as a whole. */
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
