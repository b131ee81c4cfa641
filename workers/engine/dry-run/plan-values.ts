import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {PlannedValues} from '../../../shared/runs/results/planned-values.ts'
import {PLAN_LIST} from '../../../sql/segments.ts'
import type {Context, LedgerContext} from '../context.ts'
import {isEqual} from '../match/compare-values.ts'
import {readById} from '../match/read-by-id.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {openSegmentWriter, type SegmentWriter} from '../segment-writer.ts'
import type {Op} from '../settle/verdict.ts'
import {isPlannedId} from './planned-ids.ts'

/** Stores the values that a dry run would write. Call `keep` before the settlement, so that every logged row has its values. */
export type ValueStore = SegmentWriter<PlannedValues>

export const openValueStore = (ctx: LedgerContext): ValueStore =>
  openSegmentWriter(ctx, {list: PLAN_LIST, what: 'plan', gatherMs: 100, nameObject: id => `plan-${id}.ndjson.gz`})

/** Returns the current and the planned values of these operations. Costs one CRM call per hundred records and fifty fields. */
export const compareValues = async (ctx: Context, flow: CompiledFlow, ops: Op[]): Promise<PlannedValues[]> => {
  const there = ops.filter(({target}) => target !== null && !isPlannedId(target))
  const fields = [...new Set(there.flatMap(({row}) => Object.keys(row.payload)))]
  const ids = [...new Set(there.map(({target}) => target!))]
  const records = await readById(ctx, flow, {ids, fields})
  return ops.map(({row, target}) => valuesOf(flow, row, records.get(target ?? '') ?? null))
}

/** Pairs the planned values of a row with the record's. `record`: null if it does not exist yet, or its values are unknown. */
export const valuesOf = (flow: CompiledFlow, {number, payload}: ImportRow, record: CrmRecord | null): PlannedValues => {
  const changes = Object.entries(payload).flatMap(([name, value]): PlannedValues['changes'] => {
    const field = flow.module.fields.find(({apiName}) => apiName === name)
    const old = record?.[name]
    const [before, after] = [textOf(old), textOf(value)]
    const isSame = before === after || (field && isEqual([field], {[name]: value}, {[name]: old}))
    return isSame ? [] : [[name, before, after]]
  })
  return {row: number, flow: flow.no, phase: flow.patchPlan ? 'patch' : 'write', changes}
}

/** Returns the plan values of a row that writes no field, because its record is deleted. */
export const withoutChanges = (flow: CompiledFlow, {number}: ImportRow): PlannedValues => ({
  ...{row: number, flow: flow.no, phase: 'write', changes: []},
})

/** Formats a value for a cell; a link is shown by its record id. */
const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(textOf).join('; ')
  if (typeof value === 'object') return 'id' in value ? textOf(value.id) : JSON.stringify(value)
  const text = String(value)
  return isPlannedId(text)
    ? `the record of row ${text.slice(text.lastIndexOf('.') + 1)} of ${text.slice('row:'.length, text.lastIndexOf('.'))}`
    : text
}
