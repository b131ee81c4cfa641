import {randomUUID} from 'node:crypto'
import test, {type ExecutionContext} from 'ava'
import {type Config, readConfig} from '../../../shared/config.ts'
import {type Crm, openCrm} from '../../../shared/crm/crm.ts'
import {type Budget, openBudget} from '../../../shared/crm/limits/budget.ts'
import {sealAccess, sealRefresh} from '../../../shared/crm/sealed.ts'
import {newId} from '../../../shared/ids.ts'
import {openLog} from '../../../shared/telemetry/log.ts'
import {insertConnector} from '../../../sql/connectors.ts'
import {openDatabase, type Pool, sql} from '../../../sql/database.ts'
import {keepGrant} from '../../../sql/grants.ts'
import {keepOrg} from '../../../sql/orgs.ts'
import {type CrmOptions, type CrmSimulator, startCrm} from '../../simulators/crm.ts'
import {createDatabase} from '../../support/database.ts'

type Options = {environment?: Record<string, string>; crm?: CrmOptions}
type Granting = {email?: string; scopes?: string[]; accessSeconds?: number; org?: string}

const open: (() => Promise<unknown>)[] = []
test.after.always('the place is left', async () => {
  for (const leave of open.toReversed()) await leave()
})

export type CrmPlace = Awaited<ReturnType<typeof place>>

/** Opens the least that the adapter needs: a database, the stand-in and connections to it. Called once per test file. */
export const place = async (t: ExecutionContext<any>, {environment = {}, crm: options}: Options = {}) => {
  const [database, standIn] = await Promise.all([createDatabase(t.title), startCrm(options)])
  const config = readConfig({DATABASE_URL: database.url, CRM_STANDIN_URL: standIn.url, ...environment})
  const db = await openDatabase(database.url)
  const log = openLog('test', 'silent')
  /** Opens the adapter of another process, which shares only the database. */
  const openAnother = async ({config: changed = {}}: {config?: Partial<Config>} = {}) => {
    const own = await openDatabase(database.url, {connections: 4})
    const budget = openBudget({db: own, config, log})
    const crm = openCrm({db: own, config: {...config, ...changed}, log, budget})
    open.push(() => leave(crm, budget, own))
    return crm
  }
  const budget = openBudget({db, config, log})
  const crm = openCrm({db, config, log, budget})
  open.push(async () => {
    await leave(crm, budget, db)
    await standIn.stop()
    await database.drop()
  })
  const connect = (granting: Granting = {}) => keepConnector(db, config, standIn, granting)
  return {db, config, standIn, budget, crm, openAnother, connect, mintsOf: (id: string) => countMints(db, id)}
}

const leave = async (crm: Crm, budget: Budget, db: Pool) => {
  await crm.close()
  await budget.close()
  await db.end()
}

/** Stores a connection as the consent page does. `accessSeconds: 0` gives an expired access token. */
const keepConnector = async (
  db: Pool,
  {SECRETS_KEYS}: Config,
  standIn: CrmSimulator,
  {email = 'ana@example.org', scopes, accessSeconds = 3600, org: given}: Granting,
) => {
  const {accessToken, refreshToken, org: key} = standIn.grant({email, ...(scopes && {scopes})})
  const user = standIn.state().orgs[key]!.users.find(one => one.email === email)!
  return db.transaction(async tx => {
    const org = given ?? (await keepOrg(tx, {id: newId('org'), name: 'Test', dc: 'test', crmOrgId: randomUUID()})).id
    const {id} = await insertConnector(tx, {
      id: newId('con'),
      org,
      name: 'Example CRM',
      dc: 'local',
      crmOrgId: key,
      apiDomain: standIn.url,
      crmUserId: user.id,
      crmUserName: email,
      scopes: scopes ?? [],
      person: null,
    })
    const sealed = {refreshSealed: sealRefresh(SECRETS_KEYS, id, refreshToken), accessSealed: sealAccess(SECRETS_KEYS, id, accessToken)}
    await keepGrant(tx, {connector: id, ...sealed, accessSeconds})
    return id
  })
}

const countMints = (db: Pool, id: string) =>
  db.oneFirst(sql.unsafe`select count(*)::int as mints from grant_mints where connector_id = ${id}`) as Promise<number>
