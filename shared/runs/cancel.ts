import type {Pool} from '../../sql/database.ts'
import {shortenLease} from '../../sql/external-runs.ts'
import {writeStop} from '../../sql/run-heads.ts'
import {findRunByNo, type Run} from '../../sql/runs.ts'
import {lapseRun} from '../../sql/usage.ts'
import {type AuditActor, recordAuditEvent} from '../accounts/audit/event.ts'
import {settleRows} from '../billing/entitlements/rows.ts'
import {endExternalRun, lockExternalRun} from './external/run.ts'
import {leaseSeconds} from './lease-seconds.ts'
import {makeCancelledStop} from './stop.ts'

type CancelledRun = Pick<Run, 'no' | 'org' | 'id' | 'engine' | 'dryRun'>

/**
 * Ends a run that has not begun, and releases its reserved rows. Otherwise requests a stop. A worker then ends a run of Lading's engine. An
 * external engine sees the stop in the answer to its next call, and closes the run. The lease of an external run is shortened, so that the import
 * is not blocked for long if no call comes. If that lease has already expired, this function ends the run.
 */
export const cancelRun = async (db: Pool, actor: AuditActor, {no, org, id, engine, dryRun}: CancelledRun) => {
  const hasBegun = await db.transaction(async tx => {
    const isUnbegun = await lapseRun(tx, no, makeCancelledStop({engine, dryRun}))
    if (isUnbegun) await settleRows(tx, id)
    // An engine may have begun the run after the caller read it, so `engine` and `dryRun` may be outdated.
    const run = (isUnbegun ? null : await findRunByNo(tx, no)) ?? {engine, dryRun}
    if (isUnbegun || (await writeStop(tx, {run: no, stop: makeCancelledStop(run)})).rowCount > 0)
      await recordAuditEvent(tx, actor, {kind: 'run.cancelled', detail: {runId: id, dryRun: run.dryRun}})
    return !isUnbegun
  })
  if (!hasBegun || engine === 'worker') return
  await db.transaction(async tx => {
    const run = await lockExternalRun(tx, org, id)
    if (run.engine !== 'outside' || run.state !== 'writing') return
    if (!run.leaseLive) await endExternalRun(tx, run, {outcome: null, pending: 'refuse'})
    else await shortenLease(tx, {no: run.no, leaseSeconds})
  })
}
