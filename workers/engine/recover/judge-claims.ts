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

/** The maximum wait for other runs, in seconds. It is short, because the waiting batch keeps its slot. */
const longestWaitSeconds = 3

/**
 * An answered batch as it is published to other runs before its claims are judged. `batches`: the batch numbers. `listMade`: lists the records that the
 * batch created.
 */
export type AnsweredBatch = {batches: number[]; listMade: () => Claim[]}

/**
 * Decides for each row whether it may claim the record that the CRM named as the duplicate of its create. No other row of this chain, or of
 * an overlapping run at the CRM org, may have created or claimed the record. The record must have the row's idempotency value, or this
 * connection's CRM user must have created it since the chain began. `later`: a create of another run, still in flight, may have made the
 * record. The batch is published as answered first, so that two runs that judge claims never wait for each other.
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
  // The chain's start is converted to this process's clock. That clock may change during a run, so the start is read for each batch.
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

/** Finds the oldest of up to 100 records that the chain created or claimed in the module. Returns null if there is none. */
const findOldestMade = async ({db, chain}: Context, {module}: CompiledFlow): Promise<string | null> =>
  [...(await listCreated(db, {chain, module: module.no, limit: 100}))].sort(compareAge)[0] ?? null

/** A row whose record another chain claimed first gets the verdict `held`. */
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

/** Reads the creator, the creation time and the idempotency value of these records. Reads by id, because a query may not find a new record. */
const readCreators = (ctx: Context, flow: CompiledFlow, ids: string[]) => {
  const {idempotencyField} = flow.module
  const own = idempotencyField === undefined ? [] : [idempotencyField]
  return readById(ctx, flow, {ids, fields: ['Created_By', 'Created_Time', ...own]})
}
