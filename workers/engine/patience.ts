import {setTimeout as sleep} from 'node:timers/promises'
import {CrmError, isCrowded} from '../../shared/crm/error.ts'
import {Refusal} from '../../shared/errors.ts'
import {carriesOn} from '../../shared/runs/stop.ts'
import {findStanding, type Standing} from '../../sql/connectors.ts'
import type {Run} from '../../sql/runs.ts'
import type {Context, Held} from './context.ts'
import {RunPaused, RunStopped} from './ending.ts'
import {endByRefusal} from './request-refusal.ts'

const longestWaitMs = 10_000
const tries = 6

/** A query of the CRM under a slot, asked again while that may help. Ends in an answer, a pause or a stop: never in a lost row. */
export const askPatiently = async <T>(ctx: Context, read: () => Promise<T>): Promise<T> => {
  for (let tried = 1; ; tried++) {
    try {
      await ctx.slots.large.take(ctx.signal)
      try {
        return await read()
      } finally {
        ctx.slots.large.give()
      }
    } catch (error) {
      await waitOrGiveUp(ctx, error, tried)
    }
  }
}

const waitOrGiveUp = async (ctx: Context, error: unknown, tried: number) => {
  if (error instanceof Refusal) throw await meaningOf(ctx, error)
  if (!(error instanceof CrmError)) throw error
  const {quotaSpent, rateLimited, retryAfterMs, retryable} = error.crm
  if (quotaSpent) throw spent()
  if (isCrowded(error.crm)) await ctx.slots.cut()
  if (!retryable) throw endByRefusal(error.crm, ctx.run)
  const waitMs = backOffMs(tried, retryAfterMs)
  if (waitMs > longestWaitMs || tried >= tries)
    throw new RunPaused(rateLimited ? 'RATE_LIMITED' : 'CRM_UNAVAILABLE', error.message, Math.max(30, waitMs / 1000))
  await sleep(waitMs, undefined, {signal: ctx.signal})
}

export const spent = () =>
  new RunPaused('DAILY_ALLOWANCE_SPENT', "The CRM's API credits of the last 24 hours are used up; the run looks again every minute", 60)

/** What a connection that takes no writes means for the run. Null for one that does. */
export const shutBy = (standing: Standing, run: Run) => {
  if (standing === 'open') return null
  if (standing === 'paused')
    return new RunPaused(
      'WRITES_PAUSED',
      'Writes on this connection are paused. The run goes on by itself when an administrator lifts that',
      1,
    )
  const why = standing === 'ended' ? 'The CRM no longer honours this connection' : 'This connection was disconnected'
  return new RunStopped({stopped: 'GRANT_ENDED', message: `${why}: connect it again. ${carriesOn(run)}`})
}

/** Throws what keeps the run from writing, as of the last heartbeat. */
export const assertOpen = ({signal, lease, run}: Pick<Context, 'signal' | 'lease' | 'run'>) => {
  signal.throwIfAborted()
  const stop = lease.stopSeen()
  if (stop) throw new RunStopped(stop)
  if (lease.orgClosedSeen()) throw new RunPaused('ORG_CLOSED', 'This org is closed. The run goes on when it is opened again', 1)
  const shut = shutBy(lease.standingSeen(), run)
  if (shut) throw shut
}

export const noAnswers = () => new RunPaused('CRM_UNAVAILABLE', 'The CRM does not answer; the run looks again in half a minute', 30)

/** What a refusal before sending means for the run: lie down and try again, or stop because the grant has ended. */
export const meaningOf = async ({db, run}: Held, refusal: Refusal) => {
  const shut = shutBy(await findStanding(db, run.no), run)
  if (shut) return shut
  const {code, message, extra} = refusal
  // A destination that names when its allowance is there again is not asked before.
  if (code === 'DAILY_ALLOWANCE_SPENT' && extra.retryAfterMs === undefined) return spent()
  return new RunPaused(code, message, Math.max(1, Number(extra.retryAfterMs ?? 30_000) / 1000))
}

const longestBackOffMs = 20_000

/** What the CRM asked for; else half a second, doubling up to twenty, with jitter so that batches do not come back together. */
export const backOffMs = (tried: number, askedMs: number | null = null) =>
  askedMs ?? Math.round(Math.min(500 * 2 ** (tried - 1), longestBackOffMs) * (0.75 + Math.random() / 2))
