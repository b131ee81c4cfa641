import {setTimeout as sleep} from 'node:timers/promises'
import type {Pool} from '../../sql/database.ts'
import {findRun} from '../../sql/runs.ts'
import type {Log} from '../log.ts'
import {describeRun} from './describe.ts'
import type {FoundRun} from './find.ts'
import {readRun} from './names.ts'

const everyMs = 1_000
/** Half a minute without the database: whoever watches is let go and comes again. */
const mostFailures = 30

type Tools = {db: Pool; log: Log}
export type Watched = ReturnType<typeof describeRun>

type Watch = {
  run: Watched
  /** Of the run as last read. */
  isOver: boolean
  watchers: number
  change: PromiseWithResolvers<void>
}

/** Of one process, by the database they are in: however many watch a run, it is looked at once a second. */
const watches = new WeakMap<Pool, Map<string, Watch>>()

/**
 * A run as it is, and again after each change, until it has ended; null every `beatMs` without one. Somebody slow gets the newest, not all
 * there were. Ends when the signal says so, when the run is gone, or when the database is away for long.
 */
export async function* watchRun(
  tools: Tools,
  found: FoundRun,
  {signal, beatMs}: {signal: AbortSignal; beatMs: number},
): AsyncGenerator<Watched | null, void, undefined> {
  const watch = join(tools, found)
  try {
    for (let told: Watched | null = null; !signal.aborted; ) {
      const {run} = watch
      if (run !== told) yield run
      told = run
      if (watch.run !== told) continue
      if (watch.isOver) return
      if (!(await happens(watch, signal, beatMs))) yield null
    }
  } finally {
    watch.watchers--
  }
}

const join = (tools: Tools, found: FoundRun): Watch => {
  const {db} = tools
  const {id} = found.run
  if (!watches.has(db)) watches.set(db, new Map())
  const mine = watches.get(db)!
  const watch = mine.get(id) ?? {
    ...{run: describeRun(found), isOver: found.run.state === 'ended', watchers: 0},
    change: Promise.withResolvers<void>(),
  }
  watch.watchers++
  if (!mine.has(id) && !watch.isOver) {
    mine.set(id, watch)
    void look(tools, found, watch, () => mine.delete(id))
  }
  return watch
}

/** Looks while anybody watches. `end` in the same breath as nobody does: whoever comes then begins anew. */
const look = async ({db, log}: Tools, found: FoundRun, watch: Watch, end: () => void) => {
  for (let failures = 0; watch.watchers > 0 && !watch.isOver; ) {
    await sleep(everyMs, undefined, {ref: false})
    try {
      tell(watch, await readAgain(db, found))
      failures = 0
    } catch (err) {
      log.warn({err, run: found.run.id}, 'a watched run could not be read')
      if (++failures === mostFailures) tell(watch, null)
    }
  }
  end()
}

/** What a run of the service's own engine froze does not change; one from outside names its modules as it goes. */
const readAgain = async (db: Pool, found: FoundRun): Promise<FoundRun | null> => {
  const run = await findRun(db, {org: found.run.org, id: found.run.id})
  return run && {...found, run, ...(found.snapshot === null && (await readRun(db, run)))}
}

const tell = (watch: Watch, found: FoundRun | null) => {
  const next = found && describeRun(found)
  watch.isOver = found === null || found.run.state === 'ended'
  if (next && isChanged(watch.run, next)) watch.run = next
  else if (!watch.isOver) return
  watch.change.resolve()
  watch.change = Promise.withResolvers<void>()
}

/** Rate and time to go change with every second; they are no news alone. */
const isChanged = (before: Watched, after: Watched) => contentOf(before) !== contentOf(after)

export const contentOf = ({progress, ...rest}: Watched) => JSON.stringify({...rest, done: progress?.done, total: progress?.total})

/** Whether there was a change within the time. */
const happens = async ({change}: Watch, signal: AbortSignal, withinMs: number): Promise<boolean> => {
  const timer = new AbortController()
  const until = AbortSignal.any([signal, timer.signal])
  try {
    return await Promise.race([change.promise.then(() => true), sleep(withinMs, false, {signal: until, ref: false})])
  } catch (error) {
    if (until.aborted) return true
    throw error
  } finally {
    timer.abort()
  }
}
