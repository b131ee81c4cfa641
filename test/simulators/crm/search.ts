import {type Answer, CallRefused, nothing, ok, refuse} from './answers.ts'
import {type Call, listParam, moduleOf, numberParam} from './call.ts'
import {type Look, type Match, parseCriteria} from './criteria.ts'
import type {Field} from './fields.ts'
import {seenThrough} from './index-lag.ts'
import type {Module} from './modules.ts'
import {canSee} from './profiles.ts'
import {pickFields, recordsPerPage} from './reads.ts'
import {digitsOf, foldText} from './search-text.ts'
import {newestFirst, type Rec} from './store.ts'

const mostRecords = 2000
const searched = ['text', 'textarea', 'email', 'phone', 'website', 'picklist', 'autonumber']

/** Searches records in an index that may lag behind them. */
export const searchRecords = (call: Call): Answer => {
  const module = moduleOf(call, call.segments[0]!)
  const page = numberParam(call, 'page', 1)
  const perPage = numberParam(call, 'per_page', recordsPerPage, {most: recordsPerPage})
  const match = readMatch(call, module)
  if (page * perPage > mostRecords) throw new CallRefused(refuse(400, 'LIMIT_REACHED', {limit: String(mostRecords)}))
  const converted = call.query.get('converted') ?? 'false'
  const found: Rec[] = []
  for (const rec of newestFirst(module.store)) {
    if (converted !== 'both' && rec.converted !== (converted === 'true')) continue
    if (!canSee(call, module.name, rec)) continue
    const look = lookAt(call, module, rec)
    if (look && match(rec, look)) found.push(rec)
    if (found.length > page * perPage) break
  }
  const shown = found.slice((page - 1) * perPage, page * perPage)
  if (shown.length === 0) return nothing()
  const info = {
    per_page: perPage,
    count: shown.length,
    sort_by: 'id',
    page,
    sort_order: 'desc',
    more_records: found.length > page * perPage,
  }
  const fields = fieldsAsked(call, module)
  return ok({data: shown.map(rec => pickFields(fields, rec, call.user.timeZone)), info})
}

/** The maximum length of a word or email address. Source: the vendor's OpenAPI of module search. */
const mostCharacters = 100

/** Reads the condition of a search. Of several parameters, criteria wins over email, phone and word, in this order. */
const readMatch = (call: Call, module: Module): Match => {
  const [name, text] =
    ['criteria', 'email', 'phone', 'word'].map(one => [one, call.query.get(one)?.trim() ?? ''] as const).find(([, value]) => value) ?? []
  if (name === undefined || text === undefined) {
    throw new CallRefused(refuse(400, 'EXPECTED_PARAM_MISSING', {param_names: ['criteria', 'email', 'phone', 'word']}))
  }
  if (name === 'criteria') return parseCriteria(module, text, call.org.switches.criteriaLimit)
  const invalid = new CallRefused(refuse(400, 'INVALID_DATA', {param_name: name}))
  if (name === 'phone') {
    if (digitsOf(text).length < 3) throw invalid
    return matchAny(module, ['phone'], value => digitsOf(value).includes(digitsOf(text)))
  }
  if (text.length < 2 || text.length > mostCharacters || foldText(text).trim() === '') throw invalid
  const wanted = foldText(text).trim()
  return matchAny(module, name === 'email' ? ['email'] : searched, value => foldText(value).includes(wanted))
}

const matchAny = (module: Module, types: string[], isMatch: (value: string) => boolean): Match => {
  const fields = [...module.fields.values()].filter(field => types.includes(field.type))
  return (rec, look) =>
    fields.some(field => {
      const value = look(field, rec)
      return typeof value === 'string' && isMatch(value)
    })
}

const lookAt = (call: Call, module: Module, rec: Rec): Look | null => {
  const seen = seenThrough(module.store.searchLag, rec, call.org.clock.now())
  if (seen === rec) return plainLook
  return seen && (field => field.raw(seen))
}

const plainLook: Look = (field: Field, rec: Rec) => field.raw(rec)

const fieldsAsked = (call: Call, module: Module): Field[] => {
  const names = listParam(call, 'fields')
  if (names.length > 0) return names.map(name => module.fields.get(name)).filter(field => field !== undefined)
  return [...module.fields.values()].filter(field => !field.spec.unused)
}
