import {type Namespaces, parseExpression} from '../expressions/parse.ts'
import type {Issue} from './value-issues.ts'

type Place = {columns: string[]; libraries: Namespaces; hasValue?: boolean}

/** What is wrong with one expression of a flow: its words, a column the file has not, a library or a function nobody published. */
export const expressionIssues = (source: string, path: string[], {columns, libraries, hasValue = false}: Place): Issue[] => {
  const result = parseExpression(source, {namespaces: libraries, columns})
  if (!result.ok) {
    const {message, line, column} = result.problem
    return [{path, message, line, column}]
  }
  if (!result.parsed.readsValue || hasValue) return []
  return [{path, message: '`value` is the cell of a source column, and none is named here; write `row.` and the column'}]
}
