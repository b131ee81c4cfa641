import type {IncomingMessage} from 'node:http'
import type {Context, Middleware} from 'koa'
import {newId} from '../shared/ids.ts'
import type {Log} from '../shared/telemetry/log.ts'
import {requestBegan, requestEnded} from '../shared/telemetry/metrics/requests.ts'
import {type TraceAttribute, traced, traceId} from '../shared/telemetry/tracing.ts'

/** State that the middlewares and the access log share. `route` is the pattern, because a path may contain customer data. */
export type RequestState = {
  request: string
  /** The caller's `x-request-id`. Never used as our own id, so that callers cannot choose the ids in our records. */
  callerRequest?: string | undefined
  route?: string
  caller?: NamedCaller
  code?: string
  trace?: string | undefined
  challenge?: string
}

/** The caller in the access log, by ids only: no name and no e-mail address. */
type NamedCaller = {
  via: string
  org?: string | null
  person?: string | null
  session?: string | null
  token?: string | null
  grant?: string | null
}

const lingerMs = 10_000

/** Assigns a request id, sets the common headers, and writes one log line when the response ends. */
export const observe =
  (log: Log, draining: AbortSignal, headersOf: (path: string) => Record<string, string>): Middleware<RequestState> =>
  async (ctx, next) => {
    const started = performance.now()
    requestBegan()
    ctx.state.callerRequest = /^[\w.:-]{1,64}$/.exec(ctx.get('x-request-id'))?.[0]
    ctx.state.request = newId('req')
    ctx.set({...headersOf(ctx.path), 'x-request-id': ctx.state.request})
    ctx.res.once('close', () => writeDown(ctx, log, performance.now() - started))
    ctx.res.once('finish', () => cutOff(ctx.req))
    await traced(ctx.method, {kind: 'server', parent: ctx.get('traceparent')}, async mark => {
      ctx.state.trace = traceId()
      await next()
      describeTo(mark, ctx)
    })
    if (draining.aborted) ctx.set('connection', 'close')
  }

const writeDown = ({state, method, ip, status: answered, res}: Context, log: Log, ms: number) => {
  const {request, callerRequest, route = null, caller, code, trace} = state as RequestState
  const status = res.writableFinished ? answered : null
  const isStream = String(res.getHeader('content-type')).startsWith('text/event-stream')
  requestEnded({method, route, status, code, ms, isStream})
  const given = {...(callerRequest && {callerRequest}), ...(code && {code}), ...(trace && {trace})}
  log.info({request, method, route, status, ms: Math.round(ms), ...given, ...idsOf(caller), address: ip}, 'request')
}

const idsOf = (caller: NamedCaller | undefined) => ({
  org: caller?.org ?? null,
  caller: caller?.via ?? null,
  personId: caller?.person ?? null,
  sessionId: caller?.session ?? null,
  tokenId: caller?.token ?? null,
  grantId: caller?.grant ?? null,
})

/** Names the span by the route pattern, because a path may contain customer data. */
const describeTo = (mark: TraceAttribute, {state, method, status}: Context) => {
  const {request, callerRequest, route, code} = state as RequestState
  mark.rename(route ? `${method} ${route}` : method)
  mark.set({'http.request.method': method, 'http.response.status_code': status, 'lading.request': request})
  if (callerRequest) mark.set({'lading.caller_request': callerRequest})
  if (route) mark.set({'http.route': route})
  if (code) mark.set({'lading.code': code})
  if (status >= 500) mark.fail(code ?? String(status))
}

/**
 * Disconnects 10 seconds after a response if the request is still incomplete. Until then the client can finish sending and read the response.
 */
const cutOff = (request: IncomingMessage) => {
  if (request.complete) return
  const timer = setTimeout(() => request.complete || request.destroy(), lingerMs).unref()
  request.once('close', () => clearTimeout(timer))
}
