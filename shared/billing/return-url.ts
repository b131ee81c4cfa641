import {listOrigins} from '../accounts/origins.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'

type ReturnUrlConfig = Pick<Config, 'RETURN_ORIGINS' | 'PUBLIC_URL'>

const longest = 2000

/**
 * Returns the URL to which the provider sends the browser. Without `given`, returns `fallback` at the first of RETURN_ORIGINS, or else at PUBLIC_URL.
 * Throws RETURN_NOT_ALLOWED unless the origin is allowed. The URL must begin with the origin literally, be printable ASCII of at most 2,000
 * characters, and contain no `@` or backslash. These rules exclude URLs in which two URL parsers could read different hosts.
 */
export const readReturnUrl = (config: ReturnUrlConfig, given: string | null | undefined, fallback: string): string => {
  const origins = listOrigins(config)
  if (given === null || given === undefined) return `${origins.at(1) ?? origins[0]!}${fallback}`
  const isPlain = given.length <= longest && /^[\x21-\x7e]+$/.test(given) && !/[@\\]/.test(given)
  if (isPlain && URL.canParse(given) && origins.some(origin => isAt(origin, given))) return given
  throw new Refusal(
    'RETURN_NOT_ALLOWED',
    'This return URL is not allowed. It must begin with an origin of RETURN_ORIGINS or PUBLIC_URL and contain neither @ nor backslash',
  )
}

const isAt = (origin: string, url: string) => url === origin || ['/', '?', '#'].some(next => url.startsWith(`${origin}${next}`))
