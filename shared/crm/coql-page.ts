import {quoteName} from './coql-names.ts'
import type {CrmRecord} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {answerOf, listOf, type Reach} from './reach.ts'

export const valuesPerQuery = 50
export const recordsPerPage = 200
export const pagesPerQuery = 10

export type Literal = {value: string | number; text: string}
export type Query = {module: string; field: string; columns: string[]; signal: AbortSignal | undefined}

export const readPage = async (reach: Reach, {module, columns, signal}: Omit<Query, 'field'>, where: string) => {
  const names = [module, ...columns]
  if (!names.every(name => /^[\w.]+$/.test(name))) throw new RangeError(`A module or field name is invalid: ${names.join(', ')}`)
  const select_query = `select ${columns.map(quoteName).join(', ')} from ${module} where ${where}`
  const outcome = await reach({
    operation: 'query',
    method: 'POST',
    path: '/crm/v8/coql',
    json: JSON.stringify({select_query}),
    large: true,
    signal,
  })
  const rows = listOf(outcome, 'data') as CrmRecord[]
  const more = rows.length > 0 && asObject(asObject(answerOf(outcome).json)?.info)?.more_records === true
  return {rows, more, clockOffsetMs: answerOf(outcome).clockOffsetMs}
}

/**
 * A quote is doubled: seen on a live org, where `\'` is a SYNTAX_ERROR (github search "COQL injection guards", 2026). Whether a
 * backslash stands for itself is not documented, so both spellings are asked; the caller compares what comes back.
 */
export const spell = (value: string | number): Literal[] => {
  if (typeof value === 'number') return [{value, text: String(value)}]
  const text = value.replaceAll("'", "''")
  const spellings = text.includes('\\') ? [text, text.replaceAll('\\', '\\\\')] : [text]
  return spellings.map(spelling => ({value, text: `'${spelling}'`}))
}

const queryCodes = ['SYNTAX_ERROR', 'INVALID_QUERY', 'LIMIT_EXCEEDED']

/** The CRM cannot execute the query as it stands. */
export const isQueryRefused = (error: unknown): error is CrmError => error instanceof CrmError && queryCodes.includes(error.crm.code ?? '')
