import {setTimeout as sleep} from 'node:timers/promises'
import {runDiscovery} from '../shared/jobs.ts'
import {enqueue, type Queue} from '../shared/queue.ts'
import {takeStaleConnectors} from '../sql/connectors.ts'
import type {Tools} from './tools.ts'
import type {Worker} from './worker.ts'

const everyMs = 5 * 60_000
/** Few at a time, so that a fleet of connections made on one day is not read in one minute of every other. */
const connectorsPerLook = 20
/** One in trouble is looked at no oftener. */
const againHours = 1

/** Looks every few minutes for connections nobody has read for DISCOVERY_REFRESH_HOURS and has a few of them read, behind what people asked for. */
const refresh: Worker = {
  name: 'discovery.refresh',
  async start(queue, tools) {
    if (tools.config.DISCOVERY_REFRESH_HOURS > 0) void look(queue, tools)
  },
}
export default refresh

const look = async (queue: Queue, tools: Tools) => {
  while (!tools.drain.aborted) {
    try {
      await enqueueStale(queue, tools)
    } catch (error) {
      tools.log.warn({err: error}, 'discoveries not refreshed')
    }
    // Processes that were started together do not go on looking together.
    await sleep(everyMs * (0.75 + Math.random() / 2), undefined, {signal: tools.drain}).catch(() => {})
  }
}

/** A connection that is being read already, because somebody asked, is not read twice. */
const enqueueStale = (queue: Queue, {db, config}: Tools) =>
  db.transaction(async tx => {
    const stale = await takeStaleConnectors(tx, {hours: config.DISCOVERY_REFRESH_HOURS, againHours, limit: connectorsPerLook})
    for (const {id, org} of stale) await enqueue(queue, runDiscovery, {org, connector: id, upkeep: true}, {tx, priority: -1})
  })
