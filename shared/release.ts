import {migrate} from '../sql/migrate.ts'
import {databaseUrlOf, readConfig} from './config.ts'
import {jobs} from './jobs.ts'
import {openLog} from './log.ts'
import {openQueue} from './queue.ts'

/** `npm run migrate` and the Procfile's release line: our schema, then the queue's. Safe when two start at once. */
const config = readConfig()
const log = openLog('release', config.LOG_LEVEL)
const url = databaseUrlOf(config)
log.info({applied: await migrate(url)}, 'migrations')
const queue = await openQueue(url, jobs, {log, upkeep: false})
await queue.stop()
