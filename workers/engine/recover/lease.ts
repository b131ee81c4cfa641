import type {Config} from '../../../shared/config.ts'
import type {Log} from '../../../shared/telemetry/log.ts'
import type {WriteStatus} from '../../../sql/connectors.ts'
import type {Hot, Pool} from '../../../sql/database.ts'
import {type RunHead, type RunHold, type RunStop, releaseLease, renewLease} from '../../../sql/run-heads.ts'
import {LeaseLost} from '../run-endings.ts'

/** Returns the maximum number of seconds from storing an intent to sending its request. The next owner relies on this limit. */
export const handoverSecondsOf = ({CRM_TIMEOUT_SECONDS}: Pick<Config, 'CRM_TIMEOUT_SECONDS'>) => Math.min(5, CRM_TIMEOUT_SECONDS)

export type Lease = {
  fence: number
  /** Aborts when the lease is lost, which also ends the work in progress. */
  lost: AbortSignal
  /** Notes a committed statement that renewed the lease. `since`: when the statement began, in monotonic ms. */
  renewedSince(since: number): void
  /** Whether a request may still be sent. `since`: when the statement that stored its intent, or moved its deadline, began, in monotonic ms. */
  maySend(since: number): boolean
  /** As of the last heartbeat. */
  stopSeen(): RunStop | null
  orgClosedSeen(): boolean
  /** Notes why the run guard holds the run, as a settlement returned the reason. Null, or a second reason, changes nothing. */
  noteHeld(held: RunHold | null): void
  heldSeen(): RunHold | null
  /** As of the last heartbeat. The intent statement checks the write status again. */
  writeStatusSeen(): WriteStatus
  /** `crashed`: whether the run's own work failed. */
  release(crashed: boolean): Promise<void>
}

type HoldLeaseInput = {db: Pool; hot: Hot; run: number; head: RunHead; seconds: number; leaveSeconds: number; log: Log}

/**
 * Renews the lease by a heartbeat every third of `seconds`. Every intent and settlement renews it too. `leaveSeconds`: `maySend` returns
 * false once this time has passed after `since`.
 */
export const holdLease = ({db, hot, run, head, seconds, leaveSeconds, log}: HoldLeaseInput): Lease => {
  const {fence} = head
  const lost = new AbortController()
  const marginMs = Math.min(2_000, seconds * 250)
  let renewedAt = performance.now()
  let stop = head.stop
  let orgClosed = false
  let {held} = head
  let writeStatus: WriteStatus = 'open'

  const beat = async () => {
    const since = performance.now()
    try {
      const renewed = await renewLease(hot, {run, fence, seconds})
      if (!renewed) return lost.abort(new LeaseLost('Another owner took the run'))
      renewedAt = Math.max(renewedAt, since)
      stop = renewed.stop
      orgClosed = renewed.orgClosed
      writeStatus = renewed.writeStatus
    } catch (error) {
      log.warn({err: error}, 'heartbeat failed')
      if (performance.now() - renewedAt > seconds * 1000)
        lost.abort(new LeaseLost('The lease expired because the database could not be reached'))
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
    noteHeld: noted => {
      held ??= noted
    },
    heldSeen: () => held,
    writeStatusSeen: () => writeStatus,
    async release(crashed) {
      await heart.stop()
      await releaseLease(db, {run, fence, crashed})
    },
  }
}

/** Heartbeats never overlap. `stop` waits for the current one. */
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
