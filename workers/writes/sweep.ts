import {endDisconnected, endOutside, lockStanding} from '../../shared/runs/outside.ts'
import {giveUpUnsent} from '../../shared/writes/answer.ts'
import {settleDead} from '../../shared/writes/settle.ts'
import {listOutsideSends} from '../../sql/outside-ledger.ts'
import {deleteOfWriting, listStaleOutside, listUntidied, markTidied, ofWriting} from '../../sql/outside-runs.ts'
import {deleteOldWrites, listAbandoned} from '../../sql/writes.ts'
import {aboutEachLease, rounds} from '../rounds.ts'
import type {Tools} from '../tools.ts'

const runsPerLook = 100
const rowsPerDelete = 10_000
const writesPerDelete = 500
/** An outside engine that has said nothing for so long is not coming back. */
const idleSeconds = 24 * 3600
/** How long it can be asked what became of a write, after the end of its run. */
const keptDays = 7
/** By then the queue has given up the job of a write. */
const abandonedSeconds = 1_200

/** One that fails keeps none of the others. */
const each = async <T extends object>({log, drain}: Tools, found: readonly T[], move: (one: T) => Promise<unknown>) => {
  for (const one of found) {
    if (drain.aborted) return
    await move(one).catch((err: unknown) => log.error({err, found: one}, 'not swept'))
  }
}

const moveStale = async (tools: Tools) =>
  each(tools, await listStaleOutside(tools.db, {idleSeconds, limit: runsPerLook}), async ({id, org, idle, disconnected}) => {
    if (disconnected) await endDisconnected(tools.db, {org, id})
    await tools.db.transaction(async tx => {
      const run = await lockStanding(tx, org, id)
      if (run.state !== 'writing' && run.state !== 'closing') return
      for (const send of await listOutsideSends(tx, run.no)) {
        if (!send.dead) continue
        tools.log.warn({run: id, batch: send.batch, rows: send.keys.length}, 'rows left in flight')
        await settleDead(tx, run, send)
      }
      if (run.state === 'closing') await endOutside(tx, run, {outcome: null, pending: 'send'})
      else if (idle && !run.leaseLive) await endOutside(tx, run, {outcome: null, pending: 'refuse'})
    })
  })

/** Their worker died before anything was sent, or after it: what is in flight is told by the batch. */
const giveUpAbandoned = async (tools: Tools) =>
  each(tools, await listAbandoned(tools.db, {seconds: abandonedSeconds, limit: runsPerLook}), ({id, org, runId}) =>
    tools.db.transaction(async tx => {
      const run = await lockStanding(tx, org, runId)
      await giveUpUnsent(tx, run, id)
    }),
  )

/** In pieces; a run of which more is left is found again. */
const tidyEnded = async (tools: Tools) => {
  const found = (await listUntidied(tools.db, {limit: runsPerLook})).map(run => ({run}))
  await each(tools, found, async ({run}) => {
    let isRest = false
    for (const table of ofWriting)
      if ((await deleteOfWriting(tools.db, {table, run, limit: rowsPerDelete})) === rowsPerDelete) isRest = true
    if (!isRest) await markTidied(tools.db, run)
  })
}

const dropOldWrites = async ({db, drain}: Tools) => {
  while ((await deleteOldWrites(db, {days: keptDays, limit: writesPerDelete})) === writesPerDelete) drain.throwIfAborted()
}

/**
 * What the outside engines' runs leave: batches whose sender died, runs to be ended, rows that only the writing needed. Each run is moved
 * under its own lock.
 */
export default rounds({name: 'writes.sweep', everyMs: aboutEachLease, steps: [moveStale, giveUpAbandoned, tidyEnded, dropOldWrites]})
