import type {Tx} from '../../sql/database.ts'
import {joinChain} from '../../sql/external-runs.ts'
import {insertHead} from '../../sql/run-heads.ts'
import {insertRun} from '../../sql/runs.ts'
import {readPlanStatus} from '../billing/entitlements/plan-status.ts'
import {assertGoodStatus} from '../billing/entitlements/refusal.ts'
import {reserveForRun} from '../billing/entitlements/rows.ts'
import {newId} from '../ids.ts'

type AuthorisedRun = {runId: string; rowsPerRun: number; stoppedBy: 'plan' | 'declaration'}

type AuthoriseInput = {
  org: string
  person: string
  declaredRows: number
  connector: string | null
  importNo: number | null
  template?: {id: string; version: number | null} | null
  previous?: {no: number; chainNo: number | null} | null
  dryRun?: boolean
  /**
   * Whether to reserve fewer rows than `declaredRows` if the period has fewer left. If false, such a run is refused, unless overage is enabled. True
   * if no client declared the number of rows.
   */
  fewer?: boolean
}

/**
 * Reserves the run's rows in the org's billing period; a dry run reserves nothing. `rowsPerRun`: the smaller of the declared rows and the plan's rows
 * per run; with `fewer`, also limited by the period. A later change of the plan does not change `rowsPerRun`. `stoppedBy`: `plan` if fewer rows than
 * declared were authorised, else `declaration`.
 */
export const authorise = async (tx: Tx, input: AuthoriseInput): Promise<AuthorisedRun> => {
  const {org, person, declaredRows, connector, importNo, template = null, previous = null, dryRun = false, fewer = false} = input
  const planStatus = await readPlanStatus(tx, org)
  await assertGoodStatus(tx, planStatus)
  const runId = newId('run')
  const rows = Math.min(declaredRows, planStatus.plan.limits.rowsPerRun)
  const rowsPerRun = dryRun ? rows : await reserveForRun(tx, planStatus, {runId, rows, fewer})
  const stoppedBy = rowsPerRun < declaredRows ? 'plan' : 'declaration'
  const run = await insertRun(tx, {id: runId, org, person, connector, importNo, declaredRows, template})
  if (previous) await joinChain(tx, {run, previous: {no: previous.no, chain: previous.chainNo ?? previous.no}})
  await insertHead(tx, {run, rowsLimit: rowsPerRun, limitBy: stoppedBy})
  return {runId, rowsPerRun, stoppedBy}
}
