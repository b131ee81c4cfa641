import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {Difference} from '../../../shared/runs/verify/difference.ts'
import type {FieldCounts, ReadMarks, RowCounts, VerifyResult} from '../../../sql/verify-results.ts'
import type {CompiledFlow} from '../model.ts'
import {isLastChangedBy} from '../undo/decide-undo.ts'
import {classifyValue, type RecordTraces} from './classify-value.ts'
import {findModuleField} from './module-field.ts'
import type {WrittenRow} from './written-rows.ts'

export type FlowOf = (row: Pick<WrittenRow, 'flow' | 'phase'>) => CompiledFlow

/** Rows of one flow and their records as they were read. `records`: by id; null if the CRM refused to show them. */
export type ReadRows = {rows: WrittenRow[]; records: ReadonlyMap<string, CrmRecord> | null}

/** The fields that are read besides the sent ones. */
export const STAMPS = ['Modified_Time', 'Modified_By']

/** The counts and differences that were found when rows were read back. `marks`: the new marks of their records. */
export type Findings = {fields: FieldCounts[]; rows: RowCounts; differences: Difference[]; marks: ReadMarks[]}

/** By flow, then by field name. */
type CountsByFlow = Map<number, Map<string, FieldCounts>>
/**
 * `read`: the values that differ, by module and record id. It contains a record only if its flow stores marks and no other user changed it last.
 */
type OpenFindings = Omit<Findings, 'fields' | 'marks'> & {counts: CountsByFlow; read: Map<string, ReadRecord>}
type ReadRecord = {flow: CompiledFlow; recordId: string; values: Record<string, unknown>}

/**
 * Compares the sent values of rows with the records that were read. The caller omits values that a later row of the run wrote. `user`: the
 * connection's CRM user.
 */
export const judgeRows = (flowOf: FlowOf, user: string, parts: readonly ReadRows[]): Findings => {
  const findings: OpenFindings = {
    counts: new Map(),
    rows: {rows: 0, coerced: 0, changed: 0, missing: 0, unread: 0, second: 0, secondCoerced: 0, secondChanged: 0},
    differences: [],
    read: new Map(),
  }
  for (const {rows, records} of parts) for (const row of rows) judgeRow(findings, {flow: flowOf(row), user, row, records})
  const {counts, read: records, ...found} = findings
  return {...found, fields: [...counts.values()].flatMap(fields => [...fields.values()]), marks: [...records.values()].map(marksOf)}
}

type JudgedRow = {flow: CompiledFlow; user: string; row: WrittenRow; records: ReadRows['records']}

const judgeRow = (findings: OpenFindings, {flow, user, row, records}: JudgedRow) => {
  const {rows} = findings
  const record = records?.get(row.recordId)
  const isOther = record !== undefined && isByOther(record, user)
  const traces = record && {isByOther: isOther, isTouched: isLater(row, record) || runsAutomations(flow)}
  const counts = countsOf(findings.counts, row.flow)
  const own: Difference[] = []
  for (const [name, sent] of Object.entries(row.sent)) {
    const value = record && {sent, read: record[name]}
    const result = records === null ? 'uncompared' : value ? resultOf(flow, name, value, traces!) : 'missing'
    countField(counts, {flow: row.flow, field: name}, result)
    if (result === 'as_sent' || result === 'uncompared') continue
    const {sent: _, writtenAt: __, isSure: ___, isSecond: ____, ...place} = row
    own.push({...place, field: name, result, sent, ...(record && {read: record[name] ?? null})})
  }
  findings.differences.push(...own)
  const isCoerced = own.some(({result}) => result === 'truncated' || result === 'coerced')
  const isChanged = own.some(({result}) => result === 'changed')
  if (isCoerced) rows.coerced++
  if (isChanged) rows.changed++
  if (row.isSecond) {
    rows.second++
    if (isCoerced) rows.secondCoerced++
    if (isChanged) rows.secondChanged++
  } else {
    rows.rows++
    if (records === null) rows.unread++
    else if (!record) rows.missing++
  }
  if (record && !isOther) noteRead(findings, flow, row, own)
}

type ReadValue = {sent: unknown; read: unknown}

const resultOf = (flow: CompiledFlow, name: string, value: ReadValue, traces: RecordTraces): Exclude<VerifyResult, 'missing'> => {
  const field = findModuleField(flow.module, name)
  return field ? classifyValue(field, value, traces) : 'uncompared'
}

const isLater = ({writtenAt}: WrittenRow, {Modified_Time: modified}: CrmRecord) =>
  writtenAt !== null && modified !== writtenAt && Date.parse(String(modified)) > Date.parse(writtenAt)

const runsAutomations = ({options}: CompiledFlow) =>
  Array.isArray(options?.automations) ? options.automations.length > 0 : options?.automations === true

const isByOther = (record: CrmRecord, user: string) => record.Modified_By != null && !isLastChangedBy(record, user)

const countsOf = (counts: CountsByFlow, flow: number): Map<string, FieldCounts> => {
  const found = counts.get(flow) ?? new Map<string, FieldCounts>()
  counts.set(flow, found)
  return found
}

const countField = (counts: Map<string, FieldCounts>, {flow, field}: Pick<FieldCounts, 'flow' | 'field'>, result: VerifyResult) => {
  let found = counts.get(field)
  if (!found) {
    found = {flow, field, as_sent: 0, truncated: 0, coerced: 0, changed: 0, missing: 0, uncompared: 0}
    counts.set(field, found)
  }
  found[result]++
}

/** Notes the differing values that were read. Not called for a record that another user changed last. */
const noteRead = ({read}: OpenFindings, flow: CompiledFlow, {recordId}: WrittenRow, own: readonly Difference[]) => {
  if (!flow.marks || own.length === 0) return
  const name = `${flow.module.no} ${recordId}`
  const values = Object.fromEntries(own.map(difference => [difference.field, difference.read]))
  read.set(name, {flow, recordId, values: {...read.get(name)?.values, ...values}})
}

/** Returns marks of values that were read, so that the next run does not take a change by the CRM or its automations for an edit. */
const marksOf = ({flow, recordId, values}: ReadRecord): ReadMarks => ({
  module: flow.module.apiName,
  recordId,
  marks: flow.marks!.pack(recordId, values),
})
