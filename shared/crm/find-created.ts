import type {Capabilities} from '../../sql/doctor-reports.ts'
import {mostEmptyResults} from './controls.ts'
import {quoteName} from './coql-names.ts'
import {nestConditions, pagesPerQuery, readPage, recordsPerPage, writeLiteral} from './coql-page.ts'
import type {MadeAnswer, MadeControl, MadeQuery, ReadOptions} from './crm.ts'
import {isRefusedForGood} from './error.ts'
import type {SendCrmRequest} from './request.ts'

type MadeSearchResult = MadeAnswer | 'many'

/** A smaller difference of the clocks is ignored: the CRM's clock is known only to the second, and answers take time to arrive. */
const toleranceMs = 2_000

type Options = ReadOptions & {capabilities: Capabilities}

/**
 * Finds the records that a user created in a time window. The vendor does not document a filter by creator, so a refused query is repeated without
 * the field conditions, and then without the user. If the CRM's clock differs from ours, the query is repeated with the CRM's time. If a query
 * misses the control record after the CRM's lag, the query is sent up to six times. Returns `many` above 2,000 records, and null if the CRM
 * refuses every form of the query.
 */
export const searchMade = async (sendCrmRequest: SendCrmRequest, query: MadeQuery, options: Options): Promise<MadeSearchResult | null> => {
  const found = await searchInForms(sendCrmRequest, query, options)
  // The time window includes the creation of the control record, so it may contain too many records. The search is then repeated without the control.
  return found === 'many' && query.control ? searchInForms(sendCrmRequest, {...query, control: null}, options) : found
}

const searchInForms = async (sendCrmRequest: SendCrmRequest, query: MadeQuery, options: Options): Promise<MadeSearchResult | null> => {
  const by = [`Created_By = '${query.user}'`]
  const byFields = (count: number) =>
    query.groups.map(group => [...by, ...group.slice(0, count).map(one => conditionOn(one, query.control, options.capabilities))])
  const oneField = byFields(1)
  for (const conditions of [...(oneField.length ? [oneField] : []), [by], [[]]]) {
    const found = await queryAll(sendCrmRequest, query, conditions, options).catch(orUndefined)
    // The other fields may have changed since the create, so they are used only if a search by the first field finds too many records.
    if (found !== 'many' || conditions !== oneField) {
      if (found) return found
      continue
    }
    return (await queryAll(sendCrmRequest, query, byFields(query.groups[0]!.length), options).catch(orUndefined)) ?? found
  }
  return null
}

const conditionOn = (
  {field, values}: {field: string; values: string[]},
  control: MadeControl | null | undefined,
  capabilities: Capabilities,
) => {
  const literals = [...new Set([...values, ...(control ? [control.values[field]!] : [])])].flatMap(value =>
    writeLiteral(value, capabilities),
  )
  const most = capabilities.coqlInSize
  if (literals.length > most) throw new RangeError(`A query takes ${most} values, not ${literals.length}`)
  return `${quoteName(field)} in (${literals.map(({text}) => text).join(',')})`
}

/** Returns undefined if the CRM refused this form of the query, and throws any other error. */
const orUndefined = (error: unknown) => {
  if (!isRefusedForGood(error)) throw error
}

/**
 * Each element of `asked` has the conditions of one query besides the time window. Combines the ids of the queries, or returns `many` above 2,000.
 */
const queryAll = async (
  sendCrmRequest: SendCrmRequest,
  query: MadeQuery,
  asked: readonly string[][],
  options: Options,
): Promise<MadeSearchResult> => {
  const {control} = query
  const ids = new Set<string>()
  let offsetMs = 0
  let isProven = Boolean(control)
  for (const conditions of asked) {
    let found = await readIds(sendCrmRequest, query, {...options, conditions, offsetMs})
    if (isImplausible(found.clockOffsetMs, offsetMs)) {
      offsetMs = found.clockOffsetMs!
      found = await readIds(sendCrmRequest, query, {...options, conditions, offsetMs})
    }
    const isDue = control && control.createdMs + control.lagMs < Date.now() + offsetMs
    for (let tried = 1; isDue && lacksControl(found, control) && tried < mostEmptyResults; tried++) {
      for (const id of found.ids) ids.add(id)
      found = await readIds(sendCrmRequest, query, {...options, conditions, offsetMs})
    }
    if (control && lacksControl(found, control)) isProven = false
    for (const id of found.ids) ids.add(id)
    if (found.more || ids.size > recordsPerPage * pagesPerQuery) return 'many'
  }
  if (control) ids.delete(control.id)
  return {ids: [...ids], clockOffsetMs: offsetMs, isProven}
}

const lacksControl = ({ids, more}: {ids: string[]; more: boolean}, {id}: MadeControl) => !more && !ids.includes(id)

const isImplausible = (toldMs: number | null, assumedMs: number) => toldMs !== null && Math.abs(toldMs - assumedMs) > toleranceMs

type MadeConditions = Options & {conditions: string[]; offsetMs: number}

/** Returns at most 2,000 ids. `more`: further records exist. Ends after the first page if the clocks differ too much. */
const readIds = async (
  sendCrmRequest: SendCrmRequest,
  {module, fromMs, toMs, control}: MadeQuery,
  {conditions, offsetMs, capabilities, signal}: MadeConditions,
) => {
  const from = Math.floor(Math.min(fromMs + offsetMs, control?.createdMs ?? Number.POSITIVE_INFINITY) / 1000)
  const to = Math.ceil(Math.max(toMs + offsetMs, control?.createdMs ?? 0) / 1000)
  const where = nestConditions([...windowOf(capabilities.coqlWindow, from, to), ...conditions], 'and')
  const ids: string[] = []
  let clockOffsetMs: number | null = null
  for (let page = 0; page < pagesPerQuery; page++) {
    const read = await readPage(
      sendCrmRequest,
      {module, columns: ['id'], signal},
      `${where} limit ${page * recordsPerPage}, ${recordsPerPage}`,
    )
    ids.push(...read.rows.map(({id}) => id))
    clockOffsetMs ??= read.clockOffsetMs
    if (!read.more || isImplausible(clockOffsetMs, offsetMs)) return {ids, more: false, clockOffsetMs}
  }
  return {ids, more: true, clockOffsetMs}
}

/**
 * Returns the COQL conditions that limit a time field to a range; `from` and `to` are seconds since 1970. The default form is `between` with times
 * such as `2026-01-31T00:00:00+00:00`. Public programs use this form against live orgs, and some report a SYNTAX_ERROR for a pair of comparisons.
 */
export const windowOf = (form: Capabilities['coqlWindow'], from: number, to: number, field = 'Created_Time'): string[] => {
  const [first, last] = [from, to].map(seconds => writeMoment(seconds, form.endsWith('z') ? 'Z' : '+00:00'))
  return form.startsWith('between') ? [`${field} between '${first}' and '${last}'`] : [`${field} >= '${first}'`, `${field} <= '${last}'`]
}

const writeMoment = (seconds: number, zone: string) => new Date(seconds * 1000).toISOString().replace('.000Z', zone)
