import {setTimeout as sleep} from 'node:timers/promises'

/** A stop of the run is noticed within this time. */
const longestSleepMs = 1_000

type PassWait = {signal: AbortSignal; over: AbortSignal; assertGoing(): void}

/** Waits for a time, and rejects as soon as the pass ends: `assertGoing` throws what ended it. */
export const waitInPass = async (ms: number, {signal, over, assertGoing}: PassWait): Promise<void> => {
  const either = AbortSignal.any([signal, over])
  for (const end = performance.now() + ms; performance.now() < end; ) {
    await sleep(Math.min(longestSleepMs, end - performance.now()), undefined, {signal: either})
    assertGoing()
  }
}
