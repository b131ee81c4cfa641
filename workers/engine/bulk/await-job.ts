import {setTimeout as sleep} from 'node:timers/promises'
import type {BulkWriteStatus} from '../../../shared/crm/bulk/bulk-write.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import {type BulkJob, extendBulkDeadline, findBulkHint, listAbandonedBulkJobs, setStarted} from '../../../sql/bulk-jobs.ts'
import type {Context} from '../context.ts'
import {assertOwner, RunPaused} from '../run-endings.ts'
import {readUnlessRefused} from '../send/crm-retry.ts'

/**
 * The seconds for which a callback is awaited if the creation of the job was not answered. A late insert is harmless, because it skips
 * records that exist. A late update would restore older values, so its wait is longer.
 */
const lostSeconds = {create: 600, update: 3_600} as const
/** The age of a job, in seconds, after which the run pauses. First for an update whose job id is unknown, then for any job whose id is known. */
const [lostWaitSeconds, knownWaitSeconds] = [600, 3_600] as const
/** The seconds of these two pauses, in the same order. */
const [lostLookSeconds, knownLookSeconds] = [60, 300] as const
/**
 * The age in seconds after which a run abandons a job that the CRM still reports as running. A stopped run abandons it after
 * `knownWaitSeconds`.
 */
const mostJobSeconds = 86_400
/** The seconds from a poll to the new deadline of the job's batches. Until the deadline, Lading assumes that the CRM still executes them. */
const deadlineSeconds = 900
const [firstPollMs, longestPollMs, hintPollMs] = [5_000, 60_000, 1_000] as const

type NamedJob = Pick<BulkJob, 'no' | 'fileName' | 'operation'>
/**
 * `url`: the address of the result; null if the job has none or cannot be found. `endedAt`: the CRM's time, rounded up, when it reported the
 * end; null if unknown. `isAbandoned`: the run abandoned a job that the CRM still reported as running. `failure`: the code with which the CRM
 * reports the job as failed; null if it does not.
 */
export type AwaitedJob = {url: string | null; endedAt: string | null; isAbandoned: boolean; failure: string | null}

/**
 * Why record calls must write the further rows of the job's flow; null if the job did not fail. Further files have the same columns, so each would
 * probably cost the credits of another failed job.
 */
export const sayFailedJob = ({failure}: AwaitedJob): string | null => failure && `The CRM reports a bulk job as failed: ${failure}`

/** Moves the deadlines of the job's batches to `deadlineSeconds` from now. Throws LeaseLost if this process has lost the run. */
export const holdDeadline = async ({hot, run, lease}: Context, {no}: Pick<BulkJob, 'no'>): Promise<void> =>
  assertOwner(await extendBulkDeadline(hot, {run: run.no, no, fence: lease.fence, seconds: deadlineSeconds}))

/**
 * Waits for a job, and holds a slot only during a poll. `job`: the id of the job, or null if its creation was not answered. Pauses the run
 * if the job takes long.
 */
export const awaitJob = async (ctx: Context, named: NamedJob, job: string | null): Promise<AwaitedJob> => {
  const id = job ?? (await findLostJob(ctx, named))
  const unknown = {url: null, endedAt: null, isAbandoned: false, failure: null}
  if (id === null) return unknown
  const status = await pollJob(ctx, named, id)
  atPoint('bulk_ended')
  if (status?.state === 'done') return {...unknown, url: status.resultUrl, endedAt: status.readAt}
  return {...unknown, isAbandoned: status?.state === 'running', failure: status?.state === 'failed' ? (status.crm.code ?? 'FAILED') : null}
}

/**
 * Pauses the run while the CRM still executes a job that another run of these chains abandoned, because the job may restore older values.
 * Jobs that were abandoned more than 24 hours ago are not polled. Dry runs and stopped runs do not wait.
 */
export const awaitAbandonedJobs = async (ctx: Context, chains: readonly number[]): Promise<void> => {
  const {db, run, lease} = ctx
  if (run.dryRun || lease.stopSeen() || chains.length === 0) return
  for (const job of await listAbandonedBulkJobs(db, {run: run.no, chains, seconds: mostJobSeconds}))
    if ((await checkJob(ctx, job))?.state === 'running') throw jobOpen(knownLookSeconds)
}

const jobOpen = (seconds: number) =>
  new RunPaused('BULK_JOB_OPEN', 'The CRM has not finished a bulk job. The run resumes automatically when the job ends', seconds)

const checkJob = (ctx: Context, id: string): Promise<BulkWriteStatus | null> =>
  readUnlessRefused(ctx, () => ctx.connection.bulkWrite!.check(id, {signal: ctx.lease.lost}), ctx.slots.small)

/**
 * Polls the job until it ends. Returns the status `running` if the run abandons the job. Returns null if the CRM refuses the poll
 * permanently. Pauses the run after `knownWaitSeconds`. `readAt` is null if the job may have ended long before, because a person may have edited its
 * records since.
 */
const pollJob = async (ctx: Context, {no}: NamedJob, id: string): Promise<BulkWriteStatus | null> => {
  let [isHinted, hasRun] = [false, false]
  for (let waitMs: number = firstPollMs; ; waitMs = Math.min(longestPollMs, waitMs * 1.5)) {
    await holdDeadline(ctx, {no})
    const status = await checkJob(ctx, id)
    const {seconds} = await findBulkHint(ctx.db, {run: ctx.run.no, no})
    if (status?.state !== 'running') return status && {...status, readAt: hasRun || seconds * 1000 <= longestPollMs ? status.readAt : null}
    hasRun = true
    if (seconds > (ctx.lease.stopSeen() ? knownWaitSeconds : mostJobSeconds)) return status
    if (seconds > knownWaitSeconds) throw jobOpen(knownLookSeconds)
    isHinted = (await waitForHint(ctx, {no}, waitMs, isHinted)) || isHinted
  }
}

/**
 * Waits for `ms`, or until a callback reports the job. Returns whether a callback did. `isHinted`: an earlier wait saw the callback, so this wait
 * ignores it.
 */
const waitForHint = async (ctx: Context, {no}: Pick<BulkJob, 'no'>, ms: number, isHinted: boolean): Promise<boolean> => {
  const until = performance.now() + ms
  for (let left = ms; left > 0; left = until - performance.now()) {
    await sleep(Math.min(left, hintPollMs), undefined, {signal: ctx.signal})
    if (!isHinted && (await findBulkHint(ctx.db, {run: ctx.run.no, no})).hint !== null) return true
  }
  return false
}

/**
 * Finds the id of a job whose creation was not answered, by its callback. Accepts the id only if that job names our file, because callbacks are
 * not trusted. Returns null if no such callback came in time. Pauses the run while a callback for an update may still come.
 */
const findLostJob = async (ctx: Context, {no, fileName, operation}: NamedJob): Promise<string | null> => {
  const {db, run, lease} = ctx
  let refuted: string | null = null
  for (;;) {
    await holdDeadline(ctx, {no})
    const {hint, seconds} = await findBulkHint(db, {run: run.no, no})
    if (hint !== null && hint !== refuted) {
      const status = await checkJob(ctx, hint)
      if (status?.fileName === fileName) {
        assertOwner(await setStarted(db, {run: run.no, no, fence: lease.fence, job: hint}))
        return hint
      }
      refuted = hint
    }
    if (seconds > lostSeconds[operation]) return null
    if (seconds > lostWaitSeconds && !lease.stopSeen()) throw jobOpen(lostLookSeconds)
    await sleep(hintPollMs, undefined, {signal: ctx.signal})
  }
}
