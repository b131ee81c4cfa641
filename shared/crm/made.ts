import {pagesPerQuery, readPage, recordsPerPage, spell, valuesPerQuery} from './coql-page.ts'
import type {MadeQuery, ReadOptions} from './crm.ts'
import {CrmError, isTokenRefused} from './error.ts'
import type {Reach} from './reach.ts'

type Made = {ids: string[]; clockOffsetMs: number} | 'many'

/** Clocks that agree to within this count as one: the CRM's answers tell its time to the second, and take theirs to arrive. */
const toleranceMs = 2_000

/**
 * Which records a user made in a window of time. Whether the CRM takes its user as a condition is not documented, nor what it takes as a
 * value: what it will not read is asked again without the field, and then without the user. The window is by our clock; the CRM's is told
 * by its first answer, and where they differ it is asked again by its own.
 */
export const findMade = async (reach: Reach, query: MadeQuery, {signal}: ReadOptions = {}): Promise<Made | null> => {
  const by = [`Created_By = '${query.user}'`]
  const byFields = (count: number) => query.groups.map(group => [...by, ...group.slice(0, count).map(conditionOn)])
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

const conditionOn = ({field, values}: {field: string; values: string[]}) => {
  const literals = [...new Set(values)].flatMap(spell)
  if (literals.length > valuesPerQuery) throw new RangeError(`A query takes ${valuesPerQuery} values, not ${literals.length}`)
  return `${field} in (${literals.map(({text}) => text).join(',')})`
}

/** Declined for what it asks: not for now, and not for its pace. */
const orUndefined = (error: unknown) => {
  if (!(error instanceof CrmError) || error.crm.retryable || error.crm.rateLimited || error.crm.quotaSpent || isTokenRefused(error.crm))
    throw error
}

/** `asked`: the conditions of each query beside the window. */
const askAll = async (reach: Reach, query: MadeQuery, asked: readonly string[][], signal: AbortSignal | undefined): Promise<Made> => {
  const ids = new Set<string>()
  let offsetMs = 0
  for (const conditions of asked) {
    let found = await readIds(reach, query, {conditions, offsetMs, signal})
    if (isOff(found.clockOffsetMs, offsetMs)) {
      offsetMs = found.clockOffsetMs!
      found = await readIds(reach, query, {conditions, offsetMs, signal})
    }
    for (const id of found.ids) ids.add(id)
    if (found.more || ids.size > recordsPerPage * pagesPerQuery) return 'many'
  }
  return {ids: [...ids], clockOffsetMs: offsetMs}
}

const isOff = (toldMs: number | null, assumedMs: number) => toldMs !== null && Math.abs(toldMs - assumedMs) > toleranceMs

type Asked = {conditions: string[]; offsetMs: number; signal: AbortSignal | undefined}

const readIds = async (reach: Reach, {module, fromMs, toMs}: MadeQuery, {conditions, offsetMs, signal}: Asked) => {
  const from = `Created_Time >= '${sayMoment(Math.floor((fromMs + offsetMs) / 1000))}'`
  const to = `Created_Time <= '${sayMoment(Math.ceil((toMs + offsetMs) / 1000))}'`
  const where = pairUp([from, to, ...conditions])
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
