import {join} from 'node:path'
import {parentPort, workerData} from 'node:worker_threads'
import {migrateQueue} from '../../shared/release.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {migrate} from '../../sql/migrate.ts'
import {startPostgres, throwaway} from './postgres.ts'

/**
 * A thread that starts a throwaway Postgres in the folder `workerData`, migrates it and posts the database URL. At the first message, the thread stops
 * Postgres and ends. Loading the service blocks the main thread for seconds, so Postgres starts here.
 */
const port = parentPort!
const flags = [...throwaway.filter(flag => !/^(shared_buffers|max_wal_size)=/.test(flag)), 'shared_buffers=64MB', 'max_wal_size=512MB']
const starting = startPostgres({directory: join(workerData as string, 'postgres'), keep: false, flags})
port.once('message', () => void starting.then(cluster => cluster.stop()).finally(() => process.exit()))
const {url} = await starting
await migrate(url)
await migrateQueue(url, openLog('import tests', 'error'))
port.postMessage(url)
