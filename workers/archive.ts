import {atPoint} from '../shared/fault-point.ts'
import {RecordsMoved} from '../shared/runs/outcomes.ts'
import {listDoomed} from '../sql/emptying.ts'
import {claimUnarchived, deleteLoose, deleteMoved, giveUpLoose, markArchived, putOffArchive, type Unarchived} from '../sql/segments.ts'
import {type Archiving, moveRecords} from './archive/move.ts'
import {aboutEachLease, rounds} from './rounds.ts'
import type {Tools} from './tools.ts'

/** Longer than a move takes: a process that died in one is followed by another then. */
const claimSeconds = 900
const firstRetrySeconds = 15
const longestRetrySeconds = 3_600
const rowsPerDelete = 10_000
const objectsPerLook = 500
/** By then nobody is storing it any more. */
const looseHours = 24
const upkeepMs = 600_000

/** Every run that can be archived now. */
export const archiveAll = async (tools: Archiving) => {
  while (!tools.drain.aborted) {
    const run = await claimUnarchived(tools.db, {seconds: claimSeconds})
    if (!run) return
    await archiveRun(tools, run)
  }
}

/** One that fails keeps none of the others; it is tried again, later each time. */
const archiveRun = async (tools: Archiving, run: Unarchived) => {
  const {db, drain, log} = tools
  try {
    const moved = run.recordsAt === 'db' ? await moveRecords(tools, run).catch(nothingIfMoved) : null
    atPoint('in_archive')
    while ((await deleteMoved(db, {run: run.no, limit: rowsPerDelete})) > 0) {
      drain.throwIfAborted()
      atPoint('in_archive')
    }
    await markArchived(db, run.no)
    log.info({run: run.id, moved}, 'run archived')
  } catch (err) {
    const seconds = drain.aborted ? 0 : Math.min(longestRetrySeconds, firstRetrySeconds * 2 ** (run.tries - 1))
    if (!drain.aborted) log.error({err, run: run.id, tries: run.tries, seconds}, 'run not archived; it is tried again')
    await putOffArchive(db, {run: run.no, seconds})
  }
}

/** Another worker was quicker: what is left is to delete. */
const nothingIfMoved = (error: unknown) => {
  if (error instanceof RecordsMoved) return null
  throw error
}

/** Objects that no row has come to name within a day, or whose row has gone; and what broken uploads left. */
export const keepUp = async ({db, storage, drain}: Pick<Archiving, 'db' | 'storage' | 'drain'>) => {
  await giveUpLoose(db, {hours: looseHours})
  for (let after = ''; ; ) {
    const keys = await listDoomed(db, {after, hours: looseHours, limit: objectsPerLook})
    for (const key of keys) {
      drain.throwIfAborted()
      await storage.remove(key)
    }
    await deleteLoose(db, keys)
    if (keys.length < objectsPerLook) break
    after = keys.at(-1)!
  }
  await storage.sweepTemporary()
}

const keepUpAtTimes = () => {
  let keptUpAt = Number.NEGATIVE_INFINITY
  return async (tools: Tools) => {
    if (performance.now() - keptUpAt <= upkeepMs) return
    await keepUp(tools)
    keptUpAt = performance.now()
  }
}

/**
 * Moves the records of ended runs to storage, one run after another. No job: an ended run says by itself that it is to be moved, whichever
 * engine carried it, and a storage that fails is asked again by the run's own clock, however long that takes; until then its records
 * are read from here, and its import is long free.
 */
export default rounds({name: 'run.archive', everyMs: aboutEachLease, steps: [archiveAll, keepUpAtTimes()]})
