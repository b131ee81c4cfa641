import {join} from 'node:path'
import {listen} from '../../api/listen.ts'
import {openTools} from '../../api/open-deps.ts'
import {readConfig} from '../../shared/config.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {startWorkers} from '../../workers/start.ts'
import {type ModuleDescription, specOfDiscovery} from '../simulators/crm/discovered-org.ts'
import {startCrm} from '../simulators/crm.ts'
import {openClient} from './client.ts'
import {connect, discover, signIn} from './journey.ts'

export type OpenOrgRequest = {id: number; connections: {connectorId: string; name: string; modules: ModuleDescription[]}[]}

const workers = ['imports', 'discovery']

/** Starts the API, the workers and the CRM stand-in in this process. The caller must have migrated the database. */
export const startService = async ({databaseUrl, directory}: {databaseUrl: string; directory: string}) => {
  const crm = await startCrm({orgs: [], control: true})
  const config = readConfig({
    NODE_ENV: 'test',
    DATABASE_URL: databaseUrl,
    PORT: '0',
    STORAGE_DIR: join(directory, 'storage'),
    CRM_STANDIN_URL: crm.url,
    LOG_LEVEL: 'error',
    DRAIN_SECONDS: '1',
    CRM_LAG_SECONDS: '0',
    RATE_PER_ADDRESS: '1000000',
    RATE_PER_BEARER: '1000000',
    // The files are small, so a second parser thread would cost more than it saves.
    PARSER_THREADS: '1',
  })
  const log = openLog('import tests', config.LOG_LEVEL)
  const tools = await openTools(config, log)
  const api = await listen(tools)
  await startWorkers(workers, config, log)
  return {crm, apiUrl: api.url}
}

type RunningService = Awaited<ReturnType<typeof startService>>

let orgs = 0

/** Opens an org at the service, with one connection and one CRM for each discovery. The connections have new ids. */
export const openOrg = async ({crm, apiUrl}: RunningService, {connections}: OpenOrgRequest) => {
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
