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

/** What the run has already logged about a row in this pass. */
export type PriorSend = {attempt: number; isOver: boolean}

/** `prior`: by row number. `counts`: what the pass counts apart from outcomes. */
export type LateRows = {lowWater: number; prior: Map<number, PriorSend>; counts: PassCounts}

type LatePass<Chunk> = {
  pass: (typeof PASS)['patch' | 'tag']
  phase: (typeof PHASES)[number]
  listChunks(lowWater: number): AsyncIterable<Chunk>
  /** Enters the rows of a chunk into the window and returns those to send. */
  prepare(pipeline: RowPipeline, chunk: Chunk, rows: LateRows): Promise<PreparedChunk>
}

/**
 * Runs a pass over a flow's written records, in row order. Its calls may be repeated, so a new owner begins at the low-water mark. Returns
 * at once if the pass is finished.
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
