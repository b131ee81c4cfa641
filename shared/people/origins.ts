import type {Config} from '../config.ts'

type Allowed = Pick<Config, 'RETURN_ORIGINS' | 'PUBLIC_URL'>

/** The pages that may be handed a session and call the API from a browser: our own, and those the operator lists. Never a pattern. */
export const listOrigins = ({RETURN_ORIGINS, PUBLIC_URL}: Allowed): string[] =>
  [PUBLIC_URL, ...RETURN_ORIGINS].map(originOf).filter(origin => origin !== null)

/** The allowed origin a `return` stands for, ours when none is given; null for any other. */
export const findReturnOrigin = (config: Allowed, given: string | undefined): string | null => {
  const origin = originOf(given ?? config.PUBLIC_URL)
  return origin !== null && listOrigins(config).includes(origin) ? origin : null
}

/** Null also for `javascript:`, `data:` and their like, whose origin is the word "null". */
const originOf = (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : null
  return url && ['http:', 'https:'].includes(url.protocol) && !url.username && !url.password ? url.origin : null
}
