import {CallRefused, refuse} from './answers.ts'
import {compare, familyOf, isEmpty, type LiteralFamily, literalFor} from './conditions.ts'
import type {Field} from './fields.ts'
import type {Module} from './modules.ts'
import {foldText} from './search-text.ts'
import type {Rec} from './store.ts'

/** Reads the value of a field as the search index has it, which may be outdated. */
export type Look = (field: Field, rec: Rec) => unknown
export type Match = (rec: Rec, look: Look) => boolean

const operators: Record<string, LiteralFamily[] | 'all'> = {
  equals: 'all',
  not_equal: 'all',
  in: 'all',
  starts_with: ['text'],
  greater_than: ['number', 'instant', 'date'],
  greater_equal: ['number', 'instant', 'date'],
  less_than: ['number', 'instant', 'date'],
  less_equal: ['number', 'instant', 'date'],
  between: ['number', 'instant', 'date'],
}
const valuesPerIn = 100

/**
 * Parses criteria such as `((A:equals:x)and(B:starts_with:y))`. In values, a backslash escapes `( ) ,` and a final backslash. Throws beyond
 * `limit` conditions.
 */
export const parseCriteria = (module: Module, text: string, limit: number): Match => {
  const reader = {text, at: 0, count: 0}
  const match = readGroup(module, reader)
  if (reader.at < text.length) throw invalid('unexpected text', text.slice(reader.at))
  if (reader.count > limit) throw new CallRefused(refuse(400, 'CRITERIA_LIMIT_EXCEEDED', {}))
  return match
}

type Reader = {text: string; at: number; count: number}

/** Reads a term and every term joined to it by `and` or `or`, from left to right without precedence. */
const readGroup = (module: Module, reader: Reader): Match => {
  let match = readTerm(module, reader)
  for (;;) {
    const [word] = /^\s*(?:and|or)(?=\s*\()/i.exec(reader.text.slice(reader.at)) ?? []
    if (word === undefined) return match
    reader.at += word.length
    const [one, other] = [match, readTerm(module, reader)]
    match =
      word.trim().toLowerCase() === 'and'
        ? (rec, look) => one(rec, look) && other(rec, look)
        : (rec, look) => one(rec, look) || other(rec, look)
  }
}

const readTerm = (module: Module, reader: Reader): Match => {
  skipBlanks(reader)
  const isBracketed = reader.text[reader.at] === '('
  if (isBracketed) reader.at += 1
  skipBlanks(reader)
  const match = reader.text[reader.at] === '(' ? readGroup(module, reader) : readCondition(module, reader)
  if (isBracketed) {
    skipBlanks(reader)
    if (reader.text[reader.at] !== ')') throw invalid('a bracket is not closed', reader.text)
    reader.at += 1
  }
  return match
}

const readCondition = (module: Module, reader: Reader): Match => {
  const [head, name, operator] = /^\s*([A-Za-z][\w.]*):([a-z_]+):/.exec(reader.text.slice(reader.at)) ?? []
  if (head === undefined) throw invalid('a condition is not formed as field:operator:value', reader.text.slice(reader.at))
  reader.at += head.length
  reader.count += 1
  return createMatch(fieldOf(module, name!), operator!, readValues(reader))
}

/** Reads the values up to the closing bracket. Unescaped commas separate them. */
const readValues = (reader: Reader): string[] => {
  const values: string[] = []
  let current = ''
  for (; reader.at < reader.text.length && reader.text[reader.at] !== ')'; reader.at++) {
    const character = reader.text[reader.at]!
    if (character === '\\' && reader.at + 1 < reader.text.length) current += reader.text[(reader.at += 1)]
    else if (character === ',') {
      values.push(current)
      current = ''
    } else current += character
  }
  return [...values, current]
}

const createMatch = (field: Field, operator: string, values: string[]): Match => {
  const family = familyOf(field)
  const families = operators[operator]
  if (!families || (families !== 'all' && !families.includes(family)) || family === 'none') {
    throw invalidQuery({reason: 'the operator is not supported for the field', api_name: field.name, operator})
  }
  if (operator === 'in' && values.length > valuesPerIn) {
    throw invalidQuery({api_name: field.name, param_name: 'criteria'}, 'Only 100 values are allowed in "IN" criteria')
  }
  const given = operator === 'in' || operator === 'between' ? values : [values.join(',')]
  const wanted = given.map(value => literalFor(family, value.trim()))
  if (wanted.some(value => value === undefined) || (operator === 'between' && wanted.length !== 2)) {
    throw invalidQuery({reason: 'the value is invalid for the field', api_name: field.name, expected_data_type: field.type})
  }
  const isMatch = family === 'text' || family === 'list' ? matchText(operator, wanted.map(String)) : matchValue(operator, wanted)
  return (rec, look) => isMatch(look(field, rec))
}

/** Matches text, ignoring case and punctuation: `equals` means contains. */
const matchText = (operator: string, wanted: string[]) => {
  const folded = wanted.map(foldText)
  const contains = (value: unknown) => {
    const text = foldText(Array.isArray(value) ? value.join(';') : String(value))
    return operator === 'starts_with' ? folded.some(one => text.startsWith(one)) : folded.some(one => text.includes(one))
  }
  return operator === 'not_equal'
    ? (value: unknown) => isEmpty(value) || !contains(value)
    : (value: unknown) => !isEmpty(value) && contains(value)
}

const matchValue = (operator: string, wanted: unknown[]) => (value: unknown) => {
  if (isEmpty(value)) return operator === 'not_equal'
  const orders = wanted.map(one => compare(value, one, true))
  switch (operator) {
    case 'not_equal':
      return orders[0] !== 0
    case 'greater_than':
      return orders[0]! > 0
    case 'greater_equal':
      return orders[0]! >= 0
    case 'less_than':
      return orders[0]! < 0
    case 'less_equal':
      return orders[0]! <= 0
    case 'between':
      return orders[0]! >= 0 && orders[1]! <= 0
    default:
      return orders.includes(0)
  }
}

const fieldOf = (module: Module, name: string): Field => {
  const field = module.fields.get(name === 'id' ? 'id' : name.replace(/\.id$/, ''))
  if (!field) throw invalidQuery({reason: 'invalid field', api_name: name})
  return field
}

const skipBlanks = (reader: Reader) => {
  while (reader.text[reader.at] === ' ') reader.at += 1
}

const invalid = (reason: string, near: string) => invalidQuery({reason, api_name: near.slice(0, 40)})

const invalidQuery = (details: Record<string, unknown>, message = 'Invalid query formed') =>
  new CallRefused(refuse(400, 'INVALID_QUERY', details, message))
