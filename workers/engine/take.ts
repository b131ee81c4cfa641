import {setTimeout as sleep} from 'node:timers/promises'
import type {CrmRecord} from '../../shared/crm/crm.ts'
import {judgeTake, readChainStart, type TakeVerdict} from '../../shared/runs/take.ts'
import {listCreated, listHolders} from '../../sql/chain-rows.ts'
import {claim, findHeldElsewhere, waitForOtherRuns} from './claims.ts'
import type {Context} from './context.ts'
import {askPatiently} from './patience.ts'
import type {Row, Track} from './row.ts'

export type Take = TakeVerdict | {taken: false; why: 'held'}
export type Candidate = {row: Row; recordId: string}

const idsPerRead = 100
/** Two runs that wait here wait for each other's batches, so neither waits long. */
const longestWaitSeconds = 3

/**
 * Decides whether a row with an unanswered create may claim the record that the CRM names as its duplicate. This connection's user must have created
 * it since the chain began, and no row of any run at the CRM org may hold it. `later`: a create of another run that is still in flight may have made
 * it. Source: specification, entry 2.
 */
export const judgeTakes = async (
  ctx: Context,
  track: Track,
  candidates: Candidate[],
  clockOffsetMs: number | null,
): Promise<Map<Row, Take | 'later'>> => {
  const judged = new Map<Row, Take | 'later'>()
  if (candidates.length === 0) return judged
  const ids = [...new Set(candidates.map(({recordId}) => recordId))]
  const areOthersSettled = await waitForOtherRuns(ctx, track, ms => sleep(ms, undefined, {signal: ctx.signal}), longestWaitSeconds)
  const records = await readCreators(ctx, track, ids)
  const holders = await listHolders(ctx.db, {chain: ctx.chain, module: track.module.no, records: ids})
  // Read now: the clock it is compared with may have been set since the run was taken.
  const chainStartMs = await readChainStart(ctx.db, ctx.run.no)
  const clockRange = await ctx.crmClock.range()
  const oldestMade = await findOldestMade(ctx, track)
  const elsewhere = await findHeldElsewhere(ctx, track, ids)
  const heldBy = new Map(holders.map(({recordId, key}) => [recordId, key]))
  for (const {row, recordId} of candidates) {
    const holder = heldBy.get(recordId)
    const isHeld = elsewhere.has(recordId) || (holder !== undefined && holder !== row.key)
    const record = records.get(recordId) ?? null
    const take: Take = isHeld
      ? {taken: false, why: 'held'}
      : leaveIfYounger(
          judgeTake({record, crmUser: ctx.connection.connector.crmUserId, chainStartMs, clockOffsetMs, clockRange}),
          recordId,
          oldestMade,
        )
    if (take.taken) heldBy.set(recordId, row.key)
    judged.set(row, take.taken && !areOthersSettled ? 'later' : take)
  }
  return claimTakes(ctx, track, candidates, judged)
}

/** The lowest id among some records that the chain created. Null before the first. */
const findOldestMade = async ({db, chain}: Context, {module}: Track): Promise<bigint | null> => {
  const ids = (await listCreated(db, {chain, module: module.no, limit: 100})).filter(isNumber).map(BigInt)
  return ids.length ? ids.reduce((least, id) => (id < least ? id : least)) : null
}

const isNumber = (id: string) => /^\d{1,20}$/.test(id)

/** Ids grow. A record whose id is higher than one of the chain's was made later, whatever the CRM's clock showed. */
const leaveIfYounger = (take: TakeVerdict, recordId: string, oldestMade: bigint | null): TakeVerdict =>
  !take.taken && take.why === 'earlier' && oldestMade !== null && isNumber(recordId) && BigInt(recordId) > oldestMade
    ? {taken: false, why: 'unclear'}
    : take

/** What another chain claimed first is held. */
const claimTakes = async (ctx: Context, track: Track, candidates: Candidate[], judged: Map<Row, Take | 'later'>) => {
  const isTaken = ({row}: Candidate) => {
    const take = judged.get(row)
    return typeof take === 'object' && take.taken
  }
  const claims = candidates.filter(isTaken).map(({row, recordId}) => ({row, key: row.key, recordId}))
  const granted = await claim(ctx, track, claims)
  for (const {row, recordId} of claims) if (!granted.has(recordId)) judged.set(row, {taken: false, why: 'held'})
  return judged
}

/** By id: a query may not find what was made a moment ago. */
const readCreators = async (ctx: Context, track: Track, ids: string[]) => {
  const found = new Map<string, CrmRecord>()
  for (let from = 0; from < ids.length; from += idsPerRead) {
    const query = {module: track.module.apiName, ids: ids.slice(from, from + idsPerRead), fields: ['Created_By', 'Created_Time']}
    const records = await askPatiently(ctx, () => ctx.connection.readRecords(query, {signal: ctx.lease.lost}))
    for (const record of records) found.set(record.id, record)
  }
  return found
}
