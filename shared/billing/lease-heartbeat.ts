import {renewHold} from '../../sql/billing-accounts.ts'
import type {Pool} from '../../sql/database.ts'

/** The hold of a process that died ends within this time. A purchase it was applying is then applied by another process, within a minute in all. */
export const leaseSeconds = 30
const beatMs = 8_000
/** A step waits 45 seconds for the provider at most (payment-provider.ts). A step that takes longer than this is stuck, and loses its hold. */
const mostWorkMs = 120_000

export type Heartbeat = {
  /** The work goes on: the hold is renewed for another two minutes. */
  extend(): void
  stop(): void
}

/** Renews a hold in the database while its process works. A hold that expired is not renewed. */
export const startHeartbeat = (db: Pool, hold: {org: string; holder: string}): Heartbeat => {
  let extendedAt = performance.now()
  let timer: NodeJS.Timeout
  let isStopped = false
  const schedule = () => {
    timer = setTimeout(beat, beatMs).unref()
  }
  const beat = async () => {
    if (performance.now() - extendedAt > mostWorkMs) return
    // After a failure the next beat is in time too: the lease is longer than three beats.
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
