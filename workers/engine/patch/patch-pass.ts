import type {FileRow} from '../../../shared/files/row.ts'
import {countPlannedPatches, findPatchable, findRecordsOf, HOW} from '../../../sql/chain-rows.ts'
import {PASS} from '../../../sql/run-cursors.ts'
import {composeRows, composeUnlinked} from '../compose/compose-rows.ts'
import {findParentCandidates, linkAgain, linkLate} from '../compose/parents.ts'
import type {Context} from '../context.ts'
import {type LateRows, type PriorSend, runLatePass} from '../late-pass.ts'
import {type CompiledFlow, type ImportRow, isRow, type RowFailure} from '../model.ts'
import {measureRow} from '../pass.ts'
import type {PreparedChunk, RowPipeline} from '../pipeline-state.ts'
import type {PassCounts} from '../read/pass-counts.ts'
import {readChunks} from '../read/read-rows.ts'
import {isInRange} from '../recover/inherited-rows.ts'
import {addSteps} from '../sealed-plan/keep-to-plan.ts'
import type {PatchPlan} from './build-patches.ts'
import {endEmptyPatches, hasFields} from './end-empty.ts'

export type CompiledPatchFlow = CompiledFlow & {patchPlan: PatchPlan}
/**
 * `how`: a code of `HOW`. `isOwn`: this run, not an earlier one, wrote or found the record. `emptyLinks`: the links that an earlier run left
 * empty. `isPatched`: the row was patched before, so only `emptyLinks` remain.
 */
type PatchableRow = {recordId: string; how: number; isOwn: boolean; isPatched: boolean; emptyLinks: string[]}

/**
 * Writes the patches of a flow after all flows: the mapped patch fields, late links to parents, and links that an earlier run left empty.
 * Meters only rows that no earlier pass metered.
 */
export const runPatchPass = async (ctx: Context, flow: CompiledPatchFlow): Promise<void> => {
  if (ctx.run.dryRun && ctx.lease.fence > 1) await addPlanned(ctx, flow)
  await runLatePass(ctx, flow, {
    pass: PASS.patch,
    phase: 'patch',
    listChunks: () => chunksOf(ctx, flow),
    prepare: (pipeline, chunk, rows) => preparePatches(pipeline, flow, chunk, rows),
  })
}

const rowsPerCount = 100_000

/** Counts the patches of the flow that earlier owners of a dry run planned, in pages, because the log may be large. */
const addPlanned = async ({db, run, planned, snapshot}: Context, {no: flow, source}: CompiledFlow) => {
  const last = Math.min(source.rows, snapshot.rows?.to ?? Number.POSITIVE_INFINITY)
  for (let from = 1; from <= last; from += rowsPerCount)
    planned.count += await countPlannedPatches(db, {run: run.no, flow, from, to: from + rowsPerCount - 1})
}

async function* chunksOf(ctx: Context, flow: CompiledFlow): AsyncGenerator<FileRow[]> {
  const last = ctx.snapshot.rows?.to ?? Number.POSITIVE_INFINITY
  for await (const read of readChunks(ctx, flow)) {
    if (read[0] && read[0].rowNumber > last) return
    yield read
  }
}

/**
 * Prepares the patches of a chunk. Its rows enter the window in file order before the first `await`. Rows that need neither a patch nor a
 * log entry leave the window without a settlement.
 */
const preparePatches = async (
  pipeline: RowPipeline,
  flow: CompiledPatchFlow,
  chunk: FileRow[],
  {lowWater, prior, counts}: LateRows,
): Promise<PreparedChunk> => {
  const {ctx, window} = pipeline
  const isOver = ({rowNumber}: FileRow) => prior.get(rowNumber)?.isOver === true
  const all = chunk.filter(row => {
    const {rowNumber: number, struck} = row
    const isIn = struck === undefined && number > lowWater && isInRange(ctx.snapshot.rows, number)
    if (isIn) window.enter(number, measureRow(row))
    else window.passOver(number)
    return isIn
  })
  const entered = all.filter(row => !isOver(row))
  await recountPatched(pipeline, flow, all.filter(isOver), counts)
  const records = await findTargets(ctx, flow, entered)
  const mine = entered.filter(({rowNumber}) => records.has(rowNumber))
  const joined = await composePatches(ctx, flow, mine, records)
  const rows = joined.filter(one => isRow(one))
  for (const row of rows) {
    const record = records.get(row.number)!
    findPatchTarget(flow, row, record, prior.get(row.number))
    setOnlyAbsent(flow, row, record)
  }
  for (const one of joined) counts.noteUnmapped(one)
  for (const row of rows) counts.noteLinks(row)
  const failures: RowFailure[] = joined.flatMap(one => (isRow(one) ? [] : [one]))
  await addSteps(ctx, flow, 'patch', joined)
  const composed = new Set(joined.map(({number}) => number))
  for (const {rowNumber} of entered) if (!composed.has(rowNumber)) window.leave(rowNumber)
  await endEmptyPatches(
    pipeline,
    flow,
    rows.filter(row => !hasFields(row)),
  )
  return {rows: rows.filter(hasFields), failures, unmatched: [], inherited: []}
}

/** Counts the unmapped cells of rows that an earlier owner settled beyond its last low-water mark. Removes the rows from the window. */
const recountPatched = async ({ctx, window}: RowPipeline, flow: CompiledPatchFlow, settled: FileRow[], counts: PassCounts) => {
  if (flow.mappings.some(({values}) => values)) {
    const {hot, chain, retried} = ctx
    const named = new Map(settled.map(row => [`${flow.id}.${row.rowNumber}`, row]))
    const found = await findRecordsOf(hot, {chain, before: retried ?? chain, module: flow.module.no, keys: [...named.keys()]})
    for (const [how, rows] of Map.groupBy(found, one => one.how)) {
      const wanted = flow.patchPlan.compileFor(listWanted(flow, {how, isPatched: false, emptyLinks: []}))
      const composed = await composeUnlinked(
        ctx,
        {...wanted, patchPlan: flow.patchPlan},
        rows.map(({key}) => named.get(key)!),
      )
      for (const row of composed) counts.noteUnmapped(row)
    }
  }
  for (const {rowNumber} of settled) window.leave(rowNumber)
}

/** Lists the fields to patch: links that an earlier run left empty and, unless the row was patched before, fields whose rule contains `how`. */
const listWanted = ({patchPlan}: CompiledPatchFlow, {how, isPatched, emptyLinks}: Omit<PatchableRow, 'recordId' | 'isOwn'>): string[] => {
  const ruled = isPatched ? [] : [...patchPlan.rules].flatMap(([field, {hows}]) => (hows.has(how) ? [field] : []))
  return [...new Set([...ruled, ...emptyLinks])]
}

/** Composes the patches in row order. Rows with the same fields to patch are composed together, from the mappings of these fields only. */
const composePatches = async (ctx: Context, flow: CompiledPatchFlow, rows: FileRow[], records: Map<number, PatchableRow>) => {
  const recordOf = ({rowNumber}: FileRow) => records.get(rowNumber)!
  const groups = Map.groupBy(rows, row => `${listWanted(flow, recordOf(row))} ${recordOf(row).emptyLinks}`)
  const composed: (ImportRow | RowFailure)[] = []
  for (const some of groups.values()) composed.push(...(await composeAlike(ctx, flow, some, recordOf(some[0]!))))
  return composed.sort((one, other) => one.number - other.number)
}

/** Composes rows with the same fields to patch. `alike`: the record of any of these rows. */
const composeAlike = async (ctx: Context, flow: CompiledPatchFlow, rows: FileRow[], alike: PatchableRow) => {
  const fields = listWanted(flow, alike)
  const {parent, ...wanted} = flow.patchPlan.compileFor(fields)
  const composed = await composeRows(ctx, {...wanted, patchPlan: flow.patchPlan}, rows, new Map())
  if (!parent || !fields.includes(parent.field)) return composed
  const linking = {...wanted, parent}
  const candidates = await findParentCandidates(ctx, linking, rows)
  if (!alike.emptyLinks.includes(parent.field)) return linkLate(ctx, linking, composed, candidates)
  const linked = await linkAgain(
    ctx,
    linking,
    composed.filter(one => isRow(one)),
    candidates,
  )
  return composed.map(one => linked.get(one as ImportRow) ?? one)
}

const findTargets = async (
  {hot, chain, retried, run}: Context,
  flow: CompiledPatchFlow,
  rows: FileRow[],
): Promise<Map<number, PatchableRow>> => {
  if (rows.length === 0) return new Map()
  const {id, module, patchPlan} = flow
  const named = new Map(rows.map(({rowNumber}) => [`${id}.${rowNumber}`, rowNumber]))
  const found = await findPatchable(hot, {chain, before: retried ?? chain, run: run.no, module: module.no, keys: [...named.keys()]})
  const targets = found.map(({key, patched: isPatched, emptyLinks, ...row}) => {
    const links = patchPlan.repair && emptyLinks ? emptyLinks.split(',') : []
    return [named.get(key)!, {...row, isPatched, emptyLinks: links}] as const
  })
  return new Map(targets.filter(([, record]) => listWanted(flow, record).length > 0))
}

/** Turns the row into an update of its record. */
const findPatchTarget = (
  {patchPlan}: CompiledPatchFlow,
  row: ImportRow,
  {how, recordId, isOwn, emptyLinks}: PatchableRow,
  prior: PriorSend | undefined,
) => {
  row.leftEmpty = [...emptyLinks, ...(isMade(how) && patchPlan.parent ? [patchPlan.parent.field] : [])]
  row.decided = {kind: 'update', target: recordId}
  // The write pass did not meter such a row, so the patch pass does.
  row.isMetered = how === HOW.matched || how === HOW.unchanged
  row.isSecondWrite = isOwn && !row.isMetered
  row.attempt = prior?.attempt ?? 0
  row.unansweredSends = prior ? 1 : 0
}

/**
 * Sets `onlyAbsent`: the row's `if-absent` fields, and repaired links of records that the chain created. If a repaired link has a rule about edited
 * values, that rule applies instead.
 */
const setOnlyAbsent = ({patchPlan, edits}: CompiledPatchFlow, row: ImportRow, {how, emptyLinks}: PatchableRow) => {
  const isRepaired = (field: string) => isMade(how) && emptyLinks.includes(field) && !edits?.choices.has(field)
  const fields = Object.keys(row.payload).filter(field => patchPlan.rules.get(field)?.onlyAbsent || isRepaired(field))
  if (fields.length > 0) row.onlyAbsent = fields
}

/** Whether the chain created the record. */
const isMade = (how: number) => how === HOW.made || how === HOW.taken
