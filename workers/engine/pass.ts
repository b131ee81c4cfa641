import {mapAhead} from '../../shared/concurrency/map-ahead.ts'
import type {FileRow} from '../../shared/files/row.ts'
import {deleteExports} from '../../sql/match-exports.ts'
import {listLoggedRows} from '../../sql/run-log.ts'
import type {UnsettledRow} from '../../sql/unsettled.ts'
import {openBulkRoute} from './bulk/choose-write.ts'
import {composeRows, composeUnlinked} from './compose/compose-rows.ts'
import type {Context} from './context.ts'
import {matchRows} from './match/match-rows.ts'
import {openUnsettledRows} from './match/unsettled-rows.ts'
import {openSnapshotMatches} from './match-snapshot/match-snapshot.ts'
import {type CompiledFlow, type ImportRow, isRow, type RowFailure} from './model.ts'
import type {PreparedChunk, RowPipeline} from './pipeline-state.ts'
import {assertRunning} from './pipeline-work.ts'
import {measureNestable, type NestedChunk, type NestedReader, openNestedReader} from './read/nested-reader.ts'
import {openPassCounts, type PassCounts} from './read/pass-counts.ts'
import {readChunks} from './read/read-rows.ts'
import {addIdempotencyValue} from './recover/idempotency-value.ts'
import {findInheritedRows, type InheritedRow, isInheritedRow, isInRange, resumeRow} from './recover/inherited-rows.ts'
import {keepNewest} from './recover/newest-ids.ts'
import {drainPipeline, finishRows, openRowPipeline, planChunk, waitForRoom} from './row-pipeline.ts'
import {addSteps} from './sealed-plan/keep-to-plan.ts'
import {emptySettlement} from './settle/settler.ts'

/**
 * Returns the maximum number of chunks prepared while another chunk is planned. The queries of ten chunks are enough to use all slots for queries.
 * Without queries, one chunk keeps the sandbox busy, and more would only take memory. The window also limits the number.
 */
const chunksAheadOf = ({matchFields, mappings, parent}: CompiledFlow) =>
  matchFields.length > 0 || parent || mappings.some(({link}) => link) ? 10 : 1

/**
 * Runs one flow over the rows of its file above the low-water mark: read, compose, match, plan, send, settle. Resolves when every row is
 * settled. If the pass ends early, rejects with the cause after all work in progress has ended.
 */
export const runPass = async (ctx: Context, compiled: CompiledFlow, lowWater: number): Promise<void> => {
  const {db, run} = ctx
  const snapshotMatches = await openSnapshotMatches(ctx, compiled)
  try {
    await runMatchedPass(ctx, {...compiled, snapshotMatches}, lowWater)
  } finally {
    await snapshotMatches?.close()
  }
  if (snapshotMatches) await deleteExports(db, {run: run.no, flow: compiled.no})
}

const runMatchedPass = async (ctx: Context, flow: CompiledFlow, lowWater: number): Promise<void> => {
  await keepNewest(ctx, flow)
  const pipeline = openRowPipeline(ctx, flow, lowWater, await openBulkRoute(ctx, flow))
  const counts = openPassCounts(flow, lowWater)
  const isDone = await findDone(ctx, flow, lowWater)
  let reader: NestedReader | null = null
  ctx.settler.follow(() => counts.withCounts({flow: flow.no, lowWater: pipeline.window.lowWater()}))
  try {
    reader = await openNestedReader(ctx, flow)
    const ahead = {count: chunksAheadOf(flow), hasRoom: pipeline.window.hasRoomAhead}
    for await (const prepared of mapAhead(chunksOf(ctx, flow, reader), ahead, chunk =>
      prepareChunk(pipeline, chunk, {lowWater, isDone, counts}),
    )) {
      await planChunk(pipeline, prepared)
      await waitForRoom(pipeline)
    }
    await finishRows(pipeline)
    if (counts.isOpen()) await ctx.settler.settle(emptySettlement())
  } catch (error) {
    pipeline.failure ??= {error}
  } finally {
    await drainPipeline(pipeline)
    await reader?.close()
  }
  assertRunning(pipeline)
}

type ReadChunk = NestedChunk & {unsettled: Map<number, UnsettledRow>}
type IsDone = (number: number) => boolean

/**
 * Yields the chunks of the file up to the last row of the run. Each chunk has its nested rows and the unsettled entries of earlier owners
 * and runs.
 */
async function* chunksOf(ctx: Context, flow: CompiledFlow, reader: NestedReader | null): AsyncGenerator<ReadChunk> {
  const entries = openUnsettledRows(ctx, flow)
  const last = ctx.snapshot.rows?.to ?? Number.POSITIVE_INFINITY
  for await (const read of readChunks(ctx, flow)) {
    const [first] = read
    if (first && first.rowNumber > last) return
    for await (const part of reader?.chunk(read) ?? [{read, nestable: new Map()}])
      yield {...part, unsettled: await entries.upTo(part.read.at(-1)?.rowNumber ?? 0)}
  }
}

/**
 * Returns a predicate: whether a row is at or below the low-water mark, or has a log entry of this run's write phase. Keeps only logged
 * rows above the low-water mark in memory.
 */
const findDone = async ({db, run}: Context, flow: CompiledFlow, lowWater: number): Promise<IsDone> => {
  const logged = new Set(await listLoggedRows(db, {run: run.no, flow: flow.no, after: lowWater}))
  return number => number <= lowWater || logged.has(number)
}

export const measureRow = ({cells}: FileRow) => cells.reduce((sum, {length}) => sum + length, 0)

type PrepareChunkOptions = {lowWater: number; isDone: IsDone; counts: PassCounts}

const prepareChunk = async (pipeline: RowPipeline, chunk: ReadChunk, options: PrepareChunkOptions): Promise<PreparedChunk> => {
  const {lowWater, isDone, counts} = options
  const {ctx, flow, window} = pipeline
  const {unsettled, nestable} = chunk
  const rows: ImportRow[] = []
  const failures: RowFailure[] = []
  const inheritedRows: InheritedRow[] = []
  const isOver = (number: number) => unsettled.get(number)?.run !== ctx.run.no && isDone(number)
  const isRecounted = (number: number) => flow.mappings.some(({values}) => values) && number > lowWater
  const all = enterWindow(pipeline, chunk, number => isOver(number) && !isRecounted(number))
  const entered = all.filter(({rowNumber}) => !isOver(rowNumber))
  if (entered.length < all.length)
    await recountRows(
      pipeline,
      counts,
      all.filter(({rowNumber}) => isOver(rowNumber)),
    )
  const inherited = await findInheritedRows(
    ctx,
    flow,
    entered.map(({rowNumber}) => rowNumber),
  )
  const mine = inherited.size ? entered.filter(({rowNumber}) => !inherited.has(rowNumber)) : entered
  for (const composed of [...inherited.values(), ...(await composeRows(ctx, flow, mine, unsettled))]) {
    if (!isInheritedRow(composed)) counts.noteUnmapped(composed)
    const entry = isInheritedRow(composed) ? undefined : unsettled.get(composed.number)
    if (!isInheritedRow(composed)) addIdempotencyValue(ctx, flow, composed, entry)
    const one = entry && !isInheritedRow(composed) ? resumeRow(ctx, flow, composed, entry) : composed
    if (isInheritedRow(one)) inheritedRows.push(one)
    else if (isRow(one)) rows.push(nestable.has(one.number) ? Object.assign(one, {nestable: nestable.get(one.number)}) : one)
    else if (one.end === 'held') counts.holdBack(one.number)
    else failures.push(one)
  }
  counts.leave(window)
  await addSteps(ctx, flow, 'write', [...rows, ...failures])
  return {rows, failures, inherited: inheritedRows, unmatched: await matchRows(ctx, flow, rows)}
}

/** Counts the unmapped cells of rows that an earlier owner settled beyond its last low-water mark. Removes the rows from the window. */
const recountRows = async ({ctx, flow, window}: RowPipeline, counts: PassCounts, settled: FileRow[]): Promise<void> => {
  const numbers = settled.map(({rowNumber}) => rowNumber)
  const inherited = await findInheritedRows(ctx, flow, numbers)
  const composed = settled.filter(({rowNumber}) => !inherited.has(rowNumber))
  for (const row of await composeUnlinked(ctx, flow, composed)) counts.noteUnmapped(row)
  for (const number of numbers) window.leave(number)
}

/**
 * Adds rows to the window in file order and returns them. Leaves out rows that cleaning excluded, rows outside the range of the run, and
 * rows for which `isOver` is true. Call it before the first `await`, because chunks are prepared concurrently.
 */
const enterWindow = ({ctx, window}: RowPipeline, {read: rows, nestable}: ReadChunk, isOver: (number: number) => boolean): FileRow[] =>
  rows.filter(read => {
    const isIn = read.struck === undefined && isInRange(ctx.snapshot.rows, read.rowNumber) && !isOver(read.rowNumber)
    if (isIn) window.enter(read.rowNumber, measureRow(read) + measureNestable(nestable.get(read.rowNumber)))
    else window.passOver(read.rowNumber)
    return isIn
  })
