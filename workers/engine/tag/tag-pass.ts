import type {SnapshotFlow} from '../../../shared/mapping/flows/snapshot.ts'
import {findTaggable} from '../../../sql/chain-rows.ts'
import {PASS} from '../../../sql/run-cursors.ts'
import {compileFlow, withoutLayout} from '../compose/compiled-flow.ts'
import {withRowKeys} from '../compose/compose-row.ts'
import type {Context} from '../context.ts'
import {type LateRows, type PriorSend, runLatePass} from '../late-pass.ts'
import type {CompiledFlow, CompileFlowInput, ImportRow} from '../model.ts'
import type {PreparedChunk, RowPipeline} from '../pipeline-state.ts'

const rowsPerChunk = 1_000
/** The estimated bytes of a row in the window. A row of a tag pass has a key and an id, but no cells. */
const rowBytes = 100

type CompiledTagFlow = CompiledFlow & {tags: string[]}

/** Returns null if the flow names no tags. */
export const compileTagFlow = (snapshotFlow: SnapshotFlow, input: CompileFlowInput): CompiledTagFlow | null => {
  const {tags = []} = snapshotFlow.flow
  if (tags.length === 0) return null
  const compiled = compileFlow(withoutLayout({...snapshotFlow, flow: {...snapshotFlow.flow, match: undefined, parent: undefined}}), input)
  return {...compiled, tags, mappings: [], uniqueFields: []}
}

/**
 * Adds the flow's tags to the records that its rows wrote, after all other passes. The rows of earlier runs of the chain whose records have
 * no tags yet are included.
 */
export const runTagPass = (ctx: Context, flow: CompiledTagFlow): Promise<void> =>
  runLatePass(ctx, flow, {
    pass: PASS.tag,
    phase: 'tag',
    listChunks: lowWater => listChunks(ctx, flow, lowWater),
    prepare: (pipeline, numbers, rows) => prepareTags(pipeline, flow, numbers, rows),
  })

/** Yields the row numbers of the run's row range in order, in chunks. The file is not read, because tags need only the records of the rows. */
async function* listChunks({snapshot}: Context, {source}: CompiledFlow, lowWater: number): AsyncGenerator<number[]> {
  const {from = 1, to = source.rows} = snapshot.rows ?? {}
  for (let first = Math.max(from, lowWater + 1); first <= Math.min(to, source.rows); first += rowsPerChunk)
    yield Array.from({length: Math.min(rowsPerChunk, Math.min(to, source.rows) - first + 1)}, (_, at) => first + at)
}

const prepareTags = async (
  {ctx, window}: RowPipeline,
  flow: CompiledTagFlow,
  numbers: number[],
  {prior}: LateRows,
): Promise<PreparedChunk> => {
  const open = numbers.filter(number => !prior.get(number)?.isOver)
  for (const number of numbers) if (prior.get(number)?.isOver) window.passOver(number)
  for (const number of open) window.enter(number, rowBytes)
  const keys = new Map(open.map(number => [`${flow.id}.${number}`, number]))
  const found = await findTaggable(ctx.hot, {chain: ctx.chain, module: flow.module.no, keys: [...keys.keys()]})
  const records = new Map(found.map(({key, recordId}) => [keys.get(key)!, recordId]))
  for (const number of open) if (!records.has(number)) window.leave(number)
  const tagged = open.flatMap(number => (records.has(number) ? [rowOf(flow, number, records.get(number)!, prior.get(number))] : []))
  const byRecord = [...Map.groupBy(tagged, ({decided}) => decided!.target).values()]
  const rows = byRecord.map(([first, ...sameRecordRows]): ImportRow => ({...first!, sameRecordRows}))
  return {rows, failures: [], unmatched: [], inherited: []}
}

const rowOf = (flow: CompiledTagFlow, number: number, recordId: string, prior: PriorSend | undefined): ImportRow => ({
  ...withRowKeys(flow, `${flow.id}.${number}`, number, {}),
  decided: {kind: 'update', target: recordId},
  isMetered: false,
  attempt: prior?.attempt ?? 0,
  unansweredSends: prior ? 1 : 0,
})
