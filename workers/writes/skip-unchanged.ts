import type {Connection} from '../../shared/crm/crm.ts'
import type {DiscoveredField} from '../../shared/crm/discovered.ts'
import type {SlotShare} from '../../shared/crm/limits/budget.ts'
import {readInParts} from '../../shared/crm/read-in-parts.ts'
import type {RecordItem, RecordsRequest} from '../../shared/runs/external/records.ts'
import {findBlockOfAccepted, lockExternalRun} from '../../shared/runs/external/run.ts'
import {skipUnchanged} from '../../shared/runs/external/unchanged.ts'
import type {Write} from '../../sql/writes.ts'
import {holdsAll, isComparable} from '../engine/match/compare-values.ts'
import type {Work} from '../worker.ts'
import {holdWithin} from './send.ts'

type UnchangedInput = {write: Write; request: RecordsRequest; fields: readonly DiscoveredField[]; connection: Connection; slots: SlotShare}

/**
 * Skips the items whose record already has every value. Returns the items to send. If the records cannot be read, every item is sent,
 * because an update is correct in any case.
 */
export const skipUnchangedItems = async (work: Work, input: UnchangedInput): Promise<RecordItem[]> => {
  const {write, request} = input
  const {items} = request
  const unchanged = await findUnchanged(work, input).catch(err => {
    if (work.signal.aborted) throw err
    work.log.warn({err}, 'could not read the records, so unchanged records are updated too')
    return []
  })
  if (unchanged.length === 0) return items
  const skipped = await work.db.transaction(async tx => {
    const run = await lockExternalRun(tx, write.org, write.runId)
    return findBlockOfAccepted(run) ? new Set() : skipUnchanged(tx, run, {write: write.id, request, items: unchanged})
  })
  return items.filter(({at}) => !skipped.has(at))
}

const findUnchanged = async (
  {signal}: Work,
  {request: {module, items}, fields, connection, slots}: UnchangedInput,
): Promise<RecordItem[]> => {
  const comparable = new Map(fields.filter(isComparable).map(field => [field.apiName, field]))
  const compared = items.filter(
    ({recordId, payload}) => connection.isRecordId(recordId!) && Object.keys(payload).every(name => comparable.has(name)),
  )
  const names = [...new Set(compared.flatMap(({payload}) => Object.keys(payload)))]
  const records = await readInParts(connection, {ids: compared.map(({recordId}) => recordId!), fields: names}, async part => {
    const slot = await holdWithin(slots.small, signal)
    try {
      return await connection.readRecords({module, ...part}, {signal})
    } finally {
      slot.give()
    }
  })
  return compared.filter(({recordId, payload}) => {
    const record = records.get(recordId!)
    return record !== undefined && holdsAll([...comparable.values()], payload, record)
  })
}
