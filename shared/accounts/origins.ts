import type {Config} from '../config.ts'

type OriginsConfig = Pick<Config, 'RETURN_ORIGINS' | 'PUBLIC_URL'>

/**
 * Returns the origins that may receive a session and call the API from a browser: our own and those of RETURN_ORIGINS. Patterns are not
 * supported.
 */
export const listOrigins = ({RETURN_ORIGINS, PUBLIC_URL}: OriginsConfig): string[] =>
  [PUBLIC_URL, ...RETURN_ORIGINS].map(originOf).filter(origin => origin !== null)

export const findReturnOrigin = (config: OriginsConfig, given: string | undefined): string | null => {
  const origin = originOf(given ?? config.PUBLIC_URL)
  return origin !== null && listOrigins(config).includes(origin) ? origin : null
}

/**
 * Returns the origin of an HTTP URL without credentials, or null. `javascript:`, `data:` and similar URLs are refused: their origin is the text
 * "null".
 */
export const originOf = (text: string): string | null => {
  const url = URL.canParse(text) ? new URL(text) : null
  return url && ['http:', 'https:'].includes(url.protocol) && !url.username && !url.password ? url.origin : null
}
