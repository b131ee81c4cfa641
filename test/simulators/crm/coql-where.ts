import {CallRefused, refuse} from './answers.ts'
import {type Comparable, compare, isEmpty, type LiteralFamily, literalFor, type Predicate} from './conditions.ts'
import {type Path, resolve} from './coql-columns.ts'
import type {Condition, Expression, Operator} from './coql-parser.ts'
import type {Module} from './modules.ts'
import type {Org} from './org.ts'
import {lazyIndex, type Rec} from './store.ts'

const ordering: Operator[] = ['<', '<=', '>', '>=', 'between', 'not between']

export const createPredicate = (org: Org, module: Module, expression: Expression): Predicate => {
  if (expression.kind === 'condition') return createTest(org, module, expression)
  const parts = expression.parts.map(part => createPredicate(org, module, part))
  return expression.kind === 'and' ? rec => parts.every(part => part(rec)) : rec => parts.some(part => part(rec))
}

/** Returns the records that an index offers, which may include records without a match. Null: no index applies. */
export const candidates = (org: Org, module: Module, expression: Expression): Set<Rec> | null => {
  if (expression.kind === 'condition') return indexed(org, module, expression)
  if (expression.kind === 'and') return bestOffer(org, module, expression.parts)
  const offers = expression.parts.map(part => candidates(org, module, part))
  return offers.every(offer => offer !== null) ? offers.reduce((all, offer) => all.union(offer)) : null
}

const fewEnough = 200

/** Returns the smallest candidate set of the parts. A set of at most 200 ends the search, because each lookup may build an index. */
const bestOffer = (org: Org, module: Module, parts: Expression[]): Set<Rec> | null => {
  let best: Set<Rec> | null = null
  for (const part of parts) {
    const offer = candidates(org, module, part)
    if (offer && (!best || offer.size < best.size)) best = offer
    if (best && best.size <= fewEnough) break
  }
  return best
}

const indexed = (org: Org, module: Module, {column, operator, values}: Condition): Set<Rec> | null => {
  if (operator !== '=' && operator !== 'in') return null
  const path = resolve(org, module, column)
  if (!path.isOwn) return null
  if (path.field === null) return new Set(values.map(value => module.store.byId.get(String(value))).filter(rec => rec !== undefined))
  const name = path.field.name === 'Parent_Id' ? '$parent' : path.field.name
  if (!isIndexable(path)) return null
  const unique = module.store.uniques.get(name)
  const index = unique?.fold ? unique : lazyIndex(module.store, name)
  const found = new Set<Rec>()
  for (const value of values) for (const rec of index.find(literalFor(path.family, value))) found.add(rec)
  return found
}

const systemNames = ['Owner', 'Created_By', 'Modified_By', 'Created_Time', 'Modified_Time', 'Record_Status__s', 'Locked__s']

/** Whether the field can have an index. Computed and system values change without updating an index. Lists and booleans have no index either. */
const isIndexable = ({field, family}: Path) =>
  field !== null && !field.spec.formula && !systemNames.includes(field.name) && family !== 'list' && family !== 'boolean'

const createTest = (org: Org, module: Module, condition: Condition): Predicate => {
  const path = resolve(org, module, condition.column)
  const {operator} = condition
  checkOperator(path, condition)
  const {raw} = path
  if (operator === 'is null') return rec => isEmpty(raw(rec))
  if (operator === 'is not null') return rec => !isEmpty(raw(rec))
  if (condition.values.some(value => isForeignMoment(org, path, value))) return () => false
  const values = condition.values.map(value => literalOf(path, value, operator))
  const test = testOf(operator, values, !org.switches.coqlCaseSensitive)
  if (path.family !== 'list') return rec => test(raw(rec))
  return rec => {
    const held = raw(rec)
    return Array.isArray(held) ? held.some(test) : test(null)
  }
}

const testOf = (operator: Operator, values: Comparable[], fold: boolean): ((value: unknown) => boolean) => {
  const [first, second] = values
  const keys = new Set(values.map(value => keyOf(value, fold)))
  const pattern = operator.endsWith('like') ? likePattern(String(first), fold) : null
  switch (operator) {
    case '=':
    case 'in':
      return value => !isEmpty(value) && keys.has(keyOf(value, fold))
    case '!=':
    case 'not in':
      return value => isEmpty(value) || !keys.has(keyOf(value, fold))
    case 'like':
      return value => typeof value === 'string' && pattern!.test(value)
    case 'not like':
      return value => typeof value !== 'string' || !pattern!.test(value)
    case 'between':
      return value => !isEmpty(value) && compare(value, first, fold) >= 0 && compare(value, second, fold) <= 0
    case 'not between':
      return value => !isEmpty(value) && (compare(value, first, fold) < 0 || compare(value, second, fold) > 0)
    case '<':
      return value => !isEmpty(value) && compare(value, first, fold) < 0
    case '<=':
      return value => !isEmpty(value) && compare(value, first, fold) <= 0
    case '>':
      return value => !isEmpty(value) && compare(value, first, fold) > 0
    default:
      return value => !isEmpty(value) && compare(value, first, fold) >= 0
  }
}

/** Whether the value is a date-time in a form that the switch `coqlMoments` excludes. Such a value matches nothing. */
const isForeignMoment = ({switches}: Org, {family}: Path, value: string | number | boolean) =>
  family === 'instant' && typeof value === 'string' && !switches.coqlMoments.includes(value.endsWith('Z') ? 'z' : 'offset')

const keyOf = (value: unknown, fold: boolean) => (typeof value === 'string' && fold ? value.toLowerCase() : value)

/** Returns the pattern of a LIKE text, in which `%` matches any text. */
const likePattern = (text: string, fold: boolean) => {
  const source = text
    .split('%')
    .map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*')
  return new RegExp(`^${source}$`, fold ? 'is' : 's')
}

const checkOperator = ({field, family}: Path, condition: Condition) => {
  const {operator} = condition
  const isText = family === 'text' || family === 'list'
  const isMultiline = field?.type === 'textarea'
  const isNull = operator === 'is null' || operator === 'is not null'
  const isWrong =
    isMultiline ||
    (field?.spec.encrypted && family !== 'number' && !isNull) ||
    (operator.endsWith('like') && !isText) ||
    (ordering.includes(operator) && (['boolean', 'list'] as LiteralFamily[]).includes(family)) ||
    (ordering.includes(operator) && family === 'id' && field !== null)
  if (isWrong) throw unsupportedInCriteria(condition)
}

/**
 * Returns the refusal of a condition that the column does not support. Source: the vendor's OpenAPI of COQL, 400, INVALID_QUERY with the
 * criteria.
 */
export const unsupportedInCriteria = ({column, operator, values: [value = '']}: Condition, message = 'unsupported column in criteria') =>
  new CallRefused(refuse(400, 'INVALID_QUERY', {cv_criteria: false, column_name: column, value: String(value), operator}, message))

const literalOf = (path: Path, value: string | number | boolean, operator: Operator): Comparable => {
  const literal = literalFor(path.family, value)
  if (literal !== undefined) return literal
  throw unsupportedInCriteria(
    {kind: 'condition', column: path.name, operator, values: [value]},
    'value given seems to be invalid for the column',
  )
}
