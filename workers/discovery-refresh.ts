import {runDiscovery} from '../shared/jobs.ts'
import {enqueue, type Queue} from '../shared/queue.ts'
import {takeStaleConnectors} from '../sql/connectors.ts'
import {rounds} from './rounds.ts'
import type {Tools} from './tools.ts'

const everyMs = 5 * 60_000
/** Few at a time, so that a fleet of connections made on one day is not read in one minute of every other. */
const connectorsPerLook = 20
/** One in trouble is looked at no oftener. */
const againHours = 1

/** A connection that is being read already, because somebody asked, is not read twice. */
const enqueueStale = async ({db, config}: Tools, queue: Queue) => {
  if (config.DISCOVERY_REFRESH_HOURS === 0) return
  await db.transaction(async tx => {
    const stale = await takeStaleConnectors(tx, {hours: config.DISCOVERY_REFRESH_HOURS, againHours, limit: connectorsPerLook})
    for (const {id, org} of stale) await enqueue(queue, runDiscovery, {org, connector: id, upkeep: true}, {tx, priority: -1})
  })
}

/** Processes that were started together do not go on looking together. */
const sometime = () => everyMs * (0.75 + Math.random() / 2)

/** Looks for connections nobody has read for DISCOVERY_REFRESH_HOURS and has a few of them read, behind what people asked for. */
export default rounds({name: 'discovery.refresh', everyMs: sometime, steps: [enqueueStale]})
