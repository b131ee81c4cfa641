import {setTimeout as sleep} from 'node:timers/promises'

/** The maximum sleep in ms. A longer wait is split, so that a stop of the run is noticed. */
const longestSleepMs = 1_000

type PassWait = {signal: AbortSignal; over: AbortSignal; assertGoing(): void}

/** Waits `ms`. Rejects early with the error that `assertGoing` throws, or with an AbortError if `signal` or `over` aborts. */
export const waitInPass = async (ms: number, {signal, over, assertGoing}: PassWait): Promise<void> => {
  const either = AbortSignal.any([signal, over])
  const end = performance.now() + ms
  for (let leftMs = ms; leftMs > 0; leftMs = end - performance.now()) {
    await sleep(Math.min(longestSleepMs, leftMs), undefined, {signal: either})
    assertGoing()
  }
}

/** Waits for `change`. Rejects early like `waitInPass`. */
export const waitForChange = async (change: Promise<void>, {over, ...passWait}: PassWait): Promise<void> => {
  const changed = new AbortController()
  try {
    await Promise.race([change, waitInPass(Number.POSITIVE_INFINITY, {...passWait, over: AbortSignal.any([over, changed.signal])})])
  } finally {
    changed.abort()
  }
}
