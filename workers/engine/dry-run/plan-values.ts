import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {PlannedValues} from '../../../shared/runs/results/planned-values.ts'
import type {StepFacts} from '../../../shared/runs/sealed-plan/plan-step.ts'
import {PLAN_LIST} from '../../../sql/segments.ts'
import type {Context, LedgerContext} from '../context.ts'
import {holdsAll, isComparable, isEqual, mayBeCut} from '../match/compare-values.ts'
import {readByIdUnlessRefused} from '../match/read-by-id.ts'
import type {CompiledFlow, FlowField, ImportRow, StepKind} from '../model.ts'
import {describeNested, describeSteps, knowsChanges} from '../sealed-plan/describe-steps.ts'
import {openSegmentWriter, type SegmentWriter} from '../segment-writer.ts'
import type {Op} from '../settle/verdict.ts'
import {isPlannedId} from './planned-ids.ts'

/** Stores the values that a dry run would write. Call `keep` before the settlement, so that every logged row has its values. */
export type ValueStore = SegmentWriter<PlannedValues>

export const openValueStore = (ctx: LedgerContext): ValueStore =>
  openSegmentWriter(ctx, {list: PLAN_LIST, what: 'plan', gatherMs: 100, nameObject: id => `plan-${id}.ndjson.gz`})

/**
 * Returns the changes that these operations and the rows nested in them would make. Each result has its plan step if the CRM says when a record was
 * last changed. Costs one CRM call per hundred records and fifty fields. If the CRM refuses to show the values, every value counts as a change.
 */
export const planValues = async (ctx: Context, flow: CompiledFlow, kind: StepKind, ops: Op[]): Promise<PlannedValues[]> => {
  const there = ops.filter(({target}) => target !== null && !isPlannedId(target))
  const written = kind === 'delete' ? [] : there.flatMap(({row}) => Object.keys(row.payload))
  const times = knowsChanges(ctx) ? ['Modified_Time'] : []
  const ids = [...new Set(there.map(({target}) => target!))]
  const read = async (fields: string[]) => (fields.length > 0 ? await readByIdUnlessRefused(ctx, flow, {ids, fields}) : null)
  const records = (await read([...new Set([...written, ...times])])) ?? (await read(times)) ?? new Map<string, CrmRecord>()
  const steps = knowsChanges(ctx) ? await describeSteps(ctx, kind, ops, records) : new Map<ImportRow, StepFacts>()
  const values = ops.map(({row, target}) => ({
    ...(kind === 'delete' ? withoutChanges(flow, row) : valuesOf(flow, row, records.get(target ?? '') ?? null)),
    ...withStep(steps.get(row)),
  }))
  return [...values, ...(await planNested(ctx, ops))]
}

const planNested = async (ctx: Context, ops: Op[]): Promise<PlannedValues[]> => {
  const values: PlannedValues[] = []
  for (const {row: parent} of ops)
    for (const {flow, rows} of parent.nested ?? []) {
      const steps = knowsChanges(ctx) ? await describeNested(ctx, parent, rows) : new Map<ImportRow, StepFacts>()
      values.push(...rows.map(row => ({...valuesOf(flow, row, null), ...withStep(steps.get(row))})))
    }
  return values
}

const withStep = (step: StepFacts | undefined) => (step ? {step} : {})

/**
 * Returns the fields that the row would change, each with its current and its planned value. A text that may be cut counts as a change. `record`:
 * null if it does not exist yet, or its values are unknown.
 */
export const valuesOf = (flow: CompiledFlow, {number, payload}: ImportRow, record: CrmRecord | null): PlannedValues => {
  const changes = Object.entries(payload).flatMap(([name, value]): PlannedValues['changes'] => {
    const field = flow.module.fields.find(({apiName}) => apiName === name)
    const old = record?.[name]
    const format = field?.type === 'tag' ? tagsOf : textOf
    const [before, after] = [format(old), format(value)]
    const isSameText = before === after && !(field && mayBeCut(field, old))
    return isSameText || (field && isHeld(field, value, old)) ? [] : [[name, before, after]]
  })
  return {row: number, flow: flow.no, phase: flow.patchPlan ? 'patch' : 'write', changes}
}

/** Compares as strictly as the decision whether to update. Without a record, an unticked checkbox is no change. */
const isHeld = (field: FlowField, value: unknown, old: unknown): boolean => {
  const holds = isComparable(field) && field.type !== 'boolean' ? holdsAll : isEqual
  return holds([field], {[field.apiName]: value}, {[field.apiName]: old})
}

/** Returns the plan values of a row that writes no field, because its record is deleted. */
const withoutChanges = (flow: CompiledFlow, {number}: ImportRow): PlannedValues => ({
  row: number,
  flow: flow.no,
  phase: 'write',
  changes: [],
})

/** Formats tags as their names. The CRM returns tags with ids, but they are sent without. */
const tagsOf = (tags: unknown): string => (Array.isArray(tags) ? tags.map(({name}) => name).join('; ') : textOf(tags))

/** Formats a value as text. A link becomes its record id. A placeholder id becomes text that names its row. */
const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(textOf).join('; ')
  if (typeof value === 'object') return 'id' in value ? textOf(value.id) : JSON.stringify(value)
  const text = String(value)
  return isPlannedId(text)
    ? `the record of row ${text.slice(text.lastIndexOf('.') + 1)} of ${text.slice('row:'.length, text.lastIndexOf('.'))}`
    : text
}
