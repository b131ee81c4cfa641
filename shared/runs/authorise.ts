import type {Tx} from '../../sql/database.ts'
import {joinChain} from '../../sql/outside-runs.ts'
import {insertHead} from '../../sql/run-heads.ts'
import {insertRun} from '../../sql/runs.ts'
import {assertGoodStanding} from '../entitlements/refusal.ts'
import {reserveForRun} from '../entitlements/rows.ts'
import {readStanding} from '../entitlements/standing.ts'
import {newId} from '../ids.ts'

type Authorised = {runId: string; rowsPerRun: number; stoppedBy: 'plan' | 'declaration'}

type Asked = {
  org: string
  person: string
  declaredRows: number
  connector: string | null
  importNo: number | null
  template?: {id: string; version: number | null} | null
  /** The run it carries on. */
  previous?: {no: number; chainNo: number | null} | null
  /** It will write nothing, so it counts nothing. */
  dryRun?: boolean
  /** Nobody declared these rows: where the period has less room, the run may have what there is. */
  fewer?: boolean
}

/**
 * Lets a run write up to the smaller of the rows declared and the plan's rows per run, and reserves them in the org's period. Fixed here: an
 * authorised run always completes, whatever becomes of the plan. `stoppedBy` says which of the two it would stop at.
 */
export const authorise = async (tx: Tx, asked: Asked): Promise<Authorised> => {
  const {org, person, declaredRows, connector, importNo, template = null, previous = null, dryRun = false, fewer = false} = asked
  const standing = await readStanding(tx, org)
  await assertGoodStanding(tx, standing)
  const runId = newId('run')
  const rows = Math.min(declaredRows, standing.plan.limits.rowsPerRun)
  const rowsPerRun = dryRun ? rows : await reserveForRun(tx, standing, {runId, rows, fewer})
  const stoppedBy = rowsPerRun < declaredRows ? 'plan' : 'declaration'
  const run = await insertRun(tx, {id: runId, org, person, connector, importNo, declaredRows, template})
  if (previous) await joinChain(tx, {run, previous: {no: previous.no, chain: previous.chainNo ?? previous.no}})
  await insertHead(tx, {run, rowsLimit: rowsPerRun, limitBy: stoppedBy})
  return {runId, rowsPerRun, stoppedBy}
}
