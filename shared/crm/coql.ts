import type {CrmRecord, ReadOptions, RecordQuery} from './crm.ts'
import {asObject, CrmError, type CrmProblem} from './error.ts'
import {inLanes} from './lanes.ts'
import {answerOf, listOf, type Reach} from './reach.ts'

export const valuesPerQuery = 50
export const recordsPerPage = 200
export const pagesPerQuery = 10
/** COQL counts towards the CRM's sub-concurrency of ten calls an org. */
const queriesAtOnce = 3

export type Literal = {value: string | number; text: string}
type Unaskable = {value: string; crm: CrmProblem}
type Found = {records: CrmRecord[]; refused: {literal: Literal; crm: CrmProblem}[]}

/**
 * Records whose field equals one of the values, by COQL: search lags behind writes and its `equals` means "contains".
 * A query the CRM cannot read is halved until the values it stumbles over stand alone; those are answered in `unaskable`. So is
 * one that more than 2,000 records answer to; a single value is then answered with its first 2,000.
 */
export const findRecords = async (
  reach: Reach,
  {module, field, values, fields}: RecordQuery,
  {signal}: ReadOptions = {},
): Promise<{records: CrmRecord[]; unaskable: Unaskable[]}> => {
  const ask = askBy(reach, {module, field, columns: [...new Set(['id', field, ...fields])], signal})
  const literals = [...new Set(values)].flatMap(spell)
  const lists = Array.from({length: Math.ceil(literals.length / valuesPerQuery)}, (_, n) =>
    literals.slice(n * valuesPerQuery, (n + 1) * valuesPerQuery),
  )
  const found = await inLanes(lists, queriesAtOnce, ask)
  const records = new Map(found.flatMap(one => one.records).map(record => [record.id, record]))
  return {records: [...records.values()], unaskable: unaskableIn(literals, found)}
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

type Query = {module: string; field: string; columns: string[]; signal: AbortSignal | undefined}

const askBy = (reach: Reach, query: Query) => {
  let sound: Promise<unknown> | undefined
  const ask = async (literals: Literal[]): Promise<Found> => {
    const outcome = await readPages(reach, query, literals).catch(error => {
      if (error instanceof CrmError && queryCodes.includes(error.crm.code ?? '')) return error.crm
      throw error
    })
    if (Array.isArray(outcome)) return {records: outcome, refused: []}
    if (outcome) await (sound ??= checkQuery(reach, query))
    if (literals.length === 1) return {records: [], refused: [{literal: literals[0]!, crm: outcome!}]}
    const middle = literals.length >> 1
    const left = await ask(literals.slice(0, middle))
    const right = await ask(literals.slice(middle))
    return {records: [...left.records, ...right.records], refused: [...left.refused, ...right.refused]}
  }
  return ask
}

const queryCodes = ['SYNTAX_ERROR', 'INVALID_QUERY', 'LIMIT_EXCEEDED']

/** Null when several values answer with more pages than are read: each is then asked in a shorter list. */
const readPages = async (reach: Reach, query: Query, literals: Literal[]): Promise<CrmRecord[] | null> => {
  const where = `${query.field} in (${literals.map(({text}) => text).join(',')})`
  const records: CrmRecord[] = []
  for (let page = 0; page < pagesPerQuery; page++) {
    const {rows, more} = await readPage(reach, query, `${where} limit ${page * recordsPerPage}, ${recordsPerPage}`)
    records.push(...rows)
    if (!more) return records
  }
  return literals.length === 1 ? records : null
}

export const readPage = async (reach: Reach, {module, columns, signal}: Omit<Query, 'field'>, where: string) => {
  const names = [module, ...columns]
  if (!names.every(name => /^[\w.]+$/.test(name))) throw new RangeError(`Not names of a module and its fields: ${names.join(', ')}`)
  const select_query = `select ${columns.join(', ')} from ${module} where ${where}`
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

/** The same question without a value: when the CRM refuses that too, no value is to blame. Throws CrmError. */
const checkQuery = (reach: Reach, query: Query) => readPage(reach, query, `${query.field} is not null limit 0, 1`)

/** A value all of whose spellings were refused. */
const unaskableIn = (literals: Literal[], found: Found[]): Unaskable[] => {
  const refused = found.flatMap(one => one.refused)
  if (refused.length === 0) return []
  const asked = literals.filter(literal => !refused.some(one => one.literal === literal)).map(({value}) => value)
  const lost = new Map(refused.filter(({literal}) => !asked.includes(literal.value)).map(({literal, crm}) => [literal.value, crm]))
  return [...lost].map(([value, crm]) => ({value: String(value), crm}))
}
