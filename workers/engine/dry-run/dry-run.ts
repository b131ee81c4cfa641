import {atPoint} from '../../../shared/fault-point.ts'
import {limitStop} from '../../../shared/runs/stop.ts'
import {HOW} from '../../../sql/chain-rows.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, ImportRow, StepKind} from '../model.ts'
import {RunStopped} from '../run-endings.ts'
import {countNested} from '../send/nested-rows.ts'
import type {BatchResult} from '../send/send-batch.ts'
import {countDeleted, countEmptyLinks, logOutcome} from '../settle/log-entries.ts'
import {emptySettlement, type SettlementParts} from '../settle/settler.ts'
import type {Op} from '../settle/verdict.ts'
import {planValues} from './plan-values.ts'
import {isPlannedId, plannedIdOf, rowNumberOf} from './planned-ids.ts'
import {predictRefusal} from './predict-refusal.ts'

/**
 * Plans a batch in a dry run. Logs each row as planned, and stores the id of its record, or a placeholder id for a create, so that later rows match
 * the record. Logs a row that lacks a required field as refused, without counting it towards the row limit. Stops at the row limit, as a real run
 * does. `leave`: called for each logged row before its settlement.
 */
export const planBatch = async (
  ctx: Context,
  flow: CompiledFlow,
  kind: StepKind,
  ops: Op[],
  leave: (row: ImportRow) => void,
): Promise<BatchResult> => {
  const {run, planned} = ctx
  const refused = new Map(ops.flatMap(op => refusalOf(flow, kind, op)))
  const accepted = ops.filter(op => !refused.has(op))
  const taken = selectFitting(accepted, run.rowsLimit - planned.count)
  planned.count += taken.reduce((sum, op) => sum + countMetered(op), 0)
  const nested = taken.flatMap(({row: parent}) => (parent.nested ?? []).flatMap(({flow, rows}) => rows.map(row => ({flow, row, parent}))))
  await ctx.values.keep(await planValues(ctx, flow, kind, taken))
  const settled = emptySettlement()
  for (const {row, target} of taken) {
    const recordId = target === null || isPlannedId(target) ? null : target
    const message = target !== null && isPlannedId(target) ? `update of the record that row ${rowNumberOf(target)} would make` : kind
    logOutcome({flow, settled}, row, 'planned', {
      attempt: 1,
      recordId,
      message,
      code: kind === 'delete' ? 'DELETED' : row.hasLostCreate ? 'SENT_BEFORE' : null,
    })
    if (kind === 'delete') countDeleted(settled, flow)
    const how = kind === 'create' ? HOW.made : kind === 'delete' ? HOW.deleted : HOW.updated
    const {emptyLinks, matchKey} = row
    if (flow.patchPlan) countEmptyLinks(settled, flow, row)
    else
      settled.kept.push({
        module: flow.module.no,
        key: row.key,
        recordId: target ?? plannedIdOf(row),
        how,
        matchKey,
        flow: flow.no,
        emptyLinks,
      })
  }
  for (const {flow, row, parent} of nested)
    logOutcome({flow, settled}, row, 'planned', {attempt: 1, message: `create with the record that row ${parent.number} would make`})
  for (const [op, refusal] of refused) logRefusal(flow, settled, op, refusal)
  const over = [...taken, ...refused.keys()]
  settled.leave = () => {
    for (const {row} of over) leave(row)
  }
  atPoint('before_settle')
  ctx.lease.lost.throwIfAborted()
  if (over.length) await ctx.settler.settle(settled)
  const ending = taken.length < accepted.length ? new RunStopped(limitStop({...run, counted: planned.count})) : null
  return {next: new Map(over.map(({row}) => [row, 'end'])), unsent: [], ending}
}

type Refusal = NonNullable<ReturnType<typeof predictRefusal>>

const refusalOf = (flow: CompiledFlow, kind: StepKind, op: Op): [Op, Refusal][] => {
  const refusal = op.row.hasLostCreate || kind === 'delete' ? null : predictRefusal({flow, row: op.row, isCreate: kind === 'create'})
  return refusal ? [[op, refusal]] : []
}

/** Logs a row that the CRM would refuse, and its nested rows, which the CRM would refuse with it. */
const logRefusal = (flow: CompiledFlow, settled: SettlementParts, {row, target}: Op, refusal: Refusal) => {
  const recordId = target === null || isPlannedId(target) ? null : target
  logOutcome({flow, settled}, row, 'refused', {attempt: 1, recordId, ...refusal})
  for (const {flow: nest, rows} of row.nested ?? [])
    for (const nested of rows) logOutcome({flow: nest, settled}, nested, 'refused', {attempt: 1, ...refusal})
}

/** Counts the metered rows of an operation: the row itself and its nested rows. */
const countMetered = ({row}: Op): number => (row.isMetered === false ? 0 : 1) + countNested(row)

/**
 * Returns the operations in row order, up to the first metered one for which the room is too small. `room`: the rows that the row limit
 * still allows.
 */
const selectFitting = (ops: Op[], room: number): Op[] => {
  const sorted = ops.toSorted((a, b) => a.row.number - b.row.number)
  let counted = 0
  const past = sorted.findIndex(op => {
    counted += countMetered(op)
    return countMetered(op) > 0 && counted > room
  })
  return past < 0 ? sorted : sorted.slice(0, past)
}
