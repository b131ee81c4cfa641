import {CallRefused, refuse} from './answers.ts'
import type {Call} from './call.ts'
import {compare, familyOf, isEmpty, type LiteralFamily, literalFor, type Predicate} from './conditions.ts'
import {type Path, resolve} from './coql-columns.ts'
import type {Module} from './modules.ts'
import type {Org} from './org.ts'

/** What a bulk read exports. `after`: the last id of the previous page, if the job was created with a page token. */
export type BulkReadQuery = {module: string; fields: string[] | null; criteria: unknown; page: number; after: string | null}

const mostPages = 500
const mostConditions = 25
const mostValues = 20
const empty = `\${EMPTY}`

/** Reads the body of a request that creates a bulk read. Source: the vendor's OpenAPI of bulk reads (2026), operation createBulkReadJob. */
export const readQuery = (call: Call, body: unknown): BulkReadQuery => {
  const query = asObject(asObject(body)?.query)
  if (!query) throw refused('MANDATORY_NOT_FOUND', {api_name: 'query', json_path: '$.query'})
  const {file_type: type = 'csv'} = asObject(body)!
  if (type !== 'csv') throw refused('REQUEST_BODY_NOT_SUPPORTED', {api_name: 'file_type', json_path: '$.file_type'})
  if (query.page_token !== undefined) return queryOfToken(call, String(query.page_token))
  const module = moduleOf(call, asObject(query.module)?.api_name)
  const page = query.page ?? 1
  if (!Number.isInteger(page) || Number(page) < 1) throw refused('PAGE_NOT_SUPPORTED', {json_path: '$.query.page'})
  if (Number(page) > mostPages) throw refused('PAGE_RANGE_EXCEEDED', {max_limit: mostPages})
  if (query.cvid != null) throw refused('CVID_NOT_SUPPORTED', {json_path: '$.query.cvid'})
  const fields = query.fields == null ? null : readFields(call.org, module, query.fields)
  createFilter(call.org, module, query.criteria)
  return {module: module.name, fields, criteria: query.criteria ?? null, page: Number(page), after: null}
}

/** Returns the columns of the file. The id is always first. Without `fields`, all fields with comparable values follow. */
export const columnsOf = (org: Org, module: Module, fields: string[] | null): Path[] => {
  const names = fields ?? [...module.fields.values()].filter(field => familyOf(field) !== 'none').map(({name}) => name)
  return ['id', ...new Set(names.filter(name => name !== 'id'))].map(name => resolve(org, module, name))
}

/** Returns the predicate of a condition or of a group of conditions, or of every record without any. Throws if they are invalid or too many. */
export const createFilter = (org: Org, module: Module, criteria: unknown): Predicate => {
  if (criteria === null || criteria === undefined) return () => true
  const count = {conditions: 0}
  const filter = createPart(org, module, criteria, count)
  if (count.conditions > mostConditions) throw refused('CRITERIA_LIMIT_EXCEEDED', {limit: mostConditions})
  return filter
}

const readFields = (org: Org, module: Module, given: unknown): string[] => {
  const limit = org.switches.bulkReadFields
  if (!Array.isArray(given)) throw refused('REQUEST_BODY_NOT_SUPPORTED', {json_path: '$.query.fields'})
  if (given.length > limit) throw refused('LIMIT_REACHED', {limit, json_path: '$.query.fields'})
  for (const name of given) resolveOrRefuse(org, module, String(name), 'FIELD_NOT_AVAILABLE')
  return given.map(String)
}

const resolveOrRefuse = (org: Org, module: Module, name: string, code: string): Path => {
  try {
    return resolve(org, module, name)
  } catch {
    throw refused(code, {api_name: name, module: module.name})
  }
}

const moduleOf = (call: Call, name: unknown): Module => {
  if (typeof name !== 'string') throw refused('MANDATORY_NOT_FOUND', {api_name: 'api_name', json_path: '$.query.module'})
  const module = call.org.modules.get(name)
  if (!module || module.spec.apiSupported === false) throw refused('MODULE_NOT_AVAILABLE', {module: name})
  if (['Notes', 'Attachments', 'Emails'].includes(name)) throw refused('MODULE_NOT_SUPPORTED', {module: name})
  return module
}

/** Returns the query that a page token continues. A token is valid for one day and only for the user who received it. */
const queryOfToken = ({org, user}: Call, token: string): BulkReadQuery => {
  const kept = org.bulk.pages.get(token)
  if (!kept || kept.user !== user.id || kept.until < org.clock.now()) {
    throw refused('INVALID_REQUEST', {api_name: 'page_token', json_path: '$.query.page_token'})
  }
  return kept.query
}

const createPart = (org: Org, module: Module, given: unknown, count: {conditions: number}): Predicate => {
  const {group, group_operator: operator, ...condition} = asObject(given) ?? {}
  if (group === undefined) {
    count.conditions += 1
    return createCondition(org, module, condition)
  }
  if (!Array.isArray(group)) throw refused('CRITERIA_NOT_SUPPORTED')
  if (operator !== 'and' && operator !== 'or') throw refused('GROUP_OPERATOR_NOT_SUPPORTED', {supported: ['and', 'or']})
  if ('field' in condition) throw refused('AMBIGUOUS_CRITERIA')
  const parts = group.map(part => createPart(org, module, part, count))
  return operator === 'and' ? rec => parts.every(part => part(rec)) : rec => parts.some(part => part(rec))
}

const texts = ['equal', 'not_equal', 'in', 'not_in', 'contains', 'not_contains', 'starts_with', 'ends_with']
const numbers = ['equal', 'not_equal', 'in', 'not_in', 'less_than', 'less_equal', 'greater_than', 'greater_equal']
const comparators: Record<LiteralFamily, string[]> = {
  text: texts,
  list: texts,
  number: numbers,
  date: [...numbers, 'between', 'not_between'],
  instant: [...numbers, 'between', 'not_between'],
  boolean: ['equal', 'not_equal'],
  id: ['equal', 'not_equal', 'in', 'not_in'],
  none: [],
}

const createCondition = (org: Org, module: Module, {field, comparator, value}: Record<string, unknown>): Predicate => {
  const name = String(asObject(field)?.api_name ?? '')
  const path = resolveOrRefuse(org, module, name, 'FIELD_IN_CRITERIA_NOT_AVAILABLE')
  const supported = comparators[path.family]
  if (!supported.includes(String(comparator))) {
    throw refused('FIELD_COMPARATOR_IN_CRITERIA_NOT_SUPPORTED', {api_name: name, supported})
  }
  const given = [value].flat()
  if (given.length > mostValues) throw refused('VALUE_LIMIT_EXCEEDED_IN_CRITERIA', {limit: mostValues})
  if (given.length === 1 && given[0] === empty) {
    if (comparator === 'equal') return rec => isEmpty(path.raw(rec))
    if (comparator === 'not_equal') return rec => !isEmpty(path.raw(rec))
  }
  const wanted = given.map(one => literalFor(path.family, one as string))
  if (wanted.includes(undefined)) throw refused('FIELD_AND_VALUE_IN_CRITERIA_NOT_COMPATIBLE', {api_name: name})
  const test = testOf(String(comparator), wanted)
  return rec => [path.raw(rec)].flat().some(held => test(isEmpty(held) ? null : held))
}

const testOf = (comparator: string, wanted: unknown[]): ((held: unknown) => boolean) => {
  const [first, second] = wanted
  const order = (held: unknown, other: unknown) => (held === null ? Number.NaN : compare(held, other, true))
  const text = (held: unknown) => String(held ?? '').toLowerCase()
  const part = text(first)
  const tests: Record<string, (held: unknown) => boolean> = {
    equal: held => order(held, first) === 0,
    not_equal: held => order(held, first) !== 0,
    in: held => wanted.some(one => order(held, one) === 0),
    not_in: held => !wanted.some(one => order(held, one) === 0),
    contains: held => text(held).includes(part),
    not_contains: held => !text(held).includes(part),
    starts_with: held => text(held).startsWith(part),
    ends_with: held => text(held).endsWith(part),
    less_than: held => order(held, first) < 0,
    less_equal: held => order(held, first) <= 0,
    greater_than: held => order(held, first) > 0,
    greater_equal: held => order(held, first) >= 0,
    between: held => order(held, first) >= 0 && order(held, second) <= 0,
    not_between: held => order(held, first) < 0 || order(held, second) > 0,
  }
  return tests[comparator]!
}

const asObject = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null

const refused = (code: string, details: Record<string, unknown> = {}) => new CallRefused(refuse(400, code, details))
