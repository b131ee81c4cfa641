import {settleRows} from '../../shared/entitlements/rows.ts'
import {atPoint} from '../../shared/fault-point.ts'
import {announceEnd} from '../../shared/notices/run-ended.ts'
import {deleteChainRows} from '../../sql/chain-rows.ts'
import {setImportState} from '../../sql/imports.ts'
import {deleteParentKeys} from '../../sql/parent-keys.ts'
import {releaseRun} from '../../sql/replacements.ts'
import {deleteCursors} from '../../sql/run-cursors.ts'
import {countAdmissions, deleteAdmissions, findHead} from '../../sql/run-heads.ts'
import {deleteAnswers} from '../../sql/run-lookups.ts'
import {beginClose, endRun} from '../../sql/runs.ts'
import type {Held} from './context.ts'
import {LeaseLost} from './ending.ts'

const rowsPerDelete = 10_000

/**
 * Ends the run: the meter is checked against what was admitted, the tables only the writing needed are cleared, and the import is
 * given back. Each step is keyed by state, so a close cut short is closed again.
 */
export const closeRun = async (ctx: Held): Promise<void> => {
  const {db, run, lease} = ctx
  const {fence} = lease
  if (run.state !== 'closing') await checkMeter(ctx)
  if (!(await beginClose(db, {no: run.no, fence}))) throw new LeaseLost('Another owner closes the run')
  while ((await deleteAdmissions(db, {run: run.no, limit: rowsPerDelete})) === rowsPerDelete) lease.lost.throwIfAborted()
  await deleteCursors(db, run.no)
  await releaseRun(db, run.no)
  while ((await deleteAnswers(db, {run: run.no, limit: rowsPerDelete})) === rowsPerDelete) lease.lost.throwIfAborted()
  while ((await deleteParentKeys(db, {run: run.no, limit: rowsPerDelete})) === rowsPerDelete) lease.lost.throwIfAborted()
  if (run.dryRun)
    while ((await deleteChainRows(db, {chain: ctx.chain, limit: rowsPerDelete})) === rowsPerDelete) lease.lost.throwIfAborted()
  atPoint('in_close')
  await db.transaction(async tx => {
    if (!(await endRun(tx, {no: run.no, fence}))) throw new LeaseLost('Another owner closes the run')
    if (run.importNo !== null && !run.dryRun) await setImportState(tx, {no: run.importNo, state: 'done'})
    await announceEnd(tx, run)
    await settleRows(tx, run.id)
  })
}

/** Counted and admitted are kept by the same statements: a difference is a fault of ours, for people to look at. */
const checkMeter = async ({db, run, log}: Held) => {
  const head = await findHead(db, run.no)
  const admitted = await countAdmissions(db, run.no)
  if (head?.counted !== admitted) log.error({counted: head?.counted, admitted}, 'the meter differs from what was admitted')
}
