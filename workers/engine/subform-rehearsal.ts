import type {PlannedValues} from '../../shared/runs/planned-values.ts'
import {limitStop} from '../../shared/runs/stop.ts'
import type {Context} from './context.ts'
import {RunStopped} from './ending.ts'
import {valuesOf} from './plan-values.ts'
import {isSupposed, rowOf} from './rehearsal.ts'
import {nothingSettled} from './settler.ts'
import type {SubformTrack} from './subform-order.ts'
import type {Kept} from './subform-pack.ts'
import {enter} from './verdict.ts'

/** A dry run's request: what would be sent is written down as planned. Nothing is read of the records, so what they hold is not said. */
export const rehearseFamilies = async (ctx: Context, track: SubformTrack, families: Kept[]): Promise<void> => {
  const {run, planned} = ctx
  const settled = nothingSettled(null)
  const values: PlannedValues[] = []
  let stop: RunStopped | null = null
  for (const {parent, rows} of families) {
    if (planned.count + rows.length > run.rowsLimit) {
      stop = new RunStopped(limitStop({...run, counted: planned.count}))
      break
    }
    planned.count += rows.length
    const {recordId} = parent
    const isThere = !isSupposed(recordId)
    const message = isThere ? 'replace' : `replace the rows of the record that row ${rowOf(recordId)} would make`
    values.push(...rows.map(row => valuesOf(track, row, null)))
    for (const row of rows) enter({track, settled}, row, 'planned', {attempt: 1, recordId: isThere ? recordId : null, message})
  }
  await ctx.values.keep(values)
  ctx.lease.lost.throwIfAborted()
  await ctx.settler.settle(settled)
  if (stop) throw stop
}
