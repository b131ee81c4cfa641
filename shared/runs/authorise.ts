import type {Tx} from '../../sql/database.ts'
import {findPlan} from '../../sql/plans.ts'
import {insertHead} from '../../sql/run-heads.ts'
import {insertRun} from '../../sql/runs.ts'
import {newId} from '../ids.ts'

export type Authorised = {runId: string; rowsPerRun: number; stoppedBy: 'plan' | 'declaration'}

/**
 * Lets a run write up to the smaller of the rows declared and the plan's rows per run. Fixed here: an authorised run always
 * completes, whatever becomes of the plan. `stoppedBy` says which of the two it would stop at.
 */
export const authorise = async (
  tx: Tx,
  {
    org,
    person,
    declaredRows,
    connector,
    importNo,
    template = null,
  }: {
    org: string
    person: string
    declaredRows: number
    connector: string | null
    importNo: number | null
    template?: {id: string; version: number | null} | null
  },
): Promise<Authorised> => {
  const {limits} = await findPlan(tx, org)
  const limitBy = declaredRows <= limits.rowsPerRun ? 'declaration' : 'plan'
  const rowsLimit = Math.min(declaredRows, limits.rowsPerRun)
  const id = newId('run')
  const run = await insertRun(tx, {id, org, person, connector, importNo, declaredRows, template})
  await insertHead(tx, {run, rowsLimit, limitBy})
  return {runId: id, rowsPerRun: rowsLimit, stoppedBy: limitBy}
}
