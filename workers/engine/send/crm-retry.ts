import {CrmError, type CrmProblem, isCrowded, isRefusedForGood, isTokenRefused, lacksApiAccess} from '../../../shared/crm/error.ts'
import type {Slots} from '../../../shared/crm/limits/slots.ts'
import {Refusal} from '../../../shared/errors.ts'
import {explainHeld} from '../../../shared/runs/guard/guard.ts'
import {adviseToContinue} from '../../../shared/runs/stop.ts'
import {findWriteStatus, type WriteStatus} from '../../../sql/connectors.ts'
import {isQuotaExhausted} from '../../../sql/crm-quota.ts'
import type {RunHold} from '../../../sql/run-heads.ts'
import type {Run} from '../../../sql/runs.ts'
import type {Context, LedgerContext} from '../context.ts'
import {waitInPass} from '../pass-wait.ts'
import {RunPaused, RunStopped} from '../run-endings.ts'
import {acquireBatchSlot} from './batch-slot.ts'
import {endByRefusal} from './request-refusal.ts'

const isGeneric = ({connectorKind}: Run) => connectorKind === 'generic'

/**
 * Returns the maximum wait in ms before a retry, and the maximum number of tries. Beyond these limits, the run pauses. A resumed run searches again for
 * the records of its unwritten rows. At a generic destination this takes a call for each row, so the run waits up to 15 minutes instead. Otherwise it
 * could repeat the same calls forever.
 */
export const retryLimitsOf = (run: Run, isRateLimited: boolean) =>
  isRateLimited && isGeneric(run) ? {longestWaitMs: 900_000, tries: 10} : {longestWaitMs: 10_000, tries: 6}

/**
 * Reads from the CRM under a slot, and retries while a retry may help, within `retryLimitsOf`. If no try succeeds, or the run must not go on, throws
 * a `RunPaused` or `RunStopped`, so no row is lost. `slots`: by default large, which queries need. Reads by id may take small slots, because they do
 * not count towards the CRM's limit on large calls.
 */
export const readWithRetry = async <T>(ctx: Context, read: () => Promise<T>, slots: Slots = ctx.slots.large): Promise<T> => {
  // A stop that is seen before the first try does not end reads of results, because a stopped run still verifies its rows.
  const isExempt = ctx.readsResults === 'afterStop' || (ctx.readsResults === true && ctx.lease.stopSeen() !== null)
  const assertGoing = () => {
    if (!isExempt) assertWritable(ctx)
  }
  for (let tried = 1; ; tried++) {
    const slot = await acquireBatchSlot(slots, ctx.signal)
    try {
      assertGoing()
      return await read()
    } catch (error) {
      // A waiting read of a generic destination keeps its slot. Otherwise queued reads would use up the next calls that the rate limit admits.
      if (!isGeneric(ctx.run)) slot.give()
      await waitOrGiveUp(ctx, error, {tried, isExempt, assertGoing})
    } finally {
      slot.give()
    }
  }
}

/** Like `readWithRetry`, but returns null if the CRM refuses the read permanently. A refused access token pauses or stops the run instead. */
export const readUnlessRefused = <T>(ctx: Context, read: () => Promise<T>, slots?: Slots): Promise<T | null> =>
  readWithRetry(
    ctx,
    () =>
      read().catch((error: unknown) => {
        if (isRefusedForGood(error)) return null
        throw error
      }),
    slots,
  )

/**
 * Like `readUnlessRefused`, for a call of a bulk job. Returns null also after `mostRejections` redirects or 408s, which can be permanent: the CRM moved
 * the file's host, or the line is too slow for the file. The caller then writes or reads without the job, or without its result.
 */
export const callBulkUnlessRefused = <T>(ctx: Context, call: () => Promise<T>, mostRejections = 3): Promise<T | null> => {
  let rejections = 0
  const callOrGiveUp = () =>
    call().catch((error: unknown) => {
      if (error instanceof CrmError && isRejection(error.crm) && ++rejections === mostRejections) return null
      throw error
    })
  return readUnlessRefused(ctx, callOrGiveUp, ctx.slots.small)
}

const isRejection = ({status}: CrmProblem) => status === 408 || (status !== null && status >= 300 && status < 400)

type Try = {tried: number; isExempt: boolean; assertGoing(): void}

const waitOrGiveUp = async (ctx: Context, error: unknown, {tried, isExempt, assertGoing}: Try) => {
  if (error instanceof Refusal) throw await classifyRefusal(ctx, error)
  if (!(error instanceof CrmError)) throw error
  const {quotaSpent, rateLimited, retryAfterMs, retryable} = error.crm
  if (quotaSpent) throw quotaExhausted(error)
  if (isCrowded(error.crm)) await ctx.slots.cut()
  if (!retryable) throw endByRefusal(error.crm, ctx.run)
  const waitMs = backOffMs(tried, retryAfterMs)
  // A run that stopped ends soon, and searches for no records again.
  const {longestWaitMs, tries} = retryLimitsOf(ctx.run, rateLimited === true && !isExempt)
  if (waitMs > longestWaitMs || tried >= tries)
    throw new RunPaused(rateLimited ? 'RATE_LIMITED' : 'CRM_UNAVAILABLE', error.message, Math.max(30, waitMs / 1000))
  await waitInPass(waitMs, {signal: ctx.signal, over: ctx.signal, assertGoing})
}

/**
 * While the CRM quota is exhausted, reads the licence as the probe call. A run whose own first call is always refused as a whole would otherwise wait
 * forever, because a refused call does not end the exhausted state. If the CRM refuses every call of this connection, the run ends with that reason.
 * If the CRM refuses only the licence, the run's own first call becomes the probe call after a later resume (`leaveProbeMs`).
 */
export const probeQuota = async ({db, connection, run, signal, slots}: Context) => {
  if (!(await isQuotaExhausted(db, connection.connector))) return
  const slot = await acquireBatchSlot(slots.small, signal)
  try {
    await connection.readLicence({signal, onlyAsProbe: true})
  } catch (error) {
    if (!(error instanceof CrmError || error instanceof Refusal)) throw error
    if (error instanceof CrmError && isAccessRefused(error.crm)) throw endByRefusal(error.crm, run)
  } finally {
    slot.give()
  }
}

const isAccessRefused = (crm: CrmProblem) => lacksApiAccess(crm) || (isTokenRefused(crm) && !crm.retryable)

/** Returns the pause of a run whose call was refused with `error`. If the quota renews at a known time, the run pauses until then. */
export const quotaExhausted = (error?: CrmError | null) => {
  const code = 'DAILY_ALLOWANCE_SPENT'
  if (!error?.renews)
    return new RunPaused(code, "The CRM's API credits of the last 24 hours are used up. The run tries again every minute", 60)
  const seconds = Math.max(1, (error.crm.retryAfterMs ?? 60_000) / 1000)
  return new RunPaused(code, 'The daily quota of this destination is exhausted. The run resumes after it renews', seconds)
}

/** Returns the error that pauses or stops the run if its connection accepts no writes, else null. */
export const findWriteBlock = (writeStatus: WriteStatus, run: Run) => {
  if (writeStatus === 'open') return null
  if (writeStatus === 'paused')
    return new RunPaused(
      'WRITES_PAUSED',
      'Writes on this connection are paused. The run resumes automatically when an administrator allows them again',
      1,
    )
  const why = writeStatus === 'ended' ? 'The CRM no longer accepts this connection' : 'This connection was disconnected'
  return new RunStopped({stopped: 'GRANT_ENDED', message: `${why}. Connect it again. ${adviseToContinue(run)}`})
}

type WriteCheckContext = Pick<Context, 'signal' | 'lease' | 'run' | 'readsResults'>

/** Throws the reason why the run must not write, as of the last heartbeat. Reads of results ignore a pause of writes. */
export const assertWritable = ({signal, lease, run, readsResults}: WriteCheckContext) => {
  signal.throwIfAborted()
  const stop = lease.stopSeen()
  if (stop) throw new RunStopped(stop)
  const held = lease.heldSeen()
  if (held) throw runHeld(held)
  if (lease.orgClosedSeen()) throw new RunPaused('ORG_CLOSED', 'This org is closed. The run resumes when the org is reopened', 1)
  const block = findWriteBlock(lease.writeStatusSeen(), run)
  if (block && !(readsResults && block instanceof RunPaused)) throw block
}

/** Returns the pause of a run that its guard holds. Only a person ends the hold. */
export const runHeld = (held: RunHold) => new RunPaused('GUARD', explainHeld(held), 1)

export const crmUnavailable = () => new RunPaused('CRM_UNAVAILABLE', 'The CRM does not answer. The run tries again in 30 seconds', 30)

/**
 * Returns the stop or the pause of the run after a refusal before the send. The run stops if the connection was disconnected or lost its grant. After
 * any other refusal, it pauses.
 */
export const classifyRefusal = async ({db, run}: LedgerContext, refusal: Refusal) => {
  const block = findWriteBlock(await findWriteStatus(db, run.no), run)
  if (block) return block
  const {code, message, extra} = refusal
  // If the refusal says when the quota is available again, the run pauses until then.
  if (code === 'DAILY_ALLOWANCE_SPENT' && extra.retryAfterMs === undefined) return quotaExhausted()
  return new RunPaused(code, message, Math.max(1, Number(extra.retryAfterMs ?? 30_000) / 1000))
}

const longestBackOffMs = 20_000

/**
 * Returns the ms to wait before the next try. A delay that the CRM asks for takes precedence. Without one, the delay starts at half a
 * second and doubles up to twenty seconds. A jitter of 25 % keeps batches from retrying together.
 */
export const backOffMs = (tried: number, askedMs: number | null = null) =>
  askedMs ?? Math.round(Math.min(500 * 2 ** (tried - 1), longestBackOffMs) * (0.75 + Math.random() / 2))
