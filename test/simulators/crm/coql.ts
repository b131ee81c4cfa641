import {type Answer, CallRefused, nothing, ok, refuse} from './answers.ts'
import {type Call, jsonOf} from './call.ts'
import {compare, type Predicate} from './conditions.ts'
import {aggregate} from './coql-aggregates.ts'
import {type Path, resolve} from './coql-columns.ts'
import {type Condition, type Expression, parseQuery, type Query} from './coql-parser.ts'
import {candidates, createPredicate, unsupportedInCriteria} from './coql-where.ts'
import {coqlCost} from './credits.ts'
import {seenThrough} from './index-lag.ts'
import type {Module} from './modules.ts'
import {canSee} from './profiles.ts'
import {live, type Rec} from './store.ts'

const limits = {rows: 2000, byDefault: 200, offset: 100_000, order: 10}

export const queryRecords = (call: Call): Answer => {
  const query = readQuery(call)
  const module = call.org.modules.get(query.module)
  if (!module || module.spec.apiSupported === false) throw new CallRefused(refuse(400, 'INVALID_MODULE', {}))
  checkLimits(call, query)
  const columns = query.columns.map(column => ({...column, path: resolve(call.org, module, column.name)}))
  refuseDoubles(query.columns.map(column => `${column.aggregate ?? ''} ${column.name}`))
  refuseDoubles(query.orderBy.map(order => ` ${order.name}`))
  const matches = findMatches(call, module, query)
  if (columns.some(column => column.aggregate)) return ok({data: [aggregate(columns, [...matches])], info: {count: 1, more_records: false}})
  const limit = Math.min(query.limit ?? limits.byDefault, call.org.switches.coqlMostRows)
  const window = slice(order(call, module, query, matches), query.offset, limit + 1)
  if (window.length === 0) return nothing()
  const data = window.slice(0, limit).map(rec => readRow(columns, rec, call.user.timeZone))
  return ok({data, info: {count: data.length, more_records: window.length > limit}})
}

/** Returns the credits of a query by its LIMIT. An invalid query costs 1. */
export const costOfQuery = (call: Call): number => {
  try {
    return coqlCost(readQuery(call).limit ?? limits.byDefault)
  } catch {
    return 1
  }
}

const readQuery = (call: Call): Query => {
  const body = jsonOf(call) as {select_query?: unknown} | null | undefined
  if (typeof body !== 'object' || body === null) {
    throw new CallRefused(refuse(400, 'INVALID_DATA', {expected_data_type: 'jsonobject', api_name: 'body', json_path: '$'}))
  }
  if (body.select_query === undefined) throw new CallRefused(refuse(400, 'MANDATORY_NOT_FOUND', {api_name: 'select_query'}))
  if (typeof body.select_query !== 'string') {
    const details = {expected_data_type: 'text', api_name: 'select_query', json_path: '$.select_query'}
    throw new CallRefused(refuse(400, 'INVALID_DATA', details))
  }
  const {coqlPairs: pairs, coqlNeedsWhere: needsWhere, coqlQuote: quote, coqlRefusedOperators: refused} = call.org.switches
  return parseQuery(body.select_query, {pairs, needsWhere, quote, refused})
}

const checkLimits = (call: Call, query: Query) => {
  const exceeded = (clause: string, limit: number) => new CallRefused(refuse(400, 'LIMIT_EXCEEDED', {clause, limit}))
  if (query.limit === 0) throw new CallRefused(refuse(400, 'INVALID_DATA', {}, 'limit should be greater than 0'))
  if (query.limit !== null && query.limit > limits.rows) throw exceeded('limit', limits.rows)
  if (query.offset > limits.offset) throw exceeded('offset', limits.offset)
  if (query.columns.length > call.org.switches.coqlColumns) throw exceeded('select', call.org.switches.coqlColumns)
  if (query.orderBy.length > limits.order) throw exceeded('order by', limits.order)
  const conditions = query.where ? flatten(query.where) : []
  const {coqlInLimit, coqlCriteria, coqlRefusedColumns} = call.org.switches
  if (conditions.length > coqlCriteria) throw exceeded('where', coqlCriteria)
  for (const condition of conditions) {
    if (condition.values.length > coqlInLimit) throw exceeded('in', coqlInLimit)
    if (coqlRefusedColumns.includes(condition.column)) throw unsupportedInCriteria(condition)
  }
}

const flatten = (expression: Expression): Condition[] =>
  expression.kind === 'condition' ? [expression] : expression.parts.flatMap(flatten)

const refuseDoubles = (names: string[]) => {
  const double = names.find((name, index) => names.indexOf(name) !== index)
  if (double === undefined) return
  throw new CallRefused(refuse(400, 'DUPLICATE_DATA', {column_name: double.split(' ')[1]}))
}

/** Finds the matching records. Candidates from an index are checked again; without an index, every record is checked. */
const findMatches = (call: Call, module: Module, query: Query): Iterable<Rec> => {
  const lagging = laggingOf(call, module)
  const isVisible = (rec: Rec) => canSee(call, module.name, rec)
  if (query.where === null) return filter(live(module.store), isVisible, lagging)
  const matches = createPredicate(call.org, module, query.where)
  const isMatch = (rec: Rec) => isVisible(rec) && matches(rec)
  const narrowed = candidates(call.org, module, query.where)
  if (narrowed === null) return filter(live(module.store), isMatch, lagging)
  // COQL still shows lagging records with old values, which the index no longer has.
  const offered = new Set([...narrowed, ...lagging.keys()])
  return [...filter(offered, isMatch, lagging)].sort((one, other) => (one.id < other.id ? -1 : 1))
}

type Lagging = ReadonlyMap<Rec, Rec | null>

/** Lists the records whose state in COQL lags, each with the state that COQL shows; null: COQL does not show the record yet. */
const laggingOf = (call: Call, {store}: Module): Lagging => {
  const now = call.org.clock.now()
  const lagging = new Map<Rec, Rec | null>()
  for (const rec of [...store.coqlLag.keys()]) {
    const seen = seenThrough(store.coqlLag, rec, now)
    if (seen !== rec) lagging.set(rec, seen)
  }
  return lagging
}

function* filter(recs: Iterable<Rec>, isMatch: Predicate, lagging: Lagging): Generator<Rec> {
  for (const rec of recs) {
    const seen = lagging.has(rec) ? lagging.get(rec) : rec
    if (seen && isMatch(seen)) yield seen
  }
}

/** Sorts the records: by id without ORDER BY, and with empty values first in ascending order. */
const order = (call: Call, module: Module, query: Query, recs: Iterable<Rec>): Iterable<Rec> => {
  if (query.orderBy.length === 0) return recs
  const keys = query.orderBy.map(({name, isUp}) => ({path: resolve(call.org, module, name), sign: isUp ? 1 : -1}))
  return [...recs].sort((one, other) => {
    for (const {path, sign} of keys) {
      const [left, right] = [path.raw(one), path.raw(other)]
      const order = left === null ? (right === null ? 0 : -1) : right === null ? 1 : compare(left, right, true)
      if (order !== 0) return order * sign
    }
    return one.id < other.id ? -1 : 1
  })
}

const slice = (recs: Iterable<Rec>, skip: number, count: number): Rec[] => {
  const taken: Rec[] = []
  let passed = 0
  for (const rec of recs) {
    if (passed++ < skip) continue
    taken.push(rec)
    if (taken.length === count) break
  }
  return taken
}

/** Returns a row with the requested columns by alias or name, and always the id. */
const readRow = (columns: {name: string; alias: string | null; path: Path}[], rec: Rec, zone: string) => {
  const row: Record<string, unknown> = {}
  for (const {name, alias, path} of columns) row[alias ?? name] = path.read(rec, zone)
  row.id ??= rec.id
  return row
}
