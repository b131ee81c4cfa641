import {type Answer, CallRefused, nothing, ok, refuse} from './answers.ts'
import {type Call, headerInstant, isId, listParam, moduleOf, numberParam} from './call.ts'
import {type Field, readTags} from './fields.ts'
import {findLayout, listLayouts} from './layouts.ts'
import {type Module, rowsModule} from './modules.ts'
import {nextToken, openToken} from './page-tokens.ts'
import {canSee} from './profiles.ts'
import {listDeletedOf} from './recycle-bin.ts'
import {live, newestFirst, type Rec} from './store.ts'
import {readRow} from './subforms.ts'
import {formatInstant} from './zones.ts'

const fieldsPerRead = 50
const idsPerRead = 100
const discreteRecords = 2000
export const recordsPerPage = 200

export const listRecords = (call: Call): Answer => {
  const module = moduleOf(call, call.segments[0]!)
  const fields = readFields(call, module)
  const ids = readIds(call)
  const since = headerInstant(call, 'if-modified-since')
  const isWanted = (rec: Rec) => canSee(call, module.name, rec) && isListed(call, rec) && (since === null || rec.modifiedAt > since)
  if (ids.length > 0) return listed(call, fields, sortIds(module, ids).filter(isWanted), {page: 1, perPage: recordsPerPage, more: false})
  return listPage(call, module, fields, isWanted, since)
}

export const readRecord = (call: Call): Answer => {
  const module = moduleOf(call, call.segments[0]!)
  const id = call.segments[1]!
  if (!isId(id)) throw new CallRefused(refuse(400, 'INVALID_DATA', {resource_path_index: 1}, 'the id given seems to be invalid'))
  const rec = module.store.byId.get(id)
  if (!rec || !canSee(call, module.name, rec)) return nothing()
  const since = headerInstant(call, 'if-modified-since')
  if (since !== null && rec.modifiedAt <= since) return {status: 304}
  return ok({data: [fullRecord(call, module, rec)]})
}

export const countAll = (call: Call): Answer => {
  const module = moduleOf(call, call.segments[0]!)
  let count = 0
  for (const rec of live(module.store)) if (canSee(call, module.name, rec) && isListed(call, rec)) count += 1
  return ok({count})
}

export const listDeleted = (call: Call): Answer => listDeletedOf(call, moduleOf(call, call.segments[0]!))

/** Returns a record as a read of one record does: every used field, subform rows, and keys that begin with `$`. */
export const fullRecord = (call: Pick<Call, 'org'> & {user: {timeZone: string}}, module: Module, rec: Rec): Record<string, unknown> => {
  const zone = call.user.timeZone
  const read: Record<string, unknown> = {id: rec.id}
  for (const field of module.fields.values()) {
    if (!field.spec.unused) read[field.name] = field.spec.rich ? field.raw(rec) : field.read(rec, zone)
  }
  const more: Record<string, boolean> = {}
  for (const field of module.rows) {
    const child = rowsModule(call.org, field)
    const rows = rec.rows?.get(field.name) ?? []
    const shown = call.org.switches.subformRowsRead ?? rows.length
    read[field.name] = rows.slice(0, shown).map(row => readRow(child, row, zone))
    more[field.name] = rows.length > shown
  }
  const layout = findLayout(call.org, module, rec.values.Layout) ?? listLayouts(call.org, module)[0]!
  const sides = {
    Tag: readTags(call.org, rec.values.Tag),
    Layout: {name: layout.name, id: layout.id},
    $approval_state: 'approved',
    $approval: {delegate: false, approve: false, reject: false, resubmit: false},
  }
  const keys = {
    $editable: true,
    $in_merge: false,
    $review_process: null,
    $currency_symbol: call.org.spec.currency?.symbol ?? '€',
    $field_states: null,
  }
  return {...sides, ...read, ...keys, $has_more: more}
}

/** Returns one entry of a list: the requested fields and always the id. */
export const pickFields = (fields: Field[], rec: Rec, zone: string): Record<string, unknown> => {
  const read: Record<string, unknown> = {}
  for (const field of fields) read[field.name] = field.read(rec, zone)
  read.id = rec.id
  return read
}

const readFields = (call: Call, module: Module): Field[] => {
  const names = listParam(call, 'fields')
  if (names.length === 0) throw new CallRefused(refuse(400, 'REQUIRED_PARAM_MISSING', {param_name: 'fields'}))
  if (names.length > fieldsPerRead) throw new CallRefused(refuse(400, 'LIMIT_EXCEEDED', {limit: fieldsPerRead, param_name: 'fields'}))
  return names.map(name => module.fields.get(name)).filter(field => field !== undefined)
}

const readIds = (call: Call): string[] => {
  const ids = listParam(call, 'ids')
  if (ids.length > idsPerRead) throw new CallRefused(refuse(400, 'LIMIT_EXCEEDED', {limit: idsPerRead, param_name: 'ids'}))
  if (!ids.every(isId)) throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: 'ids'}))
  return ids
}

/** Returns the existing records of the ids, each once, newest first. */
const sortIds = (module: Module, ids: string[]): Rec[] =>
  [...new Set(ids)]
    .map(id => module.store.byId.get(id))
    .filter(rec => rec !== undefined)
    .sort((one, other) => (one.id < other.id ? 1 : -1))

/** Whether a list contains the record. Converted leads are hidden unless the call requests them. */
const isListed = (call: Call, rec: Rec): boolean => {
  const converted = call.query.get('converted') ?? 'false'
  return converted === 'both' || rec.converted === (converted === 'true')
}

type Page = {page: number; perPage: number; more: boolean; next?: string | null}

const listPage = (call: Call, module: Module, fields: Field[], isWanted: (rec: Rec) => boolean, since: number | null): Answer => {
  const perPage = numberParam(call, 'per_page', recordsPerPage, {most: recordsPerPage})
  const page = numberParam(call, 'page', 1)
  refuseAmbiguous(call)
  if (page * perPage > discreteRecords) {
    throw new CallRefused(refuse(400, 'DISCRETE_PAGINATION_LIMIT_EXCEEDED', {limit: discreteRecords}))
  }
  const token = openToken(call, module)
  const order = sorted(call, module, token?.lastId)
  const skip = token ? token.skip : (page - 1) * perPage
  const found = take(order, isWanted, skip, perPage + 1)
  if (found.length === 0 && since !== null) return {status: 304}
  const more = found.length > perPage
  const shown = found.slice(0, perPage)
  const next = more ? nextToken(call, module, {lastId: shown.at(-1)!.id, given: (token?.given ?? skip) + shown.length}) : null
  return listed(call, fields, shown, {page: token?.page ?? page, perPage, more, next})
}

const refuseAmbiguous = (call: Call) => {
  const pairs = [
    ['page', 'page_token'],
    ['cvid', 'sort_by'],
  ]
  for (const pair of pairs) {
    if (!pair.every(name => call.query.get(name))) continue
    const details = {ambiguity_due_to: pair.map(name => ({param_name: name}))}
    throw new CallRefused(refuse(400, 'AMBIGUITY_DURING_PROCESSING', details))
  }
}

function* sorted(call: Call, module: Module, lastId?: string): Generator<Rec> {
  const by = call.query.get('sort_by') ?? 'id'
  const isUp = call.query.get('sort_order') === 'asc'
  if (!['id', 'Created_Time', 'Modified_Time'].includes(by)) throw new CallRefused(refuse(400, 'INVALID_DATA', {param_name: 'sort_by'}))
  if (by === 'id' && !isUp) {
    yield* newestFirst(module.store, lastId)
    return
  }
  const at = (rec: Rec) => (by === 'Created_Time' ? rec.createdAt : by === 'Modified_Time' ? rec.modifiedAt : 0)
  const ordered = [...live(module.store)].sort((one, other) => at(one) - at(other) || (one.id < other.id ? -1 : 1))
  yield* isUp ? ordered : ordered.reverse()
}

const take = (recs: Iterable<Rec>, isWanted: (rec: Rec) => boolean, skip: number, count: number): Rec[] => {
  const taken: Rec[] = []
  let passed = 0
  for (const rec of recs) {
    if (!isWanted(rec)) continue
    if (passed++ < skip) continue
    taken.push(rec)
    if (taken.length === count) break
  }
  return taken
}

const listed = (call: Call, fields: Field[], recs: Rec[], {page, perPage, more, next = null}: Page): Answer => {
  if (recs.length === 0) return nothing()
  const zone = call.user.timeZone
  const info = {
    call: false,
    per_page: perPage,
    next_page_token: next,
    count: recs.length,
    sort_by: call.query.get('sort_by') ?? 'id',
    page,
    previous_page_token: null,
    page_token_expiry: next === null ? null : formatInstant(call.org.clock.now() + 24 * 3600_000, zone),
    sort_order: call.query.get('sort_order') ?? 'desc',
    email: false,
    more_records: more,
  }
  return ok({data: recs.map(rec => pickFields(fields, rec, zone)), info})
}
