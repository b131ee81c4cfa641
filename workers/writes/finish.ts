import {endOutside, lockStanding} from '../../shared/runs/outside.ts'
import {logUnsent} from '../../shared/writes/pending.ts'
import {noteAllowance} from '../../sql/runs.ts'
import {dropRequest, findWriteEnd, type Write} from '../../sql/writes.ts'
import type {Work} from '../worker.ts'

/** The end of a request's job: a spent quota costs the run no lease, and a closing run that waited for this write ends. */
export const finishWrite = async ({db}: Pick<Work, 'db'>, {id, org, connectorId, runId}: Write): Promise<void> => {
  const {isClosing, isSpent} = await findWriteEnd(db, id)
  if (isSpent) await noteAllowance(db, {org, connector: connectorId, id: runId, isWrite: true})
  if (!isClosing) return void (await dropRequest(db, id))
  await db.transaction(async tx => {
    const run = await lockStanding(tx, org, runId)
    if (run.state === 'closing') await logUnsent(tx, run, {id})
    await dropRequest(tx, id)
    if (run.state === 'closing') await endOutside(tx, run, {outcome: null, pending: 'send'})
  })
}
