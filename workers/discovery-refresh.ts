import {runDiscovery} from '../shared/jobs.ts'
import {enqueue, type Queue} from '../shared/queue.ts'
import {takeStaleConnectors} from '../sql/connectors.ts'
import type {WorkerDeps} from './deps.ts'
import {periodicTask} from './periodic.ts'

const everyMs = 5 * 60_000
/** The maximum number of connections per round, so that connections made on the same day are not all read in the same minute. */
const connectorsPerLook = 20
/** The minimum hours until a failed connection is tried again. */
const againHours = 1

/**
 * Enqueues connections whose discovery is too old. Does nothing if DISCOVERY_REFRESH_HOURS is 0. The queue accepts no second discovery of a
 * connection while one is queued or running.
 */
const enqueueStale = async ({db, config}: WorkerDeps, queue: Queue) => {
  if (config.DISCOVERY_REFRESH_HOURS === 0) return
  await db.transaction(async tx => {
    const stale = await takeStaleConnectors(tx, {hours: config.DISCOVERY_REFRESH_HOURS, againHours, limit: connectorsPerLook})
    for (const {id, org} of stale) await enqueue(queue, runDiscovery, {org, connector: id, upkeep: true}, {tx, priority: -1})
  })
}

/** Returns a random interval, so that processes that were started together do not poll together. */
const sometime = () => everyMs * (0.75 + Math.random() / 2)

/**
 * Finds connections whose last discovery is older than DISCOVERY_REFRESH_HOURS and enqueues a few of them, at a lower priority than requests of
 * users.
 */
export default periodicTask({name: 'discovery.refresh', everyMs: sometime, steps: [enqueueStale]})
