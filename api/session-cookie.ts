import type {IncomingHttpHeaders} from 'node:http'
import {sessionHours} from '../shared/accounts/session.ts'
import {type CookieConfig, formatCookie, readCookie} from './cookie.ts'

const name = 'lading-session'

/**
 * The header that our own pages send. Pages of other origins cannot send it, because it requires a preflight, and no preflight response allows it.
 */
const csrfHeader = 'x-lading-csrf'

type CookieRequest = {method: string; headers: IncomingHttpHeaders}

/**
 * Returns the credentials of a request in the form of an `Authorization` header. The session cookie is used only without that header, and only in
 * requests of our own pages.
 */
export const readAuthorization = (config: CookieConfig, request: CookieRequest): string => {
  if (request.headers.authorization !== undefined) return request.headers.authorization
  const token = readSessionCookie(config, request.headers)
  return token !== null && isOwnPage(config, request) ? `Bearer ${token}` : ''
}

/** Whether the session cookie authenticated an admitted request. */
export const usesCookie = ({headers}: Pick<CookieRequest, 'headers'>): boolean => headers.authorization === undefined

/** Returns the token of the session cookie, or null. A cookie never contains an API token. */
export const readSessionCookie = (config: CookieConfig, headers: IncomingHttpHeaders): string | null => {
  const token = readCookie(config, name, headers.cookie)
  return token && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token : null
}

export const keepSession = (config: CookieConfig, token: string): string =>
  formatCookie(config, {name, value: token, seconds: sessionHours * 3600})

export const forgetSession = (config: CookieConfig): string => formatCookie(config, {name, value: '', seconds: 0})

/**
 * Whether a page of our own origin sent the request. The CSRF header is required. `Origin` and `Sec-Fetch-Site` must not contradict it, and a request
 * that may change something must have at least one of the two.
 */
const isOwnPage = ({PUBLIC_URL}: CookieConfig, {method, headers}: CookieRequest): boolean => {
  const {origin, 'sec-fetch-site': site} = headers
  if (headers[csrfHeader] !== '1') return false
  if (origin !== undefined && origin !== new URL(PUBLIC_URL).origin) return false
  if (site !== undefined && site !== 'same-origin') return false
  return method === 'GET' || method === 'HEAD' || origin !== undefined || site !== undefined
}
