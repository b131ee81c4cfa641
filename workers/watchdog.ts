import {Worker} from 'node:worker_threads'
import type {Log} from '../shared/telemetry/log.ts'

/**
 * The seconds after which a blocked process is ended. By then, other processes take over its jobs and runs: every job's heartbeat
 * (`shared/jobs.ts`) is 60 s, a run's lease 15 s by default. Some claims last longer, such as 300 s for a retention night. Normal work
 * blocks for less than a second: sorts (`shared/runs/results/row-sort.ts`) and searches (`shared/files/cleaning/pattern.ts`) work in small
 * parts, and expressions run in threads with separate limits. A row of 1 MiB that is built to be slow for patterns takes half a minute per
 * step: its run loses the lease, but the process lives.
 */
export const hungAfterSeconds = 60

const everyMs = 1_000

let watchedSeconds = hungAfterSeconds

/** Returns the seconds after which the watchdog ends this process if its main thread is blocked. Its child processes get the same limit. */
export const hungAfter = () => watchedSeconds

type WatchedProcess = {name: string; seconds: number; log: Log}

/**
 * Ends this process by SIGKILL, after one log line, if its main thread is blocked for `seconds`. A blocked thread can handle no other signal,
 * and a takeover of its work does not end the process. The watchdog thread counts its own ticks instead of time. So a process that slept with
 * its machine is not ended when it wakes. Takes 8 MB of memory.
 */
export const watchOver = ({name, seconds, log}: WatchedProcess) => {
  watchedSeconds = seconds
  if (process.pid === 1)
    log.warn('the watchdog cannot end the first process of a container. Start it under an init, e.g. docker run --init')
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  setInterval(() => Atomics.add(beats, 0, 1), everyMs).unref()
  const gone = (err: unknown) => log.error({err}, 'the watchdog failed, so this process would not end itself if it hung. Start it again')
  try {
    const thread = new Worker(new URL('./watchdog-thread.cjs', import.meta.url), {
      workerData: {beats, seconds, name},
      env: {},
      execArgv: [],
      // Flags of V8 in the Procfile take precedence over these.
      resourceLimits: {maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 0.5},
    })
    thread.on('error', gone)
    thread.unref()
  } catch (error) {
    // The process may not be allowed to start a thread.
    gone(error)
  }
}
