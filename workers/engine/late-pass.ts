import {mapAhead} from '../../shared/concurrency/map-ahead.ts'
import {finishPass, openPass, type PASS} from '../../sql/run-cursors.ts'
import {listSentBefore, type PHASES} from '../../sql/run-log.ts'
import type {Context} from './context.ts'
import type {CompiledFlow} from './model.ts'
import type {PreparedChunk, RowPipeline} from './pipeline-state.ts'
import {assertRunning} from './pipeline-work.ts'
import {openPassCounts, type PassCounts} from './read/pass-counts.ts'
import {drainPipeline, finishRows, openRowPipeline, planChunk, waitForRoom} from './row-pipeline.ts'
import {emptySettlement} from './settle/settler.ts'

const chunksAhead = 2

/**
 * A row's earlier log entries of this pass. `attempt`: the highest logged attempt. `isOver`: the row has an entry other than `unanswered`.
 */
export type PriorSend = {attempt: number; isOver: boolean}

/**
 * The state of the pass when it began, and its counts. `prior`: earlier log entries by row number. `counts`: counts of the pass besides
 * outcomes.
 */
export type LateRows = {lowWater: number; prior: Map<number, PriorSend>; counts: PassCounts}

type LatePass<Chunk> = {
  pass: (typeof PASS)['patch' | 'tag']
  phase: (typeof PHASES)[number]
  listChunks(lowWater: number): AsyncIterable<Chunk>
  /** Enters the rows of a chunk into the window and returns those to send. */
  prepare(pipeline: RowPipeline, chunk: Chunk, rows: LateRows): Promise<PreparedChunk>
}

/**
 * Runs a patch or tag pass of a flow, and plans its rows in row order. Returns at once if the pass is finished. A new owner begins at the
 * low-water mark and may repeat calls, because a repeated patch or tag has no further effect.
 */
export const runLatePass = async <Chunk>(ctx: Context, flow: CompiledFlow, {pass, phase, listChunks, prepare}: LatePass<Chunk>) => {
  const {db, run} = ctx
  const at = {run: run.no, flow: flow.no, pass}
  const {lowWater, done} = await openPass(db, at)
  if (done) return
  const sent = await listSentBefore(db, {run: run.no, flow: flow.no, after: lowWater, phase})
  const prior = new Map(sent.map(({number, ...rest}) => [number, rest]))
  const pipeline = openRowPipeline(ctx, flow, lowWater)
  const counts = openPassCounts(flow, lowWater)
  ctx.settler.follow(() => counts.withCounts({flow: flow.no, lowWater: pipeline.window.lowWater(), pass}))
  try {
    const chunks = mapAhead(listChunks(lowWater), {count: chunksAhead}, chunk => prepare(pipeline, chunk, {lowWater, prior, counts}))
    for await (const prepared of chunks) {
      await planChunk(pipeline, prepared)
      await waitForRoom(pipeline)
    }
    await finishRows(pipeline)
    if (counts.isOpen()) await ctx.settler.settle(emptySettlement())
  } catch (error) {
    pipeline.failure ??= {error}
  } finally {
    await drainPipeline(pipeline)
  }
  assertRunning(pipeline)
  await finishPass(db, at)
}
