import type {Capabilities} from '../../sql/doctor-reports.ts'
import {nestConditions, readPage} from './coql-page.ts'
import type {CrmRecord, ReadOptions} from './crm.ts'
import {asObject} from './error.ts'
import {windowOf} from './find-created.ts'
import {converted, pathOf} from './record-calls.ts'
import {answerOf, listOf, type SendCrmRequest} from './request.ts'

/** `deleted`: the ids of deleted records. `clockOffsetMs`: the CRM's clock minus ours. */
export type ModuleChanges = {records: CrmRecord[]; deleted: string[]; clockOffsetMs: number}
/** `sinceMs`: the start of the time range, by this process's clock. */
export type ChangesQuery = {module: string; fields: string[]; sinceMs: number}
type ChangesOptions = ReadOptions & {capabilities: Capabilities; mostChanges?: number}

const mostByDefault = 100_000
const changesPerPage = 2_000
const deletedPerPage = 200
/** The window ends this long after now, because the CRM's clock may be ahead. */
const marginMs = 86_400_000
/** The maximum tolerated difference of the clocks. If the clocks differ by more, a second query uses the corrected time. */
const toleranceMs = 1_000

/** Returns null if more than `mostChanges` records changed, or if more were deleted. */
export const readChanges = async (
  sendCrmRequest: SendCrmRequest,
  query: ChangesQuery,
  options: ChangesOptions,
): Promise<ModuleChanges | null> => {
  const first = await readUpdated(sendCrmRequest, query, 0, options)
  if (!first) return null
  const offset = first.clockOffsetMs
  const found = Math.abs(offset) > toleranceMs ? await readUpdated(sendCrmRequest, query, offset, options) : first
  const deleted = found && (await readDeleted(sendCrmRequest, query, offset, options))
  return deleted && {...found!, deleted}
}

const readUpdated = async (
  sendCrmRequest: SendCrmRequest,
  {module, fields, sinceMs}: ChangesQuery,
  offsetMs: number,
  {capabilities, signal, mostChanges = mostByDefault}: ChangesOptions,
) => {
  const columns = [...new Set(['id', 'Modified_Time', ...fields])]
  const since = (sinceMs + offsetMs) / 1000
  const until = (Date.now() + offsetMs + marginMs) / 1000
  const window = windowOf(capabilities.coqlWindow, Math.floor(since), Math.ceil(until), 'Modified_Time')
  const records: CrmRecord[] = []
  let clockOffsetMs = 0
  for (let last: string | null = null; ; ) {
    // The query returns records by ascending id. Pages by offset would end at 100,000 records.
    const where = nestConditions([...window, ...(last === null ? [] : [`id > '${last}'`])], 'and')
    const page = await readPage(sendCrmRequest, {module, columns, signal}, `${where} limit 0, ${changesPerPage}`)
    records.push(...page.rows)
    clockOffsetMs = page.clockOffsetMs ?? 0
    if (records.length > mostChanges) return null
    if (!page.more) return {records, clockOffsetMs}
    last = page.rows.reduce((most, {id}) => (most.length < id.length || (most.length === id.length && most < id) ? id : most), '')
  }
}

/** The CRM lists the newest deletions first. Source: zoho.com/crm/developer/docs/api/v8/get-deleted-records.html. */
const readDeleted = async (
  sendCrmRequest: SendCrmRequest,
  {module, sinceMs}: ChangesQuery,
  offsetMs: number,
  {signal, mostChanges = mostByDefault}: ChangesOptions,
): Promise<string[] | null> => {
  const since = sinceMs + offsetMs
  const headers = {
    'if-modified-since': new Date(since)
      .toISOString()
      .replace('.000Z', '+00:00')
      .replace(/\.\d+Z$/, '+00:00'),
  }
  const ids: string[] = []
  for (let page = 1; ; page++) {
    const query = {type: 'all', page: String(page), per_page: String(deletedPerPage)}
    const outcome = await sendCrmRequest({operation: 'read', method: 'GET', path: `${pathOf(module)}/deleted`, query, headers, signal})
    const entries = listOf(outcome, 'data').map(asObject)
    const recent = entries.filter(entry => Date.parse(String(entry?.deleted_time)) >= Math.floor(since / 1000) * 1000)
    ids.push(...recent.map(entry => String(entry!.id)))
    if (ids.length > mostChanges) return null
    const hasMore = entries.length > 0 && asObject(asObject(answerOf(outcome).json)?.info)?.more_records === true
    if (!hasMore || recent.length < entries.length) return ids
  }
}

/** Counts converted leads too. Source: the vendor's OpenAPI of record counts. */
export const countRecords = async (sendCrmRequest: SendCrmRequest, module: string, {signal}: ReadOptions = {}): Promise<number> => {
  const query = converted(module)
  const outcome = await sendCrmRequest({operation: 'read', method: 'GET', path: `${pathOf(module)}/actions/count`, query, signal})
  return Number(asObject(answerOf(outcome).json)?.count ?? 0)
}
