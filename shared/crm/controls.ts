import {quoteName} from './coql-names.ts'
import {isQueryRefused, type Literal, type Query, readPage, writeLiteral} from './coql-page.ts'
import type {CrmRecord} from './crm.ts'
import {readRecords} from './record-calls.ts'
import type {SendCrmRequest} from './request.ts'

/**
 * A control is a field's value that a query is known to find, with the id of a record that has the value. Each query of the field also asks for the
 * control. An answer without any record then shows that the search is broken, not that the wanted values do not exist.
 */
export type Controls = {
  /** By `module.field`: the controls found so far. */
  known: Map<string, Control>
  /** By `module.field`: the search for a control. It resolves to null if the field has no usable control; an empty answer is then accepted. */
  searches: Map<string, Promise<Control | null>>
}
type Control = Literal & {id: string}

export const openControls = (): Controls => ({known: new Map(), searches: new Map()})

/** The maximum number of times that a query is sent while its answer is empty. */
export const mostEmptyResults = 6
/** The maximum number of records with a control's value. Every answer may contain all of them, so the number is small. */
export const mostHolders = 10

const keyOf = ({module, field}: Query) => `${module}.${field}`

export const getControl = ({known}: Controls, query: Query): Control | null => known.get(keyOf(query)) ?? null

/** Searches for a control, once for all queries of the field. If another query learns a control meanwhile, returns that control. */
export const findControl = async (sendCrmRequest: SendCrmRequest, query: Query, controls: Controls): Promise<Control | null> => {
  const {known, searches} = controls
  const key = keyOf(query)
  const search = searches.get(key) ?? readControl(sendCrmRequest, query)
  searches.set(key, search)
  const control = await search.catch(error => {
    searches.delete(key)
    throw error
  })
  if (control && !known.has(key)) known.set(key, control)
  return known.get(key) ?? null
}

/** The first queried value that occurs in one to ten of the records becomes the control of the field, unless the field has a control. */
export const learnControl = ({known}: Controls, query: Query, {literals, records}: {literals: Literal[]; records: CrmRecord[]}): void => {
  const key = keyOf(query)
  if (known.has(key)) return
  const holders = Map.groupBy(records, record => comparedOf(record[query.field]))
  const literal = literals.find(({value}) => {
    const count = holders.get(value)?.length ?? 0
    return count > 0 && count <= mostHolders
  })
  if (literal) known.set(key, {...literal, id: holders.get(literal.value)![0]!.id})
}

/** Reads the control's record by id, because such a read does not use the search index. Drops the control if the record no longer has the value. */
export const checkControl = async (
  sendCrmRequest: SendCrmRequest,
  query: Query,
  {controls, control}: {controls: Controls; control: Control},
): Promise<void> => {
  const {module, field, signal} = query
  const [record] = await readRecords(sendCrmRequest, {module, ids: [control.id], fields: [field]}, signal && {signal})
  if (!isSameValue(comparedOf(record?.[field]), control.value)) forgetControl(controls, query)
}

const forgetControl = ({known, searches}: Controls, query: Query) => {
  known.delete(keyOf(query))
  searches.delete(keyOf(query))
}

type QueriedRecords = {literals: Literal[]; control: Literal | null; records: CrmRecord[]}

/** Removes the records that only the control matched. Drops the control if more than ten records match it. */
export const dropControl = (controls: Controls, query: Query, {literals, control, records}: QueriedRecords): CrmRecord[] => {
  if (control === null || literals.some(({value}) => isSameValue(value, control.value))) return records
  const wanted = records.filter(record => !isSameValue(comparedOf(record[query.field]), control.value))
  if (records.length - wanted.length > mostHolders) forgetControl(controls, query)
  return wanted
}

/** For a lookup field, COQL compares the id of the linked record. */
const comparedOf = (json: unknown) => (typeof json === 'object' && json !== null && 'id' in json ? json.id : json)

const isSameValue = (one: unknown, other: unknown) => fold(one) === fold(other)
/** COQL compares date-times by instant, so two offsets may spell one value. */
const fold = (value: unknown) => {
  const text = String(value).normalize('NFC').trim().toLowerCase()
  const instant = /^\d{4}-\d\d-\d\dt[\d:.]+(?:z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(instant) ? text : instant
}

/**
 * Reads one record with a value in the field, and makes the value the control. Returns null if there is no such record, if the value is neither a
 * number nor a text, or if the CRM refuses a query. Also returns null if a query for the value finds no record or more than ten.
 */
const readControl = (sendCrmRequest: SendCrmRequest, query: Query): Promise<Control | null> =>
  readHolder(sendCrmRequest, query).catch(error => {
    if (isQueryRefused(error)) return null
    throw error
  })

const readHolder = async (sendCrmRequest: SendCrmRequest, query: Query): Promise<Control | null> => {
  const {field} = query
  const name = quoteName(field)
  const [record] = await rereadHolder(sendCrmRequest, query, `${name} is not null limit 0, 1`)
  const value = comparedOf(record?.[field])
  if (typeof value !== 'number' && (typeof value !== 'string' || value === '')) return null
  const [literal] = writeLiteral(value, query.capabilities)
  const holders = await rereadHolder(sendCrmRequest, query, `${name} = ${literal!.text} limit 0, ${mostHolders + 1}`)
  return holders.length > 0 && holders.length <= mostHolders ? {...literal!, id: record!.id} : null
}

const rereadHolder = async (sendCrmRequest: SendCrmRequest, {module, field, signal}: Query, where: string) => {
  for (let tried = 1; tried <= mostEmptyResults; tried++) {
    const {rows} = await readPage(sendCrmRequest, {module, columns: ['id', field], signal}, where)
    if (rows.length > 0) return rows
  }
  return []
}
