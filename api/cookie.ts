import type {Config} from '../shared/config.ts'

export type CookieConfig = Pick<Config, 'PUBLIC_URL'>

export const readCookie = (config: CookieConfig, name: string, cookies: string | undefined): string | null => {
  const start = `${nameOf(config, name)}=`
  const found = (cookies ?? '').split(/; */).find(cookie => cookie.startsWith(start))
  return found?.slice(start.length) ?? null
}

type CookieInput = {name: string; value: string; seconds: number}

/** Formats a `Set-Cookie` value. SameSite is Lax because the provider returns the browser by a cross-site link. */
export const formatCookie = (config: CookieConfig, {name, value, seconds}: CookieInput): string => {
  const parts = [`${nameOf(config, name)}=${value}`, 'Path=/', `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Lax']
  return [...parts, ...(isSecure(config) ? ['Secure'] : [])].join('; ')
}

/** The `__Host-` prefix stops sibling domains from setting the cookie. Browsers accept the prefix over HTTPS only. */
const nameOf = (config: CookieConfig, name: string) => (isSecure(config) ? `__Host-${name}` : name)

const isSecure = ({PUBLIC_URL}: CookieConfig) => PUBLIC_URL.startsWith('https:')
