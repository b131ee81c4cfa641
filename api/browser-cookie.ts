import {visitMinutes} from '../shared/accounts/sign-in.ts'
import type {Config} from '../shared/config.ts'

type CookieConfig = Pick<Config, 'PUBLIC_URL'>

/** Returns the browser's sign-in secret, or null if there is none. */
export const readBrowser = (config: CookieConfig, cookies: string | undefined): string | null => {
  const start = `${nameOf(config)}=`
  const found = (cookies ?? '').split(/; */).find(cookie => cookie.startsWith(start))
  const secret = found?.slice(start.length)
  return secret && /^[\w-]{43}$/.test(secret) ? secret : null
}

/** SameSite is Lax because the provider returns the browser by a cross-site link. */
export const keepBrowser = (config: CookieConfig, secret: string): string => {
  const parts = [`${nameOf(config)}=${secret}`, 'Path=/', `Max-Age=${visitMinutes * 60}`, 'HttpOnly', 'SameSite=Lax']
  return [...parts, ...(isSecure(config) ? ['Secure'] : [])].join('; ')
}

/** The `__Host-` prefix stops sibling domains from setting this cookie. Browsers accept the prefix over HTTPS only. */
const nameOf = (config: CookieConfig) => (isSecure(config) ? '__Host-lading-sign-in' : 'lading-sign-in')

const isSecure = ({PUBLIC_URL}: CookieConfig) => PUBLIC_URL.startsWith('https:')
