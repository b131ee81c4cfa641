import test from 'ava'
import {z} from 'zod'
import {openAccess, openRefresh} from '../../shared/crm/sealed.ts'
import {sql} from '../../sql/database.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {comeBack, consent, messageOf, visitOf} from '../support/walk.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const connectFrom = async (place: {token: string; org: string}, body = {}) =>
  visitOf(await house.as(place.token)('POST', `/auth/orgs/${place.org}/connect`, {dc: 'local', ...body}))

const healthOf = async ({token, org}: {token: string; org: string}) =>
  (await house.as(token)('GET', `/auth/orgs/${org}/connection`)).body.connections

test('an admin connects the org, and its grant is stored encrypted', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const visit = await connectFrom(place, {name: 'Main CRM'})
  const {searchParams} = new URL(visit.url)
  t.like(Object.fromEntries(searchParams), {access_type: 'offline', prompt: 'consent', code_challenge_method: 'S256'})
  const message = messageOf(await comeBack(house.as(null), await consent(visit), visit.cookie))
  t.deepEqual(Object.keys(message), ['type', 'connectorId'])
  t.is(message.type, 'lading:connected')
  const Grant = z.object({refreshSealed: z.string(), accessSealed: z.string()})
  const grant = await house.db.one(
    sql.type(
      Grant,
    )`select refresh_sealed as "refreshSealed", access_sealed as "accessSealed" from grants where connector_id = ${message.connectorId}`,
  )
  const {SECRETS_KEYS} = house.config
  t.regex(openRefresh(SECRETS_KEYS, message.connectorId, grant.refreshSealed), /^1000\./)
  t.regex(openAccess(SECRETS_KEYS, message.connectorId, grant.accessSealed), /^1000\./)
  t.throws(() => openRefresh(SECRETS_KEYS, 'con_other', grant.refreshSealed))
})

test('the connection shows its CRM user, its scopes and the number of active CRM users', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const id = await house.connect(place.token, {name: 'Main CRM'})
  const [connection, ...others] = await healthOf(place)
  t.deepEqual(others, [])
  t.like(connection, {
    id,
    name: 'Main CRM',
    dc: 'local',
    state: 'connected',
    health: 'ok',
    activeUsers: 3,
    missingScopes: [],
    problem: null,
  })
  t.is(connection.crmUser.name, 'Ana Ruiz')
  t.true(connection.scopes.includes('ZohoCRM.coql.READ'))
})

test('an org can connect to several CRMs', async t => {
  const place = await house.makeOrg({role: 'admin'})
  await house.connect(place.token)
  await house.connect(place.token, {user: 'zoe@other.example', name: 'Other'})
  t.deepEqual(
    (await healthOf(place)).map(({name}: {name: string}) => name),
    ['Example CRM', 'Other'],
  )
})

test('a connection without a name takes that of the CRM org', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const visit = await connectFrom(place)
  await comeBack(house.as(null), await consent(visit, {user: 'zoe@other.example'}), visit.cookie)
  t.is((await healthOf(place))[0].name, 'Other GmbH')
})

test('connecting again as the same CRM user revives an ended connection under its id', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const id = await house.connect(place.token)
  await house.db.query(sql.unsafe`update connectors set state = 'ended' where id = ${id}`)
  t.like((await healthOf(place))[0], {health: 'ended', activeUsers: null})
  t.is(await house.connect(place.token, {name: 'Another name'}), id)
  t.like((await healthOf(place))[0], {state: 'connected', health: 'ok', name: 'Example CRM'})
})

test('concurrent first consents of one CRM user make one connection', async t => {
  for (let round = 0; round < 5; round++) {
    const place = await house.makeOrg({role: 'admin'})
    const visits = await Promise.all(['a', 'b', 'c', 'd'].map(name => connectFrom(place, {name})))
    const backs = await Promise.all(visits.map(visit => consent(visit)))
    const answers = await Promise.all(visits.map(({cookie}, at) => comeBack(house.as(null), backs[at]!, cookie)))
    t.is(new Set(answers.map(answer => messageOf(answer).connectorId)).size, 1)
    t.is((await healthOf(place)).length, 1)
  }
})

test('connecting and reconnecting are recorded on the connections page of the history', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const id = await house.connect(place.token, {name: 'Main CRM'})
  await house.connect(place.token, {name: 'Another name'})
  const {changes} = (await house.as(place.token)('GET', `/orgs/${place.org}/config/changes?page=connections`)).body
  t.deepEqual(
    changes.map(({subject, target, after, connectorId, userId}: any) => [subject, target, after, connectorId, userId]),
    [
      ['connection.connected', 'Main CRM', 'connected', id, place.person],
      ['connection.added', 'Main CRM', 'connected', id, place.person],
    ],
  )
})

test('a connection that an API token began is recorded as added by the token', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const call = house.as(place.token)
  const ci = (await call('POST', `/orgs/${place.org}/tokens`, {name: 'CI'})).body
  const visit = await connectFrom({...place, token: ci.secret})
  await comeBack(house.as(null), await consent(visit), visit.cookie)
  const {changes} = (await call('GET', `/orgs/${place.org}/config/changes?page=connections`)).body
  t.is(changes.length, 1)
  t.like(changes[0], {subject: 'connection.added', via: 'token', userId: null, tokenId: ci.token.id, tokenName: 'CI'})
})

test('a connection that fails is reported as unavailable with status 200', async t => {
  const own = await startTestDeployment(t)
  const place = await own.makeOrg({role: 'admin'})
  await own.connect(place.token)
  own.crm.faults.add({match: {path: '/crm/v8/users/**'}, times: 5, action: {type: 'status5xxBefore'}})
  const {status, body} = await own.as(place.token)('GET', `/auth/orgs/${place.org}/connection`)
  t.is(status, 200)
  t.like(body.connections[0], {state: 'connected', health: 'unavailable', activeUsers: null})
  t.truthy(body.connections[0].problem.error)
})

test('a person who lost the required role before returning from consent connects nothing', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const visit = await connectFrom(place)
  const back = await consent(visit)
  await house.db.query(sql.unsafe`update members set role = 'builder' where person_id = ${place.person}`)
  const {status, body} = await house.as(null)('GET', back, undefined, {cookie: visit.cookie})
  t.like({status, code: body.code}, {status: 403, code: 'ROLE_REQUIRED'})
  t.false(await house.db.exists(sql.unsafe`select from connectors where org_id = ${place.org}`))
})

test('a person banned before returning from consent connects nothing', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const visit = await connectFrom(place)
  const back = await consent(visit)
  await house.db.query(sql.unsafe`update people set banned_at = lading_now() where id = ${place.person}`)
  const {status, body} = await house.as(null)('GET', back, undefined, {cookie: visit.cookie})
  t.like({status, code: body.code}, {status: 403, code: 'BANNED'})
  t.false(await house.db.exists(sql.unsafe`select from connectors where org_id = ${place.org}`))
})

test('an org closed before the return from consent is not connected', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const visit = await connectFrom(place)
  const back = await consent(visit)
  await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${place.org}`)
  t.is((await house.as(null)('GET', back, undefined, {cookie: visit.cookie})).body.code, 'ORG_CLOSED')
})

test('an account without a CRM cannot be connected', async t => {
  const own = await startTestDeployment(t)
  const place = await own.makeOrg({role: 'admin'})
  const visit = visitOf(await own.as(place.token)('POST', `/auth/orgs/${place.org}/connect`, {dc: 'local'}))
  const back = await consent(visit)
  own.crm.faults.add({match: {path: '/crm/v8/*'}, times: 2, action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION'}}})
  t.is((await own.as(null)('GET', back, undefined, {cookie: visit.cookie})).body.code, 'SIGN_IN_REFUSED')
})

test('a consent cannot be completed from another browser', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const visit = await connectFrom(place)
  const back = await consent(visit, {user: 'zoe@other.example'})
  t.is((await comeBack(house.as(null), back, '')).status, 400)
  t.deepEqual(await healthOf(place), [])
})

test('an unlisted return address, a blank name and an unknown data centre are refused', async t => {
  const place = await house.makeOrg({role: 'admin'})
  const ask = (body: object) => house.as(place.token)('POST', `/auth/orgs/${place.org}/connect`, body)
  t.is((await ask({dc: 'local', return: 'https://evil.example'})).body.code, 'RETURN_NOT_ALLOWED')
  t.like((await ask({dc: 'local', name: '   '})).body, {code: 'INVALID', issues: [{path: ['name']}]})
  t.is((await ask({dc: 'mars'})).body.code, 'INVALID')
})
