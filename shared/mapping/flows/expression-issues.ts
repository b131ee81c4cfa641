import {type Namespaces, parseExpression} from '../../expressions/parse.ts'
import type {FlowIssue} from './value-issues.ts'

type ExpressionPlace = {columns: string[] | null; libraries: Namespaces; hasValue?: boolean}

/**
 * Lists the errors of one expression of a flow: bad syntax, an unknown column, an unpublished library or function, or `value` without a
 * cell.
 */
export const expressionIssues = (source: string, path: string[], {columns, libraries, hasValue = false}: ExpressionPlace): FlowIssue[] => {
  const result = parseExpression(source, {namespaces: libraries, ...(columns && {columns})})
  if (!result.ok) {
    const {message, line, column} = result.problem
    return [{path, message, line, column}]
  }
  if (!result.parsed.readsValue || hasValue) return []
  return [{path, message: '`value` is the cell of a source column, and this mapping has none. Use `row.` and the column name'}]
}
