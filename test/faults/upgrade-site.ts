import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import pg from 'pg'
import {databaseUrlOf, readConfig} from '../../shared/config.ts'
import {openDatabase} from '../../sql/database.ts'
import {startCrm} from '../simulators/crm.ts'
import {openClient} from '../stack/client.ts'
import {connect, discover, signIn} from '../stack/journey.ts'
import {freePort} from '../stack/port.ts'
import {type Call, openCalls} from '../support/client.ts'
import type {Deployment, StartedParts} from '../support/deployment.ts'
import type {Ground} from './carried.ts'
import type {Stage} from './scenario.ts'
import type {Build} from './upgrade-builds.ts'
import {endProcess, type Fleet, openFleet} from './upgrade-fleet.ts'
import {openLoad} from './upgrade-load.ts'
import {watchLocks} from './upgrade-locks.ts'

const user = 'ana@example.org'
const environment = {
  LEASE_SECONDS: '2',
  CRM_TIMEOUT_SECONDS: '3',
  CRM_SLOTS: '2',
  DRAIN_SECONDS: '5',
  LOG_LEVEL: 'warn',
  RATE_PER_ADDRESS: '0',
  RATE_PER_BEARER: '0',
}

/** The processes of one build. */
export type Crew = {build: Build; api: string; end(how: NodeJS.Signals): Promise<void>}
export type Site = Awaited<ReturnType<typeof openSite>>

/** Opens a migrated database, the processes of the first build, an org with a connected CRM, and a constant load on the API. */
export const openSite = async ({begun, dice, logged}: Stage, first: Build) => {
  const url = await makeDatabase(begun)
  const crm = await startCrm()
  begun(crm.stop)
  const storage = await mkdtemp(join(tmpdir(), 'lading-upgrade-'))
  begun(() => rm(storage, {recursive: true, force: true}))
  const db = await openDatabase(url)
  begun(() => db.end())
  // Sign-in redirects to PUBLIC_URL, which is the URL of the first API.
  const port = await freePort()
  const places = {PUBLIC_URL: `http://127.0.0.1:${port}`, DATABASE_URL: url, STORAGE_DIR: storage, CRM_STANDIN_URL: crm.url}
  const fleet = openFleet({environment: {...environment, ...places}, logged})
  begun(fleet.stop)
  await fleet.release(first)
  const crew = await startCrew(fleet, first, {port})
  const org = await openOrg(crew.api, fleet)
  const ground: Ground = {here: {crm, db} as unknown as Deployment, org, pass: async () => {}}
  const watch = await watchLocks(url, begun)
  const load = openLoad({org: org.org, connector: org.connector, token: org.session}, {pick: fleet.pick, dice}, begun)
  return {fleet, crew, ground, crm, db, watch, load}
}

type CrewOptions = {port?: number; after?: Promise<unknown> | null}

/**
 * Starts an API, a process with all small workers and, once `after` is fulfilled, a process that executes imports. `end` sends its signal only
 * to the process that executes imports; the others get SIGTERM.
 */
export const startCrew = async (fleet: Fleet, build: Build, {port, after = null}: CrewOptions = {}): Promise<Crew> => {
  const startImports = async () => {
    await after
    return fleet.startWorker(build, 'imports')
  }
  const [api, worker, imports] = await Promise.all([fleet.startApi(build, port), fleet.startWorker(build, 'worker'), startImports()])
  const end = async (how: NodeJS.Signals) => {
    await Promise.all([endProcess(imports, how), endProcess(worker, 'SIGTERM')])
    await fleet.endApi(api)
  }
  return {build, api, end}
}

const makeDatabase = async (begun: StartedParts) => {
  const cluster = databaseUrlOf(readConfig())
  const admin = new pg.Client(cluster)
  admin.on('error', () => {})
  await admin.connect()
  const name = `upgrade_${process.pid}_${Date.now().toString(36)}`
  await admin.query(`create database ${name}`)
  begun(async () => {
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  })
  return Object.assign(new URL(cluster), {pathname: `/${name}`}).href
}

/** Opens an org with a session that one API creates. Calls with the session go to all APIs in turn. */
const openOrg = async (api: string, fleet: Fleet): Promise<Ground['org']> => {
  const session = await signIn(api, user)
  const client = openClient(api, session)
  const {org} = await client.call<{org: {id: string}}>('GET', '/auth/me')
  const connector = await connect(client, api, org.id, user)
  await discover(client, org.id, connector)
  const call: Call = (...asked) => openCalls(fleet.pick())(session)(...asked)
  return {call, org: org.id, connector, session}
}
