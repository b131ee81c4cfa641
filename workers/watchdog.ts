import {Worker} from 'node:worker_threads'
import type {Log} from '../shared/log.ts'

/**
 * After so long nothing of a hung process is its own any more: every job's heartbeat (`shared/jobs.ts`) is 60 s, a run's lease 15. Nothing that
 * people usually ask for takes a second in one piece: a sort is of 4 MB (`shared/imports/row-sort.ts`), a search of one cell a tenth of a second at
 * worst (`shared/imports/pattern.ts`), with a turn for others after each row; expressions run in threads with limits of their own. A row made for
 * it, of 1 MiB in cells that each cost a pattern the most, takes half a minute a step: its run loses its lease, and its process lives.
 */
export const hungAfterSeconds = 60

const everyMs = 1_000

let watchedSeconds = hungAfterSeconds

/** The limit of this process, in seconds; its child processes get the same. */
export const hungAfter = () => watchedSeconds

type Watched = {name: string; seconds: number; log: Log}

/**
 * Ends this process, by SIGKILL and after one line of log, when its main thread has not turned for so long: nothing else could, neither a signal
 * it would have to hear nor whoever takes its work over. A thread beside it counts its own ticks and not the time, so a process that slept, or
 * whose machine did, is not ended as it wakes. It takes 8 MB of memory.
 */
export const watchOver = ({name, seconds, log}: Watched) => {
  watchedSeconds = seconds
  if (process.pid === 1)
    log.warn('a process that is the first of its container cannot be ended from within: start it under an init, e.g. docker run --init')
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  setInterval(() => Atomics.add(beats, 0, 1), everyMs).unref()
  const gone = (err: unknown) => log.error({err}, 'there is no watchdog: this process would not end itself if it hung. Start it again')
  try {
    const thread = new Worker(new URL('./watchdog-thread.cjs', import.meta.url), {
      ...{workerData: {beats, seconds, name}, env: {}, execArgv: []},
      // V8's flags of the Procfile go before these.
      resourceLimits: {maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 0.5},
    })
    thread.on('error', gone)
    thread.unref()
  } catch (error) {
    // A process may be let have no thread.
    gone(error)
  }
}
