import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {Difference} from '../../../shared/runs/verify/difference.ts'
import type {FieldCounts, ReadMarks, RowCounts, VerifyResult} from '../../../sql/verify-results.ts'
import type {CompiledFlow} from '../model.ts'
import {isLastChangedBy} from '../undo/decide-undo.ts'
import {classifyValue} from './classify-value.ts'
import type {WrittenRow} from './written-rows.ts'

export type FlowOf = (row: Pick<WrittenRow, 'flow' | 'phase'>) => CompiledFlow

/** Rows of one flow and their records as they were read. Null: the CRM refused to show them. */
export type ReadRows = {rows: WrittenRow[]; records: ReadonlyMap<string, CrmRecord> | null}

/** The fields that are read besides the sent ones. */
export const STAMPS = ['Modified_Time', 'Modified_By']

/** What was found when rows were read back. */
export type Findings = {fields: Map<string, FieldCounts>; rows: RowCounts; differences: Difference[]; marks: ReadMarks[]}

const noFindings = (): Findings => ({
  fields: new Map(),
  rows: {rows: 0, coerced: 0, changed: 0, missing: 0, unread: 0},
  differences: [],
  marks: [],
})

/** Judges rows whose values no other row of the run wrote later. `user`: the connection's user. */
export const judgeRows = (flowOf: FlowOf, user: string, read: readonly ReadRows[]): Findings => {
  const findings = noFindings()
  for (const {rows, records} of read) for (const row of rows) judgeRow(findings, {flow: flowOf(row), user, row, records})
  return findings
}

type JudgedRow = {flow: CompiledFlow; user: string; row: WrittenRow; records: ReadRows['records']}

const judgeRow = (findings: Findings, {flow, user, row, records}: JudgedRow) => {
  const record = records?.get(row.recordId)
  const found = new Set<VerifyResult>()
  for (const [name, sent] of Object.entries(row.sent)) {
    const result = records === null ? 'uncompared' : record ? resultOf(flow, {user, row, record}, name) : 'missing'
    found.add(result)
    countField(findings, {flow: row.flow, field: name}, result)
    if (result === 'as_sent' || result === 'uncompared') continue
    const {sent: _, writtenAt: __, isSure: ___, ...place} = row
    findings.differences.push({...place, field: name, result, sent, ...(record && {read: record[name] ?? null})})
  }
  const {rows} = findings
  rows.rows++
  if (records === null) rows.unread++
  else if (!record) rows.missing++
  if (found.has('truncated') || found.has('coerced')) rows.coerced++
  if (found.has('changed')) rows.changed++
  if (record && !isByOther(record, user)) markRead(findings, flow, row)
}

type ReadRow = Pick<JudgedRow, 'user' | 'row'> & {record: CrmRecord}

const resultOf = (flow: CompiledFlow, {user, row, record}: ReadRow, name: string): Exclude<VerifyResult, 'missing'> => {
  const field = flow.module.fields.find(({apiName}) => apiName === name)
  if (!field) return 'uncompared'
  const isLater = row.writtenAt !== null && Date.parse(String(record.Modified_Time)) > Date.parse(row.writtenAt)
  const traces = {isByOther: isByOther(record, user), isTouched: isLater || runsAutomations(flow)}
  return classifyValue(field, {sent: row.sent[name], read: record[name]}, traces)
}

const runsAutomations = ({options}: CompiledFlow) =>
  Array.isArray(options?.automations) ? options.automations.length > 0 : options?.automations === true

/** Whether another user changed the record last. */
const isByOther = (record: CrmRecord, user: string) => record.Modified_By != null && !isLastChangedBy(record, user)

const countField = ({fields}: Findings, {flow, field}: Pick<FieldCounts, 'flow' | 'field'>, result: VerifyResult) => {
  const key = `${flow} ${field}`
  const counts = fields.get(key) ?? {flow, field, as_sent: 0, truncated: 0, coerced: 0, changed: 0, missing: 0, uncompared: 0}
  counts[result]++
  fields.set(key, counts)
}

/**
 * Makes the values that were read the base for detecting later edits. Thus the next run does not take a value of the CRM or its automations
 * for an edit. Values that another user changed still count as edits.
 */
const markRead = ({differences, marks}: Findings, flow: CompiledFlow, {key, recordId}: WrittenRow) => {
  const own = differences.filter(difference => difference.key === key && difference.recordId === recordId && difference.flow === flow.no)
  if (!flow.marks || own.length === 0) return
  const values = Object.fromEntries(own.map(({field, read}) => [field, read]))
  marks.push({module: flow.module.apiName, recordId, marks: flow.marks.pack(recordId, values)})
}
