import {join} from 'node:path'
import {parentPort, workerData} from 'node:worker_threads'
import {migrateQueue} from '../../shared/release.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {migrate} from '../../sql/migrate.ts'
import {startPostgres, throwaway} from './postgres.ts'

/**
 * The port of this worker thread. The thread starts a throwaway Postgres in the folder `workerData`, migrates it and posts its URL. At the
 * first message, it stops Postgres and ends. A thread is used because loading the service blocks the main thread for seconds.
 */
const port = parentPort!
const flags = [...throwaway.filter(flag => !/^(shared_buffers|max_wal_size)=/.test(flag)), 'shared_buffers=64MB', 'max_wal_size=512MB']
const starting = startPostgres({directory: join(workerData as string, 'postgres'), keep: false, flags})
port.once('message', () => void starting.then(cluster => cluster.stop()).finally(() => process.exit()))
const {url} = await starting
await migrate(url)
await migrateQueue(url, openLog('import tests', 'error'))
port.postMessage(url)
