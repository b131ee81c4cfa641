import {quoteName} from './coql-names.ts'
import {isQueryRefused, type Literal, type Query, readPage, spell} from './coql-page.ts'
import type {CrmRecord} from './crm.ts'
import type {Reach} from './reach.ts'
import {readRecords} from './records.ts'

/**
 * By module and field: a value that a record is known to hold, and that a query by the field has found. A query that finds neither its values nor
 * the control proves nothing. Null: no such value could be found, so an empty answer has to be believed.
 */
export type Controls = Map<string, Promise<Control | null>>
type Control = Literal & {id: string}

/** So often a query that finds nothing is asked again. */
export const mostEmptyAnswers = 6
/** A control that more records hold would lengthen every answer. */
const mostHolders = 10

const none = Promise.resolve(null)

export const keyOf = ({module, field}: Pick<Query, 'module' | 'field'>) => `${module}.${field}`

/** Looks for a control once for all queries by the field that are under way. */
export const findControl = (reach: Reach, query: Query, controls: Controls): Promise<Control | null> => {
  const key = keyOf(query)
  const known = controls.get(key)
  if (known) return known
  const finding = readControl(reach, query)
  controls.set(key, finding)
  finding.then(
    control => control === null && controls.set(key, none),
    () => controls.delete(key),
  )
  return finding
}

/** Keeps the first value that was asked for and found, unless there is a control. */
export const learnControl = (controls: Controls, query: Query, {literals, records}: {literals: Literal[]; records: CrmRecord[]}): void => {
  const key = keyOf(query)
  if (controls.has(key) && controls.get(key) !== none) return
  const holders = Map.groupBy(records, record => comparedOf(record[query.field]))
  const literal = literals.find(({value}) => {
    const count = holders.get(value)?.length ?? 0
    return count > 0 && count <= mostHolders
  })
  if (literal) controls.set(key, Promise.resolve({...literal, id: holders.get(literal.value)![0]!.id}))
}

/** Gives up a control that its record does not hold any more. Read by id, which no index can hide. */
export const checkControl = async (
  reach: Reach,
  query: Query,
  {controls, control}: {controls: Controls; control: Control},
): Promise<void> => {
  const {module, field, signal} = query
  const [record] = await readRecords(reach, {module, ids: [control.id], fields: [field]}, signal && {signal})
  if (!isLike(comparedOf(record?.[field]), control.value)) controls.delete(keyOf(query))
}

type Answered = {literals: Literal[]; control: Literal | null; records: CrmRecord[]}

/** The records without those that only the control found. */
export const dropControl = (controls: Controls, query: Query, {literals, control, records}: Answered): CrmRecord[] => {
  if (control === null || literals.some(({value}) => isLike(value, control.value))) return records
  const wanted = records.filter(record => !isLike(comparedOf(record[query.field]), control.value))
  if (records.length - wanted.length > mostHolders) controls.delete(keyOf(query))
  return wanted
}

/** The value that a query compares. For a lookup field, that is the id of the linked record. */
const comparedOf = (json: unknown) => (typeof json === 'object' && json !== null && 'id' in json ? json.id : json)

const isLike = (one: unknown, other: unknown) => fold(one) === fold(other)
const fold = (value: unknown) => String(value).normalize('NFC').trim().toLowerCase()

/** The first record that holds a value in the field, if a query by that value finds it. */
const readControl = (reach: Reach, query: Query): Promise<Control | null> =>
  readHolder(reach, query).catch(error => {
    if (isQueryRefused(error)) return null
    throw error
  })

const readHolder = async (reach: Reach, query: Query): Promise<Control | null> => {
  const {field} = query
  const name = quoteName(field)
  const [record] = await readAgain(reach, query, `${name} is not null limit 0, 1`)
  const value = comparedOf(record?.[field])
  if (typeof value !== 'number' && (typeof value !== 'string' || value === '')) return null
  const [literal] = spell(value)
  const holders = await readAgain(reach, query, `${name} = ${literal!.text} limit 0, ${mostHolders + 1}`)
  return holders.length > 0 && holders.length <= mostHolders ? {...literal!, id: record!.id} : null
}

const readAgain = async (reach: Reach, {module, field, signal}: Query, where: string) => {
  for (let tried = 1; tried <= mostEmptyAnswers; tried++) {
    const {rows} = await readPage(reach, {module, columns: ['id', field], signal}, where)
    if (rows.length > 0) return rows
  }
  return []
}
