import fs from 'node:fs'
import {enableCompileCache} from 'node:module'
import os from 'node:os'
import {join} from 'node:path'
import type {OpenOrgRequest} from './import-tests-service.ts'
import {openKeeper} from './keeper.ts'
import {startPostgres, throwaway} from './postgres.ts'
import {roomInMemory} from './shared-memory.ts'

/**
 * The stack behind `lading test`: Postgres, API, workers and the CRM stand-in in one process and Postgres. The parent asks by messages for an
 * org with a CRM that is built from a discovery. The process ends when its parent disconnects or dies.
 */
const [, , compiled] = process.argv
const directory = fs.mkdtempSync(join(roomInMemory() ?? os.tmpdir(), 'lading-import-tests-'))
const keeper = openKeeper()
keeper.remove(directory)
const flags = [...throwaway.filter(flag => !/^(shared_buffers|max_wal_size)=/.test(flag)), 'shared_buffers=64MB', 'max_wal_size=512MB']

const starting = startPostgres({directory: join(directory, 'postgres'), keep: false, flags})
process.once('disconnect', () => void starting.then(cluster => cluster.stop()).finally(() => process.exit(0)))
// The service loads while Postgres makes its cluster. Threads read the cache's directory from the environment.
if (compiled !== undefined) {
  enableCompileCache(compiled)
  process.env.NODE_COMPILE_CACHE = compiled
}
const [cluster, {startService, openOrg}] = await Promise.all([starting, import('./import-tests-service.ts')])
const service = await startService({databaseUrl: cluster.url, directory})
process.on('message', (request: OpenOrgRequest) => {
  openOrg(service, request).then(
    opened => process.send?.({id: request.id, opened}),
    error => process.send?.({id: request.id, error: (error as Error).message}),
  )
})
process.send?.({apiUrl: service.apiUrl, crmUrl: service.crm.url})
