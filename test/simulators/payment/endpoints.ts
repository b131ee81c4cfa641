import type {Call} from './calls.ts'
import {complete} from './complete.ts'
import {apiVersion} from './events.ts'
import {matches} from './glob.ts'
import {secretOf} from './ids.ts'
import {mergeMetadata, orNull} from './metadata.ts'
import {page} from './paging.ts'
import {need} from './products.ts'
import {invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** An endpoint for events. Events have the form of its API version; there is one version here. */
export const createEndpoint = ({world, params}: Call): Thing => {
  const {url, enabled_events: events, api_version: version = apiVersion, description, metadata} = params
  if (version !== apiVersion) throw invalid(`Invalid Stripe API version: ${version}`, {param: 'api_version'})
  if (!URL.canParse(url)) throw invalid('Not a valid URL', {code: 'url_invalid', param: 'url'})
  if (!isLoopback(new URL(url).hostname)) throw new TypeError('The stand-in tells addresses of this machine only')
  return addEndpoint(world, {url, events, version, description, metadata})
}

const addEndpoint = (world: SimulatorState, {url, events, version, description, metadata}: Record<string, any>): Thing => {
  const id = world.newId('we')
  const secret = world.webhookSecret ?? secretOf(world.seed, id)
  const endpoint = complete('webhook_endpoint', {
    id,
    api_version: version,
    created: world.clock.now(),
    description: description ?? null,
    enabled_events: events,
    metadata: mergeMetadata({}, metadata),
    status: 'enabled',
    url,
  })
  world.store.put({id, object: '~secret', secret})
  world.store.put(endpoint)
  return {...endpoint, secret}
}

/** The API version of an endpoint cannot change; its secret is returned only at creation. */
export const updateEndpoint = ({world, params, ids}: Call): Thing => {
  const before = need(world, 'webhook_endpoint', ids[0]!)
  const {enabled_events: events = before.enabled_events, url = before.url, disabled, description, metadata} = params
  return world.store.put({
    ...before,
    enabled_events: events,
    url,
    status: disabled === undefined ? before.status : disabled ? 'disabled' : 'enabled',
    description: orNull(description, before.description),
    metadata: mergeMetadata(before.metadata, metadata),
  })
}

export const isLoopback = (host: string): boolean => /^(127\.\d+\.\d+\.\d+|\[?::1\]?|localhost)$/.test(host)

export const listEndpoints = (call: Call): any => page(call, call.world.store.all('webhook_endpoint'))

export const deleteEndpoint = ({world, ids}: Call): Thing => {
  need(world, 'webhook_endpoint', ids[0]!)
  world.store.drop('webhook_endpoint', ids[0]!)
  return {id: ids[0]!, object: 'webhook_endpoint', deleted: true}
}

const month = 30 * 24 * 3600

export const listEvents = (call: Call): any => {
  const {type, types} = call.params
  const wanted: string[] | undefined = types ?? (type === undefined ? undefined : [type])
  const since = call.world.clock.now() - month
  const isAsked = (one: Thing) => one.created >= since && (wanted === undefined || wanted.some(glob => matches(glob, one.type)))
  return page(call, call.world.store.all('event').filter(isAsked))
}
