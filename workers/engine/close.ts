import {setImportState} from '../../sql/imports.ts'
import {deleteCursors} from '../../sql/run-cursors.ts'
import {countAdmissions, deleteAdmissions, findHead} from '../../sql/run-heads.ts'
import {beginClose, endRun} from '../../sql/runs.ts'
import type {Context} from './context.ts'
import {LeaseLost} from './ending.ts'
import {atPoint} from './fault-point.ts'

const rowsPerDelete = 10_000

/**
 * Ends the run: the meter is checked against what was admitted, the import is given back, and the tables only the writing needed
 * are cleared. Each step is keyed by state, so a close cut short is closed again.
 */
export const closeRun = async ({db, run, lease, log}: Context): Promise<void> => {
  const {fence} = lease
  if (!(await beginClose(db, {no: run.no, fence}))) throw new LeaseLost('Another owner closes the run')
  atPoint('in_close')
  const head = await findHead(db, run.no)
  const admitted = await countAdmissions(db, run.no)
  if (head?.counted !== admitted) log.error({counted: head?.counted, admitted}, 'the meter differs from what was admitted')
  await db.transaction(async tx => {
    if (!(await endRun(tx, {no: run.no, fence}))) throw new LeaseLost('Another owner closes the run')
    if (run.importNo !== null) await setImportState(tx, {no: run.importNo, state: 'done'})
  })
  await deleteCursors(db, run.no)
  while ((await deleteAdmissions(db, {run: run.no, limit: rowsPerDelete})) === rowsPerDelete);
}
