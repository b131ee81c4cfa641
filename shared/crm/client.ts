import {Agent, type Dispatcher, request} from 'undici'
import type {Config} from '../config.ts'
import type {Log} from '../log.ts'
import {type CallOutcome, callEnded, type Operation} from '../metrics/crm.ts'
import {traced} from '../tracing.ts'
import {startClock} from './deadline.ts'

export type Call = {
  /** What kind of call it is, for whoever counts them. */
  operation: Operation
  origin: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  path: string
  query?: Record<string, string>
  authorization?: string
  headers?: Record<string, string>
  body?: {type: 'application/json' | 'application/x-www-form-urlencoded'; text: string}
  timeoutSeconds?: number
  signal?: AbortSignal | undefined
  /** Asked as the request is about to be written to its socket: false, and nothing of it leaves. */
  mayLeave?: (() => boolean) | undefined
}

/** An answer read to its end. `json` is undefined where the body is empty or not JSON. */
export type Answer = {
  status: number
  json: unknown
  retryAfterMs: number | null
  /** Of the CRM's day, by `X-API-CREDITS-REMAINING`, which it sends once half of it is spent. */
  creditsRemaining: number | null
  clockOffsetMs: number | null
}
/** No answer, or half of one: the connection, the name, TLS, the reset, the time-out. `status` when headers had come. */
export type Silence = {lost: string; status: number | null}

export type Client = {call(call: Call): Promise<Answer | Silence>; close(): Promise<void>}

const connectSeconds = 5
/** A socket the CRM has just closed fails like a call it has done: idle ones are dropped before the CRM would. */
const idleSeconds = 4
const longestAnswerBytes = 64 * 1024 ** 2

/**
 * One call over HTTP/1.1, sent once and never again by itself: undici's `request` follows no redirect and this agent retries
 * nothing. One clock bounds connecting, headers and body together. Nothing is thrown for what the network did.
 */
export const openClient = ({config, log}: {config: Pick<Config, 'CRM_TIMEOUT_SECONDS'>; log: Log}): Client => {
  const agent = new Agent({
    pipelining: 1,
    allowH2: false,
    connectTimeout: connectSeconds * 1000,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: idleSeconds * 1000,
    keepAliveMaxTimeout: idleSeconds * 1000,
    maxResponseSize: longestAnswerBytes,
  })
  const call = (asked: Call) =>
    traced(`crm ${asked.operation}`, {kind: 'client'}, async mark => {
      const startedAt = performance.now()
      const answer = await send(agent, asked, asked.timeoutSeconds ?? config.CRM_TIMEOUT_SECONDS)
      const ms = performance.now() - startedAt
      const {method, path, operation} = asked
      const outcome = outcomeOf(answer, asked)
      callEnded({operation, outcome, ms})
      mark.set({'http.request.method': method, 'crm.outcome': outcome, ...(answer.status && {'http.response.status_code': answer.status})})
      if (outcome !== 'ok') mark.fail(outcome)
      log.debug({method, path, status: answer.status, ...('lost' in answer && {lost: answer.lost}), ms: Math.round(ms)}, 'crm')
      return answer
    })
  return {call, close: () => agent.destroy()}
}

const outcomeOf = (answer: Answer | Silence, {signal}: Call): CallOutcome => {
  if ('lost' in answer) return signal?.aborted || answer.lost === CALLED_OFF ? 'called_off' : 'no_answer'
  const {status} = answer
  if (status < 400) return 'ok'
  if (status >= 500) return 'server_error'
  return status === 429 ? 'rate_limited' : status === 401 ? 'unauthorised' : 'refused'
}

const CALLED_OFF = 'AbortError'

const send = async (
  agent: Agent,
  {origin, method, path, query, authorization, headers: given, body, signal, mayLeave}: Call,
  seconds: number,
): Promise<Answer | Silence> => {
  const clock = startClock(seconds, signal)
  const sentAt = Date.now()
  let status: number | null = null
  try {
    const response = await request(`${origin}${path}${query ? `?${new URLSearchParams(query)}` : ''}`, {
      dispatcher: mayLeave ? agent.compose(askBeforeLeaving(mayLeave)) : agent,
      method,
      headers: {...given, ...(authorization && {authorization}), ...(body && {'content-type': body.type})},
      body: body?.text ?? null,
      signal: clock.signal,
    })
    status = response.statusCode
    // Before the body, which may take its time: the clocks are compared now.
    const told = readHeaders(response.headers, sentAt)
    return {status, json: parse(await response.body.text()), ...told}
  } catch (error) {
    return {lost: nameOf(error), status}
  } finally {
    clock.stop()
  }
}

/** Connecting may take seconds, and a process may sleep: this is the last moment at which nothing has been sent. */
const askBeforeLeaving =
  (mayLeave: () => boolean): Dispatcher.DispatcherComposeInterceptor =>
  dispatch =>
  (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        if (mayLeave()) handler.onRequestStart?.(controller, context)
        else controller.abort(new DOMException('Called off before it was sent', CALLED_OFF))
      },
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    })

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type Headers = Record<string, string | string[] | undefined>

const readHeaders = (headers: Headers, sentAt: number) => {
  const date = Date.parse(first(headers.date) ?? '')
  return {
    retryAfterMs: readRetryAfter(first(headers['retry-after'])),
    creditsRemaining: readCount(first(headers['x-api-credits-remaining'])),
    clockOffsetMs: Number.isNaN(date) ? null : offsetOf(date, sentAt),
  }
}

/** The CRM told its time between request and answer. Clocks that agree at any moment of that time are one: the answer may have waited for us. */
const offsetOf = (date: number, sentAt: number) => {
  const now = Date.now()
  return date >= sentAt - 1_000 && date <= now ? 0 : date - now
}

const first = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)

const readCount = (text: string | undefined) => (text !== undefined && /^\s*-?\d+\s*$/.test(text) ? Number(text) : null)

/** Seconds or an HTTP date (RFC 9110, 10.2.3); a time already past is none to wait for. */
export const readRetryAfter = (text: string | undefined, now = Date.now()): number | null => {
  if (text === undefined || text.trim() === '') return null
  const waitMs = /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs)
}

/** A short word for the log: `ECONNREFUSED`, `UND_ERR_SOCKET`, `TimeoutError`. Messages may name what was sent. */
const nameOf = (error: unknown) => {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
