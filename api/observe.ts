import type {IncomingMessage} from 'node:http'
import type {Context, Middleware} from 'koa'
import {newId} from '../shared/ids.ts'
import type {Log} from '../shared/log.ts'
import {requestBegan, requestEnded} from '../shared/metrics/requests.ts'
import {type Mark, traced, traceId} from '../shared/tracing.ts'

/** What the middlewares leave for each other, and for the log line. `route` is the pattern: a path may hold a customer's value. */
export type State = {
  request: string
  /** The `x-request-id` that the caller sent: never used as our own, so that no caller can choose what our records name. */
  callerRequest?: string | undefined
  route?: string
  caller?: NamedCaller
  code?: string
  trace?: string | undefined
  challenge?: string
}

/** The caller as a log line names it: by ids, never by name or e-mail address. */
export type NamedCaller = {
  via: string
  org?: string | null
  person?: string | null
  session?: string | null
  token?: string | null
  grant?: string | null
}

const lingerMs = 10_000

/** Names the request, sets what every answer carries, and writes one line about it when it is over. */
export const observe =
  (log: Log, draining: AbortSignal, headersOf: (path: string) => Record<string, string>): Middleware<State> =>
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
  const {request, callerRequest, route = null, caller, code, trace} = state as State
  const status = res.writableFinished ? answered : null
  requestEnded({method, route, status, code, ms})
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

/** By the pattern of the route: a path may hold a customer's value. */
const describeTo = (mark: Mark, {state, method, status}: Context) => {
  const {request, callerRequest, route, code} = state as State
  mark.rename(route ? `${method} ${route}` : method)
  mark.set({'http.request.method': method, 'http.response.status_code': status, 'lading.request': request})
  if (callerRequest) mark.set({'lading.caller_request': callerRequest})
  if (route) mark.set({'http.route': route})
  if (code) mark.set({'lading.code': code})
  if (status >= 500) mark.fail(code ?? String(status))
}

/** What is left of a refused upload is read for a while, so that its sender hears the refusal, and then no longer. */
const cutOff = (request: IncomingMessage) => {
  if (request.complete) return
  const timer = setTimeout(() => request.complete || request.destroy(), lingerMs).unref()
  request.once('close', () => clearTimeout(timer))
}
