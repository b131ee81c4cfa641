import {type Refusal, refusal} from './answers.ts'
import {draftRecord, type Write} from './drafts.ts'
import {invalidId} from './field-checks.ts'
import type {Field} from './fields.ts'
import {type Module, rowsModule} from './modules.ts'
import {recordId} from './org.ts'
import {insert, type Rec, remove, replaceValues, revive, type Values} from './store.ts'

/** What a write would change in the rows of one field. It is applied only if the whole record is accepted. */
export type RowPlan = {field: Field; child: Module; removed: Rec[]; changed: {rec: Rec; values: Values}[]; added: Values[]}

/**
 * Plans the changes of rows. Rows with an id are changed, or removed with `_delete`; rows without one are added. Rows that are not sent
 * stay, but an empty list or null removes all.
 */
export const planRows = (
  write: Write,
  field: Field,
  value: unknown,
  rec: Rec | null,
  path: string,
  problems: Refusal[],
): RowPlan | null => {
  const rows = value === null ? [] : value
  if (!Array.isArray(rows)) {
    problems.push(refusal('INVALID_DATA', {expected_data_type: 'jsonarray', api_name: field.name, json_path: path}))
    return null
  }
  const held = rec?.rows?.get(field.name) ?? []
  const plan: RowPlan = {field, child: rowsModule(write.org, field), removed: [], changed: [], added: []}
  if (rows.length === 0) plan.removed = held
  rows.forEach((row, index) => {
    planRow(write, plan, row, held, `${path}[${index}]`, problems)
  })
  checkCount(write, plan, held, path, problems)
  if (field.type === 'multiselectlookup') checkLinks(plan, held, path, problems)
  return plan
}

export const commitRows = (write: Write, parent: Rec, plan: RowPlan) => {
  const gone = new Set(plan.removed)
  for (const row of gone) remove(plan.child.store, row)
  for (const {rec, values} of plan.changed) {
    replaceValues(plan.child.store, rec, {...rec.values, ...values})
    rec.modifiedAt = write.at
    rec.modifiedBy = write.user
  }
  const kept = (parent.rows?.get(plan.field.name) ?? []).filter(row => !gone.has(row))
  const added = plan.added.map(values => addRow(write, parent, plan.child, values))
  parent.rows ??= new Map()
  parent.rows.set(plan.field.name, [...kept, ...added])
}

export const removeRows = (parent: Rec, module: Module, org: Write['org']) => {
  for (const field of module.rows) {
    const child = rowsModule(org, field)
    for (const row of parent.rows?.get(field.name) ?? []) remove(child.store, row)
  }
}

/** Puts back the rows that were removed with their record. */
export const restoreRows = (parent: Rec, module: Module, org: Write['org']) => {
  for (const field of module.rows) {
    const child = rowsModule(org, field)
    for (const row of parent.rows?.get(field.name) ?? []) revive(child.store, row)
  }
}

export const countRows = (parent: Rec): number => [...(parent.rows?.values() ?? [])].reduce((sum, rows) => sum + rows.length, 0)

/** Counts the subform rows that a record sends, including those with `_delete`. */
export const countElements = (module: Module, input: unknown): number => {
  if (module.rows.length === 0 || typeof input !== 'object' || input === null) return 0
  const sent = input as Values
  return module.rows.reduce((sum, {name}) => sum + (Array.isArray(sent[name]) ? sent[name].length : 0), 0)
}

export const readRow = (child: Module, row: Rec, zone: string) => {
  const read: Record<string, unknown> = {id: row.id}
  for (const field of child.fields.values()) {
    if (!hiddenInRows.has(field.name)) read[field.name] = field.read(row, zone)
  }
  return read
}

const hiddenInRows = new Set(['Owner', 'Created_By', 'Modified_By', 'Record_Status__s', 'Locked__s'])

const planRow = (write: Write, plan: RowPlan, row: unknown, held: Rec[], path: string, problems: Refusal[]) => {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    problems.push(refusal('INVALID_DATA', {expected_data_type: 'jsonobject', api_name: plan.field.name, json_path: path}))
    return
  }
  const input = {...row} as Values
  const rec = input.id === undefined ? null : held.find(one => one.id === input.id)
  if (rec === undefined) {
    problems.push(refusal('INVALID_DATA', {id: input.id, api_name: 'id', json_path: `${path}.id`}, invalidId))
    return
  }
  if (rec && '_delete' in input) {
    plan.removed.push(rec)
    return
  }
  const draft = draftRecord(write, plan.child, input, rec, path)
  problems.push(...draft.problems)
  if (rec === null) plan.added.push(draft.values)
  else if (Object.keys(draft.values).length > 0) plan.changed.push({rec, values: draft.values})
}

const checkCount = (write: Write, plan: RowPlan, held: Rec[], path: string, problems: Refusal[]) => {
  const limit = write.org.switches.subformRowsPerRecord
  if (limit === null || held.length - plan.removed.length + plan.added.length <= limit) return
  problems.push(refusal('LIMIT_EXCEEDED', {limit, api_name: plan.field.name, json_path: path}))
}

/** Adds a problem if two rows link the same record. */
const checkLinks = (plan: RowPlan, held: Rec[], path: string, problems: Refusal[]) => {
  const by = plan.field.spec.links!.field
  const changed = new Map(plan.changed.map(({rec, values}) => [rec, values[by]]))
  const targets = held.filter(row => !plan.removed.includes(row)).map(row => changed.get(row) ?? row.values[by])
  targets.push(...plan.added.map(values => values[by]))
  const isDouble = targets.some((target, index) => target !== undefined && targets.indexOf(target) !== index)
  if (isDouble) problems.push(refusal('DUPLICATE_LINKING_DATA', {api_name: plan.field.name, json_path: path}))
}

const addRow = (write: Write, parent: Rec, child: Module, values: Values): Rec => {
  const row: Rec = {
    id: recordId(write.org),
    values,
    owner: parent.owner,
    createdBy: write.user,
    modifiedBy: write.user,
    createdAt: write.at,
    modifiedAt: write.at,
    rows: null,
    parent,
    converted: false,
    locked: false,
    gone: false,
  }
  insert(child.store, row)
  return row
}
