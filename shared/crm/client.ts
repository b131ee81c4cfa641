import {Agent, type Dispatcher, request} from 'undici'
import type {Config} from '../config.ts'
import type {Log} from '../telemetry/log.ts'
import {type CallOutcome, type CrmOperation, callEnded} from '../telemetry/metrics/crm.ts'
import {traced} from '../telemetry/tracing.ts'
import {startClock} from './deadline.ts'

export type Call = {
  operation: CrmOperation
  origin: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string>
  authorization?: string
  headers?: Record<string, string>
  body?: {type: string; text: string | Uint8Array}
  timeoutSeconds?: number
  signal?: AbortSignal | undefined
  /**
   * Receives the bytes of a file. Only an answer with status 200 that is not JSON is passed to this function. The call waits for the function and
   * throws its errors.
   */
  receive?: ((bytes: AsyncIterable<Uint8Array>) => Promise<unknown>) | undefined
  /** Called just before the request is written to its socket. If it returns false, nothing is sent. */
  mayLeave?: (() => boolean) | undefined
}

/** A complete answer. `json` is undefined if the body is empty or not JSON. */
export type CrmResponse = {
  status: number
  json: unknown
  retryAfterMs: number | null
  /** The remaining credits of the CRM's daily quota, from `X-API-CREDITS-REMAINING`. Null until half of the quota is used. */
  creditsRemaining: number | null
  /** The CRM's clock minus ours; null if the answer has no date. */
  clockOffsetMs: number | null
  isReceived?: true
}
/**
 * A call without a complete answer, after a network error, a time-out or the caller's abort. `lost`: the code or name of the error. `status` is set
 * if the headers arrived.
 */
export type NoResponse = {lost: string; status: number | null}

export type Client = {call(call: Call): Promise<CrmResponse | NoResponse>; close(): Promise<void>}

const connectSeconds = 5
/**
 * Idle sockets are closed after this time, before the CRM closes them. If the CRM closes a socket during a request, it is unknown whether the CRM
 * executed the request.
 */
const idleSeconds = 4
const longestAnswerBytes = 64 * 1024 ** 2
const longestFileBytes = 1024 ** 3
/** The maximum pause between two chunks of a file. */
const fileIdleSeconds = 60

/**
 * Sends each call over HTTP/1.1 at most once: undici's `request` follows no redirect, and the agent never retries. One time-out limits connecting,
 * headers and body together. Network failures are returned, never thrown; errors of `receive` are thrown.
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
  const files = new Agent({
    pipelining: 1,
    allowH2: false,
    connectTimeout: connectSeconds * 1000,
    headersTimeout: 0,
    bodyTimeout: fileIdleSeconds * 1000,
  })
  const call = (call: Call) =>
    traced(`crm ${call.operation}`, {kind: 'client'}, async mark => {
      const startedAt = performance.now()
      const answer = await send(call.receive ? files : agent, call, call.timeoutSeconds ?? config.CRM_TIMEOUT_SECONDS)
      const ms = performance.now() - startedAt
      const {method, path, operation} = call
      const outcome = classifyResponse(answer, call)
      callEnded({operation, outcome, ms})
      mark.set({'http.request.method': method, 'crm.outcome': outcome, ...(answer.status && {'http.response.status_code': answer.status})})
      if (outcome !== 'ok') mark.fail(outcome)
      log.debug({method, path, status: answer.status, ...('lost' in answer && {lost: answer.lost}), ms: Math.round(ms)}, 'crm')
      return answer
    })
  return {call, close: async () => void (await Promise.all([agent.destroy(), files.destroy()]))}
}

const classifyResponse = (answer: CrmResponse | NoResponse, {signal}: Call): CallOutcome => {
  if ('lost' in answer) return signal?.aborted || answer.lost === CANCELLED ? 'called_off' : 'no_answer'
  const {status} = answer
  if (status < 400) return 'ok'
  if (status >= 500) return 'server_error'
  return status === 429 ? 'rate_limited' : status === 401 ? 'unauthorised' : 'refused'
}

const CANCELLED = 'AbortError'

const send = async (
  agent: Agent,
  {origin, method, path, query, authorization, headers: given, body, signal, mayLeave, receive}: Call,
  seconds: number,
): Promise<CrmResponse | NoResponse> => {
  const clock = startClock(seconds, signal)
  const sentAt = Date.now()
  let status: number | null = null
  try {
    const response = await request(`${origin}${path}${query ? `?${new URLSearchParams(query)}` : ''}`, {
      dispatcher: mayLeave ? agent.compose(checkBeforeSend(mayLeave)) : agent,
      method,
      headers: {...given, ...(authorization && {authorization}), ...(body && {'content-type': body.type})},
      body: body?.text ?? null,
      signal: clock.signal,
    })
    status = response.statusCode
    // The headers are read first, because the time to read the body would distort `clockOffsetMs`.
    const headerFields = readHeaders(response.headers, sentAt)
    if (!receive || status !== 200 || isJson(response.headers)) return {status, json: parse(await response.body.text()), ...headerFields}
    await receiveFile(response.body, receive)
    return {status, json: undefined, isReceived: true, ...headerFields}
  } catch (error) {
    if (error instanceof ReceiverFailed) throw error.cause
    return {lost: nameOf(error), status}
  } finally {
    clock.stop()
  }
}

const isJson = (headers: Headers) => /\bjson\b/.test(first(headers['content-type']) ?? '')

/** An error of the file receiver, not of the network. */
class ReceiverFailed extends Error {}

const receiveFile = async (body: Dispatcher.ResponseData['body'], receive: NonNullable<Call['receive']>) => {
  let broken: {error: unknown} | null = null
  // If the receiver does not read the whole body, `destroy` emits an error, which has no other handler.
  body.on('error', () => {})
  const watched = async function* () {
    let bytes = 0
    try {
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        bytes += chunk.length
        if (bytes > longestFileBytes) throw new DOMException('The file is too large', 'QuotaExceededError')
        yield chunk
      }
    } catch (error) {
      broken = {error}
      throw error
    }
  }
  try {
    await receive(watched())
  } catch (error) {
    throw broken ? (broken as {error: unknown}).error : new ReceiverFailed('receiver', {cause: error})
  } finally {
    body.destroy()
  }
}

/** Calls `mayLeave` immediately before the request is written: connecting may take seconds, and the process may be suspended meanwhile. */
const checkBeforeSend =
  (mayLeave: () => boolean): Dispatcher.DispatcherComposeInterceptor =>
  dispatch =>
  (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        if (mayLeave()) handler.onRequestStart?.(controller, context)
        else controller.abort(new DOMException('The caller cancelled the call before it was sent', CANCELLED))
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

/**
 * The CRM's time has whole seconds and was read at an unknown moment between request and answer. So the offset is 0 if that time lies between the
 * two.
 */
const offsetOf = (date: number, sentAt: number) => {
  const now = Date.now()
  return date >= sentAt - 1_000 && date <= now ? 0 : date - now
}

const first = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)

const readCount = (text: string | undefined) => (text !== undefined && /^\s*-?\d+\s*$/.test(text) ? Number(text) : null)

/** Parses `Retry-After`: seconds or an HTTP date (RFC 9110, 10.2.3). Returns milliseconds, 0 for a time in the past; null if unreadable. */
export const readRetryAfter = (text: string | undefined, now = Date.now()): number | null => {
  if (text === undefined || text.trim() === '') return null
  const waitMs = /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(waitMs) ? null : Math.max(0, Math.ceil(waitMs))
}

/** Returns a code such as `ECONNREFUSED` or `TimeoutError`. Error messages are not logged, because they may contain request data. */
const nameOf = (error: unknown) => {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
