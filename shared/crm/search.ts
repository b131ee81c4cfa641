import type {CrmRecord, ReadOptions} from './crm.ts'
import {asObject} from './error.ts'
import {answerOf, listOf, type Reach} from './reach.ts'
import {pathOf} from './records.ts'

/** Source: the vendor's OpenAPI of module search, `word`: 2 to 100 characters. */
const shortestWord = 2
export const longestWord = 100
const recordsPerPage = 200
/** The CRM's search ends after 2,000 records. Source: wire reference 7.1. */
const mostPages = 10

/** A word the CRM takes for too short finds nothing: it is not asked. */
export const searchWord = async (
  reach: Reach,
  {module, word, page, perPage}: {module: string; word: string; page: number; perPage: number},
  {signal}: ReadOptions = {},
): Promise<CrmRecord[]> => {
  if ([...word.trim()].length < shortestWord) return []
  const query = {word, page: String(page), per_page: String(perPage)}
  return listOf(await reach({operation: 'search', method: 'GET', path: `${pathOf(module)}/search`, query, signal}), 'data') as CrmRecord[]
}

/** Page by page, to the end of what the CRM lets be found. */
export const searchValue = async (
  reach: Reach,
  {module, field, value}: {module: string; field: string; value: string},
  {signal}: ReadOptions = {},
): Promise<CrmRecord[]> => {
  const criteria = `(${field}:equals:${quote(value)})`
  const records: CrmRecord[] = []
  for (let page = 1; page <= mostPages; page++) {
    const query = {criteria, page: String(page), per_page: String(recordsPerPage)}
    const outcome = await reach({operation: 'search', method: 'GET', path: `${pathOf(module)}/search`, query, signal})
    records.push(...(listOf(outcome, 'data') as CrmRecord[]))
    if (asObject(asObject(answerOf(outcome).json)?.info)?.more_records !== true) break
  }
  return records
}

/** Brackets, commas and the escape itself. Source: wire reference 7.1. */
const quote = (value: string) => value.replaceAll(/[\\(),]/g, '\\$&')
