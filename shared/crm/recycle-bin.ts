import type {BinEntry, ReadOptions, RestoreAnswer, WriteOptions} from './crm.ts'
import {asObject, codeOf} from './error.ts'
import {type CrmCallOutcome, listAt} from './outcome.ts'
import {recordsAtOnce, sendOptions, sendWrite, sortAnswers} from './record-calls.ts'
import {listOf, type SendCrmRequest} from './request.ts'

const path = '/crm/v8/settings/recycle_bin'
const key = 'recycle_bin'
/** The maximum number of ids of one restore. Source: the vendor's OpenAPI of the recycle bin, operation restoreRecycleBinRecords. */
const restoredAtOnce = 200

/**
 * Restores deleted records with their ids, values and subform rows. Returns one result per id, in order. If the CRM schedules the restore, every
 * result is a success and `scheduled` has all ids. The caller then reads the records until they exist.
 */
export const restoreRecords = async (sendCrmRequest: SendCrmRequest, ids: string[], options: WriteOptions): Promise<RestoreAnswer> => {
  let scheduled: string[] = []
  const arrange = (outcome: CrmCallOutcome) => {
    scheduled = scheduledIn(outcome, ids)
    return scheduled.length > 0 ? acceptAll(outcome, ids) : sortAnswers(ids, key)(outcome)
  }
  const request = {
    operation: 'restore' as const,
    method: 'POST' as const,
    path: `${path}/actions/restore`,
    json: JSON.stringify({ids}),
    ...sendOptions(options),
  }
  const answer = await sendWrite(sendCrmRequest, request, {count: ids.length, ids, most: restoredAtOnce}, arrange)
  return {...answer, scheduled}
}

export const readBin = async (sendCrmRequest: SendCrmRequest, ids: string[], {signal}: ReadOptions = {}): Promise<BinEntry[]> => {
  const entries: BinEntry[] = []
  for (let at = 0; at < ids.length; at += recordsAtOnce) {
    const query = {ids: ids.slice(at, at + recordsAtOnce).join(','), per_page: String(recordsAtOnce)}
    const found = listOf(await sendCrmRequest({operation: 'read', method: 'GET', path, query, signal}), key)
    entries.push(...found.map(asObject).flatMap(entry => (typeof entry?.id === 'string' ? [describe(entry, entry.id)] : [])))
  }
  return entries
}

/** The module is an object in one document of the vendor and a text in another. */
const describe = ({module, deleted_time, deleted_by}: Record<string, unknown>, id: string): BinEntry => ({
  id,
  module: String(asObject(module)?.api_name ?? module),
  deletedAt: String(deleted_time),
  deletedBy: typeof asObject(deleted_by)?.id === 'string' ? String(asObject(deleted_by)!.id) : null,
})

/** Returns all ids if the CRM scheduled the restore (202, only SCHEDULED entries), else none. The documents promise no id per entry. */
const scheduledIn = (outcome: CrmCallOutcome, ids: string[]): string[] => {
  const items = 'json' in outcome ? (listAt(outcome.json, key) ?? []) : []
  const isScheduled = items.length > 0 && items.every(item => codeOf(item) === 'SCHEDULED')
  return isScheduled && 'json' in outcome && outcome.status === 202 ? ids : []
}

const acceptAll = (outcome: CrmCallOutcome, ids: string[]): CrmCallOutcome => ({
  ...(outcome as Extract<CrmCallOutcome, {json: unknown}>),
  json: {data: ids.map(id => ({code: 'SUCCESS', status: 'success', details: {id}}))},
})
