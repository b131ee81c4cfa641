import type {Pool} from '../../sql/database.ts'
import {endHold} from '../../sql/run-heads.ts'
import {type Run, setRunJob} from '../../sql/runs.ts'
import {type AuditActor, recordAuditEvent} from '../accounts/audit/event.ts'
import {Refusal} from '../errors.ts'
import {runImport} from '../jobs.ts'
import {enqueue, type Queue} from '../queue.ts'

/** Enqueues a held run. From then on, the guard counts from zero and there is no canary. Throws RUN_NOT_HELD if the guard does not hold the run. */
export const resumeRun = (db: Pool, queue: Queue, actor: AuditActor, {no, org, id}: Pick<Run, 'no' | 'org' | 'id'>): Promise<void> =>
  db.transaction(async tx => {
    if ((await endHold(tx, no)) === null) throw new Refusal('RUN_NOT_HELD', 'The guard does not hold this run. Read the run for its state')
    await setRunJob(tx, {no, job: await enqueue(queue, runImport, {org, run: id}, {tx})})
    await recordAuditEvent(tx, actor, {kind: 'run.resumed', detail: {runId: id}})
  })
