import {setTimeout as sleep} from 'node:timers/promises'
import {stepEnded} from '../shared/metrics/jobs.ts'
import type {Queue} from '../shared/queue.ts'
import type {Tools} from './tools.ts'
import type {Worker} from './worker.ts'

type Step = (tools: Tools, queue: Queue) => Promise<unknown>
type Rounds = {name: string; everyMs(tools: Tools): number; steps: Step[]}

/**
 * What a process looks after unasked: each step in turn, then a pause, again and again until the drain. A step that fails is logged,
 * keeps none of the others, and has its next try in the next round. Any number of processes may go their rounds at once.
 */
export const rounds = ({name, everyMs, steps}: Rounds): Worker => ({
  name,
  async start(queue, tools) {
    void goRound({name, everyMs, steps}, queue, tools)
  },
})

const goRound = async ({name, everyMs, steps}: Rounds, queue: Queue, tools: Tools) => {
  const {drain, log} = tools
  while (!drain.aborted) {
    for (const step of steps) {
      if (drain.aborted) return
      await step(tools, queue).then(
        () => stepEnded(name, 'done'),
        err => {
          if (drain.aborted) return
          stepEnded(name, 'failed')
          log.warn({err, rounds: name}, 'a round failed')
        },
      )
    }
    await sleep(everyMs(tools), undefined, {signal: drain}).catch(() => {})
  }
}

/** A few times in a lease: soon enough to carry on what its owner left. */
export const aboutEachLease = ({config}: Tools) => (config.LEASE_SECONDS * 1000) / 3
