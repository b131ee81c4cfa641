import {atPoint} from '../shared/fault-point.ts'
import {RecordsMoved} from '../shared/runs/results/outcomes.ts'
import {listPendingDeletes} from '../sql/purge.ts'
import {claimUnarchived, deleteLoose, deleteMoved, giveUpLoose, markArchived, putOffArchive, type RunToArchive} from '../sql/segments.ts'
import {type ArchiveDeps, moveRecords} from './archive/move.ts'
import type {WorkerDeps} from './deps.ts'
import {aboutEachLease, periodicTask} from './periodic.ts'

/**
 * The seconds for which a process claims the move of a run's records to storage. A move takes less time. If a process dies during a move, another
 * process starts the move again after this time.
 */
const claimSeconds = 900
const firstRetrySeconds = 15
const longestRetrySeconds = 3_600
const rowsPerDelete = 10_000
const objectsPerLook = 500
/** The age in hours from which no process can still be storing an object. */
const looseHours = 24
const upkeepMs = 600_000

export const archiveAll = async (deps: ArchiveDeps) => {
  while (!deps.drain.aborted) {
    const run = await claimUnarchived(deps.db, {seconds: claimSeconds})
    if (!run) return
    await archiveRun(deps, run)
  }
}

/**
 * Moves the records of one run to storage and deletes them from Postgres. A failure does not block other runs, and is retried with growing
 * delays.
 */
const archiveRun = async (deps: ArchiveDeps, run: RunToArchive) => {
  const {db, drain, log} = deps
  try {
    const moved = run.recordsAt === 'db' ? await moveRecords(deps, run).catch(emptyIfMoved) : null
    atPoint('in_archive')
    while ((await deleteMoved(db, {run: run.no, limit: rowsPerDelete})) > 0) {
      drain.throwIfAborted()
      atPoint('in_archive')
    }
    await markArchived(db, run.no)
    log.info({run: run.id, moved}, 'run archived')
  } catch (err) {
    const seconds = drain.aborted ? 0 : Math.min(longestRetrySeconds, firstRetrySeconds * 2 ** (run.tries - 1))
    if (!drain.aborted) log.error({err, run: run.id, tries: run.tries, seconds}, 'run not archived; it is retried later')
    await putOffArchive(db, {run: run.no, seconds})
  }
}

/** Returns null if another worker has moved the records already, so that only their deletion from Postgres is left. */
const emptyIfMoved = (error: unknown) => {
  if (error instanceof RecordsMoved) return null
  throw error
}

/**
 * Deletes the objects that `loose_objects` has listed for a day: those that no row named, and those whose rows were deleted. Also deletes the
 * temporary files of interrupted uploads.
 */
export const maintainSegments = async ({db, storage, drain}: Pick<ArchiveDeps, 'db' | 'storage' | 'drain'>) => {
  await giveUpLoose(db, {hours: looseHours})
  for (let after = ''; ; ) {
    const keys = await listPendingDeletes(db, {after, hours: looseHours, limit: objectsPerLook})
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

const maintainAtIntervals = () => {
  let keptUpAt = Number.NEGATIVE_INFINITY
  return async (deps: WorkerDeps) => {
    if (performance.now() - keptUpAt <= upkeepMs) return
    await maintainSegments(deps)
    keptUpAt = performance.now()
  }
}

/**
 * Moves the records of ended runs to storage, one run after another. There is no job: an ended run's row says that its records are to be moved,
 * whichever engine executed the run. If storage fails, the move of the run is retried later, and its records are read from Postgres until then.
 */
export default periodicTask({name: 'run.archive', everyMs: aboutEachLease, steps: [archiveAll, maintainAtIntervals()]})
