import {type Claim, insertFailure, noteNight} from '../../sql/retention.ts'
import type {Tools} from '../tools.ts'

/** `rows`: deleted from Postgres. `objects`: removed from storage because what named them went; `orphans`: because nothing ever did. */
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
  /** Noted at once, so that a night that is carried on by another process counts what this one did. */
  add(counts: Counts): Promise<void>
  fail(step: string, org: string | null, error: unknown): Promise<void>
}

export type Retaining = Pick<Tools, 'db' | 'storage' | 'log' | 'drain'> & {tally: Tally}

/** Longer than any one step takes. */
export const leaseSeconds = 300

/** Another process has the night: whoever carries it on does what is left. */
class NightLost extends Error {
  override name = 'NightLost'
}

export const openTally = ({db, log}: Pick<Tools, 'db' | 'log'>, claim: Claim): Tally => ({
  async add(counts) {
    if (!(await noteNight(db, claim, {counts: counts as Record<string, number>, seconds: leaseSeconds})))
      throw new NightLost(`The night of ${claim.day} was taken over`)
  },
  async fail(step, org, error) {
    log.error({err: error, step, org}, 'retention failed; it is tried again the next night')
    await insertFailure(db, {day: claim.day, org, step, message: messageOf(error)})
  },
})

/** What a person deletes by day is in the log alone. */
export const openLogged = ({log}: Pick<Tools, 'log'>): Tally => ({
  add: async counts => log.debug(counts, 'removed'),
  fail: async (step, org, error) => log.error({err: error, step, org}, 'retention failed; it is tried again the next night'),
})

/** Orgs are named by the column for them, which goes with them. */
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).replaceAll(/org_\w+/g, 'org').slice(0, 500)

/** A step that fails keeps none of the others, unless the process is to stop or has lost the night. */
export const attempt = async ({tally, drain}: Retaining, step: string, org: string | null, act: () => Promise<unknown>) => {
  drain.throwIfAborted()
  try {
    await act()
  } catch (error) {
    if (drain.aborted || error instanceof NightLost) throw error
    await tally.fail(step, org, error)
  }
}
