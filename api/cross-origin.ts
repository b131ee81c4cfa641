import type {Middleware} from 'koa'
import {listOrigins} from '../shared/accounts/origins.ts'
import type {Config} from '../shared/config.ts'

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const ACCEPTED =
  'Authorization, Content-Digest, Content-Type, If-Match, If-None-Match, Last-Event-ID, Prefer, X-Request-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id'
const EXPOSED = 'Content-Disposition, ETag, Link, Location, Preference-Applied, Retry-After, WWW-Authenticate, X-Request-Id'
const rememberSeconds = '600'

/**
 * Allows the configured origins to call the API from a browser. Credentials are allowed only for the sign-in cookie. Other origins cannot use the
 * session cookie, because its CSRF header is not among the accepted headers.
 */
export const allowOrigins = (config: Pick<Config, 'RETURN_ORIGINS' | 'PUBLIC_URL'>): Middleware => {
  const allowed = new Set(listOrigins(config))
  return (ctx, next) => {
    ctx.vary('Origin')
    const origin = ctx.get('origin')
    const isPreflight = ctx.method === 'OPTIONS' && ctx.get('access-control-request-method') !== ''
    if (allowed.has(origin)) {
      ctx.set({'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true', 'access-control-expose-headers': EXPOSED})
      if (isPreflight) {
        ctx.set({
          'access-control-allow-methods': METHODS,
          'access-control-allow-headers': ACCEPTED,
          'access-control-max-age': rememberSeconds,
        })
      }
    }
    if (!isPreflight) return next()
    ctx.status = 204
  }
}
