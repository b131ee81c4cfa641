import type {StepFacts} from '../../../shared/runs/sealed-plan/plan-step.ts'
import type {Context} from '../context.ts'
import type {ImportRow} from '../model.ts'
import type {ParentedGroup} from '../subform/pack.ts'
import type {CompiledSubformFlow} from '../subform/record-order.ts'
import type {EndReason} from '../subform/subform-group.ts'
import {listOwnWrites} from './choose-planned.ts'
import {describeSteps, knowsChanges, readTargets} from './describe-steps.ts'
import {findDifference, PLAN_STALE} from './keep-to-plan.ts'

/** Returns null if the destination does not say when a record was last changed. */
export const describeGroups = async (
  ctx: Context,
  flow: CompiledSubformFlow,
  groups: ParentedGroup[],
): Promise<Map<ImportRow, StepFacts> | null> => {
  if (!knowsChanges(ctx)) return null
  const ops = groups.flatMap(({parent, rows}) => rows.map(row => ({row, target: parent.recordId})))
  const module = ctx.snapshot.modules.find(({apiName}) => apiName === flow.subform.module)!
  const parents = await readTargets(
    ctx,
    {module},
    ops.map(({target}) => target),
  )
  return describeSteps(ctx, 'replace', ops, parents)
}

/**
 * Finds the groups in which a row differs from the plan. Such a group is stale as a whole, because the rows of a record are replaced
 * together. If the group has an unanswered write, a change of the record is ignored, because that write may have made it. Such
 * a group may also replace the rows of a record that the plan creates together with its rows.
 */
export const findStaleGroups = async (
  ctx: Context,
  flow: CompiledSubformFlow,
  groups: ParentedGroup[],
): Promise<{group: ParentedGroup; why: EndReason}[]> => {
  if (!ctx.plan) return []
  const steps = await describeGroups(ctx, flow, groups)
  const ours = await listOwnWrites(
    ctx,
    groups.map(({parent}) => ({target: parent.recordId})),
  )
  return groups.flatMap(group => {
    const {parent, rows} = group
    const isSent = rows.some(({open}) => open)
    const whys = rows.flatMap(row => {
      const now = steps!.get(row)!
      const read = isSent && row.step ? {...now, kind: row.step.kind, modifiedAt: row.step.modifiedAt} : now
      return findDifference(row.step ?? null, read, ours.get(parent.recordId) ?? null) ?? []
    })
    return whys.length > 0 ? [{group, why: {outcome: 'skipped', code: PLAN_STALE, message: whys[0]!}}] : []
  })
}
