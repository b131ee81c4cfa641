import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {matchKeyOf} from '../../../shared/mapping/flows/match-key.ts'
import {listDeleted} from '../../../sql/chain-rows.ts'
import type {Context} from '../context.ts'
import {rowNumberOf} from '../dry-run/planned-ids.ts'
import {planKept, type SkipPlan} from '../match/plan-rows.ts'
import {readById, readByIdUnlessRefused} from '../match/read-by-id.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import type {RowWindow} from '../read/window.ts'
import {emptySettlement} from '../settle/settler.ts'
import {logSkipped} from '../settle/skipped-rows.ts'
import {settleRows} from '../settle/unsent-rows.ts'
import type {Op} from '../settle/verdict.ts'
import {logDeleted} from './delete-verdict.ts'

type Pass = {ctx: Context; flow: CompiledFlow; window: RowWindow}
/** `ops`: the deletes to send; their before images are stored. `ended`: rows that were settled without a send. */
type PreparedDeletes = {ops: Op[]; ended: ImportRow[]}

/**
 * Reads the records of deletes by id, because the query that matched them may be old. Does not delete a record that is gone or no longer has the
 * match values. Stores before images of the others, if the run keeps them.
 */
export const prepareDeletes = async (pass: Pass, ops: Op[]): Promise<PreparedDeletes> => {
  const {ctx, flow} = pass
  const records = await readWhole(
    ctx,
    flow,
    ops.map(({target}) => target!),
  )
  const deleters = await findDeleters(ctx, flow, ops, records)
  const settled = emptySettlement()
  const [left, ended]: [Op[], ImportRow[]] = [[], []]
  for (const op of ops) {
    const {row, target} = op
    const record = records.get(target!)
    const why = explainKept(flow, op, record, deleters.get(target!))
    const isDeleted = !record && row.decided !== null
    // A dry run plans the row of an earlier run's unanswered delete, because the run would report the row as deleted.
    if (!why || (isDeleted && ctx.run.dryRun)) {
      left.push(op)
      continue
    }
    ended.push(row)
    if (isDeleted) logDeleted(flow, settled, row, target!)
    else logSkipped(ctx, flow, settled, row, why)
  }
  if (ended.length > 0) await settleRows(pass, settled, ended)
  await keepWholeImages(ctx, flow, left, records)
  return {ops: left, ended}
}

/**
 * Reads the records with all values if the run stores before images. If not, or if the CRM refuses to show all values, reads only the match values.
 */
const readWhole = async (ctx: Context, flow: CompiledFlow, ids: string[]): Promise<Map<string, CrmRecord>> => {
  const query = {ids: [...new Set(ids)], fields: flow.matchFields.map(({apiName}) => apiName)}
  if (!ctx.images) return readById(ctx, flow, query)
  const whole = await readByIdUnlessRefused(ctx, flow, {...query, fields: flow.module.fields.map(({apiName}) => apiName)})
  if (!whole) ctx.log.warn({module: flow.module.apiName}, 'the CRM refuses to show fields, so before images hold the match values only')
  return whole ?? readById(ctx, flow, query)
}

/**
 * Returns, for each record, the key of the row that deletes it. For a missing record, finds the row of the chain or the retried chain that deleted
 * it. In a dry run, also finds earlier rows that would delete an existing record.
 */
const findDeleters = async (ctx: Context, {module}: CompiledFlow, ops: Op[], records: Map<string, CrmRecord>) => {
  const {chain, retried, db, run} = ctx
  const gone = ops.flatMap(({target}) => (records.has(target!) ? [] : [target!]))
  const there = run.dryRun ? ops.flatMap(({target}) => (records.has(target!) ? [target!] : [])) : []
  const list = async (chains: number[], ids: string[]) => (ids.length > 0 ? listDeleted(db, {chains, module: module.no, records: ids}) : [])
  const found = [...(await list([chain, retried ?? chain], gone)), ...(await list([chain], there))]
  return new Map(found.map(({recordId, key}) => [recordId, key]))
}

/** Returns the plan that skips the row, with the reason. Null: the record is to be deleted. */
const explainKept = (
  flow: CompiledFlow,
  {row, target}: Op,
  record: CrmRecord | undefined,
  deleter: string | undefined,
): SkipPlan | null => {
  if (deleter !== undefined) return planKept('GONE', `Row ${rowNumberOf(deleter)} of this import deletes the same record`, target)
  if (!record) return planKept('GONE', 'The CRM no longer has this record', target)
  const {matchFields} = flow
  const key = matchKeyOf(
    matchFields.map(({apiName}) => record[apiName]),
    matchFields,
  )
  return row.matchKey && key?.equals(row.matchKey) ? null : planKept('MATCH_NONE', 'The record no longer holds the match value', target)
}

/** Stores the values of the records before they are deleted. A delete that is sent again has its image already. */
const keepWholeImages = async ({images, run}: Context, flow: CompiledFlow, ops: Op[], records: Map<string, CrmRecord>) => {
  if (run.dryRun) return
  await images?.keep(
    ops
      .filter(({row}) => row.unansweredSends === 0)
      .map(({row, target}) => {
        const {id: _, ...before} = records.get(target!)!
        const place = {row: row.number, key: row.key, flow: flow.no, module: flow.module.no, recordId: target!}
        return {...place, phase: 'write' as const, before, sent: null}
      }),
  )
}
