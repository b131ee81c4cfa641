import type {Pool, Tx} from '../../../sql/database.ts'
import {insertReport} from '../../../sql/overage.ts'
import {claimIdle, holdPeriod, lapseRun, type Period, reserveRows, settleRun} from '../../../sql/usage.ts'
import {announceUse} from '../../notifications/use.ts'
import {holdCurrent} from '../credits/balance.ts'
import type {PlanStatus} from './plan-status.ts'
import {findRoom, type Lift, limitRefusal} from './refusal.ts'

/** Hours within which an authorised run must begin. Afterwards the authorisation lapses and its rows are released. */
const unbegunHours = 24

type ReserveForRunInput = {runId: string; rows: number; fewer: boolean}

/**
 * Reserves the rows that a run may write, in the org's current period, and returns how many were reserved. The rows are counted in that period, even
 * if the run ends later. With overage, reserves all `rows`. Without overage, throws LIMIT_ROWS if they do not fit; with `fewer`, reserves as many as
 * fit, and throws only if not even one fits.
 */
export const reserveForRun = async (tx: Tx, planStatus: PlanStatus, {runId, rows, fewer}: ReserveForRunInput): Promise<number> => {
  const {org, plan, window, overageEnabled} = planStatus
  const period = await holdPeriod(tx, {org, ...window, rowsLimit: plan.limits.rowsPerPeriod})
  const room = roomIn(period)
  const wanted = fewer && !overageEnabled ? Math.min(rows, Math.max(1, room)) : rows
  if (wanted > room && !overageEnabled) throw await noRoom(tx, planStatus, period, wanted)
  await reserveRows(tx, {org, runId, startsAt: window.startsAt, rows: wanted, overageAllowed: overageEnabled})
  return wanted
}

/** Returns how many rows the limit of the period still allows. Overage rows do not use up the limit. */
export const roomIn = ({rowsLimit, used, reserved, overage}: Pick<Period, 'rowsLimit' | 'used' | 'reserved' | 'overage'>) =>
  Math.max(0, rowsLimit + overage - used - reserved)

const noRoom = async (tx: Tx, planStatus: PlanStatus, period: Period, rows: number) => {
  const {rowsLimit: limit, used, reserved, overage, endsAt} = period
  const remaining = roomIn(period)
  const {balance} = await holdCurrent(tx, planStatus.org)
  const {limits} = planStatus.plan
  const lift: Lift[] = [
    ...(remaining > 0 ? [{by: 'fewer', rows: remaining} as const] : []),
    ...(await findRoom(tx, planStatus, 'rowsPerPeriod', rows + used + reserved - overage, limit)),
    ...(limits.rowsPerPeriod >= rows ? [{by: 'period', at: endsAt} as const] : []),
  ]
  const message = `This run may write ${rows} rows, but only ${remaining} of the ${limit} rows of this period are left until ${endsAt}. Declare fewer rows, or change the plan`
  return limitRefusal(balance, {code: 'LIMIT_ROWS', message, lift, extra: {limit, used, reserved, remaining, periodEnd: endsAt}})
}

/**
 * Counts a run's rows in its period, in the transaction that ends the run. Does nothing if the rows were counted before. Stores overage
 * rows for billing. Announces to the org when half, four fifths or all of the period's rows are used.
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
  message: `This run did not begin within ${unbegunHours} hours of its authorisation. Authorise another one`,
}

/** Periodic task: settles at most `most` runs that will write nothing more, which releases their reserved rows. Returns how many it settled. */
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
