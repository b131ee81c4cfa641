import type {CountSpan} from '../../../shared/runs/forecast/forecast.ts'
import type {CompiledFlow} from '../../engine/model.ts'
import {spanOf} from './call-plan.ts'
import type {PlannedSteps} from './planned-steps.ts'
import type {FlowTally} from './tally-rows.ts'

/** How many rows of a module an earlier run wrote, planned or saw refused (`written`), and how many it skipped. */
type ModuleShare = {written: number; skipped: number}
/**
 * `share`: the module's counts in a dry run of this import (`isDryRun`) or in the last run of its template; null: unknown. `isOnlyFlow`:
 * whether no other flow and no patch writes the module. `steps`: what the dry run planned for this flow.
 */
type WrittenBasis = {share: ModuleShare | null; isDryRun: boolean; isOnlyFlow: boolean; steps: PlannedSteps | null}

/** The maximum difference between the written share of another file and that of the last run. */
const shareMargin = 0.1

/** Returns how many rows of the flow are written. Only the CRM knows which rows match, and which records already have every value. */
export const countWritten = (flow: CompiledFlow, tally: FlowTally, {share, isDryRun, isOnlyFlow, steps}: WrittenBasis): CountSpan => {
  const {rows, keyed, mayEnd} = tally
  if (steps && !flow.subform) return spanOf(Math.min(rows, steps.creates + steps.updates + steps.refused))
  if (flow.deletes) return share && isDryRun && isOnlyFlow ? spanOf(share.written) : spanOf(0, keyed)
  if (share && isDryRun && isOnlyFlow) return spanOf(Math.min(rows, share.written))
  const mayLeave = leavesMatched(flow) ? keyed : 0
  const least = Math.max(0, rows - mayLeave - mayEnd)
  const total = share ? share.written + share.skipped : 0
  if (!share || isDryRun || total === 0 || least === rows) return spanOf(least, rows)
  const usual = share.written / total
  return spanOf(
    Math.max(least, Math.floor(rows * (usual - shareMargin))),
    Math.max(least, Math.min(rows, Math.ceil(rows * (usual + shareMargin)))),
  )
}

/** Whether a row that matches a record may end without a write. */
const leavesMatched = ({onOne, comparedFields, edits, patchPlan}: CompiledFlow) =>
  !patchPlan && (onOne === 'skip' || (onOne === 'update' && (comparedFields !== null || Boolean(edits))))
