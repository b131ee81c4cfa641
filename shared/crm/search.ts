import {Refusal} from '../errors.ts'
import type {CrmRecord, ReadOptions} from './crm.ts'
import {asObject} from './error.ts'
import {converted, pathOf} from './record-calls.ts'
import {answerOf, listOf, type SendCrmRequest} from './request.ts'

/** The minimum and maximum length of a word. Source: the vendor's OpenAPI of module search, `word`: 2 to 100 characters. */
export const shortestWord = 2
export const longestWord = 100
const recordsPerPage = 200
/**
 * The maximum number of pages of one search. The CRM's search ends after 2,000 records. Source:
 * zoho.com/crm/developer/docs/api/v8/search-records.html.
 */
const mostPages = 10

/** Sends the word without surrounding spaces. If it is too short for the CRM, returns an empty list without a call. */
export const searchWord = async (
  sendCrmRequest: SendCrmRequest,
  {module, word, page, perPage}: {module: string; word: string; page: number; perPage: number},
  {signal}: ReadOptions = {},
): Promise<CrmRecord[]> => {
  const trimmed = word.trim()
  const {length} = [...trimmed]
  if (length < shortestWord) return []
  if (length > longestWord) throw new Refusal('INVALID', `The CRM searches for at most ${longestWord} characters. Send a shorter word`)
  const query = {word: trimmed, page: String(page), per_page: String(perPage), ...converted(module)}
  return listOf(
    await sendCrmRequest({operation: 'search', method: 'GET', path: `${pathOf(module)}/search`, query, signal}),
    'data',
  ) as CrmRecord[]
}

/** Reads the records, at most 2,000, whose field the CRM's search finds equal to the value. */
export const searchValue = async (
  sendCrmRequest: SendCrmRequest,
  {module, field, value}: {module: string; field: string; value: string},
  {signal}: ReadOptions = {},
): Promise<CrmRecord[]> => {
  const criteria = `(${field}:equals:${quote(value)})`
  const records: CrmRecord[] = []
  for (let page = 1; page <= mostPages; page++) {
    const query = {criteria, page: String(page), per_page: String(recordsPerPage), ...converted(module)}
    const outcome = await sendCrmRequest({operation: 'search', method: 'GET', path: `${pathOf(module)}/search`, query, signal})
    records.push(...(listOf(outcome, 'data') as CrmRecord[]))
    if (asObject(asObject(answerOf(outcome).json)?.info)?.more_records !== true) break
  }
  return records
}

/** Escapes parentheses, commas and backslashes. Source: zoho.com/crm/developer/docs/api/v8/search-records.html. */
const quote = (value: string) => value.replaceAll(/[\\(),]/g, '\\$&')
