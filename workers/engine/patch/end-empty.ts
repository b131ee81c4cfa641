import type {LookupNote} from '../compose/link-rows.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import type {RowPipeline} from '../pipeline-state.ts'
import {skipStale} from '../sealed-plan/keep-to-plan.ts'
import {countEmptyLinks, logOutcome} from '../settle/log-entries.ts'
import {emptySettlement} from '../settle/settler.ts'
import {patchPresent} from '../settle/skipped-rows.ts'

export const hasFields = ({payload}: ImportRow) => Object.keys(payload).length > 0

/** Whether a row with nothing to write still needs a log entry. */
const needsLogEntry = ({notes, attempt, step}: ImportRow) => attempt > 0 || (notes?.length ?? 0) > 0 || Boolean(step)

const noteOf = ({patchPlan}: CompiledFlow, {field, code, message}: LookupNote) => ({
  code: field === patchPlan?.parent?.field ? 'PARENT_FAILED' : `LOOKUP_${code}`,
  message,
  target: field,
})

/**
 * Ends patches with nothing left to write. A row that needs a log entry gets it under its last attempt. This entry replaces an unanswered outcome. The
 * other rows leave the window without a settlement.
 */
export const endEmptyPatches = async ({ctx, window}: Pick<RowPipeline, 'ctx' | 'window'>, flow: CompiledFlow, rows: ImportRow[]) => {
  for (const row of rows) if (!needsLogEntry(row)) window.leave(row.number)
  const answered = rows.filter(needsLogEntry)
  if (answered.length === 0) return
  const settled = emptySettlement()
  for (const row of answered) {
    const {attempt, notes} = row
    const [note] = notes ?? []
    row.notes = []
    countEmptyLinks(settled, flow, row)
    const reason =
      attempt > 0 ? patchPresent : row.step ? skipStale('The plan patches the record, but nothing is left to patch') : noteOf(flow, note!)
    logOutcome({flow, settled}, row, 'skipped', {...reason, attempt})
  }
  const leave = () => {
    for (const {number} of answered) window.leave(number)
  }
  await ctx.settler.settle({...settled, leave})
}
