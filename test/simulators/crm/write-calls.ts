import {type Answer, CallRefused, ok, type Refusal, refusal, refuse} from './answers.ts'
import {readAssignee} from './assignment-rules.ts'
import {noteAutomations} from './automations.ts'
import {type Call, headerInstant, isId, jsonOf, listParam, moduleOf} from './call.ts'
import type {Write} from './drafts.ts'
import {isSubform, type Module} from './modules.ts'
import {reportedTime} from './org.ts'
import {applyRewrites} from './rewrites.ts'
import {lazyIndex, type Rec, type Values} from './store.ts'
import {countElements} from './subforms.ts'
import {createRecord, deleteRecord, type Entry, findForUpsert, isSuccess, stamps, updateRecord, upsertRecord} from './writes.ts'

const recordsPerCall = 100
const elementsPerCall = 2000

export const createRecords = (call: Call): Answer => {
  const module = writable(call)
  const body = readBody(call)
  const write = {...writeOf(call), assignee: readAssignee(call, module, body.lar_id)}
  const entries = each(call, module, body.data, (input, path) => createRecord(write, module, input, path))
  return settle(call, module, 'create', entries, body.trigger, 201)
}

export const updateRecords = (call: Call): Answer => {
  const module = writable(call)
  const id = call.segments[1]
  const body = readBody(call)
  const write = writeOf(call)
  const data = id === undefined ? body.data : body.data.slice(0, 1)
  const ids = id === undefined ? data.map(input => String((input as {id?: unknown} | null)?.id)) : [id]
  const since = readUnmodifiedSince(call, () => ids.map(one => module.store.byId.get(one)))
  const options = id === undefined ? {unmodifiedSince: since} : {id, unmodifiedSince: since}
  const entries = each(call, module, data, (input, path) => updateRecord(write, module, input, path, options))
  return settle(call, module, 'update', entries, body.trigger, 200)
}

/**
 * Returns the time with which a write compares each record, or null. If the switch `unmodifiedSince` is `whole`, throws for the first
 * changed record, so nothing is written. Source: the vendor's pages of update and upsert (v7), and the 412 of both operations in its
 * OpenAPI of records.
 */
const readUnmodifiedSince = (call: Call, findAll: () => (Rec | undefined)[]): number | null => {
  const since = headerInstant(call, 'if-unmodified-since')
  const {unmodifiedSince: refuses} = call.org.switches
  if (since === null || refuses === 'ignored') return null
  const moved = refuses === 'whole' ? findAll().find(rec => (rec?.modifiedAt ?? 0) > since) : undefined
  if (moved) throw new CallRefused({status: 412, body: {data: [refusal('ALREADY_MODIFIED', stamps(writeOf(call), moved))]}})
  return since
}

export const upsertRecords = (call: Call): Answer => {
  const module = writable(call)
  const body = readBody(call)
  const checked = checkedFields(module, body.duplicate_check_fields)
  const write = {...writeOf(call), assignee: readAssignee(call, module, body.lar_id)}
  const unmodifiedSince = readUnmodifiedSince(call, () => body.data.map(input => findForUpsert(module, input, checked)?.rec))
  const entries = each(call, module, body.data, (input, path) => upsertRecord(write, module, input, path, {checked, unmodifiedSince}))
  return settle(call, module, 'upsert', entries, body.trigger, 200)
}

export const deleteRecords = (call: Call): Answer => {
  const module = writable(call)
  const ids = call.segments[1] === undefined ? listParam(call, 'ids') : [call.segments[1]]
  if (ids.length === 0) throw new CallRefused(refuse(400, 'REQUIRED_PARAM_MISSING', {param_name: 'ids'}))
  if (ids.length > recordsPerCall) throw new CallRefused(refuse(400, 'LIMIT_EXCEEDED', {limit: recordsPerCall, param_name: 'ids'}))
  if (!ids.every(isId)) throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: 'ids'}))
  const write = writeOf(call)
  const entries = ids.map((id, index): Entry => call.refusals?.get(index) ?? deleteRecord(write, module, id))
  const trigger = call.query.get('wf_trigger') === 'false' ? [] : undefined
  return settle(call, module, 'delete', entries, trigger, 200)
}

/** Returns the number of records of a write. Credits and concurrency depend on it. */
export const countRecords = (call: Call): number => {
  const body = jsonOf(call) as {data?: unknown} | null | undefined
  return Array.isArray(body?.data) ? body.data.length : 1
}

type Body = {data: unknown[]; trigger?: unknown; lar_id?: unknown; duplicate_check_fields?: unknown}

const readBody = (call: Call): Body => {
  const body = jsonOf(call) as Body
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new CallRefused(refuse(400, 'INVALID_DATA', {expected_data_type: 'jsonobject'}, 'body'))
  }
  if (body.data === undefined) throw new CallRefused(refuse(400, 'MANDATORY_NOT_FOUND', {api_name: 'data', json_path: '$.data'}))
  const wrong = (details: Values) => new CallRefused(refuse(400, 'INVALID_DATA', {...details, api_name: 'data', json_path: '$.data'}))
  if (!Array.isArray(body.data) || body.data.length === 0) throw wrong({expected_data_type: 'jsonarray'})
  if (body.data.length > recordsPerCall) throw wrong({maximum_length: recordsPerCall})
  if (body.trigger !== undefined && !Array.isArray(body.trigger)) {
    throw new CallRefused(refuse(400, 'INVALID_DATA', {expected_data_type: 'jsonarray', api_name: 'trigger', json_path: '$.trigger'}))
  }
  return body
}

const writable = (call: Call): Module => {
  const module = moduleOf(call, call.segments[0]!)
  if (isSubform(module) || module.spec.creatable === false) {
    throw new CallRefused(refuse(400, 'NOT_SUPPORTED', {module: module.name}))
  }
  return module
}

/** Returns the write of a call. Its time is whole seconds on the clock of the CRM, plus the skew of a fault. */
export const writeOf = (call: Call): Write => ({
  org: call.org,
  user: call.user,
  at: Math.floor((reportedTime(call.org) + call.skewMs) / 1000) * 1000,
  zone: call.user.timeZone,
  source: 'crm_api',
})

const each = (call: Call, module: Module, data: unknown[], act: (input: unknown, path: string) => Entry): Entry[] => {
  const fitting = module.rows.length === 0 ? data : takeFitting(call, module, data)
  return fitting.map((input, index) => call.refusals?.get(index) ?? act(input, `$.data[${index}]`))
}

/** Returns the records whose subform rows fit into the limit. Without `cutSubforms`, a request over the limit is refused. */
const takeFitting = (call: Call, module: Module, data: unknown[]): unknown[] => {
  let elements = 0
  const past = data.findIndex(input => (elements += countElements(module, input)) > elementsPerCall)
  if (past === -1) return data
  if (call.org.switches.cutSubforms) return data.slice(0, past)
  throw new CallRefused(refuse(400, 'LIMIT_EXCEEDED', {limit: elementsPerCall, json_path: `$.data[${past}]`}))
}

/** Returns the fields by which an upsert finds records: the requested ones, or else the module's default field, then the unique ones. */
const checkedFields = (module: Module, asked: unknown): string[] => {
  const uniques = module.uniques.map(field => field.name)
  const own = module.spec.duplicateField ?? (module.spec.kind === 'custom' ? 'Name' : undefined)
  const names = Array.isArray(asked) && asked.length > 0 ? asked.map(String) : own === undefined ? [] : [own]
  names.forEach((name, index) => {
    if (module.fields.has(name) && (name === own || uniques.includes(name))) return
    const details = {api_name: 'duplicate_check_fields', json_path: `$.duplicate_check_fields[${index}]`}
    throw new CallRefused(refuse(400, 'INVALID_DATA', details))
  })
  if (own !== undefined && names.includes(own) && !uniques.includes(own)) lazyIndex(module.store, own)
  return [...new Set([...names, ...uniques])]
}

/**
 * Answers a write: the given status if all records succeeded, 207 if some did, 400 if none did, 412 if all were modified. With `legacy202`,
 * any refused record gives 202.
 */
const settle = (call: Call, module: Module, operation: string, entries: Entry[], trigger: unknown, good: number): Answer => {
  const done = entries.filter(isSuccess)
  call.committed = done.length > 0
  if (operation !== 'delete')
    applyRewrites(
      writeOf(call),
      module,
      done.map(entry => String(entry.details.id)),
    )
  noteAutomations(
    call,
    module,
    operation,
    done.map(entry => String(entry.details.id)),
    trigger,
  )
  const status = done.length === entries.length ? good : statusOfRefused(call, entries as Refusal[], done.length)
  return ok({data: entries}, status)
}

const statusOfRefused = (call: Call, entries: Refusal[], done: number) => {
  if (call.org.switches.legacy202) return 202
  if (done > 0) return 207
  return entries.every(entry => entry.code === 'ALREADY_MODIFIED') ? 412 : 400
}

export const refusalOf = (code: string, index: number, details?: Values, message?: string): Refusal =>
  refusal(code, details ?? {json_path: `$.data[${index}]`}, message)
