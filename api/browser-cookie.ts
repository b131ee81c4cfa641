import {visitMinutes} from '../shared/accounts/sign-in.ts'
import {type CookieConfig, formatCookie, readCookie} from './cookie.ts'

const name = 'lading-sign-in'

/** Returns the browser's sign-in secret, or null if there is none or it is malformed. */
export const readBrowser = (config: CookieConfig, cookies: string | undefined): string | null => {
  const secret = readCookie(config, name, cookies)
  return secret && /^[\w-]{43}$/.test(secret) ? secret : null
}

export const keepBrowser = (config: CookieConfig, secret: string): string =>
  formatCookie(config, {name, value: secret, seconds: visitMinutes * 60})
