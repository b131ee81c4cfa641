import type {Context} from '../context.ts'
import {isPlannedId} from '../dry-run/planned-ids.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {endEmptyPatches, hasFields} from '../patch/end-empty.ts'
import type {RowPipeline} from '../pipeline-state.ts'
import {trackWork, waitInPipeline} from '../pipeline-work.ts'
import {emptySettlement} from '../settle/settler.ts'
import {logSkipped} from '../settle/skipped-rows.ts'
import {settleRows} from '../settle/unsent-rows.ts'
import type {Op} from '../settle/verdict.ts'
import {planUnchanged} from './plan-rows.ts'
import {readById} from './read-by-id.ts'
import {findUnchangedOps} from './unchanged-records.ts'

/** `update`: sends updates. `plan`: plans rows again. `end`: releases the locks of rows that ended. */
type Hooks = {update(ops: Op[]): Promise<void>; plan(rows: ImportRow[]): Promise<void>; end(rows: ImportRow[]): void}

/** Reads the records of updates by id. Skips updates whose record already has every value, and sends the others. */
export const updateUnlessUnchanged = async (pipeline: RowPipeline, ops: Op[], on: Hooks) => {
  const {ctx, flow} = pipeline
  const unchanged = await findUnchangedOps(ctx, flow, ops)
  await on.update(ops.filter(op => !unchanged.has(op)))
  const rows = [...unchanged].map(({row}) => row)
  if (rows.length === 0) return
  const settled = emptySettlement()
  for (const {row, target} of unchanged) logSkipped(ctx, flow, settled, row, planUnchanged(target!))
  await settleRows(pipeline, settled, rows)
  on.end(rows)
}

/** How long the CRM may still execute an unanswered update of the record by another row, in ms. */
export const lateMsOf = ({ctx}: RowPipeline, {row, target}: Op): number => (ctx.run.dryRun ? 0 : ctx.lateUpdates.waitMs(target!, row.key))

/**
 * Drops values of `onlyAbsent` fields that have a value in the CRM, and plans patches with other values again. Call it while the rows lock their
 * records, so that the read shows the patches of earlier rows. A row waits in the background for an unanswered patch of its record.
 */
export const updateUnlessFilled = async (pipeline: RowPipeline, ops: Op[], on: Hooks): Promise<void> => {
  const {ctx, flow} = pipeline
  const ready: Op[] = []
  for (const op of ops) {
    const waitMs = lateMsOf(pipeline, op)
    const fillLater = () => waitInPipeline(pipeline, waitMs).then(() => updateUnlessFilled(pipeline, [op], on))
    if (waitMs === 0) ready.push(op)
    else trackWork(pipeline, fillLater())
  }
  await leaveFilled(ctx, flow, ready)
  const rows = ready.map(({row}) => row)
  const [full, empty] = [rows.filter(hasFields), rows.filter(row => !hasFields(row))]
  await endEmptyPatches(pipeline, flow, empty)
  on.end(empty)
  if (full.length > 0) await on.plan(full)
}

/** The maximum number of planned values that a dry run remembers. It plans further values although an earlier row may plan the same field. */
const mostPlanned = 100_000

const leaveFilled = async (ctx: Context, {module, patchPlan}: CompiledFlow, ops: Op[]) => {
  const {planned} = patchPlan!
  const fields = [...new Set(ops.flatMap(({row}) => row.onlyAbsent!))]
  // In a dry run, a record that does not exist yet has no values.
  const ids = [...new Set(ops.map(({target}) => target!))].filter(id => !isPlannedId(id))
  const records = await readById(ctx, {module}, {ids, fields})
  for (const {row, target} of ops) {
    for (const field of row.onlyAbsent!) {
      const name = `${target} ${field}`
      if (isFilled(records.get(target!)?.[field]) || planned.has(name)) delete row.payload[field]
      else if (ctx.run.dryRun && planned.size < mostPlanned) planned.add(name)
    }
    row.onlyAbsent = undefined
  }
}

const isFilled = (value: unknown) =>
  value !== null && value !== undefined && value !== '' && value !== false && !(Array.isArray(value) && value.length === 0)
