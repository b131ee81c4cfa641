import {BRIEF, counter, gauge, histogram} from './registry.ts'

const ended = counter({
  name: 'http_requests_total',
  help: 'Completed requests, by route pattern, status class and error code',
  labels: ['method', 'route', 'status', 'code'],
})
const seconds = histogram({
  name: 'http_request_seconds',
  help: 'Duration of requests up to the last byte, without event streams',
  labels: ['method', 'route'],
  bounds: BRIEF,
})
const inFlight = gauge({name: 'http_requests_in_flight', help: 'Active requests of this process, including event streams'})

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

type EndedRequest = {method: string; route: string | null; status: number | null; code?: string | undefined; ms: number; isStream: boolean}

export const requestBegan = (): void => inFlight.inc()

/**
 * Counts an ended request. `route`: the pattern; null if no route matches. `status`: null if the client disconnected before the answer. `isStream`:
 * the answer was an event stream, which lasts as long as the client stays.
 */
export const requestEnded = ({method: given, route: pattern, status, code = '', ms, isStream}: EndedRequest): void => {
  const method = METHODS.includes(given) ? given : 'other'
  const route = pattern ?? 'none'
  inFlight.dec()
  ended.inc({method, route, status: status === null ? 'gone' : `${Math.floor(status / 100)}xx`, code})
  if (!isStream) seconds.observe({method, route}, ms / 1000)
}
