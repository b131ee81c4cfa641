import type {Db} from '../../sql/database.ts'
import {findChainStart} from '../../sql/takes.ts'

/**
 * `another`: somebody else made it. `earlier`: before the chain began. `unread`: it does not say by whom, or when. `unclear`: the CRM's clock
 * was set while the chain was under way, so nobody can tell whether it was made before.
 */
export type TakeVerdict = {taken: true} | {taken: false; why: 'another' | 'earlier' | 'gone' | 'unread' | 'unclear'}

type Asked = {
  /** As the CRM tells it now, with `Created_By` and `Created_Time`; null when it is not there. */
  record: Record<string, unknown> | null
  /** The connection's own user at the CRM. */
  crmUser: string
  /** As `readChainStart` answers it; null where that is nothing. */
  chainStartMs: number | null
  /** The CRM's clock minus ours: now, and the lowest and highest difference since the chain began. Null when it did not say. */
  clockOffsetMs: number | null
  clockRange?: {lowMs: number; highMs: number} | null
}

/** Creation times are whole seconds by the CRM's clock. Source: the specification's rules of a take, entry 2. */
const toleranceMs = 2_000

/**
 * Whether a record may be the one that a create made which nobody answered: made by the connection's own user, and not before the
 * chain began. Two clocks that agree to within the tolerance count as one, so that the wobble of a reading never widens the window.
 */
export const judgeTake = ({record, crmUser, chainStartMs, clockOffsetMs, clockRange}: Asked): TakeVerdict => {
  if (!record) return {taken: false, why: 'gone'}
  const creator = (record.Created_By as {id?: unknown} | null | undefined)?.id
  const createdAt = Date.parse(String(record.Created_Time))
  if (typeof creator !== 'string' || Number.isNaN(createdAt) || chainStartMs === null) return {taken: false, why: 'unread'}
  if (creator !== crmUser) return {taken: false, why: 'another'}
  const offsets = [clockOffsetMs ?? 0, ...(clockRange ? [clockRange.lowMs, clockRange.highMs] : [])].map(readOffset)
  const isBefore = (offsetMs: number) => createdAt < chainStartMs + offsetMs - toleranceMs
  if (isBefore(Math.min(...offsets))) return {taken: false, why: 'earlier'}
  return isBefore(Math.max(...offsets)) ? {taken: false, why: 'unclear'} : {taken: true}
}

const readOffset = (offsetMs: number) => (Math.abs(offsetMs) > toleranceMs ? offsetMs : 0)

/** Source: the specification's limits, "take window". */
const mostRunsBefore = 1_000

/**
 * When the chain's first run was authorised, in ms by this process's clock: the CRM's is compared with that one, and the moment is by the
 * database's. Null where it cannot be said: the chain is longer than it is walked, or does not lead to the run that names it.
 */
export const readChainStart = async (db: Db, run: number): Promise<number | null> => {
  const askedAt = Date.now()
  const start = await findChainStart(db, {run, most: mostRunsBefore})
  if (!start) return null
  const databaseNow = Date.parse(start.now)
  // A process that sleeps while it asks must not pass for one whose clock is ahead.
  const aheadMs = nearestToZero(askedAt - databaseNow, Date.now() - databaseNow)
  return Date.parse(start.at) + (Math.abs(aheadMs) > toleranceMs ? aheadMs : 0)
}

const nearestToZero = (low: number, high: number) => (low > 0 ? low : high < 0 ? high : 0)
