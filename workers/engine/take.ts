import type {CrmRecord} from '../../shared/crm/crm.ts'
import {listHolders} from '../../sql/chain-rows.ts'
import type {Context} from './context.ts'
import {askPatiently} from './patience.ts'
import type {Row, Track} from './row.ts'

export type Take = {taken: true} | {taken: false; why: 'another' | 'earlier' | 'gone' | 'unread' | 'held'}
export type Candidate = {row: Row; recordId: string}

/** Creation times are whole seconds by the CRM's clock. */
const toleranceMs = 2_000
const idsPerQuery = 50

/**
 * After a create nobody answered, sending it again was refused as a duplicate of a record: is that record the lost create's?
 * The specification's rules of a take (entry 2): made by the connection's own user, not before the chain began, held by no other row.
 */
export const judgeTakes = async (ctx: Context, track: Track, candidates: Candidate[]): Promise<Map<Row, Take>> => {
  const judged = new Map<Row, Take>()
  if (candidates.length === 0) return judged
  const records = await readCreators(ctx, track, [...new Set(candidates.map(({recordId}) => recordId))])
  const holders = await listHolders(ctx.db, {chain: ctx.chain, module: track.module.no, records: [...records.keys()]})
  const heldBy = new Map(holders.map(({recordId, key}) => [recordId, key]))
  for (const {row, recordId} of candidates) {
    const holder = heldBy.get(recordId)
    const take = holder !== undefined && holder !== row.key ? refuse('held') : judge(ctx, records.get(recordId))
    if (take.taken) heldBy.set(recordId, row.key)
    judged.set(row, take)
  }
  return judged
}

const refuse = (why: Extract<Take, {taken: false}>['why']): Take => ({taken: false, why})

const judge = ({chainStart, connection}: Context, record: CrmRecord | undefined): Take => {
  if (!record) return refuse('gone')
  const creator = (record.Created_By as {id?: unknown} | null | undefined)?.id
  const createdAt = Date.parse(String(record.Created_Time))
  if (typeof creator !== 'string' || Number.isNaN(createdAt)) return refuse('unread')
  if (creator !== connection.connector.crmUserId) return refuse('another')
  return createdAt < chainStart - toleranceMs ? refuse('earlier') : {taken: true}
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
