import {once} from 'node:events'
import {databaseUrlOf, storageOf} from '../shared/config.ts'
import {openCrm} from '../shared/crm/crm.ts'
import {openBudget} from '../shared/crm/limits/budget.ts'
import {armFault} from '../shared/fault-point.ts'
import {openStorage} from '../shared/storage/storage.ts'
import {openLog} from '../shared/telemetry/log.ts'
import {openTracing, traced} from '../shared/telemetry/tracing.ts'
import {openDatabase, openHot} from '../sql/database.ts'
import type {IsolatedRunInput, IsolatedRunMessage, IsolatedRunResult} from './engine/recover/crash-isolation.ts'
import {type ExecuteOptions, executeRunInProcess, type RunState} from './engine/run.ts'
import {waitForStatistics} from './engine/settle/statistics.ts'
import {watchOver} from './watchdog.ts'

const name = 'isolated run'

/** Executes one run for `engine/recover/crash-isolation.ts`, in a child process that ends with its parent. */
const main = async () => {
  process.on('disconnect', () => process.exit(1))
  if (!process.connected) process.exit(1)
  const drain = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => drain.abort(new Error('The process was asked to stop')))
  const [input] = (await once(process, 'message')) as [IsolatedRunInput]
  const {config, hungAfterSeconds} = input
  const log = openLog(name, config.LOG_LEVEL)
  if (config.NODE_ENV !== 'production') armFault(config.FAULT_POINT)
  watchOver({name, seconds: hungAfterSeconds, log})
  const result = await executeOnce(input, {signal: drain.signal, log, onLeased: () => send('taken')}).then(
    (state): IsolatedRunResult => ({state}),
    (err): IsolatedRunResult => {
      log.error({err, run: input.id}, 'run failed')
      return {error: err instanceof Error ? err.message : String(err)}
    },
  )
  send(result, () => process.exit(0))
}

/** Sends a message to the parent. If the send fails, the parent has ended, and `disconnect` ends this process. */
const send = (message: IsolatedRunMessage, onSent = () => {}) => void process.send!(message, onSent)

const executeOnce = async ({config, org, id, parent}: IsolatedRunInput, options: ExecuteOptions): Promise<RunState> => {
  const {log} = options
  const url = databaseUrlOf(config)
  const tracing = await openTracing(config, {log, part: name})
  const db = await openDatabase(url, {connections: 5})
  const hot = openHot(url)
  const budget = openBudget({db, config, log})
  const crm = openCrm({db, config, log, budget})
  const tools = {config, db, hot, budget, crm, storage: openStorage(storageOf(config))}
  try {
    return await traced(name, {parent, attributes: {'lading.run': id}}, () => executeRunInProcess(tools, {org, id}, options))
  } finally {
    await waitForStatistics()
    await crm.close()
    await budget.close()
    await hot.end()
    await db.end()
    await tracing.close()
  }
}

await main()
