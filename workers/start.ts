import {parseArgs} from 'node:util'
import {z} from 'zod'
import {openPaymentProvider} from '../shared/billing/payment-provider.ts'
import {type Config, databaseUrlOf, readConfig, storageOf} from '../shared/config.ts'
import {openCrm} from '../shared/crm/crm.ts'
import {openBudget} from '../shared/crm/limits/budget.ts'
import {armFault} from '../shared/fault-point.ts'
import {jobs} from '../shared/jobs.ts'
import {openQueue} from '../shared/queue.ts'
import {openStorage} from '../shared/storage/storage.ts'
import {type Log, openLog} from '../shared/telemetry/log.ts'
import {workersRun} from '../shared/telemetry/metrics/jobs.ts'
import {openMetrics} from '../shared/telemetry/metrics/scrape.ts'
import {openTracing} from '../shared/telemetry/tracing.ts'
import {openDatabase, openHot} from '../sql/database.ts'
import {listenForScrapes} from './metrics.ts'
import {hungAfterSeconds, watchOver} from './watchdog.ts'
import type {Worker} from './worker.ts'

/**
 * The workers that can be started by name, so that operators can scale each separately. A process imports only the code of the named
 * workers, to save memory.
 */
const workers: Record<string, () => Promise<{default: Worker}[]>> = {
  archive: () => Promise.all([import('./archive.ts')]),
  billing: () =>
    Promise.all([
      import('./billing.ts'),
      import('./billing-periodic.ts'),
      import('./billing-end.ts'),
      import('./billing-event-periodic.ts'),
      import('./topups.ts'),
      import('./topup-periodic.ts'),
    ]),
  checks: () => Promise.all([import('./checks.ts'), import('./forecasts.ts'), import('./template-rechecks.ts')]),
  clock: () => Promise.all([import('./clock.ts')]),
  credits: () => Promise.all([import('./crm-quota.ts')]),
  discovery: () => Promise.all([import('./discovery.ts'), import('./discovery-refresh.ts'), import('./doctor.ts')]),
  entitlements: () => Promise.all([import('./entitlements.ts')]),
  erasure: () => Promise.all([import('./erasure.ts')]),
  imports: () => Promise.all([import('./imports.ts'), import('./run-sweep.ts')]),
  notices: () => Promise.all([import('./notices.ts')]),
  retention: () => Promise.all([import('./retention.ts')]),
  schedules: () => Promise.all([import('./schedules.ts')]),
  writes: () => Promise.all([import('./writes/records.ts'), import('./writes/subform-rows.ts'), import('./writes/sweep.ts')]),
}

type RunningWorkers = {stop(): Promise<void>}

/** Starts the named workers in this process. `stop` lets work in progress settle and hands over work that cannot finish in time. */
export const startWorkers = async (
  names: string[],
  config: Config,
  log: Log = openLog(`workers ${names.join(' ')}`, config.LOG_LEVEL),
): Promise<RunningWorkers> => {
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

/**
 * Starts the workers that the arguments name. `node workers/start.ts imports discovery` starts these two; without a name, all start.
 * `--hung-after=3` (seconds) is for tests.
 */
const main = async (args: string[]) => {
  const options = {'hung-after': {type: 'string', default: String(hungAfterSeconds)}} as const
  const {values, positionals: named} = parseArgs({args, options, allowPositionals: true})
  const seconds = z.coerce.number().int().min(2).parse(values['hung-after'])
  const config = readConfig()
  const names = named.length ? named : Object.keys(workers)
  const unknown = names.filter(name => !(name in workers))
  if (unknown.length) throw new Error(`Unknown worker: ${unknown.join(', ')}. Choose from ${Object.keys(workers).join(', ')}`)
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
