import type {ReadOptions, RecordChange} from './crm.ts'
import {asObject, isRefusedForGood} from './error.ts'
import {pathOf} from './record-calls.ts'
import {listOf, type SendCrmRequest} from './request.ts'

/**
 * Reads the newest change of a record since `since` (ms) that was not made through this connection, from the newest page of the timeline. Null if
 * there is no such change, or if the CRM has no timeline of the record. The timeline may lag. `per_page` is not sent: one document of the vendor
 * allows 200, another only 3. Source: the vendor's OpenAPI of timelines, operation getTimelines.
 */
export const readTimeline = async (
  sendCrmRequest: SendCrmRequest,
  {module, id, since, user}: {module: string; id: string; since: number; user: string},
  {signal}: ReadOptions = {},
): Promise<RecordChange | null> => {
  const path = `${pathOf(module)}/${encodeURIComponent(id)}/__timeline`
  const query = {sort_by: 'audited_time', sort_order: 'desc', include_inner_details: 'field_history.data_type'}
  try {
    const entries = listOf(await sendCrmRequest({operation: 'read', method: 'GET', path, query, signal}), '__timeline')
    const changes = entries.flatMap(entry => describe(asObject(entry)) ?? [])
    return changes.find(change => Date.parse(change.at) >= since && !isOwn(change, user)) ?? null
  } catch (error) {
    if (isRefusedForGood(error) && error.crm.status === 400) return null
    throw error
  }
}

/** A change that the connection's user made in the CRM's pages is not an own change. */
const isOwn = ({by, source}: RecordChange, user: string) => by?.id === user && source === 'crm_api'

const describe = (entry: Record<string, unknown> | null): RecordChange | null => {
  if (typeof entry?.audited_time !== 'string') return null
  const {id, name} = asObject(entry.done_by) ?? {}
  const history = Array.isArray(entry.field_history) ? entry.field_history : []
  return {
    at: entry.audited_time,
    by: typeof id === 'string' ? {id, name: typeof name === 'string' ? name : id} : null,
    source: String(entry.source ?? 'unknown'),
    fields: history.flatMap(field => (typeof asObject(field)?.api_name === 'string' ? [String(asObject(field)!.api_name)] : [])),
  }
}
