import {insertFailure, type NightClaim, noteNight} from '../../sql/retention.ts'
import type {WorkerDeps} from '../deps.ts'

/**
 * The counts of one nightly retention. `rows`: rows deleted from Postgres. `objects`: objects that were removed because the row that named
 * them was deleted. `orphans`: objects that were removed because no row names them.
 */
type Counts = Partial<
  Record<
    | 'importsExpired'
    | 'runsExpired'
    | 'importsDeleted'
    | 'runsDeleted'
    | 'rows'
    | 'firings'
    | 'turns'
    | 'uploads'
    | 'jobs'
    | 'discoveries'
    | 'marks'
    | 'images'
    | 'objects'
    | 'bytes'
    | 'objectsSeen'
    | 'orphans'
    | 'orphanBytes'
    | 'foreignObjects'
    | 'spools',
    number
  >
>

type Tally = {
  /** Adds counts and stores them at once, so that they are kept if another process continues the night. */
  add(counts: Counts): Promise<void>
  fail(step: string, org: string | null, error: unknown): Promise<void>
}

export type RetentionDeps = Pick<WorkerDeps, 'db' | 'storage' | 'log' | 'drain'> & {tally: Tally}

/** The lease of a night in seconds. It is longer than the work between two calls of `add`, each of which renews the lease. */
export const leaseSeconds = 300

/** Another process took over the night and continues it. */
class NightLost extends Error {
  override name = 'NightLost'
}

export const openTally = ({db, log}: Pick<WorkerDeps, 'db' | 'log'>, claim: NightClaim): Tally => ({
  async add(counts) {
    if (!(await noteNight(db, claim, {counts: counts as Record<string, number>, seconds: leaseSeconds})))
      throw new NightLost(`Another process took over the night of ${claim.day}`)
  },
  async fail(step, org, error) {
    log.error({err: error, step, org}, 'retention failed; it is tried again the next night')
    await insertFailure(db, {day: claim.day, org, step, message: messageOf(error)})
  },
})

/** Opens a tally that only logs counts and failures. Used for deletions that do not wait for the night. */
export const openLogged = ({log}: Pick<WorkerDeps, 'log'>): Tally => ({
  add: async counts => log.debug(counts, 'removed'),
  fail: async (step, org, error) => log.error({err: error, step, org}, 'retention failed; it is tried again the next night'),
})

/** Returns the error's message without org ids, cut to 500 characters. The org has its own column, which is deleted with the org. */
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).replaceAll(/org_\w+/g, 'org').slice(0, 500)

/** Executes a step. A failure does not block the other steps, unless the process drains or has lost the night. */
export const attempt = async ({tally, drain}: RetentionDeps, step: string, org: string | null, act: () => Promise<unknown>) => {
  drain.throwIfAborted()
  try {
    await act()
  } catch (error) {
    if (drain.aborted || error instanceof NightLost) throw error
    await tally.fail(step, org, error)
  }
}
