import type {Middleware} from 'koa'
import type {z} from 'zod'
import {CrmError, refusalOf} from '../shared/crm/error.ts'
import {Refusal} from '../shared/errors.ts'
import {isDiskFull, StorageFailed} from '../shared/storage/failed.ts'
import type {Log} from '../shared/telemetry/log.ts'
import {isOutage} from '../sql/outage.ts'

type Envelope = {status: number; body: object; headers?: Record<string, string>}

/** Turns errors into `{error, code?}` until the response begins. Unexpected errors are logged, and the response names only the request id. */
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
  if (error instanceof Refusal) return describeRefusal(error)
  if (error instanceof CrmError) return describeCrm(error)
  const outage = describeOutage(error)
  if (outage) return describe(outage, request)
  return describe(
    new Refusal('INTERNAL', `Something went wrong. If it happens again, contact support with the request id ${request}`, {request}),
    request,
  )
}

/** The API reference asks clients to obey `Retry-After` of UNAVAILABLE. If such a refusal names no wait, its wait is five seconds. */
const describeRefusal = ({code, status, extra, envelope}: Refusal): Envelope => {
  const retryAfterMs = extra.retryAfterMs ?? (code === 'UNAVAILABLE' ? 5_000 : undefined)
  return {status, body: {...envelope, retryAfterMs}, headers: retryAfter(retryAfterMs)}
}

/** Converts an outage of storage or the database to UNAVAILABLE. Returns null for any other error. */
const describeOutage = (error: unknown): Refusal | null => {
  if (isDiskFull(error) || (error instanceof StorageFailed && error.isFull))
    return unavailable('The file storage is full, so nothing was stored. Try again later', 60_000)
  if (error instanceof StorageFailed) return unavailable('The file storage is unavailable. Try again in a moment', 5_000)
  return isOutage(error) ? unavailable('The database is unavailable. Try again in a moment', 5_000) : null
}

const unavailable = (message: string, retryAfterMs: number) => new Refusal('UNAVAILABLE', message, {retryAfterMs})

export const invalid = ({issues}: z.ZodError) => new Refusal('INVALID', 'The request does not match its schema', {issues})

/**
 * Describes a CRM error. An exhausted daily quota is 429, without Retry-After if the CRM uses a rolling day. A missing scope is 409. Every other
 * error is 502, including the CRM's rate limit.
 */
const describeCrm = (error: CrmError): Envelope => {
  const {crm, renews, extra} = error
  const refusal = refusalOf(error)
  if (crm.quotaSpent) return {status: 429, body: refusal.envelope, headers: renews ? retryAfter(crm.retryAfterMs) : {}}
  return {status: refusal.status, body: refusal.envelope, headers: retryAfter(extra.retryAfterMs ?? crm.retryAfterMs)}
}

const retryAfter = (ms: unknown): Record<string, string> =>
  typeof ms === 'number' ? {'retry-after': String(Math.max(1, Math.ceil(ms / 1000)))} : {}
