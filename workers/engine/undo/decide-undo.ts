import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {FieldValues} from '../../../shared/runs/undo/before-image.ts'
import {type ComparedField, formOf, wholeFormOf} from '../match/compare-values.ts'
import {holdRows} from '../subform/row-values.ts'
import type {UndoRecord} from './undo-source.ts'

/** A field that keeps its value. */
export type KeptField = {field: string; code: 'CHANGED_SINCE' | 'UNDO_UNKNOWN'; message: string}

/**
 * What is done with a record. `done`: an unanswered write of this undo took effect. `payload`: the values to restore. `rows`: the subform rows
 * to restore. `kept`: fields that keep their values.
 */
export type UndoPlan =
  | {do: 'skip'; code: 'UNCHANGED' | 'GONE' | 'CHANGED_SINCE' | 'UNDO_UNKNOWN' | 'UNDO_NOT_KEPT'; message: string; kept: KeptField[]}
  | {do: 'done'; code: 'RESTORED' | 'DELETED'; kept: KeptField[]}
  | {do: 'restore'; payload: FieldValues; kept: KeptField[]}
  | {do: 'replace'; field: string; rows: FieldValues[]; kept: KeptField[]}
  | {do: 'delete' | 'undelete'; kept: KeptField[]}

/**
 * `writtenAt`: when the CRM last changed the record for the run, in ms; null if unknown. `user`: the connection's CRM user. `wasSent`: this
 * undo has already sent its write, which was not answered. `isForced`: created records are deleted even if they were changed since.
 * `canDelete`: whether the destination can delete records. `rowFields`: the fields of subform rows.
 */
export type UndoFacts = {
  record: CrmRecord | undefined
  writtenAt: number | null
  user: string
  wasSent: boolean
  isForced: boolean
  canDelete: boolean
  rowFields: readonly ComparedField[]
}

/** The fields that are read besides those to restore. */
export const STAMPS = ['Modified_Time', 'Modified_By', 'Created_Time']

/** Decides what to do with a record that was just read by id. */
export const decideUndo = (undone: UndoRecord, facts: UndoFacts): UndoPlan => {
  const {record, wasSent} = facts
  if (undone.effect === 'unknown')
    return skip('UNDO_UNKNOWN', 'The CRM never answered the create of this row. Look for its record in the CRM and delete it there')
  if (undone.effect === 'unkept')
    return skip('UNDO_NOT_KEPT', 'The CRM did not show the earlier values when this row was written, so there is nothing to restore')
  if (undone.effect === 'undelete') return record ? ended(wasSent, 'RESTORED', 'The record is there') : {do: 'undelete', kept: []}
  if (!record)
    return undone.effect === 'delete' && wasSent
      ? {do: 'done', code: 'DELETED', kept: []}
      : skip('GONE', 'The CRM no longer has this record')
  if (undone.effect === 'rows') return decideRows(undone, record, facts)
  if (undone.effect === 'restore') return decideFields(undone, record, wasSent)
  if (!facts.canDelete) return skip('UNDO_UNKNOWN', 'This destination cannot delete records, so the record was kept')
  if (facts.isForced || isUntouched(undone, record, facts)) return {do: 'delete', kept: []}
  return skip('CHANGED_SINCE', `The record was kept: ${describeChange(record)}`)
}

const skip = (code: (UndoPlan & {do: 'skip'})['code'], message: string, kept: KeptField[] = []): UndoPlan => ({
  do: 'skip',
  code,
  message,
  kept,
})

const ended = (wasSent: boolean, code: 'RESTORED' | 'DELETED', message: string, kept: KeptField[] = []): UndoPlan =>
  wasSent ? {do: 'done', code, kept} : skip('UNCHANGED', message, kept)

/**
 * Whether the record was not changed since the run's last write. A record from the recycle bin keeps the user who changed it last, so only
 * the time of the change is compared.
 */
const isUntouched = ({isReturned}: UndoRecord, record: CrmRecord, {writtenAt, user}: UndoFacts): boolean => {
  if (isReturned) return writtenAt !== null && Date.parse(String(record.Modified_Time)) <= writtenAt
  const last = writtenAt ?? Date.parse(String(record.Created_Time))
  return isLastChangedBy(record, user, last)
}

/** Whether the user made the last change of the record, at or before `until` (ms). */
export const isLastChangedBy = ({Modified_By: by, Modified_Time: at}: CrmRecord, user: string, until = Number.POSITIVE_INFINITY) =>
  idOf(by) === user && Date.parse(String(at)) <= until

const decideFields = ({flow, before, sent, sentEarlier}: UndoRecord, record: CrmRecord, wasSent: boolean): UndoPlan => {
  const payload: FieldValues = {}
  const kept: KeptField[] = []
  let isRestored = false
  for (const name of Object.keys(sent)) {
    const field = flow.module.fields.find(({apiName}) => apiName === name)
    const now = field && wholeFormOf(field, record[name])
    const was = field && wholeFormOf(field, before[name])
    const ours = [sent, ...sentEarlier].filter(values => name in values).map(values => field && formOf(field, values[name]))
    const isUnknown = now === undefined || was === undefined || (now !== was && !ours.includes(now) && ours.includes(undefined))
    if (isUnknown) kept.push({field: name, code: 'UNDO_UNKNOWN', message: `${name} was kept: its values cannot be compared`})
    else if (now === was) isRestored = true
    else if (ours.includes(now)) payload[name] = writable(before[name])
    else kept.push({field: name, code: 'CHANGED_SINCE', message: `${name} was kept: ${describeChange(record)}`})
  }
  if (Object.keys(payload).length > 0) return {do: 'restore', payload, kept}
  if (wasSent && isRestored) return {do: 'done', code: 'RESTORED', kept}
  const isChanged = kept.some(({code}) => code === 'CHANGED_SINCE')
  if (isChanged) return skip('CHANGED_SINCE', `The values were kept: ${describeChange(record)}`, kept)
  if (kept.length > 0) return skip('UNDO_UNKNOWN', 'The values cannot be compared, so they were kept', kept)
  return ended(wasSent, 'RESTORED', 'The record already holds the values of before', kept)
}

/**
 * Restores the rows of a record as a whole, and only if they are rows that the run sent. A row is edited if it was modified after it was created. If
 * the record lacks the field, its rows cannot be read.
 */
const decideRows = ({before, sent, sentEarlier}: UndoRecord, record: CrmRecord, {rowFields, wasSent}: UndoFacts): UndoPlan => {
  const [field] = Object.keys(before) as [string]
  const [rows, was] = [record[field] as CrmRecord[] | undefined, before[field] as FieldValues[]]
  if (!rows) return keepRows(field, 'UNDO_UNKNOWN', 'the CRM does not show them')
  if (holdRows(rowFields, rows, was)) return ended(wasSent, 'RESTORED', 'The record already holds the rows of before')
  const held = [sent, ...sentEarlier].map(values => holdRows(rowFields, rows, values[field] as FieldValues[]))
  const isOurs = rows.some(isEditedRow) ? false : held.includes(true) || (held.includes(undefined) ? undefined : false)
  if (isOurs) return {do: 'replace', field, rows: was.map(values => mapValues(values, writable)), kept: []}
  return isOurs === undefined
    ? keepRows(field, 'UNDO_UNKNOWN', 'their values cannot be compared')
    : keepRows(field, 'CHANGED_SINCE', describeChange(record))
}

const keepRows = (field: string, code: KeptField['code'], why: string) =>
  skip(code, `The rows were kept: ${why}`, [{field, code, message: `The rows of ${field} were kept: ${why}`}])

const isEditedRow = ({Created_Time: created, Modified_Time: modified}: CrmRecord) =>
  Date.parse(String(modified)) > Date.parse(String(created))

const mapValues = (values: FieldValues, map: (value: unknown) => unknown): FieldValues =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))

/** A generic destination does not show who changed a record, or when. */
const describeChange = ({Modified_By: by, Modified_Time: at}: CrmRecord) =>
  at === undefined ? 'changed after the import' : `last changed by ${nameOf(by)} at ${String(at)}`

const nameOf = (by: unknown) =>
  String(typeof by === 'object' && by !== null ? ((by as {name?: unknown}).name ?? idOf(by)) : 'an unknown user')

const idOf = (link: unknown) => (typeof link === 'object' && link !== null && 'id' in link ? String(link.id) : null)

/** Returns a read value in the form in which it can be sent: a link by its id only, and null for an empty value. */
const writable = (value: unknown): unknown => {
  const id = idOf(value)
  return id === null ? (value ?? null) : {id}
}
