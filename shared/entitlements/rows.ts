import type {Pool, Tx} from '../../sql/database.ts'
import {insertReport} from '../../sql/overage.ts'
import {claimIdle, holdPeriod, lapseRun, type Period, reserveRows, settleRun} from '../../sql/usage.ts'
import {holdCurrent} from '../credits/balance.ts'
import {announceUse} from '../notices/use.ts'
import {findRoom, type Lift, limitRefusal} from './refusal.ts'
import type {Standing} from './standing.ts'

/** An authorisation nobody has begun by then is over, and its rows are free again. */
const unbegunHours = 24

type Asked = {runId: string; rows: number; fewer: boolean}

/**
 * Reserves the rows a run may write, in the org's period of this moment; a run counts in the period it was authorised in. Refuses with
 * LIMIT_ROWS what the period has no room for, unless the org has overage enabled. `fewer`: as many as there is room for will do, but one
 * at least. Answers how many it reserved.
 */
export const reserveForRun = async (tx: Tx, standing: Standing, {runId, rows, fewer}: Asked): Promise<number> => {
  const {org, plan, window, overageEnabled} = standing
  const period = await holdPeriod(tx, {org, ...window, rowsLimit: plan.limits.rowsPerPeriod})
  const room = roomIn(period)
  const wanted = fewer && !overageEnabled ? Math.min(rows, Math.max(1, room)) : rows
  if (wanted > room && !overageEnabled) throw await noRoom(tx, standing, period, wanted)
  await reserveRows(tx, {org, runId, startsAt: window.startsAt, rows: wanted, overageAllowed: overageEnabled})
  return wanted
}

/** Rows that are billed one by one take none of the plan's. */
export const roomIn = ({rowsLimit, used, reserved, overage}: Pick<Period, 'rowsLimit' | 'used' | 'reserved' | 'overage'>) =>
  Math.max(0, rowsLimit + overage - used - reserved)

const noRoom = async (tx: Tx, standing: Standing, period: Period, rows: number) => {
  const {rowsLimit: limit, used, reserved, endsAt} = period
  const remaining = roomIn(period)
  const {balance} = await holdCurrent(tx, standing.org)
  const {limits} = standing.plan
  const lift: Lift[] = [
    ...(remaining > 0 ? [{by: 'fewer', rows: remaining} as const] : []),
    ...(await findRoom(tx, standing, 'rowsPerPeriod', rows + used + reserved)),
    ...(limits.rowsPerPeriod >= rows ? [{by: 'period', at: endsAt} as const] : []),
  ]
  const message = `This run may take ${rows} rows, and ${remaining} of the ${limit} of this period are left until ${endsAt}: declare fewer, or change the plan`
  return limitRefusal(balance, {code: 'LIMIT_ROWS', message, lift, extra: {limit, used, reserved, remaining, periodEnd: endsAt}})
}

/**
 * For the transaction that ends a run: its rows count in its period, once. Those beyond the plan's are written down for the bill with it, and
 * who wants to know is told where half, four fifths or all of the period's are used.
 */
export const settleRows = async (tx: Tx, runId: string): Promise<void> => {
  const settled = await settleRun(tx, runId)
  if (!settled) return
  const {org, rows, rowsBeyond, used, rowsLimit, startsAt, endsAt} = settled
  if (rowsBeyond > 0) await insertReport(tx, {identifier: `${runId}:1`, org, run: runId, rows: rowsBeyond})
  await announceUse(tx, {org, kind: 'usage.rows', window: {startsAt, endsAt}, limit: rowsLimit, before: used - rows, used})
}

const LAPSED = {
  stopped: 'LAPSED',
  message: `Nobody began this run within ${unbegunHours} hours of its authorisation: authorise another`,
}

/** Gives back what runs have reserved that will write nothing any more. Answers how many there were. */
export const releaseIdle = async (db: Pool, {most}: {most: number}): Promise<number> => {
  for (let done = 0; done < most; done++) {
    const found = await db.transaction(async tx => {
      const idle = await claimIdle(tx, {hours: unbegunHours})
      if (idle?.lapsed) await lapseRun(tx, idle.no!, LAPSED)
      if (idle) await settleRows(tx, idle.runId)
      return idle
    })
    if (!found) return done
  }
  return most
}
