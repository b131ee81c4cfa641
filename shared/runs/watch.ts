import {setTimeout as sleep} from 'node:timers/promises'
import type {Pool} from '../../sql/database.ts'
import {findRun} from '../../sql/runs.ts'
import type {Log} from '../telemetry/log.ts'
import {describeRun} from './describe.ts'
import type {FoundRun} from './find.ts'
import {readRun} from './names.ts'

const everyMs = 1_000
/**
 * The first pause between two reads, in ms. It is short, so that clients see the end of a short run early. Each pause doubles, up to `everyMs`.
 */
const firstMs = 100
/** The number of failed reads in a row, one per second, after which the streams end and the clients reconnect. */
const mostFailures = 30

type WatchDeps = {db: Pool; log: Log}
export type WatchedRun = ReturnType<typeof describeRun>

type RunWatch = {
  run: WatchedRun
  /** Whether the watch ends: the run has ended, was deleted, or could not be read `mostFailures` times in a row. */
  isOver: boolean
  watchers: number
  change: PromiseWithResolvers<void>
}

/** The watched runs of this process, by database and by run id. All clients of a run share one loop (`readOnce`) that reads the run. */
const watches = new WeakMap<Pool, Map<string, RunWatch>>()

/**
 * Yields the run now and after each change, and null after `beatMs` without a change. A slow reader gets only the newest state. Ends when
 * the run ends or is deleted, on `signal`, or after 30 s without the database.
 */
export async function* watchRun(
  deps: WatchDeps,
  found: FoundRun,
  {signal, beatMs}: {signal: AbortSignal; beatMs: number},
): AsyncGenerator<WatchedRun | null, void, undefined> {
  const watch = join(deps, found)
  try {
    for (let previous: WatchedRun | null = null; !signal.aborted; ) {
      const {run} = watch
      if (run !== previous) yield run
      previous = run
      if (watch.run !== previous) continue
      if (watch.isOver) return
      if (!(await nextChange(watch, signal, beatMs))) yield null
    }
  } finally {
    watch.watchers--
  }
}

const join = (deps: WatchDeps, found: FoundRun): RunWatch => {
  const {db} = deps
  const {id} = found.run
  if (!watches.has(db)) watches.set(db, new Map())
  const mine = watches.get(db)!
  const watch = mine.get(id) ?? {
    run: describeRun(found),
    isOver: found.run.state === 'ended',
    watchers: 0,
    change: Promise.withResolvers<void>(),
  }
  watch.watchers++
  if (!mine.has(id) && !watch.isOver) {
    mine.set(id, watch)
    void readOnce(deps, found, watch, () => mine.delete(id))
  }
  return watch
}

/**
 * Reads the run every second, at first more often, until the run ends or has no watchers. Calls `end` in the same tick in which the loop stops, so
 * that a later watcher starts a new loop.
 */
const readOnce = async ({db, log}: WatchDeps, found: FoundRun, watch: RunWatch, end: () => void) => {
  let failures = 0
  for (let waitMs = firstMs; watch.watchers > 0 && !watch.isOver; waitMs = Math.min(2 * waitMs, everyMs)) {
    await sleep(waitMs, undefined, {ref: false})
    try {
      publish(watch, await readAgain(db, found))
      failures = 0
    } catch (err) {
      log.warn({err, run: found.run.id}, 'a watched run could not be read')
      if (++failures === mostFailures) publish(watch, null)
    }
  }
  end()
}

/**
 * Reads the current state of a run. A snapshot never changes, so it is not read again. An external run has no snapshot; its names are read
 * again, because calls of its engine add modules.
 */
const readAgain = async (db: Pool, found: FoundRun): Promise<FoundRun | null> => {
  const run = await findRun(db, {org: found.run.org, id: found.run.id})
  return run && {...found, run, ...(found.snapshot === null && (await readRun(db, run)))}
}

const publish = (watch: RunWatch, found: FoundRun | null) => {
  const next = found && describeRun(found)
  watch.isOver = found === null || found.run.state === 'ended'
  if (next && isChanged(watch.run, next)) watch.run = next
  else if (!watch.isOver) return
  watch.change.resolve()
  watch.change = Promise.withResolvers<void>()
}

/** The rate and the remaining time change every second, so they are not compared. */
const isChanged = (before: WatchedRun, after: WatchedRun) => contentOf(before) !== contentOf(after)

export const contentOf = ({progress, ...rest}: WatchedRun) => JSON.stringify({...rest, done: progress?.done, total: progress?.total})

const nextChange = async ({change}: RunWatch, signal: AbortSignal, withinMs: number): Promise<boolean> => {
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
