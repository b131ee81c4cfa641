import {setTimeout as sleep} from 'node:timers/promises'
import {CrmError, type CrmProblem} from '../../shared/crm/error.ts'
import {Refusal} from '../../shared/errors.ts'
import {carriesOn} from '../../shared/runs/stop.ts'
import {findConnectorState} from '../../sql/connectors.ts'
import type {Context, Offline} from './context.ts'
import {RunPaused, RunStopped} from './ending.ts'

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
  if (!retryable) throw new RunStopped({stopped: 'CRM_REFUSED', message: `${error.message}. Mend this at the CRM. ${carriesOn}`})
  const waitMs = backOffMs(tried, retryAfterMs)
  if (waitMs > longestWaitMs || tried >= tries)
    throw new RunPaused(rateLimited ? 'RATE_LIMITED' : 'CRM_UNAVAILABLE', error.message, Math.max(30, waitMs / 1000))
  await sleep(waitMs, undefined, {signal: ctx.signal})
}

/** Too many calls at once. A renewal that is throttled asks for patience too, and fewer calls would not help it. */
export const isCrowded = ({status, rateLimited, quotaSpent}: CrmProblem) => status === 429 && rateLimited === true && !quotaSpent

export const spent = () =>
  new RunPaused('DAILY_ALLOWANCE_SPENT', "The CRM's API credits of the last 24 hours are used up; the run looks again every minute", 60)

/** What a refusal before sending means for the run: lie down and try again, or stop because the grant has ended. */
export const meaningOf = async ({db, run}: Offline, refusal: Refusal) => {
  const seconds = Number(refusal.extra.retryAfterMs ?? 30_000) / 1000
  if (run.connectorId && (await findConnectorState(db, run.connectorId)) !== 'connected') {
    return new RunStopped({
      stopped: 'GRANT_ENDED',
      message: `The CRM no longer honours this connection: connect it again. ${carriesOn}`,
    })
  }
  return refusal.code === 'DAILY_ALLOWANCE_SPENT' ? spent() : new RunPaused(refusal.code, refusal.message, Math.max(1, seconds))
}

/** What the CRM asked for; else half a second, doubling, with jitter so that batches do not come back together. */
export const backOffMs = (tried: number, askedMs: number | null = null) =>
  askedMs ?? Math.round(500 * 2 ** (tried - 1) * (0.75 + Math.random() / 2))
