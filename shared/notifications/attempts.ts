/** The seconds between attempts of a webhook, as Standard Webhooks 1.0.0 recommends: ten attempts in three days and a few hours. */
const toPost = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
/** The seconds between attempts of a mail. The attempts end within a day, because an older notice is of no use. */
const toMail = [300, 1_800, 7_200, 18_000]

/** The longest wait that a receiver can request. */
const longestWaitSeconds = 86_400
/** The largest random share that is added to a wait, so that deliveries that failed together are not repeated together. */
const jitter = 0.1
/** The pause for an overloaded receiver that names no time. */
const restSeconds = 30

/**
 * Returns the seconds to wait after attempt number `attempt`, counted from 1; null after the last attempt. A longer wait that the receiver requests
 * is respected, up to a day.
 */
export const waitAfter = (kind: 'post' | 'mail', attempt: number, retryAfterSeconds = 0): number | null => {
  const wait = (kind === 'post' ? toPost : toMail)[attempt - 1]
  if (wait === undefined) return null
  return Math.max(wait * (1 + jitter * Math.random()), Math.min(retryAfterSeconds, longestWaitSeconds))
}

/** Returns for how many seconds all deliveries to the endpoint pause after this answer. Returns 0 unless the answer means overload. */
export const restAfter = (status: number | null, retryAfterSeconds: number): number =>
  status !== null && isOverloaded(status) ? Math.min(retryAfterSeconds || restSeconds, longestWaitSeconds) : 0

const isOverloaded = (status: number) => status === 429 || (status >= 502 && status <= 504)

/**
 * Returns `Retry-After` of a 429 or 503 in seconds. The header may be seconds or a date (RFC 9110, 10.2.3). Returns 0 without a valid value.
 */
export const readRetryAfter = (status: number, given: string | undefined, now: number = Date.now()): number => {
  if (given === undefined || (status !== 429 && status !== 503)) return 0
  if (/^\d{1,9}$/.test(given.trim())) return Number(given)
  const at = Date.parse(given)
  return Number.isNaN(at) ? 0 : Math.max(0, (at - now) / 1000)
}
