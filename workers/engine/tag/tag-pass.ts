import {mapAhead} from '../../../shared/concurrency/map-ahead.ts'
import type {SnapshotFlow} from '../../../shared/mapping/flows/snapshot.ts'
import {findTaggable} from '../../../sql/chain-rows.ts'
import {finishPass, openPass, PASS} from '../../../sql/run-cursors.ts'
import {listTags} from '../../../sql/run-log.ts'
import {compileFlow, withoutLayout} from '../compose/compiled-flow.ts'
import {withRowKeys} from '../compose/compose-row.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, CompileFlowInput, ImportRow} from '../model.ts'
import type {PreparedChunk, RowPipeline} from '../pipeline-state.ts'
import {assertRunning, drainPipeline, finishRows, openRowPipeline, planChunk, waitForRoom} from '../row-pipeline.ts'

const [rowsPerChunk, chunksAhead] = [1_000, 2]
/** The estimated bytes of a row in the window. It has a key and an id, and no cells. */
const rowBytes = 100

type CompiledTagFlow = CompiledFlow & {tags: string[]}
/** What the run has already logged about a row's tags. */
type PriorTag = {attempt: number; isOver: boolean}

/** Compiles the flow's tag pass. Returns null if its records get no tags. */
export const compileTagFlow = (snapshotFlow: SnapshotFlow, input: CompileFlowInput): CompiledTagFlow | null => {
  const {tags = []} = snapshotFlow.flow
  if (tags.length === 0) return null
  const compiled = compileFlow(withoutLayout({...snapshotFlow, flow: {...snapshotFlow.flow, match: undefined, parent: undefined}}), input)
  return {...compiled, tags, mappings: [], uniqueFields: []}
}

/**
 * Adds the flow's tags to the records that its rows wrote, in row order and after all other passes. The rows of earlier runs of the chain
 * whose records have no tags yet are included. A tag call may be repeated, so a new owner begins at the low-water mark.
 */
export const runTagPass = async (ctx: Context, flow: CompiledTagFlow): Promise<void> => {
  const {db, run} = ctx
  const at = {run: run.no, flow: flow.no, pass: PASS.tag}
  const {lowWater, done} = await openPass(db, at)
  if (done) return
  const prior = new Map((await listTags(db, {run: run.no, flow: flow.no, after: lowWater})).map(({number, ...rest}) => [number, rest]))
  const pipeline = openRowPipeline(ctx, flow, lowWater)
  ctx.settler.follow(() => ({flow: flow.no, lowWater: pipeline.window.lowWater(), pass: PASS.tag}))
  try {
    for await (const prepared of mapAhead(listChunks(ctx, flow, lowWater), {count: chunksAhead}, numbers =>
      prepareTags(pipeline, flow, numbers, prior),
    )) {
      await planChunk(pipeline, prepared)
      await waitForRoom(pipeline)
    }
    await finishRows(pipeline)
  } catch (error) {
    pipeline.failure ??= {error}
  } finally {
    await drainPipeline(pipeline)
  }
  assertRunning(pipeline)
  await finishPass(db, at)
}

/** Yields the numbers of the file's rows in order. The file is not read, because tags need only the records of the rows. */
async function* listChunks({snapshot}: Context, {source}: CompiledFlow, lowWater: number): AsyncGenerator<number[]> {
  const {from = 1, to = source.rows} = snapshot.rows ?? {}
  for (let first = Math.max(from, lowWater + 1); first <= Math.min(to, source.rows); first += rowsPerChunk)
    yield Array.from({length: Math.min(rowsPerChunk, Math.min(to, source.rows) - first + 1)}, (_, at) => first + at)
}

const prepareTags = async (
  {ctx, window}: RowPipeline,
  flow: CompiledTagFlow,
  numbers: number[],
  prior: Map<number, PriorTag>,
): Promise<PreparedChunk> => {
  const open = numbers.filter(number => !prior.get(number)?.isOver)
  for (const number of numbers) if (prior.get(number)?.isOver) window.passOver(number)
  for (const number of open) window.enter(number, rowBytes)
  const keys = new Map(open.map(number => [`${flow.id}.${number}`, number]))
  const found = await findTaggable(ctx.hot, {chain: ctx.chain, module: flow.module.no, keys: [...keys.keys()]})
  const records = new Map(found.map(({key, recordId}) => [keys.get(key)!, recordId]))
  for (const number of open) if (!records.has(number)) window.leave(number)
  const rows = open.flatMap(number => (records.has(number) ? [rowOf(flow, number, records.get(number)!, prior.get(number))] : []))
  return {rows, failures: [], unmatched: [], inherited: []}
}

const rowOf = (flow: CompiledTagFlow, number: number, recordId: string, prior: PriorTag | undefined): ImportRow => ({
  ...withRowKeys(flow, `${flow.id}.${number}`, number, {}),
  decided: {kind: 'update', target: recordId},
  isMetered: false,
  attempt: prior?.attempt ?? 0,
  unansweredSends: prior ? 1 : 0,
})
