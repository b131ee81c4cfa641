import {findChainStart} from '../../../sql/claim-reservations.ts'
import type {Db} from '../../../sql/database.ts'

/**
 * Whether a record can be claimed, and if not, why. `another`: another user created the record. `earlier`: the record is older than the chain.
 * `gone`: the record does not exist. `unread`: the creator, the creation time or the start of the chain is unknown. `unclear`: the CRM's clock was
 * changed during the chain, so the record may be older than the chain.
 */
export type RecordVerdict = {taken: true} | {taken: false; why: 'another' | 'earlier' | 'gone' | 'unread' | 'unclear'}

type JudgeRecordInput = {
  /** The record as the CRM has it now, with `Created_By` and `Created_Time`. Null if it does not exist. */
  record: Record<string, unknown> | null
  /** Id of the connection's own user at the CRM. */
  crmUser: string
  chainStartMs: number | null
  /**
   * How far the CRM's clock is ahead of this process's clock, in ms. `clockOffsetMs`: now. `clockRange`: the lowest and highest offset
   * since the chain began. Null if the CRM sent no time.
   */
  clockOffsetMs: number | null
  clockRange?: {lowMs: number; highMs: number} | null
  /**
   * Whether the record's id is higher than a known older id: that of the module's newest record before the chain's first create, or of the
   * oldest record that the chain created. Such a record is younger, whatever the CRM's clock showed.
   */
  isYounger?: boolean
}

/** Tolerance of clock comparisons in ms. The CRM's creation times are whole seconds. */
export const clockToleranceMs = 2_000

/**
 * Decides whether an unanswered create may have made the record: the connection's own user created it, and not before the chain began. Clock offsets
 * within the tolerance are treated as zero, so that measurement noise does not change the decision.
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

/** Maximum number of retries of a chain that are followed back. */
const mostRunsBefore = 1_000

/**
 * Returns when the chain's first run was authorised, in ms. The stored time is by the database's clock. That time is converted to this process's
 * clock, with which the CRM's clock is compared. Null if the chain has more than 1,000 retries, or if its oldest run is not the run that names the
 * chain.
 */
export const readChainStart = async (db: Db, run: number): Promise<number | null> => {
  const askedAt = Date.now()
  const start = await findChainStart(db, {run, most: mostRunsBefore})
  if (!start) return null
  const databaseNow = Date.parse(start.now)
  // The clocks are compared before and after the query. With one comparison, a process that is suspended during the query would appear to have a fast
  // clock.
  const aheadMs = nearestToZero(askedAt - databaseNow, Date.now() - databaseNow)
  return Date.parse(start.at) + (Math.abs(aheadMs) > clockToleranceMs ? aheadMs : 0)
}

const nearestToZero = (low: number, high: number) => (low > 0 ? low : high < 0 ? high : 0)
