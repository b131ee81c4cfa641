import {moveDeadline} from '../../../sql/sends.ts'
import type {Context} from '../context.ts'
import {type AdmittedBatches, answerSecondsOf} from './admission.ts'
import type {BatchSlot} from './batch-slot.ts'

/** If a batch waits longer than this for its slot, the deadline of its intent is moved. */
const briefWaitMs = 1_000

/**
 * Waits for the slot. Moves the deadline of the intent after a long wait, and before each retry. Returns the time at which the deadline was
 * last set, in monotonic ms. Returns null if the batch may not be sent.
 */
export const enterSlot = async (
  ctx: Context,
  {batches, since}: AdmittedBatches,
  slot: BatchSlot,
  tried: number,
): Promise<number | null> => {
  try {
    await slot.granted()
    const now = performance.now()
    if (tried === 1 && now - since < briefWaitMs) return since
    const mayGo = await moveDeadline(ctx.hot, {run: ctx.run.no, batches, fence: ctx.lease.fence, answerSeconds: answerSecondsOf(ctx)})
    return mayGo ? now : null
  } catch (error) {
    if (!ctx.signal.aborted) ctx.log.warn({err: error}, 'batch not sent')
    return null
  }
}
