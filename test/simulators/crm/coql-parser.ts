import {missingClause, type Quote, syntaxError, type Token, tokenize} from './coql-tokens.ts'

export type Literal = string | number | boolean
export type Operator =
  | '='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | 'in'
  | 'not in'
  | 'like'
  | 'not like'
  | 'between'
  | 'not between'
  | 'is null'
  | 'is not null'
export type Condition = {kind: 'condition'; column: string; operator: Operator; values: Literal[]}
export type Expression = Condition | {kind: 'and' | 'or'; parts: Expression[]}
export type Column = {name: string; aggregate: string | null; alias: string | null}
export type Query = {
  columns: Column[]
  module: string
  where: Expression | null
  orderBy: {name: string; isUp: boolean}[]
  limit: number | null
  offset: number
}

type Reader = {query: string; tokens: Token[]; at: number; pairs: boolean; refused: string[]}

const aggregates = ['count', 'sum', 'avg', 'min', 'max']

/** What the parser accepts. `pairs`: more than two joined conditions need brackets. `refused`: operators that are syntax errors. */
export type Grammar = {pairs: boolean; needsWhere: boolean; quote: Quote; refused: string[]}

export const parseQuery = (query: string, {pairs, needsWhere, quote, refused}: Grammar): Query => {
  const reader: Reader = {query, tokens: tokenize(query, quote), at: 0, pairs, refused}
  expectWord(reader, 'select')
  const columns = readColumns(reader)
  if (!takeWord(reader, 'from')) throw isAtEnd(reader) ? missingClause('from') : unexpected(reader)
  const module = readName(reader).replace(/^!/, '')
  const where = takeWord(reader, 'where') ? readExpression(reader) : null
  if (where === null && needsWhere) throw missingClause('where')
  const orderBy = takeWord(reader, 'order') ? readOrder(reader) : []
  const {limit, offset} = readLimit(reader)
  if (!isAtEnd(reader)) throw unexpected(reader)
  return {columns, module, where, orderBy, limit, offset}
}

const readColumns = (reader: Reader): Column[] => {
  const columns = [readColumn(reader)]
  while (takeMark(reader, ',')) columns.push(readColumn(reader))
  return columns
}

const readColumn = (reader: Reader): Column => {
  const name = readName(reader)
  let column: Column = {name, aggregate: null, alias: null}
  if (aggregates.includes(name.toLowerCase()) && takeMark(reader, '(')) {
    column = {name: takeMark(reader, '*') ? 'id' : readName(reader), aggregate: name.toLowerCase(), alias: null}
    if (!takeMark(reader, ')')) throw unexpected(reader)
  }
  if (takeWord(reader, 'as')) column.alias = readName(reader)
  return column
}

/** Reads conditions joined by only `and` or only `or`. With `pairs`, a third condition needs brackets. */
const readExpression = (reader: Reader): Expression => {
  const parts = [readTerm(reader)]
  let kind: 'and' | 'or' | null = null
  for (;;) {
    const at = reader.at
    const joined = takeWord(reader, 'and') ? 'and' : takeWord(reader, 'or') ? 'or' : null
    if (joined === null) break
    if ((kind !== null && kind !== joined) || (reader.pairs && parts.length === 2)) {
      reader.at = at
      throw unexpected(reader)
    }
    kind = joined
    parts.push(readTerm(reader))
  }
  return kind === null ? parts[0]! : {kind, parts}
}

const readTerm = (reader: Reader): Expression => {
  if (!takeMark(reader, '(')) return readCondition(reader)
  const expression = readExpression(reader)
  if (!takeMark(reader, ')')) throw unexpected(reader)
  return expression
}

const readCondition = (reader: Reader): Condition => {
  const {at} = reader
  const condition = readAnyCondition(reader)
  if (!reader.refused.includes(condition.operator)) return condition
  reader.at = at
  throw unexpected(reader)
}

const readAnyCondition = (reader: Reader): Condition => {
  const column = readName(reader)
  const condition = (operator: Operator, values: Literal[] = []): Condition => ({kind: 'condition', column, operator, values})
  if (takeWord(reader, 'is')) {
    const operator = takeWord(reader, 'not') ? 'is not null' : 'is null'
    expectWord(reader, 'null')
    return condition(operator)
  }
  const isNot = takeWord(reader, 'not')
  if (takeWord(reader, 'in')) return condition(isNot ? 'not in' : 'in', readList(reader))
  if (takeWord(reader, 'like')) return condition(isNot ? 'not like' : 'like', [readLiteral(reader)])
  if (takeWord(reader, 'between')) {
    const from = readLiteral(reader)
    expectWord(reader, 'and')
    return condition(isNot ? 'not between' : 'between', [from, readLiteral(reader)])
  }
  const mark = ['=', '!=', '<>', '<=', '>=', '<', '>'].find(one => !isNot && takeMark(reader, one))
  if (mark === undefined) throw unexpected(reader)
  return condition(mark === '<>' ? '!=' : (mark as Operator), [readLiteral(reader)])
}

const readList = (reader: Reader): Literal[] => {
  if (!takeMark(reader, '(')) throw unexpected(reader)
  const values = [readLiteral(reader)]
  while (takeMark(reader, ',')) values.push(readLiteral(reader))
  if (!takeMark(reader, ')')) throw unexpected(reader)
  return values
}

const readLiteral = (reader: Reader): Literal => {
  const token = reader.tokens[reader.at]!
  const word = token.kind === 'word' ? token.text.toLowerCase() : ''
  if (token.kind !== 'text' && token.kind !== 'number' && word !== 'true' && word !== 'false') throw unexpected(reader)
  reader.at += 1
  if (token.kind === 'text') return token.text
  // An id exceeds the exact range of a number, so it stays text.
  return token.kind === 'number' ? (token.text.length > 15 ? token.text : Number(token.text)) : word === 'true'
}

const readOrder = (reader: Reader) => {
  expectWord(reader, 'by')
  const order: Query['orderBy'] = []
  do {
    const name = readName(reader)
    const isDown = takeWord(reader, 'desc')
    if (!isDown) takeWord(reader, 'asc')
    order.push({name, isUp: !isDown})
  } while (takeMark(reader, ','))
  return order
}

/** Reads `limit 200`, `limit 400, 200` (offset first) or `limit 200 offset 400`. */
const readLimit = (reader: Reader): {limit: number | null; offset: number} => {
  let limit: number | null = null
  let offset = 0
  if (takeWord(reader, 'limit')) {
    limit = readCount(reader)
    if (takeMark(reader, ',')) [offset, limit] = [limit, readCount(reader)]
  }
  if (takeWord(reader, 'offset')) offset = readCount(reader)
  return {limit, offset}
}

const readCount = (reader: Reader): number => {
  const token = reader.tokens[reader.at]!
  if (token.kind !== 'number' || !/^\d+$/.test(token.text)) throw unexpected(reader)
  reader.at += 1
  return Number(token.text)
}

/** Some reserved words of SQL-92 and of COQL. A name among them must be quoted. Source: help.zoho.com, Kaizen #171. */
const reserved = [
  'select',
  'from',
  'where',
  'order',
  'limit',
  'offset',
  'and',
  'or',
  'not',
  'in',
  'like',
  'between',
  'is',
  'group',
  'by',
  'having',
  'external',
  'user',
  'value',
  'date',
  'time',
  'position',
  'language',
  'level',
  'range',
  'result',
  'key',
  'section',
  'default',
  'union',
]

const readName = (reader: Reader): string => {
  const token = reader.tokens[reader.at]!
  const isName = (token.kind === 'word' && !reserved.includes(token.text.toLowerCase())) || token.kind === 'text'
  if (!isName || token.text === '') throw unexpected(reader)
  reader.at += 1
  return token.text
}

const takeWord = (reader: Reader, word: string): boolean => take(reader, 'word', word)
const takeMark = (reader: Reader, mark: string): boolean => take(reader, 'mark', mark)

const take = (reader: Reader, kind: Token['kind'], text: string): boolean => {
  const token = reader.tokens[reader.at]!
  if (token.kind !== kind || token.text.toLowerCase() !== text) return false
  reader.at += 1
  return true
}

const expectWord = (reader: Reader, word: string) => {
  if (!takeWord(reader, word)) throw isAtEnd(reader) ? missingClause(word) : unexpected(reader)
}

const isAtEnd = (reader: Reader) => reader.tokens[reader.at]!.kind === 'end'
const unexpected = (reader: Reader) => syntaxError(reader.query, reader.tokens[reader.at]!.at)
