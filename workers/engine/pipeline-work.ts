import type {ImportRow} from './model.ts'
import {waitInPass} from './pass-wait.ts'
import type {RowPipeline} from './pipeline-state.ts'
import {assertWritable, crmUnavailable} from './send/crm-retry.ts'

/**
 * Throws if work of the pass has failed or the run must not write. Pauses the run if more than `CRM_SLOTS` consecutive batches got no
 * answer and the window still has rows.
 */
export const assertRunning = ({failure, ctx, silentBatches, window}: RowPipeline) => {
  if (failure) throw failure.error
  assertWritable(ctx)
  if (silentBatches > ctx.config.CRM_SLOTS && window.count() > 0) throw crmUnavailable()
}

/** Registers work until it ends. The first failure ends the pass. */
export const trackWork = (pipeline: RowPipeline, work: Promise<void>) => {
  const tracked = work
    .catch(error => {
      pipeline.failure ??= {error}
    })
    .finally(() => {
      pipeline.underWay.delete(tracked)
      pipeline.change.notify()
    })
  pipeline.underWay.add(tracked)
}

export const waitInPipeline = (pipeline: RowPipeline, ms: number) =>
  waitInPass(ms, {signal: pipeline.ctx.signal, over: pipeline.closing.signal, assertGoing: () => assertRunning(pipeline)})

export const batchHooks = (pipeline: RowPipeline) => ({
  leave: ({number, alike = []}: ImportRow) => {
    for (const no of [number, ...alike.map(row => row.number)]) pipeline.window.leave(no)
  },
  over: pipeline.closing.signal,
  resending: () => pipeline.resending.size > 0 || pipeline.unanswered.count() > 0,
  heard: (anything: boolean) => {
    pipeline.silentBatches = anything ? 0 : pipeline.silentBatches + 1
  },
  change: () => {
    assertRunning(pipeline)
    return pipeline.change.next()
  },
})
