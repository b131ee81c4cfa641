import {setTimeout as sleep} from 'node:timers/promises'
import {compareAge} from '../../../shared/crm/record-age.ts'
import {judgeRecord, type RecordVerdict, readChainStart} from '../../../shared/runs/record-claims/verdict.ts'
import {listCreated, listHolders} from '../../../sql/chain-rows.ts'
import type {Context} from '../context.ts'
import {readById} from '../match/read-by-id.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {findNewest} from './newest-ids.ts'
import {type Claim, claim, findHeldElsewhere, publishAnswer, waitForOtherRuns} from './record-claims.ts'

export type ClaimVerdict = RecordVerdict | {taken: false; why: 'held'}
export type ClaimCandidate = {row: ImportRow; recordId: string}

/** The longest wait for other runs, in seconds. It is short, because the waiting batch keeps its slot. */
const longestWaitSeconds = 3

/** What other runs learn of an answered batch before its rows are judged: its batch numbers and the records it created. */
export type AnsweredBatch = {batches: number[]; made: Claim[]}

/**
 * Decides whether a row with an unanswered create may claim the record that the CRM names as its duplicate. This connection's user must
 * have created the record since the chain began. No other row of any run at the CRM org may hold it. `later`: a create of another run,
 * still in flight, may have made it. A record that holds the row's idempotency value is the row's, regardless of its creator and creation time.
 * The batch is published as answered first, so that two runs never wait for each other here. Source: specification, entry 2.
 */
export const judgeClaims = async (
  ctx: Context,
  flow: CompiledFlow,
  candidates: ClaimCandidate[],
  {clockOffsetMs, ...answered}: AnsweredBatch & {clockOffsetMs: number | null},
): Promise<Map<ImportRow, ClaimVerdict | 'later'>> => {
  const judged = new Map<ImportRow, ClaimVerdict | 'later'>()
  if (candidates.length === 0) return judged
  const ids = [...new Set(candidates.map(({recordId}) => recordId))]
  await publishAnswer(ctx, flow, answered)
  const areOthersSettled = await waitForOtherRuns(ctx, flow, ms => sleep(ms, undefined, {signal: ctx.signal}), longestWaitSeconds)
  const records = await readCreators(ctx, flow, ids)
  const holders = await listHolders(ctx.db, {chain: ctx.chain, module: flow.module.no, records: ids})
  // The start of the chain is read here, because the clock that it is compared with may have been set since the run was taken.
  const chainStartMs = await readChainStart(ctx.db, ctx.run.no)
  const {crmUserId: crmUser} = ctx.connection.connector
  const clockRange = await ctx.crmClock.range()
  const oldOnes = [await findNewest(ctx, flow), await findOldestMade(ctx, flow)].filter(id => id !== null)
  const elsewhere = await findHeldElsewhere(ctx, flow, ids)
  const heldBy = new Map(holders.map(({recordId, key}) => [recordId, key]))
  for (const {row, recordId} of candidates) {
    const holder = heldBy.get(recordId)
    const isHeld = elsewhere.has(recordId) || (holder !== undefined && holder !== row.key)
    const record = records.get(recordId) ?? null
    const isProven = row.idempotency !== undefined && record?.[row.idempotency.field] === row.idempotency.value
    const judge = (): ClaimVerdict =>
      judgeRecord({
        record,
        crmUser,
        chainStartMs,
        clockOffsetMs,
        clockRange,
        isYounger: oldOnes.some(id => compareAge(id, recordId) < 0),
      })
    const take: ClaimVerdict = isHeld ? {taken: false, why: 'held'} : isProven ? {taken: true} : judge()
    if (take.taken) heldBy.set(recordId, row.key)
    judged.set(row, take.taken && !isProven && !areOthersSettled ? 'later' : take)
  }
  return claimRecordsFor(ctx, flow, candidates, judged)
}

/** Finds the oldest record among a sample of the chain's creates. Returns null if there is none yet. */
const findOldestMade = async ({db, chain}: Context, {module}: CompiledFlow): Promise<string | null> =>
  [...(await listCreated(db, {chain, module: module.no, limit: 100}))].sort(compareAge)[0] ?? null

/** Claims the records for their rows. A record that another chain claimed first is `held`. */
const claimRecordsFor = async (
  ctx: Context,
  flow: CompiledFlow,
  candidates: ClaimCandidate[],
  judged: Map<ImportRow, ClaimVerdict | 'later'>,
) => {
  const isTaken = ({row}: ClaimCandidate) => {
    const take = judged.get(row)
    return typeof take === 'object' && take.taken
  }
  const claims = candidates.filter(isTaken).map(({row, recordId}) => ({row, key: row.key, recordId}))
  const granted = await claim(ctx, flow, claims)
  for (const {row, recordId} of claims) if (!granted.has(recordId)) judged.set(row, {taken: false, why: 'held'})
  return judged
}

/** Reads who created these records, and their idempotency values. Reads by id, because a query may not find a record that was just created. */
const readCreators = (ctx: Context, flow: CompiledFlow, ids: string[]) => {
  const {idempotencyField} = flow.module
  const own = idempotencyField === undefined ? [] : [idempotencyField]
  return readById(ctx, flow, {ids, fields: ['Created_By', 'Created_Time', ...own]})
}
