import {mostEmptyAnswers} from './controls.ts'
import {quoteName} from './coql-names.ts'
import {pagesPerQuery, readPage, recordsPerPage, spell, valuesPerQuery} from './coql-page.ts'
import type {MadeAnswer, MadeControl, MadeQuery, ReadOptions} from './crm.ts'
import {CrmError, isTokenRefused} from './error.ts'
import type {Reach} from './reach.ts'

type Made = MadeAnswer | 'many'

/** Clocks that agree to within this count as one: the CRM's answers tell its time to the second, and take theirs to arrive. */
const toleranceMs = 2_000

/**
 * Which records a user made in a window of time. Whether the CRM takes its user as a condition is not documented, nor what it takes as a
 * value: what it will not read is asked again without the field, and then without the user. The window is by our clock; the CRM's is told
 * by its first answer, and where they differ it is asked again by its own. A query that does not find the control is asked again, up to six times.
 */
export const findMade = async (reach: Reach, query: MadeQuery, options: ReadOptions = {}): Promise<Made | null> => {
  const found = await findInForms(reach, query, options)
  // The window that reaches back to the control may hold too many records.
  return found === 'many' && query.control ? findInForms(reach, {...query, control: null}, options) : found
}

const findInForms = async (reach: Reach, query: MadeQuery, {signal}: ReadOptions): Promise<Made | null> => {
  const by = [`Created_By = '${query.user}'`]
  const byFields = (count: number) =>
    query.groups.map(group => [...by, ...group.slice(0, count).map(one => conditionOn(one, query.control))])
  const oneField = byFields(1)
  for (const conditions of [...(oneField.length ? [oneField] : []), [by], [[]]]) {
    const found = await askAll(reach, query, conditions, signal).catch(orUndefined)
    // A record may have been changed in the other fields, so they narrow the search only if it finds too many.
    if (found !== 'many' || conditions !== oneField) {
      if (found) return found
      continue
    }
    return (await askAll(reach, query, byFields(query.groups[0]!.length), signal).catch(orUndefined)) ?? found
  }
  return null
}

const conditionOn = ({field, values}: {field: string; values: string[]}, control: MadeControl | null | undefined) => {
  const literals = [...new Set([...values, ...(control ? [control.values[field]!] : [])])].flatMap(spell)
  if (literals.length > valuesPerQuery) throw new RangeError(`A query takes ${valuesPerQuery} values, not ${literals.length}`)
  return `${quoteName(field)} in (${literals.map(({text}) => text).join(',')})`
}

/** Declined for what it asks: not for now, and not for its pace. */
const orUndefined = (error: unknown) => {
  if (!(error instanceof CrmError) || error.crm.retryable || error.crm.rateLimited || error.crm.quotaSpent || isTokenRefused(error.crm))
    throw error
}

/** `asked`: the conditions of each query beside the window. */
const askAll = async (reach: Reach, query: MadeQuery, asked: readonly string[][], signal: AbortSignal | undefined): Promise<Made> => {
  const {control} = query
  const ids = new Set<string>()
  let offsetMs = 0
  let isProven = Boolean(control)
  for (const conditions of asked) {
    let found = await readIds(reach, query, {conditions, offsetMs, signal})
    if (isOff(found.clockOffsetMs, offsetMs)) {
      offsetMs = found.clockOffsetMs!
      found = await readIds(reach, query, {conditions, offsetMs, signal})
    }
    const lacksControl = () => control && !found.more && !found.ids.includes(control.id)
    const isOldEnough = control && control.createdMs + control.lagMs < Date.now() + offsetMs
    for (let tried = 1; isOldEnough && lacksControl() && tried < mostEmptyAnswers; tried++) {
      for (const id of found.ids) ids.add(id)
      found = await readIds(reach, query, {conditions, offsetMs, signal})
    }
    if (lacksControl()) isProven = false
    for (const id of found.ids) ids.add(id)
    if (found.more || ids.size > recordsPerPage * pagesPerQuery) return 'many'
  }
  if (control) ids.delete(control.id)
  return {ids: [...ids], clockOffsetMs: offsetMs, isProven}
}

const isOff = (toldMs: number | null, assumedMs: number) => toldMs !== null && Math.abs(toldMs - assumedMs) > toleranceMs

type Asked = {conditions: string[]; offsetMs: number; signal: AbortSignal | undefined}

/** `between` with offsets is seen in programs that run against live orgs; of a pair of comparisons some report a SYNTAX_ERROR. */
const readIds = async (reach: Reach, {module, fromMs, toMs, control}: MadeQuery, {conditions, offsetMs, signal}: Asked) => {
  const from = sayMoment(Math.floor(Math.min(fromMs + offsetMs, control?.createdMs ?? Number.POSITIVE_INFINITY) / 1000))
  const to = sayMoment(Math.ceil(Math.max(toMs + offsetMs, control?.createdMs ?? 0) / 1000))
  const where = pairUp([`Created_Time between '${from}' and '${to}'`, ...conditions])
  const ids: string[] = []
  let clockOffsetMs: number | null = null
  for (let page = 0; page < pagesPerQuery; page++) {
    const read = await readPage(reach, {module, columns: ['id'], signal}, `${where} limit ${page * recordsPerPage}, ${recordsPerPage}`)
    ids.push(...read.rows.map(({id}) => id))
    clockOffsetMs ??= read.clockOffsetMs
    if (!read.more || isOff(clockOffsetMs, offsetMs)) return {ids, more: false, clockOffsetMs}
  }
  return {ids, more: true, clockOffsetMs}
}

/** More than two conditions stand in brackets, two by two. Source: wire reference 7.2. */
const pairUp = (conditions: string[]): string => {
  if (conditions.length === 1) return conditions[0]!
  const pairs = Array.from({length: Math.ceil(conditions.length / 2)}, (_, n) => conditions.slice(2 * n, 2 * n + 2))
  return pairUp(pairs.map(pair => (pair.length === 2 ? `(${pair.join(' and ')})` : pair[0]!)))
}

const sayMoment = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000Z', '+00:00')
