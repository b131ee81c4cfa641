import {migrate, openReleaser} from '../sql/migrate.ts'
import {patiently} from '../sql/patience.ts'
import {databaseUrlOf, readConfig} from './config.ts'
import {jobs} from './jobs.ts'
import {type Log, openLog} from './log.ts'
import {raiseQueue} from './queue.ts'

/** In the queue's own transactions, which would wait half a minute for a lock, everybody else behind them. */
const itsWait = /set local lock_timeout = \d+/i
const longest = {seconds: 120}

/** The queue's schema and policies as this build has them, changed while old processes use it. */
export const releaseQueue = async (url: string, log: Log) => {
  const client = await openReleaser(url)
  const run = async (text: string, values?: unknown[]) => {
    const ask = (lockMs: number) => client.query(text.replace(itsWait, `set local lock_timeout = ${lockMs}`), values)
    return (await patiently(client, longest, ask)).value
  }
  try {
    await raiseQueue(jobs, {log, run})
  } finally {
    await client.end()
  }
}

/** `npm run migrate` and the Procfile's release line: our schema, then the queue's. Safe when two start at once. */
const main = async () => {
  const config = readConfig()
  const log = openLog('release', config.LOG_LEVEL)
  const url = databaseUrlOf(config)
  log.info({applied: await migrate(url)}, 'migrations')
  await releaseQueue(url, log)
}

if (import.meta.main) await main()
