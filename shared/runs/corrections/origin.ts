import type {Tx} from '../../../sql/database.ts'
import {findImportByNo} from '../../../sql/imports.ts'
import {findRetryId, findRun, type Run} from '../../../sql/runs.ts'
import {findSource} from '../../../sql/sources.ts'
import {findUndoState} from '../../../sql/undo.ts'
import {Refusal} from '../../errors.ts'
import type {FailedRowsOrigin} from '../results/reason-columns.ts'

/**
 * Refuses a failed.csv as a new file while its run, import and source exist. Otherwise a new import and a retry could both write its rows. Accepts a
 * failed.csv of another org's run, and one of an undone run, which no retry continues.
 */
export const assertNotCorrection = async (tx: Tx, org: string, {run: runId, source}: FailedRowsOrigin): Promise<void> => {
  const run = await findRun(tx, {org, id: runId})
  if (!run || run.importNo === null || run.expiredAt) return
  const found = await findImportByNo(tx, run.importNo)
  if (!found || found.state === 'expired' || !(await findSource(tx, {importNo: run.importNo, id: source}))) return
  if (await isUndone(tx, org, run)) return
  throw new Refusal(
    'FAILED_FILE',
    `This file has the failed rows of a run of "${found.name}". Upload it on the results page of that run, so that no row is written twice`,
    {correctedImport: found.id, correctedRun: runId, correctedSource: source},
  )
}

/** Whether an undo of the chain's last run has begun. */
const isUndone = async (tx: Tx, org: string, run: Run): Promise<boolean> => {
  const later = await findRetryId(tx, run.no)
  if (later === null) return (await findUndoState(tx, run.no)).begunBy !== null
  return isUndone(tx, org, (await findRun(tx, {org, id: later}))!)
}
