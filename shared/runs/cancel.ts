import type {Pool} from '../../sql/database.ts'
import {shortenLease} from '../../sql/outside-runs.ts'
import {writeStop} from '../../sql/run-heads.ts'
import type {Run} from '../../sql/runs.ts'
import {type AuditActor, recordAuditEvent} from '../audit/event.ts'
import {leaseSeconds} from './lease-seconds.ts'
import {endOutside, lockStanding} from './outside.ts'
import {cancelled} from './stop.ts'

type CancelledRun = Pick<Run, 'no' | 'org' | 'id' | 'engine' | 'dryRun'>

/**
 * The run writes no more rows. The service's own engine ends it then; an outside engine is told by its next call and closes it. One that
 * has not been heard of for its lease will not: its run is ended here.
 */
export const cancelRun = async (db: Pool, actor: AuditActor, {no, org, id, engine, dryRun}: CancelledRun) => {
  await db.transaction(async tx => {
    const {rowCount} = await writeStop(tx, {run: no, stop: cancelled({engine, dryRun})})
    if (rowCount > 0) await recordAuditEvent(tx, actor, {kind: 'run.cancelled', detail: {runId: id, dryRun}})
  })
  if (engine !== 'outside') return
  await db.transaction(async tx => {
    const run = await lockStanding(tx, org, id)
    if (run.state !== 'writing') return
    if (!run.leaseLive) await endOutside(tx, run, {outcome: null, pending: 'refuse'})
    else await shortenLease(tx, {no: run.no, leaseSeconds})
  })
}
