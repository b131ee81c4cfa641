import fs from 'node:fs'
import os from 'node:os'
import {join} from 'node:path'
import {listen} from '../../api/listen.ts'
import {openTools} from '../../api/open-deps.ts'
import {readConfig} from '../../shared/config.ts'
import {migrateQueue} from '../../shared/release.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {migrate} from '../../sql/migrate.ts'
import {startWorkers} from '../../workers/start.ts'
import {type ModuleDescription, specOfDiscovery} from '../simulators/crm/discovered-org.ts'
import {startCrm} from '../simulators/crm.ts'
import {openClient} from './client.ts'
import {connect, discover, signIn} from './journey.ts'
import {openKeeper} from './keeper.ts'
import {startPostgres, throwaway} from './postgres.ts'
import {roomInMemory} from './shared-memory.ts'

/**
 * The stack behind `lading test`: Postgres, API, workers and the CRM stand-in in one process and Postgres. The parent asks by messages for an
 * org with a CRM that is built from a discovery. The process ends when its parent disconnects or dies.
 */
type OpenOrgRequest = {id: number; connections: {connectorId: string; name: string; modules: ModuleDescription[]}[]}

const workers = ['imports', 'discovery']

const start = async () => {
  const memory = roomInMemory()
  const directory = fs.mkdtempSync(join(memory ?? os.tmpdir(), 'lading-import-tests-'))
  const keeper = openKeeper()
  keeper.remove(directory)
  const flags = [...throwaway.filter(flag => !/^(shared_buffers|max_wal_size)=/.test(flag)), 'shared_buffers=64MB', 'max_wal_size=512MB']
  const cluster = await startPostgres({directory: join(directory, 'postgres'), keep: false, flags})
  process.once('disconnect', () => void cluster.stop().finally(() => process.exit(0)))
  const crm = await startCrm({orgs: [], control: true})
  const config = readConfig({
    ...{NODE_ENV: 'test', DATABASE_URL: cluster.url, PORT: '0', STORAGE_DIR: join(directory, 'storage'), CRM_STANDIN_URL: crm.url},
    ...{LOG_LEVEL: 'error', DRAIN_SECONDS: '1', CRM_LAG_SECONDS: '0', RATE_PER_ADDRESS: '1000000', RATE_PER_BEARER: '1000000'},
  })
  const log = openLog('import tests', config.LOG_LEVEL)
  await migrate(cluster.url)
  await migrateQueue(cluster.url, log)
  const tools = await openTools(config, log)
  const api = await listen(tools)
  await startWorkers(workers, config, log)
  return {crm, apiUrl: api.url}
}

type RunningStack = Awaited<ReturnType<typeof start>>

let orgs = 0

/** Opens an org at the service with one connection for each discovery. Connections get new ids. */
const openOrg = async ({crm, apiUrl}: RunningStack, {connections}: OpenOrgRequest) => {
  const opened: {connectorId: string; now: string; crm: string}[] = []
  let token: string | null = null
  let org = ''
  for (const {connectorId, modules} of connections) {
    const number = (orgs += 1)
    const key = `tests-${number}`
    const email = `tess@${key}.example`
    crm.addOrg(specOfDiscovery({key, number, email, modules}))
    token ??= await signIn(apiUrl, email)
    const client = openClient(apiUrl, token)
    org ||= (await client.call<{org: {id: string}}>('GET', '/auth/me')).org.id
    const now = await connect(client, apiUrl, org, email)
    await discover(client, org, now)
    opened.push({connectorId, now, crm: key})
  }
  return {token, org, connections: opened}
}

const stack = await start()
process.on('message', (request: OpenOrgRequest) => {
  openOrg(stack, request).then(
    opened => process.send?.({id: request.id, opened}),
    error => process.send?.({id: request.id, error: (error as Error).message}),
  )
})
process.send?.({apiUrl: stack.apiUrl, crmUrl: stack.crm.url})
