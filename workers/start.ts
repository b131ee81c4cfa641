import {parseArgs} from 'node:util'
import {z} from 'zod'
import {openPaymentProvider} from '../shared/billing/payment-provider.ts'
import {type Config, databaseUrlOf, readConfig, storageOf} from '../shared/config.ts'
import {openBudget} from '../shared/crm/budget.ts'
import {openCrm} from '../shared/crm/crm.ts'
import {armFault} from '../shared/fault-point.ts'
import {jobs} from '../shared/jobs.ts'
import {type Log, openLog} from '../shared/log.ts'
import {workersRun} from '../shared/metrics/jobs.ts'
import {openMetrics} from '../shared/metrics/scrape.ts'
import {openQueue} from '../shared/queue.ts'
import {openStorage} from '../shared/storage.ts'
import {openTracing} from '../shared/tracing.ts'
import {openDatabase, openHot} from '../sql/database.ts'
import {listenForScrapes} from './metrics.ts'
import {hungAfterSeconds, watchOver} from './watchdog.ts'
import type {Worker} from './worker.ts'

/** What can be started by name; operators scale each on its own. A process loads its own alone: the code of the others takes memory too. */
const workers: Record<string, () => Promise<{default: Worker}[]>> = {
  archive: () => Promise.all([import('./archive.ts')]),
  billing: () =>
    Promise.all([
      ...[import('./billing.ts'), import('./billing-rounds.ts'), import('./billing-end.ts')],
      ...[import('./billing-event-rounds.ts'), import('./topups.ts'), import('./topup-rounds.ts')],
    ]),
  checks: () => Promise.all([import('./checks.ts')]),
  clock: () => Promise.all([import('./clock.ts')]),
  credits: () => Promise.all([import('./credits.ts')]),
  discovery: () => Promise.all([import('./discovery.ts'), import('./discovery-refresh.ts')]),
  entitlements: () => Promise.all([import('./entitlements.ts')]),
  erasure: () => Promise.all([import('./erasure.ts')]),
  imports: () => Promise.all([import('./imports.ts'), import('./run-sweep.ts')]),
  notices: () => Promise.all([import('./notices.ts')]),
  retention: () => Promise.all([import('./retention.ts')]),
  schedules: () => Promise.all([import('./schedules.ts')]),
  writes: () => Promise.all([import('./writes/records.ts'), import('./writes/rows.ts'), import('./writes/sweep.ts')]),
}

type Running = {stop(): Promise<void>}

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
  const shared = {config, db, hot, queue, crm, budget, log}
  const tools = {...shared, payment: openPaymentProvider(config), storage: openStorage(storageOf(config)), drain: draining.signal}
  const metrics = openMetrics(shared)
  const scrapes = await listenForScrapes(config, {metrics, log})
  const ends: Awaited<ReturnType<Worker['start']>>[] = []
  for (const name of names) for (const worker of await workers[name]!()) ends.push(await worker.default.start(queue, tools))
  workersRun(names, true)
  log.info({workers: names}, 'working')
  return {
    async stop() {
      workersRun(names, false)
      draining.abort(new Error('The process was asked to stop'))
      await queue.stop({graceful: true, timeout: config.DRAIN_SECONDS * 1000})
      await Promise.all(ends.map(end => end?.()))
      await scrapes.close()
      metrics.close()
      await crm.close()
      await budget.close()
      await hot.end()
      await db.end()
    },
  }
}

/** `node workers/start.ts imports discovery`; all of them when none is named. `--hung-after=3` is for tests, in seconds. */
const main = async (args: string[]) => {
  const options = {'hung-after': {type: 'string', default: String(hungAfterSeconds)}} as const
  const {values, positionals: named} = parseArgs({args, options, allowPositionals: true})
  const seconds = z.coerce.number().int().min(2).parse(values['hung-after'])
  const config = readConfig()
  const names = named.length ? named : Object.keys(workers)
  const unknown = names.filter(name => !(name in workers))
  if (unknown.length) throw new Error(`No worker is called ${unknown.join(', ')}: there are ${Object.keys(workers).join(', ')}`)
  if (config.NODE_ENV !== 'production') armFault(config.FAULT_POINT)
  const name = `workers ${names.join(' ')}`
  const log = openLog(name, config.LOG_LEVEL)
  watchOver({name, seconds, log})
  const tracing = await openTracing(config, {log, part: name})
  const running = await startWorkers(names, config, log)
  let asked = 0
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (++asked > 1) process.exit(1)
      log.info({signal}, 'draining')
      const stopped = running.stop().then(tracing.close)
      stopped.then(
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
