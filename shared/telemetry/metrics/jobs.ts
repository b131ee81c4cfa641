import {counter, gauge, histogram, LONG} from './registry.ts'

const ended = counter({
  name: 'jobs_total',
  help: 'Attempts at jobs that ended in this process: done, refused (the caller received the reason) or failed (retried by its policy)',
  labels: ['job', 'outcome'],
})
const seconds = histogram({name: 'job_seconds', help: 'Duration of an attempt at a job', labels: ['job'], bounds: LONG})
const waited = histogram({
  name: 'job_wait_seconds',
  help: 'Time from when a job was due until this process started it',
  labels: ['job'],
  bounds: LONG,
})
const running = gauge({name: 'jobs_running', help: 'Jobs that this process executes', labels: ['job']})
const listens = gauge({name: 'worker', help: '1 for each worker of this process', labels: ['worker']})
const rounds = counter({
  name: 'rounds_total',
  help: 'Steps of the periodic tasks of a worker',
  labels: ['rounds', 'outcome'],
})

/** Adds workers to the metrics when they start, and removes them when they end. */
export const workersRun = (names: readonly string[], run: boolean): void => {
  for (const worker of names) {
    if (run) listens.set({worker}, 1)
    else listens.remove({worker})
  }
}

export type JobOutcome = 'done' | 'refused' | 'failed'

/** Measures a job. Call the returned function when the job ends. */
export const jobBegan = (job: string, waitedMs: number): ((outcome: JobOutcome) => void) => {
  const since = performance.now()
  waited.observe({job}, Math.max(0, waitedMs) / 1000)
  running.inc({job})
  return outcome => {
    running.dec({job})
    ended.inc({job, outcome})
    seconds.observe({job}, (performance.now() - since) / 1000)
  }
}

export const stepEnded = (of: string, outcome: 'done' | 'failed'): void => rounds.inc({rounds: of, outcome})
