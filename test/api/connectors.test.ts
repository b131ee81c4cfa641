import anyTest, {type TestFn} from 'ava'
import {listChanges} from '../../sql/changes.ts'
import {readConnector} from '../../sql/connectors.ts'
import {findGrant} from '../../sql/grants.ts'
import type {GenericSimulator} from '../simulators/generic.ts'
import {describeContacts, startContacts} from '../support/described.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** What the tests share: a CRM stand-in whose journal they read, and a generic destination. So they run serially. */
type Here = {world: TestDeployment; there: GenericSimulator; org: string; call: ReturnType<TestDeployment['as']>; token: string}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const there = await startContacts({auth: {header: 'authorization', value: 'Bearer s3cret'}})
  const here = await startTestDeployment(t, {workers: ['credits', 'discovery', 'erasure'], environment: {GENERIC_ORIGINS: there.url}})
  Object.assign(t.context, {world: here, there})
})
test.beforeEach(async t => {
  const {world} = t.context
  world.crm.faults.clear()
  const {org, token} = await world.makeOrg()
  Object.assign(t.context, {org, token, call: world.as(token)})
})
test.after.always(t => t.context.there?.stop())

const connect = ({world, token}: Here) => world.connect(token)
const at = ({org}: Here, id: string, rest = '') => `/orgs/${org}/connectors/${id}${rest}`
const changesOf = async ({world, org}: Here) =>
  (await listChanges(world.db, {org, limit: 50})).map(({page, subject, target, before, after, connectorId, registryVersion, via}) => ({
    page,
    subject,
    target,
    before,
    after,
    connectorId,
    registryVersion,
    via,
  }))
const added = (connectorId: string) => ({
  page: 'connections',
  subject: 'connection.added',
  target: 'Example CRM',
  before: null,
  after: 'connected',
  connectorId,
  registryVersion: null,
  via: 'session',
})
const revocations = ({world}: Here) => world.crm.journal({path: '/oauth/v2/token/revoke'}).length
const outcomeOf = ({status, body}: {status: number; body: any}) => [status, body.code]

test('renaming a connection is recorded in the history once', async t => {
  const id = await connect(t.context)
  const {status, body} = await t.context.call('PATCH', at(t.context, id), {name: '  Sales CRM '})
  t.is(status, 200)
  t.like(body.connector, {id, name: 'Sales CRM', kind: 'zoho', state: 'connected', writesPaused: false})
  t.is((await t.context.call('PATCH', at(t.context, id), {name: 'Sales CRM'})).status, 200)
  const change = {page: 'connections', subject: 'connection.name', target: 'Sales CRM', before: 'Example CRM', after: 'Sales CRM'}
  t.deepEqual(await changesOf(t.context), [{...change, connectorId: id, registryVersion: null, via: 'session'}, added(id)])
  for (const name of ['', '   ', 'x'.repeat(101), 7])
    t.deepEqual(outcomeOf(await t.context.call('PATCH', at(t.context, id), {name})), [400, 'INVALID'])
})

test('disconnecting deletes the grant here and revokes it at the CRM, once', async t => {
  const {call, world} = t.context
  const id = await connect(t.context)
  const before = revocations(t.context)
  const {status, body} = await call('DELETE', at(t.context, id))
  t.is(status, 200)
  t.like(body.connector, {id, state: 'disconnected'})
  t.is(revocations(t.context), before + 1)
  t.is(await findGrant(world.db, id), null)
  t.like(await call('DELETE', at(t.context, id)), {status: 200, body})
  t.is(revocations(t.context), before + 1)
  const change = {
    page: 'connections',
    subject: 'connection.disconnected',
    target: 'Example CRM',
    before: 'connected',
    after: 'disconnected',
  }
  t.deepEqual(await changesOf(t.context), [{...change, connectorId: id, registryVersion: null, via: 'session'}, added(id)])
  const refused = await call('POST', `/orgs/${t.context.org}/discovery/run`, {connectorId: id}, {prefer: 'wait=30'})
  t.like(refused.body.job, {state: 'refused', error: {code: 'CONNECTION_UNAVAILABLE', connection: 'disconnected'}})
})

test('a failed revocation at the CRM does not prevent the disconnect', async t => {
  const {call, world} = t.context
  const id = await connect(t.context)
  world.crm.faults.add({match: {path: '/oauth/v2/token/revoke'}, action: 'dropBefore'})
  t.like((await call('DELETE', at(t.context, id))).body.connector, {state: 'disconnected'})
  t.is(await findGrant(world.db, id), null)
})

test('a failed revocation at the CRM does not prevent the erasure of an org', async t => {
  const {org, world} = t.context
  const id = await connect(t.context)
  const tried = revocations(t.context)
  world.crm.faults.add({match: {path: '/oauth/v2/token/revoke'}, action: 'dropBefore'})
  const operator = world.as(world.adminToken)
  const {body} = await operator('POST', `/staff/orgs/${org}/erase`, {reason: 'They asked'}, {prefer: 'wait=30'})
  t.is(body.job.state, 'done', JSON.stringify(body))
  t.is(revocations(t.context), tried + 1)
  t.is(await readConnector(world.db, id), null)
})

test('consent by the same CRM user revives a disconnected connection with its id and name', async t => {
  const {call} = t.context
  const id = await connect(t.context)
  await call('PATCH', at(t.context, id), {name: 'Kept'})
  await call('DELETE', at(t.context, id))
  t.is(await connect(t.context), id)
  const {body} = await call('GET', `/orgs/${t.context.org}/connectors`)
  t.like(body.connectors, [{id, name: 'Kept', state: 'connected'}])
  t.is(body.connectors.length, 1)
  t.like((await call('POST', `/orgs/${t.context.org}/discovery/run`, {connectorId: id}, {prefer: 'wait=30'})).body.job, {state: 'done'})
})

const auth = {auth: {header: 'Authorization', scheme: 'Bearer'}}
const add = ({call, org}: Here, more: object) => call('POST', `/orgs/${org}/connectors`, {kind: 'generic', name: 'Plain', ...more})

test('a generic destination is a connection like any other', async t => {
  const {call, org, there} = t.context
  const made = await add(t.context, {document: describeContacts(there, auth), secret: 's3cret'})
  t.is(made.status, 201, made.text)
  const {id} = made.body.connector
  t.like(made.body.connector, {name: 'Plain', kind: 'generic', dc: 'generic', state: 'connected', scopes: [], writesPaused: false})
  t.false(made.text.includes('s3cret'))
  t.like((await call('GET', `/orgs/${org}/connectors`)).body.connectors, [{id}])

  const {body} = await call('POST', `/orgs/${org}/discovery/run`, {connectorId: id}, {prefer: 'wait=30'})
  t.like(body.job, {state: 'done', result: {modules: 1, fields: 4}, progress: {done: 1, total: 1}})
  const [contacts] = (await call('GET', `/orgs/${org}/discovery/latest`)).body.discovery.modules
  t.like(contacts, {apiName: 'Contacts', creatable: true, namingField: 'name', subformOf: null})
  t.like(contacts.fields[1], {apiName: 'email', type: 'email', unique: {caseSensitive: false}})
  t.like(contacts.fields[3], {apiName: 'score', readOnly: true, creatable: false})

  const health = (await call('GET', `/auth/orgs/${org}/connection`)).body.connections[0]
  t.like(health, {id, health: 'ok', activeUsers: null, missingScopes: []})
  const read = (path: string) => call('GET', at(t.context, id, `/records/Contacts/${path}`))
  t.deepEqual((await read('by-ids?ids=c-77,no/id')).body, {records: [null, null], dropped: []})
  t.deepEqual(outcomeOf(await read('word-search?word=ana')), [409, 'NOT_OFFERED'])
  t.deepEqual(outcomeOf(await read('c-77')), [404, 'NOT_FOUND'])
  t.deepEqual((await call('POST', at(t.context, id, '/credits/check'))).body, {
    asked: false,
    answered: false,
    notAsked: 'cannot',
    credits: {remaining: null, remainingAt: null, allowance: null, allowanceAtLeast: false, edition: null, spent: false, spentAt: null},
  })
  t.like((await call('DELETE', at(t.context, id))).body.connector, {state: 'disconnected'})
  t.is(await findGrant(t.context.world.db, id), null)
})

test('a failing destination is unavailable, and an exhausted daily quota is reported until its renewal', async t => {
  const {call, org, there} = t.context
  const {body} = await add(t.context, {document: describeContacts(there, {...auth, renewal: 'daily at 00:00 UTC'}), secret: 's3cret'})
  const {id} = body.connector
  await call('POST', `/orgs/${org}/discovery/run`, {connectorId: id}, {prefer: 'wait=30'})
  there.fail({action: {type: 'answer', status: 500}})
  const [health] = (await call('GET', `/auth/orgs/${org}/connection`)).body.connections
  t.like(health, {health: 'unavailable', problem: {crm: {status: 500, unanswered: true}}})
  there.fail({action: {type: 'answer', status: 429, headers: {'retry-after': '900'}}})
  const read = () => call('GET', at(t.context, id, '/records/Contacts/by-ids?ids=c-1'))
  const isSoon = (seconds: string | null) => Number(seconds) > 880 && Number(seconds) <= 900
  const relayed = await read()
  t.like(relayed, {status: 429, body: {code: 'CRM_REFUSED', crm: {quotaSpent: true}}})
  t.true(isSoon(relayed.headers.get('retry-after')))
  const refused = await read()
  t.like(refused, {status: 429, body: {code: 'DAILY_ALLOWANCE_SPENT'}})
  t.is(refused.body.crm, undefined)
  t.true(isSoon(refused.headers.get('retry-after')))
})

test('a destination of an unlisted origin, or with a secret and no place for one or the reverse, is refused', async t => {
  const {there} = t.context
  const document = describeContacts(there, auth)
  const elsewhere = await add(t.context, {document: {...document, baseUrl: 'https://elsewhere.example'}, secret: 'x'})
  t.deepEqual([...outcomeOf(elsewhere), elsewhere.body.issues[0].path], [400, 'INVALID', ['document', 'baseUrl']])
  t.deepEqual(outcomeOf(await add(t.context, {document})), [400, 'INVALID'])
  t.deepEqual(outcomeOf(await add(t.context, {document: describeContacts(there), secret: 'x'})), [400, 'INVALID'])
  t.deepEqual(outcomeOf(await add(t.context, {document, secret: 'a\r\nX-Other: b'})), [400, 'INVALID'])
  t.deepEqual(outcomeOf(await add(t.context, {document, secret: 'x', kind: 'zoho'})), [400, 'INVALID'])
})

test('generic connections are unavailable if the operator lists no origin', async t => {
  const closed = await startTestDeployment(t)
  const {org, token} = await closed.makeOrg()
  const body = {kind: 'generic', name: 'Plain', document: describeContacts({url: 'https://api.example.com'})}
  t.deepEqual(outcomeOf(await closed.as(token)('POST', `/orgs/${org}/connectors`, body)), [503, 'NOT_CONFIGURED'])
})
