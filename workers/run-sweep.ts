import {runImport} from '../shared/jobs.ts'
import {enqueue, type Queue} from '../shared/queue.ts'
import {listOrphans} from '../sql/runs.ts'
import {aboutEachLease, rounds} from './rounds.ts'
import type {Tools} from './tools.ts'

const runsPerLook = 100

/** A run whose job is waiting already is not enqueued twice: one waiting job per run is the queue's policy. */
const enqueueOrphans = ({db}: Tools, queue: Queue) =>
  db.transaction(async tx => {
    for (const {id, org} of await listOrphans(tx, {limit: runsPerLook})) await enqueue(queue, runImport, {org, run: id}, {tx, track: false})
  })

/** Looks for runs nobody carries (a dead owner's, paused ones whose time has come) and enqueues each. */
export default rounds({name: 'run.sweep', everyMs: aboutEachLease, steps: [enqueueOrphans]})
