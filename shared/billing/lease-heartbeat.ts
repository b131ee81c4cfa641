import {renewHold} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'

/**
 * Lifetime of the billing lock without renewal, in seconds. If the holder's process crashes, another process applies the org's payment
 * events within a minute.
 */
export const leaseSeconds = 30
const beatMs = 8_000
/**
 * The longest time of one step. A step waits at most 45 seconds for the provider (payment-provider.ts). A step that takes longer is stuck,
 * so its lease is no longer renewed.
 */
const mostWorkMs = 120_000

export type Heartbeat = {
  /** Gives the next step two minutes, during which the heartbeat renews the lease. */
  extend(): void
  stop(): void
}

/** Renews a billing lock while its process makes progress. An expired lock is not renewed. */
export const startHeartbeat = (db: Pool, hold: {org: string; holder: string}): Heartbeat => {
  let extendedAt = performance.now()
  let timer: NodeJS.Timeout
  let isStopped = false
  const schedule = () => {
    timer = setTimeout(beat, beatMs).unref()
  }
  const beat = async () => {
    if (performance.now() - extendedAt > mostWorkMs) return
    // If a renewal fails, the next one is still in time, because the lease lasts longer than three intervals.
    const isOurs = await renewHold(db, {...hold, seconds: leaseSeconds}).catch(() => true)
    if (isOurs && !isStopped) schedule()
  }
  schedule()
  return {
    extend() {
      extendedAt = performance.now()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
