import type {Config} from '../shared/config.ts'
import {visitMinutes} from '../shared/people/sign-in.ts'

type Place = Pick<Config, 'PUBLIC_URL'>

/** The secret a browser carries from the beginning of a sign-in to its end; null when it carries none. */
export const readBrowser = (config: Place, cookies: string | undefined): string | null => {
  const start = `${nameOf(config)}=`
  const found = (cookies ?? '').split(/; */).find(cookie => cookie.startsWith(start))
  const secret = found?.slice(start.length)
  return secret && /^[\w-]{43}$/.test(secret) ? secret : null
}

/** Lax: the provider sends the browser back by a link of its own. */
export const keepBrowser = (config: Place, secret: string): string => {
  const parts = [`${nameOf(config)}=${secret}`, 'Path=/', `Max-Age=${visitMinutes * 60}`, 'HttpOnly', 'SameSite=Lax']
  return [...parts, ...(isSecure(config) ? ['Secure'] : [])].join('; ')
}

/** Under `__Host-` no neighbour domain can plant a secret it knows; browsers take that name over https only. */
const nameOf = (config: Place) => (isSecure(config) ? '__Host-lading-sign-in' : 'lading-sign-in')

const isSecure = ({PUBLIC_URL}: Place) => PUBLIC_URL.startsWith('https:')
