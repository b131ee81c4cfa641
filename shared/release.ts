import {retryOnLock} from '../sql/lock-retry.ts'
import {migrate, openReleaser} from '../sql/migrate.ts'
import {directUrlOf, readConfig} from './config.ts'
import {jobs} from './jobs.ts'
import {raiseQueue} from './queue.ts'
import {type Log, openLog} from './telemetry/log.ts'

/**
 * Matches the lock time-out in the queue's statements. With this time-out, the queue would wait half a minute for a lock and block all other
 * queries.
 */
const itsWait = /set local lock_timeout = \d+/i
const longest = {seconds: 120}

/** Updates the queue's schema and settings to this release, while old processes use it. */
export const migrateQueue = async (url: string, log: Log) => {
  const client = await openReleaser(url)
  const run = async (text: string, values?: unknown[]) => {
    const ask = (lockMs: number) => client.query(text.replace(itsWait, `set local lock_timeout = ${lockMs}`), values)
    return (await retryOnLock(client, longest, ask)).value
  }
  try {
    await raiseQueue(jobs, {log, run})
  } finally {
    await client.end()
  }
}

/** Entry point of `npm run migrate` and of the Procfile's release line. Migrates our schema, then the queue's. Two such processes can run at once. */
const main = async () => {
  const config = readConfig()
  const log = openLog('release', config.LOG_LEVEL)
  const url = directUrlOf(config)
  log.info({applied: await migrate(url)}, 'migrations')
  await migrateQueue(url, log)
}

if (import.meta.main) await main()
