import assert from 'node:assert/strict'
import {randomBytes, randomUUID} from 'node:crypto'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {listen} from '../../api/listen.ts'
import {openTools} from '../../api/open-deps.ts'
import type {Role} from '../../shared/accounts/roles.ts'
import {openSession} from '../../shared/accounts/session.ts'
import {type Config, readConfig} from '../../shared/config.ts'
import {newId} from '../../shared/ids.ts'
import {jobs} from '../../shared/jobs.ts'
import type {Queue} from '../../shared/queue.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {type Pool, sql} from '../../sql/database.ts'
import {keepMember} from '../../sql/members.ts'
import {keepOrg} from '../../sql/orgs.ts'
import {keepPerson} from '../../sql/people.ts'
import {startWorkers} from '../../workers/start.ts'
import {startCrm} from '../simulators/crm.ts'
import {openAnswerChecker} from './answer-checker.ts'
import {openCalls} from './client.ts'
import {createDatabase} from './database.ts'
import {beginVisit, comeBack, consent, messageOf, visitOf} from './walk.ts'

export type Deployment = Awaited<ReturnType<typeof openDeployment>>

export type Options = {
  /** The workers to run beside the API, named as in `workers/start.ts`. */
  workers?: string[]
  environment?: Record<string, string>
  crm?: Parameters<typeof startCrm>[0]
}

/** Registers how to end a part that has started, so that a failed start can be cleaned up. The parts end in reverse order. */
export type StartedParts = (end: () => Promise<unknown>) => void

/**
 * Opens a whole deployment: database, queue, CRM stand-in, API over HTTP, and the named workers. At its end, no job may have failed, and
 * every response must match the declaration of its route.
 */
export const openDeployment = async (label: string, {workers = [], environment = {}, crm: crmOptions}: Options, begun: StartedParts) => {
  const database = await createDatabase(label)
  begun(database.drop)
  const crm = await startCrm(crmOptions)
  begun(crm.stop)
  const storage = await mkdtemp(join(tmpdir(), 'lading-world-'))
  begun(() => rm(storage, {recursive: true}))
  // A deployment with a public address refuses the development keys, so it gets its own.
  const keys = () => `test:${randomBytes(32).toString('base64')}`
  const own = environment.PUBLIC_URL ? {SECRETS_KEYS: keys(), SESSION_KEYS: keys()} : {}
  const config = readConfig({
    ...own,
    NODE_ENV: 'test',
    DATABASE_URL: database.url,
    PORT: '0',
    STORAGE_DIR: storage,
    CRM_STANDIN_URL: crm.url,
    ADMIN_TOKEN: adminToken,
    LOG_LEVEL: 'silent',
    DRAIN_SECONDS: '5',
    CRM_LAG_SECONDS: '0.5',
    RATE_PER_ADDRESS: '1000000',
    ...environment,
  })
  const tools = await openTools(config, openLog('test', config.LOG_LEVEL))
  begun(tools.close)
  const checker = openAnswerChecker()
  const api = await listen(tools, {observer: checker.look})
  begun(async () => assert.deepEqual(checker.wrong(), [], 'every answer of the test fits what its route declares'))
  begun(async () => assert.deepEqual(await findFailed(tools.queue), [], 'no job of the test failed'))
  begun(api.drain)
  if (workers.length) begun((await startWorkers(workers, config)).stop)
  const {db, hot, queue} = tools
  const as = openCalls(api.url)
  const made = {url: api.url, config, db, hot, queue, crm, storage: tools.storage, tools, as, adminToken, observer: checker.look}
  return {...made, ...people(db, config, as), ...insiders(db, config, as), ahead: setAhead(db)}
}

/** The deployment operator's bearer in every test deployment. */
const adminToken = 'the-operator-of-the-test-world-and-nobody-else'

type PeopleConfig = {role?: Role; org?: string; email?: string}

const unheardOf = () => ({id: newId('org'), name: 'Test Org', dc: 'test', crmOrgId: randomUUID()})

const people = (db: Pool, config: Config, as: ReturnType<typeof openCalls>) => {
  /** Creates a person with a session, without the identity provider, in a new org or in `org`. */
  const makeOrg = async ({role = 'owner', org: given, email = `${randomUUID()}@example.org`}: PeopleConfig = {}) => {
    const person = (await keepPerson(db, {id: newId('per'), subject: `test:${randomUUID()}`, email, name: 'Test Person'})).id
    const org = given ?? (await db.transaction(tx => keepOrg(tx, {...unheardOf(), plan: config.DEFAULT_PLAN}))).id
    await keepMember(db, {id: newId('mem'), org, person, role})
    return {org, person, token: await openSession(db, config, {person, org, role})}
  }

  /** Signs in through the consent page of the stand-in. Returns the session token. */
  const signIn = async (user = 'ana@example.org'): Promise<string> => {
    const visit = await beginVisit(as(null))
    return messageOf(await comeBack(as(null), await consent(visit, {user}), visit.cookie)).token
  }

  /** Connects the org of `token` to the stand-in through its consent page. Returns the connector id. */
  const connect = async (token: string, {user = 'ana@example.org', name = 'Example CRM'} = {}): Promise<string> => {
    const {body: me} = await as(token)('GET', '/auth/me')
    const visit = visitOf(await as(token)('POST', `/auth/orgs/${me.org.id}/connect`, {dc: 'local', name}))
    return messageOf(await comeBack(as(null), await consent(visit, {user}), visit.cookie)).connectorId
  }

  return {makeOrg, signIn, connect}
}

const insiders = (db: Pool, config: Config, as: ReturnType<typeof openCalls>) => {
  /** Creates a staff member with a session in no org. */
  const makeStaff = async ({email = `${randomUUID()}@staff.example`, name = 'Test Staff'} = {}) => {
    const {id: person} = await keepPerson(db, {id: newId('per'), subject: `test:${randomUUID()}`, email, name})
    const {status, text} = await as(adminToken)('POST', '/staff/people', {email, person})
    if (status !== 200) throw new Error(`Not made staff: ${status} ${text}`)
    return {person, email, name, token: await openSession(db, config, {person, org: null, role: null})}
  }

  /** Opens a staff view of an org and returns its token. `by` is a staff session; without it, a new staff member is made. */
  const openView = async ({org, write = false, by}: {org: string; write?: boolean; by?: string}): Promise<string> => {
    const bearer = by ?? (await makeStaff()).token
    const {status, body, text} = await as(bearer)('POST', `/staff/orgs/${org}/view`, {write, reason: 'A test looks'})
    if (status !== 201) throw new Error(`No view was opened: ${status} ${text}`)
    return body.token
  }

  return {makeStaff, openView}
}

/**
 * Sets how far the clock of the database is ahead of the real time, as an interval such as `9 hours`. Leases, sessions and tokens use this
 * clock.
 */
const setAhead = (db: Pool) => (interval: string) =>
  db.query(sql.unsafe`
    insert into clock_offset (ahead) values (${interval}::text::interval) on conflict (only_row) do update set ahead = excluded.ahead`)

const findFailed = async (queue: Queue) => {
  const found = await Promise.all(jobs.map(({name}) => queue.findJobs(name)))
  return found.flat().filter(({state}) => state === 'failed')
}
