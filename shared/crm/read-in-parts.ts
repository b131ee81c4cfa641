import {settleAll} from '../concurrency/settle-all.ts'
import type {CrmRecord, Verbs} from './crm.ts'
import {recordsAtOnce} from './record-calls.ts'

/** The maximum number of fields that one read by ids from Zoho may name. Source: zoho.com/crm/developer/docs/api/v8/get-records.html. */
export const fieldsPerRead = 50

type ById = {ids: string[]; fields: string[]}

/**
 * Reads records by ids in concurrent calls within the CRM's limits, and merges the parts of each record. The result lacks absent records. `read`
 * takes a slot for each call.
 */
export const readInParts = async (
  connection: Pick<Verbs, 'fieldsPerRead'>,
  query: ById,
  read: (part: ById) => Promise<CrmRecord[]>,
): Promise<Map<string, CrmRecord>> => {
  const records = new Map<string, CrmRecord>()
  for (const record of (await settleAll(splitRead(query, connection.fieldsPerRead).map(read))).flat())
    records.set(record.id, {...records.get(record.id), ...record})
  return records
}

export const splitRead = ({ids, fields}: ById, fieldsAtOnce: number): ById[] =>
  inPieces(ids, recordsAtOnce).flatMap(some => inPieces(fields, fieldsAtOnce).map(names => ({ids: some, fields: names})))

const inPieces = <T>(items: T[], size: number): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size))
