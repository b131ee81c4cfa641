import type {ImportRow} from './model.ts'
import {waitInPass} from './pass-wait.ts'
import type {RowPipeline} from './pipeline-state.ts'
import {assertWritable, crmUnavailable} from './send/crm-retry.ts'
import {trackInFlight} from './send/track-in-flight.ts'

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

/** Sends a batch, and counts it as open until it is settled. */
export const trackBatch = async <T>(pipeline: RowPipeline, send: (leaving: () => void) => Promise<T>): Promise<T> => {
  pipeline.openBatches++
  try {
    return await trackInFlight(pipeline.inFlight, send)
  } finally {
    pipeline.openBatches--
  }
}

/** The maximum number of open batches for each slot. Rows read beyond that would only wait in memory. */
const batchesPerSlot = 3

/** Whether no further row may be read. */
export const isFull = ({ctx, window, unanswered, resending, openBatches}: RowPipeline) =>
  openBatches >= batchesPerSlot * ctx.config.CRM_SLOTS ||
  window.isFull({rows: unanswered.count() + resending.size, size: unanswered.size()})

export const waitInPipeline = (pipeline: RowPipeline, ms: number) =>
  waitInPass(ms, {signal: pipeline.ctx.signal, over: pipeline.closing.signal, assertGoing: () => assertRunning(pipeline)})

export const batchHooks = (pipeline: RowPipeline) => ({
  leave: ({number, sameRecordRows = []}: ImportRow) => {
    for (const no of [number, ...sameRecordRows.map(row => row.number)]) pipeline.window.leave(no)
  },
  over: pipeline.closing.signal,
  resending: (rows: ImportRow[]) => {
    // These rows wait for room under the row limit, so they free none. A batch that waited for them would wait for ever.
    for (const row of rows) pipeline.resending.delete(row)
    return pipeline.resending.size > 0 || pipeline.unanswered.count() > 0
  },
  heard: (anything: boolean) => {
    pipeline.silentBatches = anything ? 0 : pipeline.silentBatches + 1
  },
  change: () => {
    assertRunning(pipeline)
    return pipeline.change.next()
  },
})
