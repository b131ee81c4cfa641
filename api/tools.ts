import {openModel} from '../shared/ai/model.ts'
import {openPaymentProvider} from '../shared/billing/payment-provider.ts'
import {type Config, databaseUrlOf, storageOf} from '../shared/config.ts'
import {openBudget} from '../shared/crm/budget.ts'
import {openCrm} from '../shared/crm/crm.ts'
import {jobs} from '../shared/jobs.ts'
import type {Log} from '../shared/log.ts'
import {openMetrics} from '../shared/metrics/scrape.ts'
import {openOutbound} from '../shared/outbound/outbound.ts'
import {openParsing} from '../shared/parsing/pool.ts'
import {openQueue} from '../shared/queue.ts'
import {openStorage} from '../shared/storage.ts'
import {openDatabase, openHot} from '../sql/database.ts'
import type {Tools} from './route.ts'

/** What handlers are handed, and how to let go of it. The API sends jobs and reads them; their upkeep is the workers'. */
export const openTools = async (config: Config, log: Log): Promise<Tools & {close(): Promise<void>}> => {
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
