import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import {listOrigins} from '../people/origins.ts'

type Allowed = Pick<Config, 'RETURN_ORIGINS' | 'PUBLIC_URL'>

const longest = 2000

/**
 * Where the provider sends a browser afterwards: an address at an origin that sessions may be handed to, or `fallback` at the first of them. Nothing
 * in it that another reader of addresses could take for another host: it begins with the origin letter for letter, and has no `@`, no
 * backslash, and printable ASCII alone.
 */
export const readReturnUrl = (config: Allowed, given: string | null | undefined, fallback: string): string => {
  const origins = listOrigins(config)
  if (given === null || given === undefined) return `${origins.at(1) ?? origins[0]!}${fallback}`
  const isPlain = given.length <= longest && /^[\x21-\x7e]+$/.test(given) && !/[@\\]/.test(given)
  if (isPlain && URL.canParse(given) && origins.some(origin => isAt(origin, given))) return given
  throw new Refusal(
    'RETURN_NOT_ALLOWED',
    'Browsers are not sent to this address: it begins with an origin of RETURN_ORIGINS or PUBLIC_URL, and has neither @ nor backslash',
  )
}

const isAt = (origin: string, url: string) => url === origin || ['/', '?', '#'].some(next => url.startsWith(`${origin}${next}`))
