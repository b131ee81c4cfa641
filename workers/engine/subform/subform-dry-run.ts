import type {PlannedValues} from '../../../shared/runs/results/planned-values.ts'
import {limitStop} from '../../../shared/runs/stop.ts'
import type {Context} from '../context.ts'
import {valuesOf} from '../dry-run/plan-values.ts'
import {isPlannedId, rowNumberOf} from '../dry-run/planned-ids.ts'
import {predictGroupRefusal} from '../dry-run/predict-refusal.ts'
import {RunStopped} from '../run-endings.ts'
import {describeGroups} from '../sealed-plan/describe-groups.ts'
import {logOutcome} from '../settle/log-entries.ts'
import {emptySettlement} from '../settle/settler.ts'
import type {ParentedGroup} from './pack.ts'
import type {CompiledSubformFlow} from './record-order.ts'

/**
 * Plans groups in a dry run: stores their planned values, and logs their rows as planned, or as refused if the CRM would refuse them. Stops
 * the run at its row limit. Does not read the records' present rows, so the plan does not show them.
 */
export const planGroups = async (ctx: Context, flow: CompiledSubformFlow, groups: ParentedGroup[]): Promise<void> => {
  const {run, planned} = ctx
  const settled = emptySettlement()
  const steps = await describeGroups(ctx, flow, groups)
  const values: PlannedValues[] = []
  let stop: RunStopped | null = null
  for (const {parent, rows} of groups) {
    const refusal = predictGroupRefusal(flow, rows)
    if (refusal) {
      for (const row of rows) logOutcome({flow, settled}, row, 'refused', {attempt: 1, recordId: recordOf(parent), ...refusal})
      continue
    }
    if (planned.count + rows.length > run.rowsLimit) {
      stop = new RunStopped(limitStop({...run, counted: planned.count}))
      break
    }
    planned.count += rows.length
    const recordId = recordOf(parent)
    const message = recordId ? 'replace' : `replace the rows of the record that row ${rowNumberOf(parent.recordId)} would make`
    values.push(...rows.map(row => ({...valuesOf(flow, row, null), ...(steps && {step: steps.get(row)!})})))
    for (const row of rows) logOutcome({flow, settled}, row, 'planned', {attempt: 1, recordId, message})
  }
  await ctx.values.keep(values)
  ctx.lease.lost.throwIfAborted()
  await ctx.settler.settle(settled)
  if (stop) throw stop
}

const recordOf = ({recordId}: ParentedGroup['parent']): string | null => (isPlannedId(recordId) ? null : recordId)
