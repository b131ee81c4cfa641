import type {Capabilities} from '../../sql/doctor-reports.ts'
import {type Controls, checkControl, dropControl, findControl, getControl, learnControl, mostEmptyResults, mostHolders} from './controls.ts'
import {quoteName} from './coql-names.ts'
import {
  isQueryRefused,
  type Literal,
  nestConditions,
  pagesPerQuery,
  type Query,
  readPage,
  recordsPerPage,
  writeLiteral,
} from './coql-page.ts'
import type {CrmRecord, ReadOptions, RecordQuery} from './crm.ts'
import {CrmError, type CrmProblem, isRefusedForGood} from './error.ts'
import {unanswered} from './outcome.ts'
import {fieldsPerRead, splitRead} from './read-in-parts.ts'
import {readRecords} from './record-calls.ts'
import type {SendCrmRequest} from './request.ts'

/** The maximum number of values of a query with several lists, equal to the rows of one chunk of a file. */
const mostValues = 500
/** The page size of queries with many values. A page of this size costs two credits; the usual page of 200 costs one. */
const recordsPerLongPage = 1_000

/**
 * `valuesPerQuery`: the maximum number of values of one query. It falls to one list if the CRM refuses a query with several lists but accepts each
 * list. It also falls after three unanswered queries with several lists in a row, which `unanswered` counts.
 */
export type QueryLimits = {valuesPerQuery: number; unanswered: number}

const mostUnanswered = 3

export const openQueryLimits = ({coqlInSize, coqlInLists}: Capabilities): QueryLimits => ({
  valuesPerQuery: Math.max(coqlInSize, Math.min(coqlInSize * coqlInLists, mostValues)),
  unanswered: 0,
})

/** The state that all queries of one connection share. */
export type QueryState = {controls: Controls; capabilities: Capabilities; limits: QueryLimits}

type RefusedLiteral = {value: string; crm: CrmProblem}
type QueryResult = {records: CrmRecord[]; refused: {literal: Literal; crm: CrmProblem}[]}

/**
 * Finds records by COQL, because the search API lags behind writes and its `equals` means "contains". A refused query is split until the refused
 * values are isolated in `unaskable`. A query with more than 2,000 records is split too; a single value returns its first 2,000. If the field has a
 * control (`controls.ts`), an answer without any record is repeated, and finally a retryable CrmError is thrown.
 */
export const findRecords = async (
  sendCrmRequest: SendCrmRequest,
  {module, field, values, fields}: RecordQuery,
  {signal, controls, capabilities, limits}: ReadOptions & QueryState,
): Promise<{records: CrmRecord[]; unaskable: RefusedLiteral[]}> => {
  const {coqlColumns} = capabilities
  const columns = [...new Set(['id', field, ...fields])]
  const ask = queryByField(
    sendCrmRequest,
    {module, field, columns: columns.slice(0, coqlColumns), capabilities, signal},
    {controls, limits},
  )
  const literals = [...new Set(values)].flatMap(value => writeLiteral(value, capabilities))
  const found: QueryResult[] = []
  for (const some of inLists(literals, limits.valuesPerQuery)) found.push(await ask(some))
  const records = new Map(found.flatMap(one => one.records).map(record => [record.id, record]))
  await addFields(sendCrmRequest, {module, records, fields: columns.slice(coqlColumns)}, signal && {signal})
  return {records: [...records.values()], unaskable: refusedLiteralsIn(literals, found)}
}

type IncompleteRecords = {module: string; records: Map<string, CrmRecord>; fields: string[]}

const addFields = async (sendCrmRequest: SendCrmRequest, {module, records, fields}: IncompleteRecords, options: ReadOptions = {}) => {
  // The calls run in sequence, because the caller has only one slot.
  for (const part of splitRead({ids: [...records.keys()], fields}, fieldsPerRead))
    for (const record of await readRecords(sendCrmRequest, {module, ...part}, options)) Object.assign(records.get(record.id) ?? {}, record)
}

const inLists = <T>(items: T[], size: number): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size))

const queryByField = (sendCrmRequest: SendCrmRequest, query: Query, {controls, limits}: Pick<QueryState, 'controls' | 'limits'>) => {
  const {coqlInSize} = query.capabilities
  let sound: Promise<unknown> | undefined
  const ask = (literals: Literal[]): Promise<QueryResult> => (literals.length > coqlInSize ? askLists(literals) : askList(literals))
  const askLists = async (literals: Literal[]): Promise<QueryResult> => {
    let isRefused = false
    const records = await readProven(sendCrmRequest, query, {literals, controls}).catch(error => {
      if (error instanceof CrmError && error.crm.unanswered && ++limits.unanswered >= mostUnanswered) limits.valuesPerQuery = coqlInSize
      if (!isRefusedForGood(error)) throw error
      isRefused = true
      return null
    })
    limits.unanswered = 0
    if (records) return {records, refused: []}
    const parts: QueryResult[] = []
    for (const list of inLists(literals, coqlInSize)) parts.push(await askList(list))
    const joined = {records: parts.flatMap(({records}) => records), refused: parts.flatMap(({refused}) => refused)}
    // The CRM refused the query with several lists, but none of the values in single lists. So the CRM allows only one list per query.
    if (isRefused && joined.refused.length === 0) limits.valuesPerQuery = coqlInSize
    return joined
  }
  const askList = async (literals: Literal[]): Promise<QueryResult> => {
    const outcome = await readProven(sendCrmRequest, query, {literals, controls}).catch(error => {
      if (isQueryRefused(error)) return error.crm
      throw error
    })
    if (Array.isArray(outcome)) return {records: outcome, refused: []}
    if (outcome) await (sound ??= checkQuery(sendCrmRequest, query))
    if (literals.length === 1) return {records: [], refused: [{literal: literals[0]!, crm: outcome!}]}
    const middle = literals.length >> 1
    const left = await askList(literals.slice(0, middle))
    const right = await askList(literals.slice(middle))
    return {records: [...left.records, ...right.records], refused: [...left.refused, ...right.refused]}
  }
  return ask
}

const readProven = async (
  sendCrmRequest: SendCrmRequest,
  query: Query,
  {literals, controls}: {literals: Literal[]; controls: Controls},
): Promise<CrmRecord[] | null> => {
  for (let tried = 1; tried <= mostEmptyResults; tried++) {
    const control = getControl(controls, query)
    const records = await readPages(sendCrmRequest, query, literals, control)
    if (records === null) return null
    learnControl(controls, query, {literals, records})
    if (records.length > 0) return dropControl(controls, query, {literals, control, records})
    if (control === null && (await findControl(sendCrmRequest, query, controls)) === null) return []
    if (control !== null && tried === mostEmptyResults / 2) await checkControl(sendCrmRequest, query, {controls, control})
  }
  throw new CrmError(unanswered({status: 204}), {
    message: `The CRM found no record by ${query.field}, not even one that is known to exist. Its search may be out of order. Try again later`,
  })
}

/** Reads up to 2,000 records. Returns null if a query with several values has more records; the caller then splits the values. */
const readPages = async (
  sendCrmRequest: SendCrmRequest,
  query: Query,
  literals: Literal[],
  control: Literal | null,
): Promise<CrmRecord[] | null> => {
  const name = quoteName(query.field)
  const conditions = inLists(literals, query.capabilities.coqlInSize).map(some => `${name} in (${some.map(({text}) => text).join(',')})`)
  const where = nestConditions([...conditions, ...(control ? [`${name} = ${control.text}`] : [])], 'or')
  const limit = literals.length + mostHolders > recordsPerPage ? recordsPerLongPage : recordsPerPage
  const records: CrmRecord[] = []
  while (records.length < recordsPerPage * pagesPerQuery) {
    // A page may have fewer records than the limit, so the next page begins after the received records.
    const {rows, more} = await readPage(sendCrmRequest, query, `${where} limit ${records.length}, ${limit}`)
    records.push(...rows)
    if (!more) return records
  }
  return literals.length === 1 ? records : null
}

/** Queries the field without the values. If the CRM refuses this query too, the values are not the reason, and CrmError is thrown. */
const checkQuery = (sendCrmRequest: SendCrmRequest, query: Query) =>
  readPage(sendCrmRequest, query, `${quoteName(query.field)} is not null limit 0, 1`)

/** Returns the values of which the CRM refused every spelling. */
const refusedLiteralsIn = (literals: Literal[], found: QueryResult[]): RefusedLiteral[] => {
  const refused = found.flatMap(one => one.refused)
  if (refused.length === 0) return []
  const asked = literals.filter(literal => !refused.some(one => one.literal === literal)).map(({value}) => value)
  const lost = new Map(refused.filter(({literal}) => !asked.includes(literal.value)).map(({literal, crm}) => [literal.value, crm]))
  return [...lost].map(([value, crm]) => ({value: String(value), crm}))
}
