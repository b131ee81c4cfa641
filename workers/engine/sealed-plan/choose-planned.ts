import {listLastWrites} from '../../../sql/undo.ts'
import type {Context} from '../context.ts'
import {prepareDeletes} from '../delete/prepare-deletes.ts'
import {isPlannedId} from '../dry-run/planned-ids.ts'
import {holdsAll, isComparable} from '../match/compare-values.ts'
import {readById} from '../match/read-by-id.ts'
import {type CompiledFlow, type ImportRow, STEP_CODES, type StepKind} from '../model.ts'
import type {RowPipeline} from '../pipeline-state.ts'
import {logOutcome} from '../settle/log-entries.ts'
import {emptySettlement} from '../settle/settler.ts'
import {logSkipped} from '../settle/skipped-rows.ts'
import {settleRows} from '../settle/unsent-rows.ts'
import {type Op, unsettledEntryOf} from '../settle/verdict.ts'
import {changedAt, describeSteps, readTargets, type TargetRecords} from './describe-steps.ts'
import {findDifference, isSent, PLAN_STALE, skipStale} from './keep-to-plan.ts'

/** `ops`: the operations to send. `ended`: rows that were settled without a send. */
type ChosenOps = {ops: Op[]; ended: ImportRow[]}

/**
 * Compares operations with the run's sealed plan just before they are sent. Reads the targets by id, because the query that matched them
 * may be old. A row that differs, or whose record another writer changed, is settled without a send. Exceptions: a create that was sent
 * before, and an unanswered update that took effect. Returns all operations if the run applies no plan, or the flow adds tags.
 */
const choosePlanned = async (
  {ctx, flow, window}: Pick<RowPipeline, 'ctx' | 'flow' | 'window'>,
  kind: StepKind,
  ops: Op[],
): Promise<ChosenOps> => {
  if (!ctx.plan || flow.tags || ops.length === 0) return {ops, ended: []}
  const records = await readTargets(
    ctx,
    flow,
    ops.map(({target}) => target),
  )
  const steps = await describeSteps(ctx, kind, ops, records)
  const ours = await listOwnWrites(ctx, ops)
  const differences = ops.flatMap((op): {op: Op; why: string}[] => {
    // A create that was sent before is not checked against the plan, because its record may already exist.
    if (kind === 'create' && isSent(op.row, flow)) return []
    const why = findDifference(op.row.step ?? null, steps.get(op.row)!, ours.get(op.target ?? '') ?? null)
    return why ? [{op, why}] : []
  })
  const applied =
    kind === 'update'
      ? await findApplied(
          ctx,
          flow,
          differences.map(({op}) => op),
        )
      : new Set<Op>()
  const stale = differences.filter(({op}) => !applied.has(op))
  if (stale.length === 0) return {ops, ended: []}
  const settled = emptySettlement()
  for (const {op, why} of stale) endStale(ctx, flow, settled, kind, op, why)
  const ended = stale.map(({op}) => op.row)
  await settleRows({ctx, flow, window}, settled, ended)
  const over = new Set(ended)
  return {ops: ops.filter(({row}) => !over.has(row)), ended}
}

/**
 * Returns the operations that may be sent now. Drops deletes whose record no longer matches, and operations that differ from the run's plan.
 */
export const chooseOps = async (
  pipeline: Pick<RowPipeline, 'ctx' | 'flow' | 'window'>,
  kind: StepKind,
  chosen: Op[],
): Promise<ChosenOps> => {
  const there = kind === 'delete' ? await prepareDeletes(pipeline, chosen) : {ops: chosen, ended: []}
  const {ops, ended} = await choosePlanned(pipeline, kind, there.ops)
  return {ops, ended: [...there.ended, ...ended]}
}

/** Returns when the chain last wrote each record, as an ISO 8601 time in UTC, by record id. */
export const listOwnWrites = async ({db, chain, snapshot}: Context, ops: Pick<Op, 'target'>[]): Promise<Map<string, string>> => {
  const records = [...new Set(ops.flatMap(({target}) => (target === null || isPlannedId(target) ? [] : [target])))]
  if (records.length === 0) return new Map()
  const writes = await listLastWrites(db, {chain, modules: snapshot.modules.map(({no}) => no), records})
  return new Map(writes.map(({recordId, writtenAt}) => [recordId, changedAt({id: recordId, Modified_Time: writtenAt})!]))
}

/** Finds unanswered updates whose record already has every sent value, so they can be sent again safely. Empty if a sent field cannot be compared. */
const findApplied = async (ctx: Context, flow: CompiledFlow, ops: Op[]): Promise<Set<Op>> => {
  const sent = ops.filter(({row}) => isSent(row, flow))
  const fields = flow.module.fields.filter(({apiName}) => sent.some(({row}) => apiName in row.payload))
  if (sent.length === 0 || !fields.every(isComparable)) return new Set()
  const records: TargetRecords = await readById(ctx, flow, {
    ids: [...new Set(sent.map(({target}) => target!))],
    fields: fields.map(({apiName}) => apiName),
  })
  return new Set(
    sent.filter(({row, target}) => {
      const record = records.get(target!)
      return (
        record !== undefined &&
        holdsAll(
          fields.filter(({apiName}) => apiName in row.payload),
          row.payload,
          record,
        )
      )
    }),
  )
}

/** Settles a row that differs from the plan. If a write was sent, the row ends as unanswered, because that write may have taken effect. */
const endStale = (
  ctx: Context,
  flow: CompiledFlow,
  settled: ReturnType<typeof emptySettlement>,
  kind: StepKind,
  {row, target}: Op,
  why: string,
) => {
  if (!isSent(row, flow)) return logSkipped(ctx, flow, settled, row, {...skipStale(why), recordId: target})
  const message = `A write of the row was sent and not answered, and it was not sent again. ${why}`
  logOutcome({flow, settled}, row, 'unanswered', {code: PLAN_STALE, message, attempt: row.attempt, recordId: target})
  if (!flow.patchPlan)
    settled.opened.push({...unsettledEntryOf(flow, row, {kind: STEP_CODES[kind], target, attempt: row.attempt}), ended: true})
}
