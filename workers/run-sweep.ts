import {runImport} from '../shared/jobs.ts'
import {enqueue, type Queue} from '../shared/queue.ts'
import {listUnownedRuns} from '../sql/unowned-runs.ts'
import type {WorkerDeps} from './deps.ts'
import {aboutEachLease, periodicTask} from './periodic.ts'

const runsPerLook = 100

/** Enqueues runs without an owner. The queue allows one waiting job per run, so a run is not enqueued twice. */
const enqueueOrphanRuns = ({db}: WorkerDeps, queue: Queue) =>
  db.transaction(async tx => {
    for (const {id, org} of await listUnownedRuns(tx, {limit: runsPerLook}))
      await enqueue(queue, runImport, {org, run: id}, {tx, track: false})
  })

/** Finds runs without an owner: queued runs, runs of dead owners, and paused runs that are due or were stopped. */
export default periodicTask({name: 'run.sweep', everyMs: aboutEachLease, steps: [enqueueOrphanRuns]})
