import type {IncomingMessage} from 'node:http'
import type {Middleware} from 'koa'
import {newId} from '../shared/ids.ts'
import type {Log} from '../shared/log.ts'

/** What the middlewares leave for each other, and for the log line. `route` is the pattern: a path may hold a customer's value. */
export type State = {request: string; route?: string; caller?: {via: string; org?: string | null}; code?: string; challenge?: string}

const lingerMs = 10_000

/** Names the request, sets what every answer carries, and writes one line about it when it is over. */
export const observe =
  (log: Log, draining: AbortSignal): Middleware<State> =>
  async (ctx, next) => {
    const started = performance.now()
    const [given] = /^[\w.:-]{1,64}$/.exec(ctx.get('x-request-id')) ?? []
    ctx.state.request = given ?? newId('req')
    ctx.set({
      'x-request-id': ctx.state.request,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    ctx.res.once('close', () => {
      const {request, route = null, caller, code} = ctx.state
      const ms = Math.round(performance.now() - started)
      const gone = !ctx.res.writableFinished
      log.info(
        {
          request,
          method: ctx.method,
          route,
          status: gone ? null : ctx.status,
          ...(code && {code}),
          ms,
          org: caller?.org ?? null,
          caller: caller?.via ?? null,
        },
        'request',
      )
    })
    ctx.res.once('finish', () => cutOff(ctx.req))
    await next()
    if (draining.aborted) ctx.set('connection', 'close')
  }

/** What is left of a refused upload is read for a while, so that its sender hears the refusal, and then no longer. */
const cutOff = (request: IncomingMessage) => {
  if (request.complete) return
  const timer = setTimeout(() => request.complete || request.destroy(), lingerMs).unref()
  request.once('close', () => clearTimeout(timer))
}
