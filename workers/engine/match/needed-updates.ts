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
type UpdateHooks = {update(ops: Op[]): Promise<void>; plan(rows: ImportRow[]): Promise<void>; end(rows: ImportRow[]): void}

/** Reads the records of updates by id. Skips updates whose record already has every value, and sends the others. */
export const updateUnlessUnchanged = async (pipeline: RowPipeline, ops: Op[], on: UpdateHooks) => {
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

/** The time in which the CRM may still execute another row's unanswered update of this record, in ms. */
export const unansweredUpdateMs = ({ctx}: RowPipeline, {row, target}: Op): number =>
  ctx.run.dryRun ? 0 : ctx.lateUpdates.waitMs(target!, row.key)

/**
 * Drops each value of an `onlyAbsent` field that is filled in the CRM, and plans the rows that have other values again. The rows must hold the locks of
 * their records, so that the read shows earlier patches. If a patch of the record is unanswered, the row waits in the background.
 */
export const planUnfilled = async (pipeline: RowPipeline, ops: Op[], on: UpdateHooks): Promise<void> => {
  const {ctx, flow} = pipeline
  const ready: Op[] = []
  for (const op of ops) {
    const waitMs = unansweredUpdateMs(pipeline, op)
    const fillLater = () => waitInPipeline(pipeline, waitMs).then(() => planUnfilled(pipeline, [op], on))
    if (waitMs === 0) ready.push(op)
    else trackWork(pipeline, fillLater())
  }
  await dropFilledValues(ctx, flow, ready)
  const rows = ready.map(({row}) => row)
  const [full, empty] = [rows.filter(hasFields), rows.filter(row => !hasFields(row))]
  await endEmptyPatches(pipeline, flow, empty)
  on.end(empty)
  if (full.length > 0) await on.plan(full)
}

/** The maximum number of planned values that a dry run remembers. Beyond it, two rows of one record may both plan to fill a field. */
const mostPlanned = 100_000

const dropFilledValues = async (ctx: Context, {module, patchPlan}: CompiledFlow, ops: Op[]) => {
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
