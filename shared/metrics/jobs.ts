import {counter, gauge, histogram, LONG} from './registry.ts'

const ended = counter({
  name: 'jobs_total',
  help: 'Attempts at jobs that ended in this process: done, refused (its asker was told why) or failed (tried again as its policy says)',
  labels: ['job', 'outcome'],
})
const seconds = histogram({name: 'job_seconds', help: 'How long an attempt at a job took', labels: ['job'], bounds: LONG})
const waited = histogram({
  name: 'job_wait_seconds',
  help: 'How long a job was due before this process began it',
  labels: ['job'],
  bounds: LONG,
})
const running = gauge({name: 'jobs_running', help: 'Jobs this process is at', labels: ['job']})
const listens = gauge({name: 'worker', help: '1 for each worker this process runs', labels: ['worker']})
const rounds = counter({
  name: 'rounds_total',
  help: 'Steps of what a worker looks after unasked, again and again',
  labels: ['rounds', 'outcome'],
})

/** Told by `startWorkers`; taken back when they end. */
export const workersRun = (names: readonly string[], run: boolean): void => {
  for (const worker of names) {
    if (run) listens.set({worker}, 1)
    else listens.remove({worker})
  }
}

export type JobOutcome = 'done' | 'refused' | 'failed'

/** Answers what is to be called at its end. */
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
