import {createHmac} from 'node:crypto'
import {setTimeout as wait} from 'node:timers/promises'
import type {Call} from './calls.ts'
import {matches} from './faults.ts'
import {apiVersion, create, listOf, mergeMetadata, need, orNull} from './objects.ts'
import type {SimulatorState} from './state.ts'
import {secretOf, type Thing} from './store.ts'
import {invalid} from './wire.ts'

/** One delivery attempt. `status` is null if the endpoint did not answer. */
export type Try = {at: number; event: string; type: string; endpoint: string; status: number | null; answer: string}

const hour = 3600
/** The seconds between attempts. The last attempt is about 3 days after the first. */
const backoff = [5 * 60, 30 * 60, 2 * hour, 5 * hour, 10 * hour, 12 * hour, 12 * hour, 12 * hour, 18.5 * hour]
const answerMs = 10_000

/**
 * Plans deliveries of new events to every subscribed endpoint, as the traffic rules say. Events of calls that were rolled back are not
 * stored.
 */
const planDeliveries = (world: SimulatorState) => {
  for (const {id} of world.store.all('~fresh')) {
    world.store.drop('~fresh', id)
    const event = world.store.get('event', id)!
    for (const endpoint of world.store.all('webhook_endpoint').filter(one => isWanted(one, event.type))) planOne(world, event, endpoint)
  }
}

const planOne = (world: SimulatorState, event: Thing, endpoint: Thing) => {
  const action = world.traffic.take(event.type)
  if (action === 'drop') return
  plan(world, event, endpoint, {isDuring: action === 'during', delay: typeof action === 'object' && action ? action.delay : 0})
  if (action === 'duplicate') plan(world, event, endpoint)
  if (action === 'duplicate-with-new-id') plan(world, world.store.put({...event, id: world.newId('evt')}), endpoint)
}

const isWanted = ({status, enabled_events: wanted}: Thing, type: string) =>
  status === 'enabled' && wanted.some((glob: string) => glob === '*' || matches(glob, type))

const plan = (world: SimulatorState, event: Thing, endpoint: Thing, {isDuring = false, delay = 0} = {}) => {
  world.store.put({...event, pending_webhooks: (world.store.get('event', event.id)?.pending_webhooks ?? 0) + 1})
  const id = world.newId('whd')
  const due = world.clock.now() + delay
  world.store.put({id, object: '~delivery', event: event.id, endpoint: endpoint.id, due, tries: 0, isDuring, isOut: false})
  if (delay > 0) world.clock.plan(`delivery:${id}`, due)
}

/** Lists the deliveries that are due now, in sending order. */
const leaving = (world: SimulatorState, onlyDuring: boolean) =>
  world.traffic.order(
    world.store.all('~delivery').filter(one => !one.isOut && one.due <= world.clock.now() && (!onlyDuring || one.isDuring)),
  )

/** Sends due deliveries until none is due. Throws after 100 rounds. */
export const sendDue = async (world: SimulatorState, {onlyDuring = false} = {}): Promise<void> => {
  for (let round = 0; round < 100; round += 1) {
    planDeliveries(world)
    const due = world.traffic.isPaused() ? [] : leaving(world, onlyDuring)
    if (due.length === 0) return
    if (world.traffic.isTogether()) await Promise.all(due.map(delivery => send(world, delivery)))
    else for (const delivery of due) await send(world, delivery)
  }
  throw new Error('Deliveries cause deliveries without an end')
}

export const settle = async (world: SimulatorState): Promise<void> => {
  await sendDue(world)
  while (world.store.all('~delivery').some(delivery => delivery.isOut)) await new Promise(resolve => setImmediate(resolve))
}

const send = async (world: SimulatorState, delivery: Thing) => {
  const event = world.store.get('event', delivery.event)
  const endpoint = world.store.get('webhook_endpoint', delivery.endpoint)
  if (!event || !endpoint || world.store.get('~delivery', delivery.id)?.isOut !== false) return
  world.store.put({...delivery, isOut: true})
  const {status, answer} = await post(endpoint.url, event, world.store.get('~secret', endpoint.id)!.secret, world.signedAt())
  world.store.put({
    id: world.newId('whtry'),
    object: '~try',
    ...({at: world.clock.now(), event: event.id, type: event.type, endpoint: endpoint.id, status, answer} satisfies Try),
  })
  const tries = delivery.tries + 1
  const isTaken = status !== null && status >= 200 && status < 300
  const pause = backoff[tries - 1]
  if (isTaken || pause === undefined) {
    world.store.drop('~delivery', delivery.id)
    const now = world.store.get('event', event.id)!
    if (isTaken) world.store.put({...now, pending_webhooks: now.pending_webhooks - 1})
    return
  }
  const due = world.clock.now() + pause
  world.store.put({...delivery, tries, due, isDuring: false, isOut: false})
  world.clock.plan(`delivery:${delivery.id}`, due)
}

const post = async (url: string, event: Thing, secret: string, at: number): Promise<{status: number | null; answer: string}> => {
  const body = JSON.stringify(event, null, 2)
  const ended = new AbortController()
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'Stripe/1.0',
    'stripe-signature': sign(body, secret, at),
  }
  try {
    const answered = fetch(url, {method: 'POST', headers, body, signal: ended.signal, redirect: 'manual'})
    const late = wait(answerMs, null, {ref: false, signal: ended.signal}).catch(() => null)
    const response = await Promise.race([answered, late])
    if (!response) return {status: null, answer: 'no answer in time'}
    return {status: response.status, answer: (await response.text()).slice(0, 2000)}
  } catch (error) {
    return {status: null, answer: String(error)}
  } finally {
    ended.abort()
  }
}

/** Signs a body: `t` and the HMAC-SHA256 of `t.body`. */
export const sign = (body: string, secret: string, at: number): string =>
  `t=${at},v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`

/** Creates an endpoint for events. Events have the form of its API version; this stand-in has one version. */
export const createEndpoint = ({world, params}: Call): Thing => {
  const {url, enabled_events, api_version = apiVersion, description = null, metadata} = params
  if (api_version !== apiVersion) throw invalid(`Invalid Stripe API version: ${api_version}`, {param: 'api_version'})
  if (!URL.canParse(url)) throw invalid('Not a valid URL', {code: 'url_invalid', param: 'url'})
  if (!isLoopback(new URL(url).hostname)) throw new TypeError('The stand-in sends to addresses of this machine only')
  const id = world.newId('we')
  const secret = world.webhookSecret ?? secretOf(world.seed, id)
  const fields = {api_version, description, enabled_events, metadata: mergeMetadata({}, metadata), status: 'enabled', url}
  world.store.put({id, object: '~secret', secret})
  return {...create(world, 'webhook_endpoint', id, fields), secret}
}

/** Updates an endpoint. Its API version cannot change, and only the creation returns its secret. */
export const updateEndpoint = ({world, params, ids}: Call): Thing => {
  const before = need(world, 'webhook_endpoint', ids[0]!)
  const {enabled_events = before.enabled_events, url = before.url, disabled, description, metadata} = params
  return world.store.put({
    ...before,
    enabled_events,
    url,
    status: disabled === undefined ? before.status : disabled ? 'disabled' : 'enabled',
    description: orNull(description, before.description),
    metadata: mergeMetadata(before.metadata, metadata),
  })
}

export const isLoopback = (host: string): boolean => /^(127\.\d+\.\d+\.\d+|\[?::1\]?|localhost)$/.test(host)

export const deleteEndpoint = ({world, ids}: Call): Thing => {
  need(world, 'webhook_endpoint', ids[0]!)
  world.store.drop('webhook_endpoint', ids[0]!)
  return {id: ids[0]!, object: 'webhook_endpoint', deleted: true}
}

const month = 30 * 24 * 3600

export const listEvents = (call: Call): any => {
  const since = call.world.clock.now() - month
  const test = ({type = '**', types = [type]}: Call['params']) => {
    return (event: Thing) => event.created >= since && types.some((glob: string) => matches(glob, event.type))
  }
  return listOf('event', [], test)(call)
}
