import {once} from 'node:events'
import fs from 'node:fs'
import {enableCompileCache} from 'node:module'
import os from 'node:os'
import {join} from 'node:path'
import {Worker} from 'node:worker_threads'
import type {OpenOrgRequest} from './import-tests-service.ts'
import {openKeeper} from './keeper.ts'
import {roomInMemory} from './shared-memory.ts'

/** The folder of the compile cache, or undefined. */
const [, , compiled] = process.argv
const directory = fs.mkdtempSync(join(roomInMemory() ?? os.tmpdir(), 'lading-import-tests-'))
const keeper = openKeeper()
keeper.remove(directory)
// The thread of Postgres reads the cache's directory from the environment.
if (compiled !== undefined) {
  enableCompileCache(compiled)
  process.env.NODE_COMPILE_CACHE = compiled
}
const database = new Worker(new URL('./import-tests-database.ts', import.meta.url), {workerData: directory})
const stop = () => database.postMessage('stop')
database.once('exit', async () => {
  await keeper.stop()
  if (process.connected) await new Promise(done => process.send?.({stopped: true}, done))
  // At exit, Node writes the compile cache, which takes seconds the first time. Closed outputs end the readers before that.
  for (const output of [1, 2]) fs.closeSync(output)
  process.exit(0)
})
process.once('disconnect', stop)
/**
 * Starts the stack of `lading test`: the API, the workers and the CRM stand-in in this process, and Postgres in a thread. Each later message of
 * the parent opens an org, whose CRM is built from a discovery, or stops this process. The process also stops when its parent ends.
 */
const start = async () => {
  const migrated = once(database, 'message') as Promise<[databaseUrl: string]>
  const [[databaseUrl], {startService, openOrg}] = await Promise.all([migrated, import('./import-tests-service.ts')])
  const service = await startService({databaseUrl, directory})
  return {service, open: (request: OpenOrgRequest) => openOrg(service, request)}
}
const starting = start()
const openOrg = async (request: OpenOrgRequest) => (await starting).open(request)
process.on('message', (request: OpenOrgRequest | {stop: true}) => {
  if ('stop' in request) return stop()
  openOrg(request).then(
    opened => process.send?.({id: request.id, opened}),
    error => process.send?.({id: request.id, error: (error as Error).message}),
  )
})
const {service} = await starting
process.send?.({apiUrl: service.apiUrl, crmUrl: service.crm.url})
