import {setTimeout as sleep} from 'node:timers/promises'
import type {BulkWriteStatus} from '../../../shared/crm/bulk/bulk-write.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import {type BulkJob, extendBulkDeadline, findBulkHint, setStarted} from '../../../sql/bulk-jobs.ts'
import type {Context} from '../context.ts'
import {LeaseLost} from '../run-endings.ts'
import {readUnlessRefused} from '../send/crm-retry.ts'

/** How long a callback is awaited for a job whose creation was not answered. */
const lostSeconds = 600
const longestJobSeconds = 3_600
/** After the last poll, the CRM may still execute a job for this long. */
const deadlineSeconds = 600
const [firstPollMs, longestPollMs, hintPollMs] = [5_000, 60_000, 1_000] as const

type NamedJob = Pick<BulkJob, 'no' | 'fileName'>

/** Moves the deadlines of the job's batches. Throws if this process has lost the run. */
export const holdDeadline = async ({hot, run, lease}: Context, {no}: Pick<BulkJob, 'no'>): Promise<void> => {
  if (!(await extendBulkDeadline(hot, {run: run.no, no, fence: lease.fence, seconds: deadlineSeconds})))
    throw new LeaseLost('Another owner took the run')
}

/**
 * Waits for a job without holding a slot. `job`: its id, or null if its creation was not answered. Returns the address of the result, or null if the
 * job has none or cannot be found.
 */
export const awaitJob = async (ctx: Context, named: NamedJob, job: string | null): Promise<string | null> => {
  const id = job ?? (await findLostJob(ctx, named))
  if (id === null) return null
  const status = await pollJob(ctx, named, id)
  atPoint('bulk_ended')
  return status?.state === 'done' ? status.resultUrl : null
}

const checkJob = (ctx: Context, id: string): Promise<BulkWriteStatus | null> =>
  readUnlessRefused(ctx, () => ctx.connection.bulkWrite!.check(id, {signal: ctx.lease.lost}), ctx.slots.small)

const pollJob = async (ctx: Context, {no}: NamedJob, id: string): Promise<BulkWriteStatus | null> => {
  let isHinted = false
  for (let waitMs: number = firstPollMs; ; waitMs = Math.min(longestPollMs, waitMs * 1.5)) {
    await holdDeadline(ctx, {no})
    const status = await checkJob(ctx, id)
    if (status?.state !== 'running') return status
    const {seconds} = await findBulkHint(ctx.db, {run: ctx.run.no, no})
    if (seconds > longestJobSeconds) return null
    isHinted = (await waitForHint(ctx, {no}, waitMs, isHinted)) || isHinted
  }
}

/** Waits for `ms`, or until a callback reports the job. Returns whether a callback did. */
const waitForHint = async (ctx: Context, {no}: Pick<BulkJob, 'no'>, ms: number, isHinted: boolean): Promise<boolean> => {
  const until = performance.now() + ms
  for (let left = ms; left > 0; left = until - performance.now()) {
    await sleep(Math.min(left, hintPollMs), undefined, {signal: ctx.signal})
    if (!isHinted && (await findBulkHint(ctx.db, {run: ctx.run.no, no})).hint !== null) return true
  }
  return false
}

/** Finds a job whose creation was not answered, by its callback. A callback is not trusted: the job must name our file. */
const findLostJob = async (ctx: Context, {no, fileName}: NamedJob): Promise<string | null> => {
  let refuted: string | null = null
  for (;;) {
    await holdDeadline(ctx, {no})
    const {hint, seconds} = await findBulkHint(ctx.db, {run: ctx.run.no, no})
    if (hint !== null && hint !== refuted) {
      const status = await checkJob(ctx, hint)
      if (status?.fileName === fileName) {
        await setStarted(ctx.db, {run: ctx.run.no, no, job: hint})
        return hint
      }
      refuted = hint
    }
    if (seconds > lostSeconds) return null
    await sleep(hintPollMs, undefined, {signal: ctx.signal})
  }
}
