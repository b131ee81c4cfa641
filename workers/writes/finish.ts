import {endRequest} from '../../shared/runs/external/pending.ts'
import {endExternalRun, lockExternalRun} from '../../shared/runs/external/run.ts'
import {noteQuota} from '../../sql/runs.ts'
import {dropRequest, findWriteEnd, type Write} from '../../sql/writes.ts'
import type {Work} from '../worker.ts'

/**
 * Ends a write. If a result says that the CRM's quota is exhausted, extends a live lease of the run to at least 24 hours and 2 minutes. The
 * next settlement with a written row shortens it. A closing run ends if it waited only for this write.
 */
export const finishWrite = async ({db}: Pick<Work, 'db'>, {id, org, connectorId, runId}: Write): Promise<void> => {
  const {isClosing, isSpent, hasUnsent} = await findWriteEnd(db, id)
  if (isSpent) await noteQuota(db, {org, connector: connectorId, id: runId, isWrite: true})
  if (!isClosing && !hasUnsent) return void (await dropRequest(db, id))
  await db.transaction(async tx => {
    const run = await lockExternalRun(tx, org, runId)
    await endRequest(tx, run, id)
    if (run.state === 'closing') await endExternalRun(tx, run, {outcome: null, pending: 'send'})
  })
}
