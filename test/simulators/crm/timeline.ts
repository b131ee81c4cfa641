import {type Answer, CallRefused, nothing, ok, refuse} from './answers.ts'
import {type Call, moduleOf, numberParam} from './call.ts'
import {type Change, text} from './history.ts'
import type {Module} from './modules.ts'
import {named, reportedTime} from './org.ts'
import {canSee} from './profiles.ts'
import type {Rec} from './store.ts'
import {formatInstant} from './zones.ts'

const mostPerPage = 200
/** The modules without a timeline. Source: the vendor's page of timelines (v7), supported modules. */
const without = ['Campaigns', 'Cases', 'Vendors', 'Price_Books', 'Solutions']

/** Lists the changes of one record. Source: the vendor's OpenAPI of timelines, operation getTimelines. */
export const readTimeline = (call: Call): Answer => {
  const module = moduleOf(call, call.segments[0]!)
  if (without.includes(module.name)) throw new CallRefused(refuse(400, 'INVALID_MODULE', {resource_path_index: 0}))
  const rec = module.store.byId.get(call.segments[1]!)
  if (!rec || !canSee(call, module.name, rec)) {
    throw new CallRefused(refuse(400, 'INVALID_DATA', {resource_path_index: 1}, 'the related id given seems to be invalid'))
  }
  const {skip, perPage, page} = readPage(call)
  const entries = sortEntries(call, listChanges(call, module, rec))
  const shown = entries.slice(skip, skip + perPage)
  if (shown.length === 0) return nothing()
  const more_records = entries.length > skip + perPage
  const next_page_token = more_records ? tokenOf({rec: rec.id, skip: skip + perPage, page: page + 1, perPage}) : null
  const info = {per_page: perPage, count: shown.length, page, more_records, next_page_token, previous_page_token: null}
  return ok({__timeline: shown.map(change => describe(call, module, rec, change)), info})
}

type Numbered = Change & {number: number}

const listChanges = (call: Call, module: Module, rec: Rec): Numbered[] => {
  const added: Change = {at: rec.createdAt, by: rec.createdBy, source: rec.source ?? 'crm_ui', action: 'added', fields: null}
  const shownUntil = reportedTime(call.org) - call.org.switches.timelineLagSeconds * 1000
  return [added, ...(module.store.history.get(rec.id) ?? [])]
    .map((change, number) => ({...change, number}))
    .filter(({at}) => at <= shownUntil)
}

const sortEntries = (call: Call, entries: Numbered[]): Numbered[] => {
  for (const [name, values] of [
    ['sort_by', ['audited_time']],
    ['sort_order', ['asc', 'desc']],
  ] as const) {
    const value = call.query.get(name)
    if (value !== null && !(values as readonly string[]).includes(value)) throw invalid(name)
  }
  if (call.query.has('filters')) throw invalid('filters')
  return call.query.get('sort_order') === 'asc' ? entries : entries.reverse()
}

type PageState = {rec: string; skip: number; page: number; perPage: number}

const readPage = (call: Call): Omit<PageState, 'rec'> => {
  const token = call.query.get('page_token')
  if (!token) {
    const perPage = numberParam(call, 'per_page', call.org.switches.timelinePageSize, {most: mostPerPage})
    const page = numberParam(call, 'page', 1)
    return {skip: (page - 1) * perPage, page, perPage}
  }
  if (call.query.has('per_page')) {
    const ambiguity_due_to = ['per_page', 'page_token'].map(param_name => ({param_name}))
    throw new CallRefused(refuse(400, 'AMBIGUITY_DURING_PROCESSING', {ambiguity_due_to}))
  }
  const state = openToken(token)
  if (!state || state.rec !== call.segments[1]) throw invalid('page_token')
  return state
}

const tokenOf = (state: PageState) => Buffer.from(JSON.stringify(state)).toString('base64url')

const openToken = (token: string): PageState | null => {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString())
  } catch {
    return null
  }
}

const invalid = (param_name: string) => new CallRefused(refuse(400, 'INVALID_DATA', {param_name}))

const describe = (call: Call, module: Module, rec: Rec, {at, by, source, action, fields, number}: Numbered) => ({
  id: `${rec.id}${String(number).padStart(3, '0')}`,
  audited_time: formatInstant(at, call.user.timeZone),
  action,
  source,
  type: 'timeline',
  extension: null,
  done_by: named(by),
  automation_details: null,
  related_record: null,
  record: {name: String(module.naming?.raw(rec) ?? ''), id: rec.id, module: {api_name: module.name, id: module.id}},
  field_history:
    fields?.map(field => ({
      id: module.fields.get(field.name)?.id ?? '0',
      api_name: field.name,
      data_type: module.fields.get(field.name)?.type ?? 'text',
      _value: {old: text(field.old), new: text(field.new)},
    })) ?? null,
})
