import type {Config} from '../../shared/config.ts'
import type {Log} from '../../shared/log.ts'
import type {Standing} from '../../sql/connectors.ts'
import type {Hot, Pool} from '../../sql/database.ts'
import {type Head, releaseLease, renewLease, type Stop} from '../../sql/run-heads.ts'
import {LeaseLost} from './ending.ts'

/** Nothing is sent later than this after its intent was written: the next owner counts on it. */
export const leaveSecondsOf = ({CRM_TIMEOUT_SECONDS}: Pick<Config, 'CRM_TIMEOUT_SECONDS'>) => Math.min(5, CRM_TIMEOUT_SECONDS)

export type Lease = {
  fence: number
  /** Aborts when the lease is gone, so that what is under way ends too. */
  lost: AbortSignal
  /** A statement that renews the lease began at `since` (monotonic ms) and has committed. */
  renewedSince(since: number): void
  /** Whether a request whose intent began at `since` may still leave. */
  maySend(since: number): boolean
  /** The stop somebody else wrote, as of the last heartbeat. */
  stopSeen(): Stop | null
  /** Whether the org was closed, as of the last heartbeat. */
  orgClosedSeen(): boolean
  /** Whether the connection takes writes, as of the last heartbeat; the gate of T1 asks again. */
  standingSeen(): Standing
  /** `crashed`: the run's own work failed. */
  release(crashed: boolean): Promise<void>
}

type Held = {db: Pool; hot: Hot; run: number; head: Head; seconds: number; leaveSeconds: number; log: Log}

/** Keeps a lease just taken alive while the run is idle; every T1 and T2 renews it as well. */
export const holdLease = ({db, hot, run, head, seconds, leaveSeconds, log}: Held): Lease => {
  const {fence} = head
  const lost = new AbortController()
  const marginMs = Math.min(2_000, seconds * 250)
  let renewedAt = performance.now()
  let stop = head.stop
  let orgClosed = false
  let standing: Standing = 'open'

  const beat = async () => {
    const since = performance.now()
    try {
      const renewed = await renewLease(hot, {run, fence, seconds})
      if (!renewed) return lost.abort(new LeaseLost('Another owner took the run'))
      renewedAt = Math.max(renewedAt, since)
      stop = renewed.stop
      orgClosed = renewed.orgClosed
      standing = renewed.standing
    } catch (error) {
      log.warn({err: error}, 'heartbeat failed')
      if (performance.now() - renewedAt > seconds * 1000) lost.abort(new LeaseLost('The lease ran out: the database could not be reached'))
    }
  }
  const heart = beatEvery((seconds * 1000) / 3, beat)

  return {
    fence,
    lost: lost.signal,
    renewedSince: since => {
      renewedAt = Math.max(renewedAt, since)
    },
    maySend: since =>
      performance.now() - since <= leaveSeconds * 1000 && performance.now() - renewedAt < seconds * 1000 - marginMs && !lost.signal.aborted,
    stopSeen: () => stop,
    orgClosedSeen: () => orgClosed,
    standingSeen: () => standing,
    async release(crashed) {
      await heart.stop()
      await releaseLease(db, {run, fence, crashed})
    },
  }
}

/** Beats one after another, never two at once. `stop` waits for the one under way. */
const beatEvery = (everyMs: number, beat: () => Promise<void>) => {
  let under = Promise.resolve()
  let timer: NodeJS.Timeout
  let stopped = false
  const next = () => {
    timer = setTimeout(() => {
      under = beat().then(() => {
        if (!stopped) next()
      })
    }, everyMs)
  }
  next()
  return {
    stop: () => {
      stopped = true
      clearTimeout(timer)
      return under
    },
  }
}
