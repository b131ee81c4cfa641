import {setTimeout as sleep} from 'node:timers/promises'
import {runImport} from '../shared/jobs.ts'
import {enqueue, type Queue} from '../shared/queue.ts'
import {listOrphans} from '../sql/runs.ts'
import type {Tools} from './tools.ts'
import type {Worker} from './worker.ts'

const runsPerLook = 100

/** Looks a few times a minute for runs nobody carries (a dead owner's, paused ones whose time has come) and enqueues each. Bounded by the drain. */
const sweep: Worker = {
  name: 'run.sweep',
  async start(queue, tools) {
    void look(queue, tools)
  },
}
export default sweep

const look = async (queue: Queue, tools: Tools) => {
  const everyMs = (tools.config.LEASE_SECONDS * 1000) / 3
  while (!tools.drain.aborted) {
    try {
      await enqueueOrphans(queue, tools)
    } catch (error) {
      tools.log.warn({err: error}, 'sweep failed')
    }
    await sleep(everyMs, undefined, {signal: tools.drain}).catch(() => {})
  }
}

/** A run whose job is waiting already is not enqueued twice: one waiting job per run is the queue's policy. */
const enqueueOrphans = (queue: Queue, {db}: Tools) =>
  db.transaction(async tx => {
    for (const {id, org} of await listOrphans(tx, {limit: runsPerLook})) await enqueue(queue, runImport, {org, run: id}, {tx, track: false})
  })
