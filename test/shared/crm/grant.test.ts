import {randomBytes} from 'node:crypto'
import anyTest, {type TestFn} from 'ava'
import pg from 'pg'
import {pino} from 'pino'
import {type Connection, openCrm} from '../../../shared/crm/crm.ts'
import type {Refusal} from '../../../shared/errors.ts'
import {readConnector} from '../../../sql/connectors.ts'
import {sql} from '../../../sql/database.ts'
import {findGrant} from '../../../sql/grants.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

const test = anyTest.serial as TestFn<{place: CrmPlace}>

anyTest.before(async t => {
  const context = t.context as {place: CrmPlace}
  context.place = await place(t)
})
anyTest.beforeEach(t => (t.context as {place: CrmPlace}).place.standIn.clear())

const write = async (connection: Connection) => (await connection.createRecords('Leads', [{Last_Name: 'Ono'}], {})).results[0]!
const refusalOf = async (connection: Connection): Promise<Refusal> => {
  const result = await write(connection)
  if (result.ok || result.sent) throw new Error(`Not refused before sending: ${JSON.stringify(result)}`)
  return result.refusal
}
const renewals = ({standIn}: CrmPlace) => standIn.journal().filter(({path}) => path === '/oauth/v2/token')
const count = (length: number) => Array.from({length}, (_, n) => n)
const endAccess = ({db}: CrmPlace, id: string) =>
  db.query(sql.unsafe`update grants set access_expires_at = lading_now() where connector_id = ${id}`)
const renewMany = async (at: CrmPlace, connection: Connection, times: number) => {
  at.standIn.faults.add({action: 'expireToken', match: {method: 'POST', nth: 1}, times: 1})
  for (const _ of count(times)) {
    await write(connection)
    at.standIn.faults.add({action: 'expireToken', match: {method: 'POST'}})
  }
  at.standIn.faults.clear()
}

/** Ends the Postgres session for which another one waits, as the death of its process would. */
const killHolder = async ({config}: CrmPlace) => {
  const killer = new pg.Client(config.DATABASE_URL)
  await killer.connect()
  const blocking = `
    select pg_terminate_backend(pid) from (
      select unnest(pg_blocking_pids(pid)) as pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as holders`
  for (let killed = 0; killed === 0; ) killed = (await killer.query(blocking)).rowCount ?? 0
  await killer.end()
}

test('a cached access token is used without a query from the second call on', async t => {
  const {place} = t.context
  const id = await place.connect()
  const connection = await place.crm.open(id)
  await write(connection)
  await place.db.query(sql.unsafe`delete from grants where connector_id = ${id}`)
  t.true((await write(connection)).ok)
  t.is(await place.mintsOf(id), 0)
  t.is(renewals(place).length, 0)
})

test('an access token with less than five minutes left is renewed', async t => {
  const {place} = t.context
  const id = await place.connect({accessSeconds: 299})
  t.true((await write(await place.crm.open(id))).ok)
  t.is(await place.mintsOf(id), 1)
  const {accessLeftMs} = (await findGrant(place.db, id))!
  t.true(accessLeftMs! > 3_590_000)
})

test('processes that find the access token expired at once mint one new token', async t => {
  const {place} = t.context
  const id = await place.connect({accessSeconds: 0})
  const connections = await Promise.all([place.crm, await place.openAnother(), await place.openAnother()].map(crm => crm.open(id)))
  const results = await Promise.all(connections.flatMap(connection => count(10).map(() => write(connection))))
  t.true(results.every(({ok}) => ok))
  t.is(await place.mintsOf(id), 1)
  t.is(renewals(place).length, 1)
})

test('many concurrent renewals are queued and leave the connection pool to others', async t => {
  const {place} = t.context
  const ids = await Promise.all(count(8).map(() => place.connect({accessSeconds: 0})))
  const crm = await place.openAnother()
  const connections = await Promise.all(ids.map(id => crm.open(id)))
  t.true((await Promise.all(connections.map(write))).every(({ok}) => ok))
})

test('row 9: a rejected token is renewed once, and the call is sent once more', async t => {
  const {place} = t.context
  const id = await place.connect()
  const connection = await place.crm.open(id)
  place.standIn.faults.add({action: 'expireToken'})
  const results = await Promise.all(count(10).map(() => write(connection)))
  t.true(results.every(({ok}) => ok))
  t.is(await place.mintsOf(id), 1)
  t.is(place.standIn.count('example', 'Leads'), 10)
})

test('row 9: a token that another process renewed, and that is rejected too, is renewed in turn', async t => {
  const {place} = t.context
  const id = await place.connect()
  const [here, elsewhere] = [await place.crm.open(id), await (await place.openAnother()).open(id)]
  t.true((await write(here)).ok)
  place.standIn.faults.add({action: 'expireToken'})
  t.true((await write(elsewhere)).ok)
  place.standIn.clock.advance(3_600_000)
  place.standIn.clearJournal()
  t.true((await write(here)).ok)
  t.deepEqual(
    place.standIn.journal({path: '/crm/'}).map(({status}) => status),
    [401, 401, 201],
  )
  place.standIn.clock.advance(-3_600_000)
  t.is(await place.mintsOf(id), 2)
})

test('row 9: a second 401 is passed on as the answer', async t => {
  const {place} = t.context
  for (const code of ['INVALID_TOKEN', 'AUTHENTICATION_FAILURE']) {
    place.standIn.clear()
    const id = await place.connect()
    const body = {code, details: {}, message: 'no', status: 'error'}
    place.standIn.faults.add({match: {method: 'POST', path: '/crm/**'}, times: 2, action: {type: 'answer', status: 401, body}})
    const result = await write(await place.crm.open(id))
    t.like(result, {ok: false, sent: true, crm: {code, status: 401, unanswered: false, retryable: false, rateLimited: false}})
    t.is(await place.mintsOf(id), 1)
    t.is(place.standIn.journal().filter(({path}) => path.startsWith('/crm/')).length, 2)
  }
})

test('row 10: if the renewal is throttled after a 401, the CRM’s refusal is passed on without a wait time', async t => {
  const {place} = t.context
  const id = await place.connect()
  const connection = await place.crm.open(id)
  place.standIn.faults.add({match: {path: '/crm/**'}, action: 'expireToken'})
  place.standIn.faults.add({action: 'tokenThrottle'})
  const result = await write(connection)
  t.like(result, {
    ok: false,
    sent: true,
    crm: {status: 401, code: 'INVALID_TOKEN', unanswered: false, rateLimited: true, retryable: true, retryAfterMs: null},
  })
  if (result.ok || !result.sent) return t.fail()
  t.is((result.crm.response as {code: string}).code, 'INVALID_TOKEN')
  t.is((await readConnector(place.db, id))!.state, 'connected')
})

test('row 11: a missing scope does not cause a renewal', async t => {
  const {place} = t.context
  const id = await place.connect({scopes: ['ZohoCRM.modules.ALL']})
  const connection = await place.crm.open(id)
  await t.throwsAsync(connection.findRecords({module: 'Leads', field: 'Email', values: ['a@b.c'], fields: []}), {
    name: 'CrmError',
    message: /OAUTH_SCOPE_MISMATCH/,
  })
  t.is(await place.mintsOf(id), 0)
})

test('row 18: the eleventh mint in ten minutes is refused by our own count, until the first is ten minutes old', async t => {
  const {place} = t.context
  const id = await place.connect()
  await renewMany(place, await place.crm.open(id), 10)
  t.is(await place.mintsOf(id), 10)
  await endAccess(place, id)
  const another = await place.openAnother()
  const refusal = await refusalOf(await another.open(id))
  t.is(refusal.status, 429)
  t.like(refusal, {code: 'CONNECTION_THROTTLED', extra: {written: false}})
  const seconds = Number(refusal.extra.retryAfterMs) / 1000
  t.true(Number.isInteger(seconds) && seconds >= 590 && seconds <= 600)
  t.is(renewals(place).length, 10)
  const error = await t.throwsAsync((await another.open(id)).currentUser(), {name: 'Refusal'})
  t.false('written' in (error as Refusal).extra)
  await place.db.query(sql.unsafe`update grant_mints set minted_at = minted_at - interval '599 s' where connector_id = ${id}`)
  t.is((await refusalOf(await another.open(id))).extra.retryAfterMs, 1000)
  await place.db.query(sql.unsafe`update grant_mints set minted_at = minted_at - interval '1 s' where connector_id = ${id}`)
  place.standIn.clock.advance(600_000)
  t.true((await write(await another.open(id))).ok)
  place.standIn.clock.advance(-600_000)
})

test('row 18: a throttle by the CRM gives the same refusal and keeps the connection', async t => {
  const {place} = t.context
  const id = await place.connect({accessSeconds: 0})
  const connection = await place.crm.open(id)
  place.standIn.faults.add({action: 'tokenThrottle'})
  t.like(await refusalOf(connection), {code: 'CONNECTION_THROTTLED', extra: {written: false, retryAfterMs: 600_000}})
  t.is(place.standIn.journal().filter(({path}) => path.startsWith('/crm/')).length, 0)
  t.true((await write(connection)).ok)
})

test('row 19: a grant revoked at the CRM ends together with its connection', async t => {
  const {place} = t.context
  const id = await place.connect({accessSeconds: 0})
  const connection = await place.crm.open(id)
  place.standIn.faults.add({match: {path: '/oauth/v2/token'}, action: 'revokeGrant'})
  const refusal = await refusalOf(connection)
  t.is(refusal.status, 502)
  t.like(refusal, {code: 'CONNECTION_UNAVAILABLE', extra: {written: false, connection: 'ended'}})
  t.is((await readConnector(place.db, id))!.state, 'ended')
  t.like(await findGrant(place.db, id), {ended: true, accessSealed: null})
  t.like(await refusalOf(connection), {code: 'CONNECTION_UNAVAILABLE'})
  t.is(renewals(place).length, 1)
  await t.throwsAsync(place.crm.open(id), {name: 'Refusal', message: /ended the consent/})
})

test('row 19: a grant found revoked after a 401 ends, and nothing is written', async t => {
  const {place} = t.context
  const id = await place.connect()
  place.standIn.faults.add({match: {path: '/crm/**'}, action: ['revokeGrant', 'expireToken']})
  t.like(await refusalOf(await place.crm.open(id)), {code: 'CONNECTION_UNAVAILABLE', extra: {written: false}})
  t.is((await readConnector(place.db, id))!.state, 'ended')
  t.is(place.standIn.count('example', 'Leads'), 0)
})

test('row 19: an accounts host that is down or refuses us keeps the connection', async t => {
  const {place} = t.context
  const id = await place.connect({accessSeconds: 0})
  const connection = await place.crm.open(id)
  const declined = {type: 'answer', status: 200, body: {error: 'invalid_client'}} as const
  const mints: number[] = []
  for (const action of [{type: 'tokenDown'}, {type: 'tokenDown', drop: true}, declined] as const) {
    place.standIn.faults.add({match: {path: '/oauth/v2/token'}, action})
    t.like(await refusalOf(connection), {code: 'CONNECTION_UNAVAILABLE', extra: {written: false}})
    mints.push(await place.mintsOf(id))
  }
  t.deepEqual(mints, [1, 2, 2], 'a renewal that certainly issued no token is not counted')
  t.is((await readConnector(place.db, id))!.state, 'connected')
  t.true((await write(connection)).ok)
})

test('a failed renewal stops no call while the old token is valid, and is not retried at every call', async t => {
  const {place} = t.context
  const id = await place.connect({accessSeconds: 200})
  const connection = await place.crm.open(id)
  place.standIn.faults.add({action: 'tokenDown', times: 9})
  for (const _ of count(3)) t.true((await write(connection)).ok)
  t.is(renewals(place).length, 1)
})

test('a process that dies while renewing frees the grant, and its mint stays counted', async t => {
  const {place} = t.context
  const id = await place.connect({accessSeconds: 0})
  const [dying, other] = await Promise.all([place.openAnother(), place.openAnother()])
  place.standIn.faults.add({match: {path: '/oauth/v2/token'}, action: 'hold'})
  const first = t.throwsAsync(write(await dying.open(id)))
  while (place.standIn.held() === 0) await new Promise(setImmediate)
  const second = write(await other.open(id))
  await killHolder(place)
  t.true((await second).ok)
  place.standIn.release()
  await first
  t.is(await place.mintsOf(id), 2)
})

test('a grant copied to another connection cannot be opened there', async t => {
  const {place} = t.context
  const [one, other] = await Promise.all([place.connect(), place.connect({email: 'ben@example.org'})])
  await place.db.query(sql.unsafe`
    update grants set refresh_sealed = given.refresh_sealed, access_sealed = given.access_sealed
    from (select * from grants where connector_id = ${one}) as given where grants.connector_id = ${other}`)
  const {code, message} = await refusalOf(await place.crm.open(other))
  t.is(code, 'CONNECTION_UNAVAILABLE')
  t.regex(message, /cannot be decrypted/)
  t.is(await place.mintsOf(other), 0)
})

test('with a new first key the next renewal encrypts the grant under it', async t => {
  const {place} = t.context
  const id = await place.connect({accessSeconds: 0})
  const crm = await place.openAnother({config: {SECRETS_KEYS: [{id: 'k2', key: randomBytes(32)}, ...place.config.SECRETS_KEYS]}})
  t.true((await write(await crm.open(id))).ok)
  const grant = (await findGrant(place.db, id))!
  t.is(grant.refreshSealed.split('.')[1], 'k2')
  t.is(grant.accessSealed!.split('.')[1], 'k2')
})

test('row 33: a host outside the data centre is never called', async t => {
  const {place} = t.context
  for (const domain of ['http://169.254.169.254', 'https://www.zohoapis.com.evil.example', 'https://www.zohoapis.com']) {
    const id = await place.connect()
    await place.db.query(sql.unsafe`update connectors set api_domain = ${domain} where id = ${id}`)
    await t.throwsAsync(place.crm.open(id), {name: 'Refusal', message: /API host/})
  }
  t.is(place.standIn.journal().length, 0)
})

test('neither tokens nor values reach the log', async t => {
  const {place} = t.context
  const lines: string[] = []
  const {db, config, budget} = place
  const crm = openCrm({db, config, budget, log: pino({level: 'trace'}, {write: line => lines.push(line)})})
  const connection = await crm.open(await place.connect({accessSeconds: 0}))
  await connection.createRecords('Leads', [{Last_Name: 'canary-value'}], {})
  await connection.findRecords({module: 'Leads', field: 'Last_Name', values: ['canary-value'], fields: []})
  await crm.close()
  t.true(lines.length >= 3)
  t.notRegex(lines.join(''), /canary|1000\.[0-9a-f]{8}|stand-in-secret/)
})
