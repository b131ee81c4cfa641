import {HOW} from '../../../sql/chain-rows.ts'
import type {Context} from '../context.ts'
import {addQuestion} from '../match/match-decisions.ts'
import type {SkipPlan} from '../match/plan-rows.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {isDue, PLAN_STALE, sayKind, skipStale} from '../sealed-plan/keep-to-plan.ts'
import {countEmptyLinks, countUnchanged, logOutcome} from './log-entries.ts'
import type {SettlementParts} from './settler.ts'
import {closeUnsettled} from './verdict.ts'

/** Logs a row that ends without a write. Stores its record if other flows or patches need it. */
export const logSkipped = (ctx: Pick<Context, 'run'>, flow: CompiledFlow, settled: SettlementParts, row: ImportRow, given: SkipPlan) => {
  const plan = staleOf(flow, row, given)
  if (flow.patchPlan) return logUnchangedPatch(flow, settled, row, plan)
  const {code, recordId, asks} = plan
  const name = {module: flow.module.no, key: row.key}
  const isUnchanged = code === 'UNCHANGED'
  logOutcome({flow, settled}, row, 'skipped', {...plan, attempt: row.attempt})
  if (isUnchanged) {
    countUnchanged(settled, flow)
    countEmptyLinks(settled, flow, row)
  }
  if (recordId && flow.isReferenced)
    settled.kept.push({...name, recordId, how: isUnchanged ? HOW.unchanged : HOW.matched, matchKey: row.matchKey})
  if (asks) addQuestion(ctx, flow, settled, row, asks)
  closeUnsettled({flow, settled}, row)
}

/** Returns the plan of a row that would be skipped. If the sealed plan writes the row, it ends as stale instead. */
const staleOf = (flow: CompiledFlow, row: ImportRow, given: SkipPlan): SkipPlan =>
  given.code === PLAN_STALE || !isDue(row, flow)
    ? given
    : {...skipStale(`The plan would ${sayKind(row.step!.kind)}, but now: ${given.message}`), recordId: given.recordId}

/** The code and message for a row whose unanswered patch needs no further write. */
export const patchPresent = {
  code: 'PATCH_PRESENT',
  message: 'An earlier patch was not answered. The fields have values now, so the patch was applied or another user wrote them',
}

/** Logs a patch that needs no write, but only if the row is stale, its patch was sent before, or it has lookup notes. */
const logUnchangedPatch = (flow: CompiledFlow, settled: SettlementParts, row: ImportRow, reason: {code: string; message: string}) => {
  const {attempt, notes = []} = row
  countEmptyLinks(settled, flow, row)
  if (reason.code === PLAN_STALE) logOutcome({flow, settled}, row, 'skipped', {...reason, attempt})
  else if (attempt > 0) logOutcome({flow, settled}, row, 'skipped', {...patchPresent, attempt})
  else if (notes.length > 0) logOutcome({flow, settled}, row, 'skipped', {...reason, attempt})
}
