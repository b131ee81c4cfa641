import {BRIEF, counter, gauge, histogram} from './registry.ts'

const ended = counter({
  name: 'http_requests_total',
  help: 'Requests that are over, by the pattern of their route, the class of their status and the code of their refusal',
  labels: ['method', 'route', 'status', 'code'],
})
const seconds = histogram({
  name: 'http_request_seconds',
  help: 'How long requests took, to the last byte; streams of events as long as somebody listened',
  labels: ['method', 'route'],
  bounds: BRIEF,
})
const inFlight = gauge({name: 'http_requests_in_flight', help: 'Requests under way in this process, streams of events among them'})

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

type Ended = {method: string; route: string | null; status: number | null; code?: string | undefined; ms: number}

export const requestBegan = (): void => inFlight.inc()

/** `route`: the pattern, null for an address that is none. `status`: null where the client went before its answer. */
export const requestEnded = ({method: given, route: pattern, status, code = '', ms}: Ended): void => {
  const method = METHODS.includes(given) ? given : 'other'
  const route = pattern ?? 'none'
  inFlight.dec()
  ended.inc({method, route, status: status === null ? 'gone' : `${Math.floor(status / 100)}xx`, code})
  seconds.observe({method, route}, ms / 1000)
}
