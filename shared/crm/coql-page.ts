import type {Capabilities} from '../../sql/doctor-reports.ts'
import {creditsOfQuery} from './call-credits.ts'
import {quoteName} from './coql-names.ts'
import type {CrmRecord} from './crm.ts'
import {asObject, CrmError} from './error.ts'
import {answerOf, listOf, type SendCrmRequest} from './request.ts'

export const recordsPerPage = 200
export const pagesPerQuery = 10

export type Literal = {value: string | number; text: string}
export type Query = {module: string; field: string; columns: string[]; capabilities: Capabilities; signal: AbortSignal | undefined}

export const readPage = async (
  sendCrmRequest: SendCrmRequest,
  {module, columns, signal}: Omit<Query, 'field' | 'capabilities'>,
  where: string,
) => {
  const names = [module, ...columns]
  if (!names.every(name => /^[\w.]+$/.test(name))) throw new RangeError(`A module or field name is invalid: ${names.join(', ')}`)
  const select_query = `select ${columns.map(quoteName).join(', ')} from ${module} where ${where}`
  const outcome = await sendCrmRequest({
    operation: 'query',
    method: 'POST',
    path: '/crm/v8/coql',
    json: JSON.stringify({select_query}),
    large: true,
    credits: creditsOfQuery(Number(/limit \d+, (\d+)$/.exec(where)?.[1] ?? recordsPerPage)),
    signal,
  })
  const rows = listOf(outcome, 'data') as CrmRecord[]
  const more = rows.length > 0 && asObject(asObject(answerOf(outcome).json)?.info)?.more_records === true
  return {rows, more, clockOffsetMs: answerOf(outcome).clockOffsetMs}
}

/**
 * Returns the COQL literals of a value. A text with a backslash has two literals, because the vendor does not document how to escape a backslash; the
 * caller queries both and compares the records. Quotes are doubled, because `\'` is a SYNTAX_ERROR on a live org (github search "COQL injection
 * guards", 2026). If the doctor found that the CRM escapes by a backslash, there is one literal with backslashes.
 */
export const writeLiteral = (value: string | number, {coqlQuote}: Capabilities): Literal[] => {
  if (typeof value === 'number') return [{value, text: String(value)}]
  if (coqlQuote === 'backslash') return [{value, text: `'${value.replace(/[\\']/g, '\\$&')}'`}]
  const text = value.replaceAll("'", "''")
  const spellings = text.includes('\\') ? [text, text.replaceAll('\\', '\\\\')] : [text]
  return spellings.map(spelling => ({value, text: `'${spelling}'`}))
}

const queryCodes = ['SYNTAX_ERROR', 'INVALID_QUERY', 'LIMIT_EXCEEDED']

export const isQueryRefused = (error: unknown): error is CrmError => error instanceof CrmError && queryCodes.includes(error.crm.code ?? '')

/**
 * Nests conditions in pairs, because COQL requires brackets around more than two. Source: zoho.com/crm/developer/docs/api/v8/COQL-Overview.html.
 */
export const nestConditions = (conditions: string[], operator: 'and' | 'or'): string => {
  if (conditions.length === 1) return conditions[0]!
  const pairs = Array.from({length: Math.ceil(conditions.length / 2)}, (_, n) => conditions.slice(2 * n, 2 * n + 2))
  return nestConditions(
    pairs.map(pair => (pair.length === 2 ? `(${pair.join(` ${operator} `)})` : pair[0]!)),
    operator,
  )
}
