import {setTimeout as sleep} from 'node:timers/promises'
import type {Queue} from '../shared/queue.ts'
import {stepEnded} from '../shared/telemetry/metrics/jobs.ts'
import type {WorkerDeps} from './deps.ts'
import type {Worker} from './worker.ts'

type Step = (deps: WorkerDeps, queue: Queue) => Promise<unknown>
type PeriodicTask = {name: string; everyMs(deps: WorkerDeps): number; steps: Step[]}

/**
 * Makes a periodic task: runs its steps in turn, pauses, and repeats until the drain. A step that fails is logged, does not block the
 * others and is retried in the next round. Any number of processes may run the same task.
 */
export const periodicTask = ({name, everyMs, steps}: PeriodicTask): Worker => ({
  name,
  async start(queue, deps) {
    void runRound({name, everyMs, steps}, queue, deps)
  },
})

const runRound = async ({name, everyMs, steps}: PeriodicTask, queue: Queue, deps: WorkerDeps) => {
  const {drain, log} = deps
  while (!drain.aborted) {
    for (const step of steps) {
      if (drain.aborted) return
      await step(deps, queue).then(
        () => stepEnded(name, 'done'),
        err => {
          if (drain.aborted) return
          stepEnded(name, 'failed')
          log.warn({err, rounds: name}, 'a step of a periodic task failed')
        },
      )
    }
    await sleep(everyMs(deps), undefined, {signal: drain}).catch(() => {})
  }
}

/** Returns a third of a lease in ms. This interval is short enough to continue work that a dead owner left. */
export const aboutEachLease = ({config}: WorkerDeps) => (config.LEASE_SECONDS * 1000) / 3
