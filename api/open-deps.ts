import {openModel} from '../shared/assistant/model.ts'
import {openPaymentProvider} from '../shared/billing/payment-provider.ts'
import {type Config, databaseUrlOf, storageOf} from '../shared/config.ts'
import {openCrm} from '../shared/crm/crm.ts'
import {openBudget} from '../shared/crm/limits/budget.ts'
import {openParsing} from '../shared/files/parser/pool.ts'
import {jobs} from '../shared/jobs.ts'
import {openQueue} from '../shared/queue.ts'
import {openOutbound} from '../shared/schedules/outbound/outbound.ts'
import {openStorage} from '../shared/storage/storage.ts'
import type {Log} from '../shared/telemetry/log.ts'
import {openMetrics} from '../shared/telemetry/metrics/scrape.ts'
import {openDatabase, openHot} from '../sql/database.ts'
import type {ApiDeps} from './route.ts'

/** Creates the services for handlers. The API only enqueues and reads jobs; workers maintain the queue. */
export const openTools = async (config: Config, log: Log): Promise<ApiDeps & {close(): Promise<void>}> => {
  const url = databaseUrlOf(config)
  const db = await openDatabase(url)
  const hot = openHot(url)
  const queue = await openQueue(url, jobs, {log, upkeep: false})
  const budget = openBudget({db, config, log})
  const crm = openCrm({db, config, log, budget})
  const payment = openPaymentProvider(config)
  const outbound = openOutbound(config)
  const model = openModel(config)
  const storage = openStorage(storageOf(config))
  const parsing = openParsing(config)
  const metrics = openMetrics({db, hot, config, log})
  const close = async () => {
    metrics.close()
    await parsing.close()
    await queue.stop({graceful: false})
    await outbound.close()
    await crm.close()
    await budget.close()
    await hot.end()
    await db.end()
  }
  return {config, db, hot, queue, storage, parsing, crm, payment, outbound, model, metrics, log, close}
}
