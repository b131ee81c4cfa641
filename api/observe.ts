import type {IncomingMessage} from 'node:http'
import type {Context, Middleware} from 'koa'
import {newId} from '../shared/ids.ts'
import type {Log} from '../shared/log.ts'
import {requestBegan, requestEnded} from '../shared/metrics/requests.ts'
import {type Mark, traced, traceId} from '../shared/tracing.ts'

/** What the middlewares leave for each other, and for the log line. `route` is the pattern: a path may hold a customer's value. */
export type State = {
  request: string
  route?: string
  caller?: {via: string; org?: string | null}
  code?: string
  trace?: string | undefined
  challenge?: string
}

const lingerMs = 10_000

/** Names the request, sets what every answer carries, and writes one line about it when it is over. */
export const observe =
  (log: Log, draining: AbortSignal): Middleware<State> =>
  async (ctx, next) => {
    const started = performance.now()
    requestBegan()
    const [given] = /^[\w.:-]{1,64}$/.exec(ctx.get('x-request-id')) ?? []
    ctx.state.request = given ?? newId('req')
    ctx.set({
      'x-request-id': ctx.state.request,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    ctx.res.once('close', () => writeDown(ctx, log, performance.now() - started))
    ctx.res.once('finish', () => cutOff(ctx.req))
    await traced(ctx.method, {kind: 'server', parent: ctx.get('traceparent')}, async mark => {
      ctx.state.trace = traceId()
      await next()
      describeTo(mark, ctx)
    })
    if (draining.aborted) ctx.set('connection', 'close')
  }

const writeDown = ({state, method, status: answered, res}: Context, log: Log, ms: number) => {
  const {request, route = null, caller, code, trace} = state as State
  const status = res.writableFinished ? answered : null
  requestEnded({method, route, status, code, ms})
  const who = {org: caller?.org ?? null, caller: caller?.via ?? null}
  log.info({request, method, route, status, ...(code && {code}), ms: Math.round(ms), ...(trace && {trace}), ...who}, 'request')
}

/** By the pattern of the route: a path may hold a customer's value. */
const describeTo = (mark: Mark, {state, method, status}: Context) => {
  const {request, route, code} = state as State
  mark.rename(route ? `${method} ${route}` : method)
  mark.set({'http.request.method': method, 'http.response.status_code': status, 'lading.request': request})
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
