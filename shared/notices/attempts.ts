/** Seconds from one attempt to the next, as Standard Webhooks 1.0.0 recommends: ten attempts in three days and a few hours. */
const toPost = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
/** A mail server that is away comes back within a day, and nobody wants yesterday's mail. */
const toMail = [300, 1_800, 7_200, 18_000]

/** No receiver is waited for longer, whatever it asks for. */
const longestWaitSeconds = 86_400
/** Added by chance, as a share of the wait, so that what failed together does not come back together. */
const jitter = 0.1
/** Between two things told to a receiver that says it is overloaded and not for how long. */
const restSeconds = 30

/** How long after the `attempt`th (from 1) the next one comes; null after the last. A receiver that says when to come again is heard. */
export const waitAfter = (kind: 'post' | 'mail', attempt: number, retryAfterSeconds = 0): number | null => {
  const wait = (kind === 'post' ? toPost : toMail)[attempt - 1]
  if (wait === undefined) return null
  return Math.max(wait * (1 + jitter * Math.random()), Math.min(retryAfterSeconds, longestWaitSeconds))
}

/** How long the whole endpoint is left alone after this answer, also by what else it is to be told. */
export const restAfter = (status: number | null, retryAfterSeconds: number): number =>
  status !== null && isOverloaded(status) ? Math.min(retryAfterSeconds || restSeconds, longestWaitSeconds) : 0

const isOverloaded = (status: number) => status === 429 || (status >= 502 && status <= 504)

/** `Retry-After` in seconds or as a date (RFC 9110, 10.2.3), of the answers that may say so; 0 without one that can be read. */
export const readRetryAfter = (status: number, given: string | undefined, now: number = Date.now()): number => {
  if (given === undefined || (status !== 429 && status !== 503)) return 0
  if (/^\d{1,9}$/.test(given.trim())) return Number(given)
  const at = Date.parse(given)
  return Number.isNaN(at) ? 0 : Math.max(0, (at - now) / 1000)
}
