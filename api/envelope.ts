import type {Middleware} from 'koa'
import type {z} from 'zod'
import {CrmError} from '../shared/crm/error.ts'
import {Refusal} from '../shared/errors.ts'
import type {Log} from '../shared/log.ts'
import {isDiskFull, StorageFailed} from '../shared/storage-failed.ts'
import {isOutage} from '../sql/outage.ts'

type Envelope = {status: number; body: object; headers?: Record<string, string>}

/** Every failure becomes `{error, code?}`. What nobody foresaw is logged, and told only by the request's id. */
export const envelope =
  (log: Log): Middleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      if (ctx.res.headersSent) throw error
      const {status, body, headers = {}} = describe(error, ctx.state.request)
      if (status === 401) ctx.set('www-authenticate', ctx.state.challenge ?? 'Bearer')
      if (status >= 500 && !(error instanceof Refusal && !error.cause))
        log.error({err: error, request: ctx.state.request}, 'request failed')
      ctx.state.code = 'code' in body ? body.code : undefined
      ctx.status = status
      ctx.set({'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers})
      ctx.body = JSON.stringify(body)
    }
  }

const describe = (error: unknown, request: string): Envelope => {
  if (error instanceof Refusal) return {status: error.status, body: error.envelope, headers: retryAfter(error.extra.retryAfterMs)}
  if (error instanceof CrmError) return describeCrm(error)
  const outage = tellOutage(error)
  if (outage) return describe(outage, request)
  return describe(new Refusal('INTERNAL', `Something went wrong here. Support finds it by the request ${request}`, {request}), request)
}

/** What this service stands on and has not got just now. */
const tellOutage = (error: unknown): Refusal | null => {
  if (isDiskFull(error) || (error instanceof StorageFailed && error.isFull))
    return unavailable('There is no room left where files are kept, and nothing of this was: ask again later', 60_000)
  if (error instanceof StorageFailed) return unavailable('Where files are kept cannot be reached just now: ask again', 5_000)
  return isOutage(error) ? unavailable('The database cannot be reached just now', 5_000) : null
}

const unavailable = (message: string, retryAfterMs: number) => new Refusal('UNAVAILABLE', message, {retryAfterMs})

export const invalid = ({issues}: z.ZodError) => new Refusal('INVALID', 'The request does not match its schema', {issues})

/**
 * A refusal the CRM made. Its daily allowance is 429 and names no time where its day is rolling; all else, its own rate limit too, is 502.
 */
const describeCrm = ({message, crm, renews, extra}: CrmError): Envelope => {
  const refusal = new Refusal('CRM_REFUSED', message, {crm, ...extra})
  if (crm.quotaSpent) return {status: 429, body: refusal.envelope, headers: renews ? retryAfter(crm.retryAfterMs) : {}}
  return {status: refusal.status, body: refusal.envelope, headers: retryAfter(crm.retryAfterMs)}
}

const retryAfter = (ms: unknown): Record<string, string> =>
  typeof ms === 'number' ? {'retry-after': String(Math.max(1, Math.ceil(ms / 1000)))} : {}
