import {giveUpUnsent} from '../../shared/runs/external/answer.ts'
import {endDisconnected, endExternalRun, lockExternalRun} from '../../shared/runs/external/run.ts'
import {settleAbandonedSend} from '../../shared/runs/external/settle.ts'
import {listExternalSends} from '../../sql/external-ledger.ts'
import {deleteOfWriting, listStaleExternalRuns, listUntidied, markTidied, ofWriting} from '../../sql/external-runs.ts'
import {deleteOldWrites, listAbandoned} from '../../sql/writes.ts'
import type {WorkerDeps} from '../deps.ts'
import {aboutEachLease, periodicTask} from '../periodic.ts'

const runsPerLook = 100
const rowsPerDelete = 10_000
const writesPerDelete = 500
/** The seconds without a request after which an external engine is treated as gone. */
const idleSeconds = 24 * 3600
/** The days for which the results of a write can be read after the end of its run. */
const keptDays = 7
/** The seconds after which the queue has given up the job of a write. */
const abandonedSeconds = 1_200

/** Calls `move` for each item. A failure does not block the others. */
const each = async <T extends object>({log, drain}: WorkerDeps, found: readonly T[], move: (one: T) => Promise<unknown>) => {
  for (const one of found) {
    if (drain.aborted) return
    await move(one).catch((err: unknown) => log.error({err, found: one}, 'could not sweep a run or write'))
  }
}

const moveStale = async (deps: WorkerDeps) =>
  each(deps, await listStaleExternalRuns(deps.db, {idleSeconds, limit: runsPerLook}), async ({id, org, idle, disconnected}) => {
    if (disconnected) await endDisconnected(deps.db, {org, id})
    await deps.db.transaction(async tx => {
      const run = await lockExternalRun(tx, org, id)
      if (run.state !== 'writing' && run.state !== 'closing') return
      for (const send of await listExternalSends(tx, run.no)) {
        if (!send.dead) continue
        deps.log.warn({run: id, batch: send.batch, rows: send.keys.length}, 'settling rows that were left in flight')
        await settleAbandonedSend(tx, run, send)
      }
      if (run.state === 'closing') await endExternalRun(tx, run, {outcome: null, pending: 'send'})
      else if (idle && !run.leaseLive) await endExternalRun(tx, run, {outcome: null, pending: 'refuse'})
    })
  })

/** Gives up writes whose job the queue has given up. Rows in flight are settled with their batch. */
const giveUpAbandoned = async (deps: WorkerDeps) =>
  each(deps, await listAbandoned(deps.db, {seconds: abandonedSeconds, limit: runsPerLook}), ({id, org, runId}) =>
    deps.db.transaction(async tx => {
      const run = await lockExternalRun(tx, org, runId)
      await giveUpUnsent(tx, run, id)
    }),
  )

/** Deletes old rows in pieces. A run with rows left is found again in the next round. */
const tidyEnded = async (deps: WorkerDeps) => {
  const found = (await listUntidied(deps.db, {limit: runsPerLook})).map(run => ({run}))
  await each(deps, found, async ({run}) => {
    let isRest = false
    for (const table of ofWriting) if ((await deleteOfWriting(deps.db, {table, run, limit: rowsPerDelete})) === rowsPerDelete) isRest = true
    if (!isRest) await markTidied(deps.db, run)
  })
}

const dropOldWrites = async ({db, drain}: WorkerDeps) => {
  while ((await deleteOldWrites(db, {days: keptDays, limit: writesPerDelete})) === writesPerDelete) drain.throwIfAborted()
}

/**
 * Cleans up after runs of external engines: settles batches of dead senders, ends runs, and deletes rows that only writing needed. Each run
 * is changed under its own lock.
 */
export default periodicTask({name: 'writes.sweep', everyMs: aboutEachLease, steps: [moveStale, giveUpAbandoned, tidyEnded, dropOldWrites]})
