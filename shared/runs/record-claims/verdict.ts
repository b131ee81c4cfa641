import {findChainStart} from '../../../sql/claim-reservations.ts'
import type {Db} from '../../../sql/database.ts'

/**
 * The decision on a record, and why it was not taken. `another`: another user created it. `earlier`: it was created before the chain began.
 * `gone`: it does not exist. `unread`: it does not show its creator or creation time. `unclear`: the CRM's clock was changed during the
 * chain, so the record may be older than the chain.
 */
export type RecordVerdict = {taken: true} | {taken: false; why: 'another' | 'earlier' | 'gone' | 'unread' | 'unclear'}

type JudgeRecordInput = {
  /** The record as the CRM has it now, with `Created_By` and `Created_Time`. Null if it does not exist. */
  record: Record<string, unknown> | null
  /** The connection's own user at the CRM. */
  crmUser: string
  chainStartMs: number | null
  /**
   * The CRM's clock minus this process's clock: now, and as the lowest and highest difference since the chain began. Null if the CRM sent
   * no time.
   */
  clockOffsetMs: number | null
  clockRange?: {lowMs: number; highMs: number} | null
  /**
   * Whether the record's id is higher than that of an earlier record of the chain. If so, the record is younger, regardless of the CRM's clock
   * showed.
   */
  isYounger?: boolean
}

/**
 * Tolerance of clock comparisons, because creation times are whole seconds by the CRM's clock. Source: the specification's rules of a take,
 * entry 2.
 */
export const clockToleranceMs = 2_000

/**
 * Decides whether an unanswered create may have made the record. The connection's own user must have created it, and not before the chain
 * began. Clock differences within the tolerance count as zero, so measurement noise never widens the window.
 */
export const judgeRecord = ({
  record,
  crmUser,
  chainStartMs,
  clockOffsetMs,
  clockRange,
  isYounger = false,
}: JudgeRecordInput): RecordVerdict => {
  if (!record) return {taken: false, why: 'gone'}
  const creator = (record.Created_By as {id?: unknown} | null | undefined)?.id
  const createdAt = Date.parse(String(record.Created_Time))
  if (typeof creator !== 'string' || Number.isNaN(createdAt) || chainStartMs === null) return {taken: false, why: 'unread'}
  if (creator !== crmUser) return {taken: false, why: 'another'}
  const offsets = [clockOffsetMs ?? 0, ...(clockRange ? [clockRange.lowMs, clockRange.highMs] : [])].map(readOffset)
  const isBefore = (offsetMs: number) => createdAt < chainStartMs + offsetMs - clockToleranceMs
  if (isBefore(Math.min(...offsets)) && !isYounger) return {taken: false, why: 'earlier'}
  return isBefore(Math.max(...offsets)) ? {taken: false, why: 'unclear'} : {taken: true}
}

const readOffset = (offsetMs: number) => (Math.abs(offsetMs) > clockToleranceMs ? offsetMs : 0)

/** Maximum of earlier runs in a chain. Source: the specification's limits, "take window". */
const mostRunsBefore = 1_000

/**
 * Returns when the chain's first run was authorised, in ms by this process's clock, because the CRM's clock is compared with that clock.
 * The stored time is by the database's clock and is converted. Returns null if the chain is longer than 1,000 runs or does not lead to the
 * run it names.
 */
export const readChainStart = async (db: Db, run: number): Promise<number | null> => {
  const askedAt = Date.now()
  const start = await findChainStart(db, {run, most: mostRunsBefore})
  if (!start) return null
  const databaseNow = Date.parse(start.now)
  // The time is compared before and after the query. If the process is suspended during the query, its clock would otherwise appear to be
  // fast.
  const aheadMs = nearestToZero(askedAt - databaseNow, Date.now() - databaseNow)
  return Date.parse(start.at) + (Math.abs(aheadMs) > clockToleranceMs ? aheadMs : 0)
}

const nearestToZero = (low: number, high: number) => (low > 0 ? low : high < 0 ? high : 0)
