import {type Config, databaseUrlOf, readConfig, storageOf} from '../shared/config.ts'
import {openBudget} from '../shared/crm/budget.ts'
import {openCrm} from '../shared/crm/crm.ts'
import {jobs} from '../shared/jobs.ts'
import {type Log, openLog} from '../shared/log.ts'
import {openQueue} from '../shared/queue.ts'
import {openStorage} from '../shared/storage.ts'
import {openDatabase, openHot} from '../sql/database.ts'
import archive from './archive.ts'
import checks from './checks.ts'
import clock from './clock.ts'
import credits from './credits.ts'
import discovery from './discovery.ts'
import discoveryRefresh from './discovery-refresh.ts'
import {armFault} from './engine/fault-point.ts'
import entitlements from './entitlements.ts'
import erasure from './erasure.ts'
import imports from './imports.ts'
import notices from './notices.ts'
import retention from './retention.ts'
import sweep from './run-sweep.ts'
import schedules from './schedules.ts'
import type {Worker} from './worker.ts'
import recordWrites from './writes/records.ts'
import rows from './writes/rows.ts'
import writesSweep from './writes/sweep.ts'

/** What can be started by name; operators scale each on its own. */
export const workers: Record<string, Worker[]> = {
  archive: [archive],
  checks: [checks],
  clock: [clock],
  credits: [credits],
  discovery: [discovery, discoveryRefresh],
  entitlements: [entitlements],
  erasure: [erasure],
  imports: [imports, sweep],
  notices: [notices],
  retention: [retention],
  schedules: [schedules],
  writes: [recordWrites, rows, writesSweep],
}

export type Running = {stop(): Promise<void>}

/** Starts the named workers in this process. `stop` lets what is under way settle and hands over what cannot wait. */
export const startWorkers = async (
  names: string[],
  config: Config,
  log: Log = openLog(`workers ${names.join(' ')}`, config.LOG_LEVEL),
): Promise<Running> => {
  const url = databaseUrlOf(config)
  const draining = new AbortController()
  const db = await openDatabase(url)
  const hot = openHot(url, {connections: 2 + 2 * config.IMPORTS_PER_WORKER})
  const queue = await openQueue(url, jobs, {log, upkeep: true})
  const budget = openBudget({db, config, log})
  const crm = openCrm({db, config, log, budget})
  const tools = {config, db, hot, queue, crm, budget, log, storage: openStorage(storageOf(config)), drain: draining.signal}
  const ends: Awaited<ReturnType<Worker['start']>>[] = []
  for (const worker of names.flatMap(name => workers[name]!)) ends.push(await worker.start(queue, tools))
  log.info({workers: names}, 'working')
  return {
    async stop() {
      draining.abort(new Error('The process was asked to stop'))
      await queue.stop({graceful: true, timeout: config.DRAIN_SECONDS * 1000})
      await Promise.all(ends.map(end => end?.()))
      await crm.close()
      await budget.close()
      await hot.end()
      await db.end()
    },
  }
}

/** `node workers/start.ts imports discovery`; all of them when none is named. */
const main = async (named: string[]) => {
  const config = readConfig()
  const names = named.length ? named : Object.keys(workers)
  const unknown = names.filter(name => !(name in workers))
  if (unknown.length) throw new Error(`No worker is called ${unknown.join(', ')}: there are ${Object.keys(workers).join(', ')}`)
  if (config.NODE_ENV !== 'production') armFault(config.FAULT_POINT)
  const log = openLog(`workers ${names.join(' ')}`, config.LOG_LEVEL)
  const running = await startWorkers(names, config, log)
  let asked = 0
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (++asked > 1) process.exit(1)
      log.info({signal}, 'draining')
      running.stop().then(
        () => process.exit(0),
        err => {
          log.error({err}, 'drain failed')
          process.exit(1)
        },
      )
    })
  }
}

if (import.meta.main) await main(process.argv.slice(2))
