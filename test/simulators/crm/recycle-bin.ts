import {type Answer, CallRefused, nothing, ok, type Refusal, refusal, refuse} from './answers.ts'
import {type Call, headerInstant, isId, jsonOf, listParam, numberParam} from './call.ts'
import type {Write} from './drafts.ts'
import {invalidId} from './field-checks.ts'
import {noteChange} from './history.ts'
import type {Module} from './modules.ts'
import {named, type Org} from './org.ts'
import {isAdministrator} from './profiles.ts'
import {type Binned, revive} from './store.ts'
import {countRows, restoreRows} from './subforms.ts'
import {writeOf} from './write-calls.ts'
import {formatInstant} from './zones.ts'

const dayMs = 24 * 3600_000
/**
 * A record leaves the bin after `keptDays` days, and is no longer listed as deleted after `listedDays`. Source: the vendor's page of deleted
 * records (v7), parameter `type`.
 */
const keptDays = 60
const listedDays = 120
const recordsPerPage = 200

type Entry = {module: Module; binned: Binned}
type Restored = Refusal | {code: 'SUCCESS' | 'SCHEDULED'; details: {id: string}; message: string; status: 'success'}

/**
 * Lists the records in the bin that the user may restore, or those of them with the given ids. Source: the vendor's OpenAPI of the recycle bin,
 * operation getRecycleBinRecords.
 */
export const listBin = (call: Call): Answer => {
  const ids = call.segments[2] === undefined ? listParam(call, 'ids') : [call.segments[2]]
  if (!ids.every(isId)) throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: 'ids'}, invalidId))
  if (call.query.has('filters')) throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: 'filters'}))
  const page = numberParam(call, 'page', 1)
  const perPage = numberParam(call, 'per_page', recordsPerPage, {most: recordsPerPage})
  const found = ids.length > 0 ? ids.map(id => findInBin(call.org, id)).filter(entry => entry !== null) : listAll(call.org)
  const shown = found.filter(entry => mayRestore(call, entry))
  const recycle_bin = shown.slice((page - 1) * perPage, page * perPage).map(entry => describe(call, entry))
  if (recycle_bin.length === 0) return nothing()
  return ok({recycle_bin, info: {per_page: perPage, count: recycle_bin.length, page, more_records: shown.length > page * perPage}})
}

/**
 * Restores records with their subform rows. The restore is scheduled if the call names no ids, or if records and rows are more than
 * `restoreAtOnce`. Source: the vendor's OpenAPI of the recycle bin, operations restoreRecycleBinRecords and restoreRecycleBinRecord.
 */
export const restoreRecords = (call: Call): Answer => {
  const isOne = call.segments.length === 5
  const asked = isOne ? {ids: [call.segments[2]!]} : readScope(call)
  const ids = 'ids' in asked ? asked.ids : listAll(call.org).map(({binned}) => binned.rec.id)
  const entries = ids.map(id => findInBin(call.org, id))
  const total = entries.reduce((sum, entry) => sum + (entry ? 1 + countRows(entry.binned.rec) : 0), 0)
  if (!('ids' in asked) || total > call.org.switches.restoreAtOnce) return schedule(call, ids)
  const recycle_bin = entries.map((entry, at) => call.refusals?.get(at) ?? restoreOne(call, writeOf(call), ids[at]!, entry))
  const done = recycle_bin.filter(({status}) => status === 'success').length
  call.committed = done > 0
  return ok({recycle_bin}, done === recycle_bin.length ? 200 : done > 0 ? 207 : 400)
}

/** Executes the scheduled restores that are due. */
export const runDueRestores = (org: Org) => {
  const now = org.clock.now()
  const due = org.restores.filter(({at}) => at <= now)
  if (due.length === 0) return
  org.restores = org.restores.filter(({at}) => at > now)
  for (const {ids, user, zone, at} of due) {
    const write = {org, user, zone, at: Math.floor(at / 1000) * 1000, source: 'crm_api'}
    for (const id of ids) restoreOne({org, user}, write, id, findInBin(org, id))
  }
}

/**
 * Lists the deleted records of a module, newest first, or those deleted after `If-Modified-Since`. Source: the vendor's OpenAPI of records, operation
 * getDeletedRecords.
 */
export const listDeletedOf = (call: Call, module: Module): Answer => {
  const type = call.query.get('type') ?? 'all'
  if (!['all', 'recycle', 'permanent'].includes(type)) throw new CallRefused(refuse(400, 'PATTERN_NOT_MATCHED', {param_name: 'type'}))
  const page = numberParam(call, 'page', 1)
  const perPage = numberParam(call, 'per_page', recordsPerPage, {most: recordsPerPage})
  const since = headerInstant(call, 'if-modified-since')
  const found = [...module.store.bin.values()]
    .filter(({at}) => since === null || at > since)
    .reverse()
    .map(binned => ({binned, days: ageInDays(call.org, binned)}))
    .filter(({days}) => days <= listedDays && (type === 'all' || (type === 'permanent') === days > keptDays))
  const data = found.slice((page - 1) * perPage, page * perPage).map(({binned: {rec, at, by}, days}) => ({
    id: rec.id,
    display_name: days > keptDays ? null : (module.naming?.raw(rec) ?? null),
    type: days > keptDays ? 'permanent' : 'recycle',
    deleted_time: formatInstant(at, call.user.timeZone),
    deleted_by: named(by),
    created_by: named(rec.createdBy),
  }))
  if (data.length === 0) return nothing()
  return ok({data, info: {per_page: perPage, count: data.length, page, more_records: found.length > page * perPage}})
}

const restoreOne = (call: Pick<Call, 'org' | 'user'>, write: Write, id: string, entry: Entry | null): Restored => {
  if (!entry) return refusal('INVALID_DATA', {id}, invalidId)
  if (!mayRestore(call, entry)) return refusal('AUTHORIZATION_FAILED', {id}, 'you are not authorised to restore the record')
  const {module, binned} = entry
  const {rec} = binned
  const {switches} = call.org
  if (module.uniques.some(({name}) => module.store.uniques.get(name)!.first(rec.values[name]))) {
    return refusal(switches.restoreTakenCode, {id})
  }
  module.store.bin.delete(id)
  revive(module.store, rec)
  restoreRows(rec, module, call.org)
  noteChange(module, rec, {at: write.at, by: write.user, source: 'crm_api', action: 'restored', fields: null})
  if (switches.restoreTouchesModified) Object.assign(rec, {modifiedAt: write.at, modifiedBy: write.user})
  return {code: 'SUCCESS', details: {id}, message: 'record restored', status: 'success'}
}

const schedule = (call: Call, ids: string[]): Answer => {
  const {org, user} = call
  org.restores.push({at: org.clock.now() + org.switches.restoreSeconds * 1000, ids, user, zone: user.timeZone})
  call.committed = true
  const message = 'record has been scheduled for restoration'
  return ok({recycle_bin: ids.map((id): Restored => ({code: 'SCHEDULED', details: {id}, message, status: 'success'}))}, 202)
}

const scopes = ['ids', 'filters', 'restore_all_records']

const readScope = (call: Call): {ids: string[]} | {all: true} => {
  const body = (jsonOf(call) ?? {}) as Record<string, unknown>
  const fields = (names: string[]) => names.map(name => ({api_name: name, json_path: `$.${name}`}))
  const given = scopes.filter(name => body[name] !== undefined && body[name] !== false)
  if (given.length === 0) throw new CallRefused(refuse(400, 'EXPECTED_FIELD_MISSING', {expected_fields: fields(scopes)}))
  if (given.length > 1) throw new CallRefused(refuse(400, 'AMBIGUITY_DURING_PROCESSING', {ambiguity_due_to: fields(given)}))
  if (given[0] === 'restore_all_records') return {all: true}
  const wrong = (details: object) =>
    new CallRefused(refuse(400, 'INVALID_DATA', {...details, api_name: given[0], json_path: `$.${given[0]}`}))
  const {ids} = body
  if (!Array.isArray(ids) || ids.length === 0) throw wrong({expected_data_type: 'jsonarray'})
  if (ids.length > recordsPerPage) throw wrong({maximum_length: recordsPerPage})
  return {ids: ids.map(String)}
}

const findInBin = (org: Org, id: string): Entry | null => {
  for (const module of org.modules.values()) {
    const binned = module.store.bin.get(id)
    if (binned) return ageInDays(org, binned) > keptDays ? null : {module, binned}
  }
  return null
}

/** Lists the bin of an org, the newest deletion first. */
const listAll = (org: Org): Entry[] =>
  [...org.modules.values()]
    .flatMap(module => [...module.store.bin.values()].map(binned => ({module, binned})))
    .filter(({binned}) => ageInDays(org, binned) <= keptDays)
    .sort((one, other) => other.binned.at - one.binned.at)

const ageInDays = (org: Org, {at}: Binned) => (org.clock.now() - at) / dayMs

/** Whether the user sees and may restore the record: administrators every record, other users those they own. */
const mayRestore = ({org, user}: Pick<Call, 'org' | 'user'>, {binned}: Entry) =>
  isAdministrator(org, user) || binned.rec.owner.id === user.id

const describe = (call: Call, {module, binned: {rec, at, by}}: Entry) => ({
  id: rec.id,
  display_name: String(module.naming?.raw(rec) ?? ''),
  module: {api_name: module.name, id: module.id},
  owner: named(rec.owner),
  deleted_by: named(by),
  deleted_time: formatInstant(at, call.user.timeZone),
})
