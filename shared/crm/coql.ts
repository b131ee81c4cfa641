import {type Controls, checkControl, dropControl, findControl, keyOf, learnControl, mostEmptyAnswers} from './controls.ts'
import {quoteName} from './coql-names.ts'
import {isQueryRefused, type Literal, pagesPerQuery, type Query, readPage, recordsPerPage, spell, valuesPerQuery} from './coql-page.ts'
import type {CrmRecord, ReadOptions, RecordQuery} from './crm.ts'
import {CrmError, type CrmProblem} from './error.ts'
import {inLanes} from './lanes.ts'
import {unanswered} from './outcome.ts'
import type {Reach} from './reach.ts'

/** COQL counts towards the CRM's sub-concurrency of ten calls an org. */
const queriesAtOnce = 3

type Unaskable = {value: string; crm: CrmProblem}
type Found = {records: CrmRecord[]; refused: {literal: Literal; crm: CrmProblem}[]}

/**
 * Records whose field equals one of the values, by COQL: search lags behind writes and its `equals` means "contains".
 * A query the CRM cannot read is halved until the values it stumbles over stand alone; those are answered in `unaskable`. So is
 * one that more than 2,000 records answer to; a single value is then answered with its first 2,000. An empty answer counts only if the same query
 * finds the field's control (`controls.ts`): otherwise it throws a CrmError that may be tried again.
 */
export const findRecords = async (
  reach: Reach,
  {module, field, values, fields}: RecordQuery,
  {signal, controls}: ReadOptions & {controls: Controls},
): Promise<{records: CrmRecord[]; unaskable: Unaskable[]}> => {
  const ask = askBy(reach, {module, field, columns: [...new Set(['id', field, ...fields])], signal}, controls)
  const literals = [...new Set(values)].flatMap(spell)
  const lists = Array.from({length: Math.ceil(literals.length / valuesPerQuery)}, (_, n) =>
    literals.slice(n * valuesPerQuery, (n + 1) * valuesPerQuery),
  )
  const found = await inLanes(lists, queriesAtOnce, ask)
  const records = new Map(found.flatMap(one => one.records).map(record => [record.id, record]))
  return {records: [...records.values()], unaskable: unaskableIn(literals, found)}
}

const askBy = (reach: Reach, query: Query, controls: Controls) => {
  let sound: Promise<unknown> | undefined
  const ask = async (literals: Literal[]): Promise<Found> => {
    const outcome = await readProven(reach, query, {literals, controls}).catch(error => {
      if (isQueryRefused(error)) return error.crm
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

const readProven = async (
  reach: Reach,
  query: Query,
  {literals, controls}: {literals: Literal[]; controls: Controls},
): Promise<CrmRecord[] | null> => {
  for (let tried = 1; tried <= mostEmptyAnswers; tried++) {
    const control = (await controls.get(keyOf(query))) ?? null
    const records = await readPages(reach, query, literals, control)
    if (records === null) return null
    learnControl(controls, query, {literals, records})
    if (records.length > 0) return dropControl(controls, query, {literals, control, records})
    if (control === null && (await findControl(reach, query, controls)) === null) return []
    if (control !== null && tried === mostEmptyAnswers / 2) await checkControl(reach, query, {controls, control})
  }
  throw new CrmError(unanswered({status: 204}))
}

/** Null when several values answer with more pages than are read: each is then asked in a shorter list. */
const readPages = async (reach: Reach, query: Query, literals: Literal[], control: Literal | null): Promise<CrmRecord[] | null> => {
  const name = quoteName(query.field)
  const among = `${name} in (${literals.map(({text}) => text).join(',')})`
  const where = control ? `(${among} or ${name} = ${control.text})` : among
  const records: CrmRecord[] = []
  for (let page = 0; page < pagesPerQuery; page++) {
    const {rows, more} = await readPage(reach, query, `${where} limit ${page * recordsPerPage}, ${recordsPerPage}`)
    records.push(...rows)
    if (!more) return records
  }
  return literals.length === 1 ? records : null
}

/** The same question without a value: when the CRM refuses that too, no value is to blame. Throws CrmError. */
const checkQuery = (reach: Reach, query: Query) => readPage(reach, query, `${quoteName(query.field)} is not null limit 0, 1`)

/** A value all of whose spellings were refused. */
const unaskableIn = (literals: Literal[], found: Found[]): Unaskable[] => {
  const refused = found.flatMap(one => one.refused)
  if (refused.length === 0) return []
  const asked = literals.filter(literal => !refused.some(one => one.literal === literal)).map(({value}) => value)
  const lost = new Map(refused.filter(({literal}) => !asked.includes(literal.value)).map(({literal, crm}) => [literal.value, crm]))
  return [...lost].map(([value, crm]) => ({value: String(value), crm}))
}
