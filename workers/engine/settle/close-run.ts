import {settleRows} from '../../../shared/billing/entitlements/rows.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import {announceEnd} from '../../../shared/notifications/run-ended.ts'
import {endEmptyBulkJobs} from '../../../sql/bulk-jobs.ts'
import {deleteChainRows} from '../../../sql/chain-rows.ts'
import {setImportState} from '../../../sql/imports.ts'
import {deleteExports} from '../../../sql/match-exports.ts'
import {deleteParentKeys} from '../../../sql/parent-keys.ts'
import {loseEarlier, releaseRun} from '../../../sql/replacements.ts'
import {deleteCursors} from '../../../sql/run-cursors.ts'
import {countAdmissions, deleteAdmissions, findHead} from '../../../sql/run-heads.ts'
import {deleteAnswers} from '../../../sql/run-lookups.ts'
import {beginClose, endRun} from '../../../sql/runs.ts'
import {addUnreadToCounts, deleteQueued} from '../../../sql/verify-queue.ts'
import type {LedgerContext} from '../context.ts'
import {LeaseLost} from '../run-endings.ts'
import {answerSecondsOf} from '../send/admission.ts'

const rowsPerDelete = 10_000
const entriesPerDelete = 1_000

/**
 * Ends the run: compares its row count with its admissions, deletes rows that only the writing needed, and frees the import for the next run.
 * Every step may be repeated, so a new owner can repeat an interrupted close.
 */
export const closeRun = async (ctx: LedgerContext): Promise<void> => {
  const {db, run, lease} = ctx
  const {fence} = lease
  if (run.state !== 'closing') await checkMeter(ctx)
  if (!(await beginClose(db, {no: run.no, fence}))) throw new LeaseLost('Another owner closes the run')
  while ((await deleteAdmissions(db, {run: run.no, limit: rowsPerDelete})) === rowsPerDelete) lease.lost.throwIfAborted()
  if (run.verify !== 'off') await addUnreadToCounts(db, run.no)
  while ((await deleteQueued(db, {run: run.no, limit: entriesPerDelete})) === entriesPerDelete) lease.lost.throwIfAborted()
  await deleteCursors(db, run.no)
  await deleteExports(db, {run: run.no})
  // If the run ended before a bulk job, the job's stored rows remain. This call ends such jobs unless rows are still in flight.
  await endEmptyBulkJobs(db, {run: run.no, fence})
  // A pass marks the parents whose subform rows an earlier owner was replacing. A run that is stopped after a takeover begins no pass.
  if (fence > 1) await loseEarlier(db, {run: run.no, fence, seconds: answerSecondsOf(ctx)})
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

/**
 * Logs an error if the run's row count differs from the number of its admissions. The same statements maintain both, so a difference is a bug.
 */
const checkMeter = async ({db, run, log}: LedgerContext) => {
  const head = await findHead(db, run.no)
  const admitted = await countAdmissions(db, run.no)
  if (head?.counted !== admitted) log.error({counted: head?.counted, admitted}, 'the meter differs from the admissions')
}
