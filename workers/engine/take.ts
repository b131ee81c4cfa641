import type {CrmRecord} from '../../shared/crm/crm.ts'
import {judgeTake, readChainStart, type TakeVerdict} from '../../shared/runs/take.ts'
import {listHolders} from '../../sql/chain-rows.ts'
import type {Context} from './context.ts'
import {askPatiently} from './patience.ts'
import type {Row, Track} from './row.ts'

export type Take = TakeVerdict | {taken: false; why: 'held'}
export type Candidate = {row: Row; recordId: string}

const idsPerQuery = 50

/**
 * After a create nobody answered, sending it again was refused as a duplicate of a record: is that record the lost create's?
 * The specification's rules of a take (entry 2): one that may be it by its maker and its age, and that no other row holds.
 */
export const judgeTakes = async (
  ctx: Context,
  track: Track,
  candidates: Candidate[],
  clockOffsetMs: number | null,
): Promise<Map<Row, Take>> => {
  const judged = new Map<Row, Take>()
  if (candidates.length === 0) return judged
  const records = await readCreators(ctx, track, [...new Set(candidates.map(({recordId}) => recordId))])
  const holders = await listHolders(ctx.db, {chain: ctx.chain, module: track.module.no, records: [...records.keys()]})
  // Asked now: the clock it is told by may have been set since the run was taken.
  const chainStartMs = await readChainStart(ctx.db, ctx.run.no)
  const heldBy = new Map(holders.map(({recordId, key}) => [recordId, key]))
  for (const {row, recordId} of candidates) {
    const holder = heldBy.get(recordId)
    const asked = {
      record: records.get(recordId) ?? null,
      crmUser: ctx.connection.connector.crmUserId,
      ...{chainStartMs, clockOffsetMs},
    }
    const take: Take = holder !== undefined && holder !== row.key ? {taken: false, why: 'held'} : judgeTake(asked)
    if (take.taken) heldBy.set(recordId, row.key)
    judged.set(row, take)
  }
  return judged
}

/** By query, fifty a call: a killed worker may leave hundreds of these. Queries see what was written a moment ago. */
const readCreators = async (ctx: Context, track: Track, ids: string[]) => {
  const found = new Map<string, CrmRecord>()
  for (let from = 0; from < ids.length; from += idsPerQuery) {
    const values = ids.slice(from, from + idsPerQuery)
    const query = {module: track.module.apiName, field: 'id', values, fields: ['Created_By', 'Created_Time']}
    const {records} = await askPatiently(ctx, () => ctx.connection.findRecords(query, {signal: ctx.lease.lost}))
    for (const record of records) found.set(record.id, record)
  }
  return found
}
