import {type Refusal, refusal} from './answers.ts'
import {combine, type Draft, draftRecord, type Write} from './drafts.ts'
import {invalidId} from './field-checks.ts'
import {takeNumber} from './fields.ts'
import {changedFields, noteChange} from './history.ts'
import {noteWrite} from './index-lag.ts'
import type {Module} from './modules.ts'
import {named, recordId} from './org.ts'
import {canSee} from './profiles.ts'
import {insert, type Rec, remove, replaceValues, type Values} from './store.ts'
import {commitRows, removeRows} from './subforms.ts'
import {formatInstant} from './zones.ts'

export type Success = {
  code: 'SUCCESS'
  details: Record<string, unknown>
  message: string
  status: 'success'
  action?: string
  duplicate_field?: string | null
}
export type Entry = Success | Refusal

export const isSuccess = (entry: Entry): entry is Success => entry.status === 'success'

/** Creates a record, or returns a refusal and stores nothing. */
export const createRecord = (write: Write, module: Module, input: unknown, path: string): Entry => {
  if (!isRecord(input)) return notAnObject(path)
  const draft = draftRecord(write, module, input, null, path)
  if (draft.problems.length > 0) return combine(draft.problems)
  const rec = commitNew(write, module, draft)
  return success(write, rec, 'record added')
}

export const updateRecord = (write: Write, module: Module, input: unknown, path: string, options: UpdateOptions = {}): Entry => {
  if (!isRecord(input)) return notAnObject(path)
  const id = options.id ?? input.id
  if (id === undefined || id === null) return refusal('MANDATORY_NOT_FOUND', {api_name: 'id', json_path: `${path}.id`})
  const rec = module.store.byId.get(String(id))
  if (!rec || !canSee(write, module.name, rec)) return refusal('INVALID_DATA', {id, api_name: 'id', json_path: `${path}.id`}, invalidId)
  return changeRecord(write, module, rec, input, path, options.unmodifiedSince ?? null)
}

export type UpdateOptions = {id?: string; unmodifiedSince?: number | null}

/** Updates the record of the first matching field, or creates one. */
export const upsertRecord = (write: Write, module: Module, input: unknown, path: string, options: UpsertOptions): Entry => {
  if (!isRecord(input)) return notAnObject(path)
  const found = findForUpsert(module, input, options.checked)
  if (found) {
    const entry = changeRecord(write, module, found.rec, input, path, options.unmodifiedSince)
    return isSuccess(entry) ? {...entry, action: 'update', duplicate_field: found.name} : entry
  }
  const entry = createRecord(write, module, input, path)
  return isSuccess(entry) ? {...entry, action: 'insert', duplicate_field: null} : entry
}

export type UpsertOptions = {checked: string[]; unmodifiedSince: number | null}

/** Returns the record that an upsert updates and the first field of `checked` that matches it; null without a match. */
export const findForUpsert = (module: Module, input: unknown, checked: string[]): {rec: Rec; name: string} | null => {
  if (!isRecord(input)) return null
  for (const name of checked) {
    const value = input[name]
    const rec = value === undefined || value === null ? undefined : findBy(module, name, value)
    if (rec) return {rec, name}
  }
  return null
}

export const deleteRecord = (write: Write, module: Module, id: string): Entry => {
  const rec = module.store.byId.get(id)
  if (!rec || !canSee(write, module.name, rec)) return refusal('INVALID_DATA', {id}, 'record not deleted')
  if (rec.locked) return refusal('RECORD_LOCKED', {id})
  removeRows(rec, module, write.org)
  remove(module.store, rec)
  module.store.bin.set(id, {rec, at: write.at, by: write.user})
  return {code: 'SUCCESS', details: {id}, message: 'record deleted', status: 'success'}
}

const changeRecord = (write: Write, module: Module, rec: Rec, input: Values, path: string, unmodifiedSince: number | null): Entry => {
  if (unmodifiedSince !== null && rec.modifiedAt > unmodifiedSince) return refusal('ALREADY_MODIFIED', stamps(write, rec))
  if (rec.locked) return refusal('RECORD_LOCKED', {id: rec.id})
  const draft = draftRecord(write, module, input, rec, path)
  if (draft.problems.length > 0) return combine(draft.problems)
  delay(write, module, rec, rec.values)
  const rows = draft.plans.map(({field}) => ({name: field.name, old: null, new: null}))
  const fields = [...changedFields(rec.values, draft.values), ...rows]
  noteChange(module, rec, {at: write.at, by: write.user, source: write.source ?? 'crm_ui', action: 'updated', fields})
  replaceValues(module.store, rec, {...rec.values, ...draft.values})
  if (draft.owner) rec.owner = draft.owner
  rec.modifiedAt = write.at
  rec.modifiedBy = write.user
  for (const plan of draft.plans) commitRows(write, rec, plan)
  return success(write, rec, 'record updated')
}

const commitNew = (write: Write, module: Module, draft: Draft): Rec => {
  const {values} = draft
  for (const field of module.numbered) values[field.name] = takeNumber(field)
  for (const field of module.defaulted) values[field.name] ??= field.spec.default
  const rec: Rec = {
    id: recordId(write.org),
    values,
    owner: draft.owner ?? write.assignee ?? write.user,
    createdBy: write.user,
    modifiedBy: write.user,
    createdAt: write.at,
    modifiedAt: write.at,
    rows: null,
    parent: null,
    converted: false,
    locked: false,
    gone: false,
    ...(write.source && {source: write.source}),
  }
  delay(write, module, rec, null)
  insert(module.store, rec)
  for (const plan of draft.plans) commitRows(write, rec, plan)
  return rec
}

/** Makes search and COQL show the earlier values until the lag has passed. */
const delay = ({org}: Write, {store}: Module, rec: Rec, before: Values | null) => {
  const {searchLagSeconds, coqlLagSeconds} = org.switches
  const now = org.clock.now()
  noteWrite(store.searchLag, rec, {before, now, seconds: searchLagSeconds})
  noteWrite(store.coqlLag, rec, {before, now, seconds: coqlLagSeconds})
}

const findBy = (module: Module, name: string, value: unknown): Rec | undefined => {
  const index = module.store.uniques.get(name) ?? module.store.lazies.get(name)
  return index?.first(value)
}

const success = (write: Write, rec: Rec, message: string): Success => ({
  code: 'SUCCESS',
  details: {...stamps(write, rec), $approval_state: 'approved'},
  message,
  status: 'success',
})

export const stamps = (write: Write, rec: Rec) => ({
  Modified_Time: stamp(rec.modifiedAt, write.zone),
  Modified_By: named(rec.modifiedBy),
  Created_Time: stamp(rec.createdAt, write.zone),
  id: rec.id,
  Created_By: named(rec.createdBy),
})

let lastStamp = {at: Number.NaN, zone: '', text: ''}

/** Formats a time. Records of a batch have the same time, so the last text is cached. */
const stamp = (at: number, zone: string): string => {
  if (lastStamp.at !== at || lastStamp.zone !== zone) lastStamp = {at, zone, text: formatInstant(at, zone)}
  return lastStamp.text
}

const isRecord = (input: unknown): input is Values => typeof input === 'object' && input !== null && !Array.isArray(input)
const notAnObject = (path: string) => refusal('INVALID_DATA', {expected_data_type: 'jsonobject', json_path: path})
