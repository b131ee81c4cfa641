import anyTest, {type TestFn} from 'ava'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import type {FaultSpec} from '../simulators/crm/faults.ts'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** What the tests share: one CRM org and one clock. So they run serially. */
type Here = {world: TestDeployment; org: Org}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '1'}})
  Object.assign(t.context, {world: here, org: await openOrg(here)})
})
test.beforeEach(async t => {
  const {db, crm, ahead} = t.context.world
  crm.clear()
  await ahead('0 seconds')
  await db.query(sql.unsafe`delete from crm_allowances`)
})

const make = ({world}: Here, module: string, records: Record<string, unknown>[]) =>
  world.crm.create('example', module, records).map(entry => String(entry.details.id))
const read = ({org}: Here, module: string, query: Record<string, string>, connector = org.connector) =>
  org.call('GET', `/orgs/${org.org}/connectors/${connector}/records/${module}/by-ids?${new URLSearchParams(query)}`)
const calls = ({world}: Here) => world.crm.journal({method: 'GET'}).map(({query}) => query as any)
const absent = '4400001000000999999'

test('a read by ids returns a record or null for each id, in the requested order', async t => {
  const [one, two] = make(t.context, 'Leads', [{Last_Name: 'One'}, {Last_Name: 'Two'}])
  const {status, body} = await read(t.context, 'Leads', {ids: `${one},${absent}, ${two}`, fields: 'Last_Name,Full_Name'})
  t.is(status, 200)
  t.deepEqual(body, {
    records: [
      {id: one, Last_Name: 'One', Full_Name: 'One', $display_name: 'One'},
      null,
      {id: two, Last_Name: 'Two', Full_Name: 'Two', $display_name: 'Two'},
    ],
    dropped: [],
  })
  t.is(calls(t.context).length, 1)
})

test('an id requested twice is returned twice from one read', async t => {
  const [one] = make(t.context, 'Leads', [{Last_Name: 'One'}])
  const {body} = await read(t.context, 'Leads', {ids: `${one},${one}`, fields: 'Company'})
  t.deepEqual(body.records, [
    {id: one, Company: null},
    {id: one, Company: null},
  ])
  t.is(calls(t.context)[0].ids, one)
})

test('a read of absent ids returns nulls, and ids the CRM cannot have are not sent', async t => {
  t.deepEqual((await read(t.context, 'Leads', {ids: absent, fields: 'Company'})).body.records, [null])
  t.is(calls(t.context).length, 1)
  t.deepEqual((await read(t.context, 'Leads', {ids: 'none,x1,0123', fields: 'Company'})).body.records, [null, null, null])
  t.is(calls(t.context).length, 1)
  const [one] = make(t.context, 'Leads', [{Last_Name: 'One'}])
  const ids = `${2n ** 63n},${one},${'9'.repeat(20)}`
  const {body} = await read(t.context, 'Leads', {ids, fields: 'Last_Name'})
  t.like(body, {records: [null, {id: one, Last_Name: 'One'}, null]})
  t.is(calls(t.context)[1].ids, one)
})

test('a read without ids or with more than a hundred is refused before any call', async t => {
  const ids = Array.from({length: 101}, (_, n) => String(n + 1))
  const refused = [{}, {ids: ''}, {ids: ' , ,'}, {ids: ids.join(',')}]
  for (const query of refused) t.like(await read(t.context, 'Leads', query as any), {status: 400, body: {code: 'BATCH_SIZE'}})
  t.is(calls(t.context).length, 0)
  t.is((await read(t.context, 'Leads', {ids: ids.slice(1).join(','), fields: 'Company'})).body.records.length, 100)
})

test('unknown field names are left out and listed in the requested order', async t => {
  const [one] = make(t.context, 'Leads', [{Last_Name: 'One', Company: 'Acme'}])
  const {body} = await read(t.context, 'Leads', {ids: one!, fields: 'Zz,Company, Aa ,Zz,id', check: 'Qq'})
  t.deepEqual(body, {records: [{id: one, Company: 'Acme'}], dropped: ['Zz', 'Aa']})
  t.is(calls(t.context)[0].fields, 'Company')
  const none = await read(t.context, 'Leads', {ids: `${one},${absent}`, fields: 'Zz'})
  t.deepEqual(none.body, {records: [{id: one}, null], dropped: ['Zz']})
})

test('a read without field names gets every field, fifty a call, each call with every id', async t => {
  const [one, two] = make(t.context, 'Surveys', [{Name: 'One'}, {Name: 'Two'}])
  const {body} = await read(t.context, 'Surveys', {ids: `${one},${absent},${two}`, check: 'Name,Zz,Aa'})
  t.deepEqual(body.dropped, ['Zz', 'Aa'])
  const asked = calls(t.context)
  t.true(asked.length > 1)
  t.true(asked.every(({ids, fields}) => ids === `${one},${absent},${two}` && fields.split(',').length <= 50))
  const fields = asked.flatMap(({fields}) => fields.split(','))
  t.is(new Set(fields).size, fields.length)
  t.deepEqual(Object.keys(body.records[0]).toSorted(), [...fields, '$display_name', 'id'].toSorted())
  t.like(body.records[2], {id: two, Name: 'Two', $display_name: 'Two'})
  t.is(body.records[1], null)
  t.deepEqual((await read(t.context, 'Surveys', {ids: one!})).body.dropped, [])
})

test('fifty named fields are one call and fifty-one are two', async t => {
  const {modules} = (await ok(t.context.org.call('GET', `/orgs/${t.context.org.org}/discovery/latest`), 200)).discovery
  const names = modules.find(({apiName}: any) => apiName === 'Surveys').fields.map(({apiName}: any) => apiName)
  await read(t.context, 'Surveys', {ids: absent, fields: names.slice(0, 50).join(',')})
  t.is(calls(t.context).length, 1)
  await read(t.context, 'Surveys', {ids: absent, fields: names.slice(0, 51).join(',')})
  t.is(calls(t.context).length, 3)
})

test('subforms and multi-select lookups are listed as dropped, not returned empty', async t => {
  const [order] = make(t.context, 'Orders', [{Name: 'O-1', Order_Lines: [{Product: 'Bolt'}]}])
  const {body} = await read(t.context, 'Orders', {ids: order!, fields: 'Name,Order_Lines,Related_Products'})
  t.deepEqual(body, {records: [{id: order, Name: 'O-1', $display_name: 'O-1'}], dropped: ['Order_Lines', 'Related_Products']})
  const whole = await read(t.context, 'Orders', {ids: order!})
  t.deepEqual(whole.body.dropped, [])
  t.false('Order_Lines' in whole.body.records[0])
})

test('the display name is returned only if the name field is requested and filled', async t => {
  const [account] = make(t.context, 'Accounts', [{Account_Name: 'Acme', Billing_City: 'Cork'}])
  const named = async (fields: string) => (await read(t.context, 'Accounts', {ids: account!, fields})).body.records[0]
  t.is((await named('Account_Name')).$display_name, 'Acme')
  t.false('$display_name' in (await named('Billing_City')))
})

test('a converted lead is found by its id', async t => {
  const [one] = make(t.context, 'Leads', [{Last_Name: 'Gone'}])
  t.context.world.crm.mark('example', 'Leads', [one!], {converted: true})
  t.is((await read(t.context, 'Leads', {ids: one!, fields: 'Last_Name'})).body.records[0].Last_Name, 'Gone')
  await read(t.context, 'Accounts', {ids: one!, fields: 'Account_Name'})
  t.deepEqual(
    calls(t.context).map(({converted}) => converted),
    ['both', undefined],
  )
})

test('a record deleted between two calls of a read is returned as null', async t => {
  const [one] = make(t.context, 'Surveys', [{Name: 'One'}])
  t.context.world.crm.faults.add({match: {module: 'Surveys', nth: 2}, action: {type: 'answer', status: 204}})
  t.deepEqual((await read(t.context, 'Surveys', {ids: one!})).body.records, [null])
})

test('an unknown connection and an unknown module are not found', async t => {
  const {org} = t.context
  t.like(await read(t.context, 'Leads', {ids: '1'}, newId('con')), {status: 404, body: {code: 'NOT_FOUND'}})
  t.like(await read(t.context, 'Nothings', {ids: '1'}), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
  const stranger = await t.context.world.makeOrg()
  const path = `/orgs/${stranger.org}/connectors/${org.connector}/records/Leads/by-ids?ids=1`
  t.like(await t.context.world.as(stranger.token)('GET', path), {status: 404, body: {code: 'NOT_FOUND'}})
})

type Failure = {what: string; action: FaultSpec['action']; status: number; crm: object; after?: string | null}
const failures: Failure[] = [
  {what: 'drops', action: 'dropBefore', status: 502, crm: {code: null, status: null, unanswered: true, retryable: true}},
  {what: 'hangs', action: {type: 'hold', when: 'before'}, status: 502, crm: {status: null, unanswered: true}},
  {what: 'fails', action: 'status5xxBefore', status: 502, crm: {code: 'INTERNAL_ERROR', status: 500, unanswered: true}},
  {what: 'answers a page', action: 'nonJson', status: 502, crm: {code: null, status: 200, unanswered: true}},
  {
    what: 'asks to slow down',
    action: {type: 'rateLimit', retryAfter: 7},
    status: 502,
    crm: {code: 'TOO_MANY_REQUESTS', status: 429, unanswered: false, rateLimited: true, quotaSpent: false, retryAfterMs: 7000},
    after: '7',
  },
  {
    what: 'declines',
    action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION', details: {permissions: ['x']}, message: 'm', status: 'error'}},
    status: 502,
    crm: {code: 'NO_PERMISSION', status: 403, unanswered: false, retryable: false, details: {permissions: ['x']}},
  },
  {
    what: 'has no credits left',
    action: {type: 'rateLimit', credits: 0},
    status: 429,
    crm: {code: 'TOO_MANY_REQUESTS', status: 429, quotaSpent: true, rateLimited: true, retryable: false, unanswered: false},
  },
]
for (const {what, action, status, crm, after = null} of failures) {
  test(`a CRM that ${what} gives an error with its crm object and without written`, async t => {
    t.context.world.crm.faults.add({match: {module: 'Leads'}, action})
    const answer = await read(t.context, 'Leads', {ids: absent, fields: 'Company'})
    t.context.world.crm.release()
    t.is(answer.status, status)
    t.like(answer.body.crm, crm)
    t.is(typeof answer.body.error, 'string')
    t.false('written' in answer.body)
    t.is(answer.headers.get('retry-after'), after)
  })
}

test('a read is refused with 429 before it is sent while the daily quota is exhausted', async t => {
  const {crm, ahead} = t.context.world
  crm.faults.add({match: {module: 'Leads'}, action: {type: 'rateLimit', credits: 0}})
  await read(t.context, 'Leads', {ids: absent, fields: 'Company'})
  const refused = await read(t.context, 'Leads', {ids: absent, fields: 'Company'})
  t.is(refused.status, 429)
  t.deepEqual(Object.keys(refused.body), ['error', 'code'])
  t.is(refused.body.code, 'DAILY_ALLOWANCE_SPENT')
  t.is(refused.headers.get('retry-after'), null)
  t.is(calls(t.context).length, 1)
  await ahead('61 seconds')
  t.is((await read(t.context, 'Surveys', {ids: absent})).status, 200, 'a read of several calls goes on behind the minute’s one')
})

test('a revoked grant and an ended connection give 502', async t => {
  const {db, crm} = t.context.world
  const {connector} = t.context.org
  crm.faults.add({match: {module: 'Leads'}, action: 'expireToken'})
  crm.faults.add({action: 'tokenDown'})
  const {status, body} = await read(t.context, 'Leads', {ids: absent, fields: 'Company'})
  t.deepEqual({status, code: body.code, keys: Object.keys(body)}, {status: 502, code: 'CONNECTION_UNAVAILABLE', keys: ['error', 'code']})
  crm.faults.clear()
  t.is((await read(t.context, 'Leads', {ids: absent, fields: 'Company'})).status, 200)
  await db.query(sql.unsafe`update connectors set state = 'disconnected' where id = ${connector}`)
  t.like(await read(t.context, 'Leads', {ids: absent}), {status: 502, body: {code: 'CONNECTION_UNAVAILABLE'}})
  await db.query(sql.unsafe`update connectors set state = 'connected' where id = ${connector}`)
})

test('a throttled token renewal gives 429 with Retry-After before the call, and 502 with the crm object after it', async t => {
  const {db, crm, connect, signIn} = t.context.world
  const id = await connect(await signIn(), {user: 'eva@example.org', name: 'Eva’s'})
  const {org, call} = t.context.org
  await ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId: id}, {prefer: 'wait=30'}), 200)
  const mint = (count: number) =>
    db.query(sql.unsafe`insert into grant_mints (connector_id) select ${id} from generate_series(1, ${count}::int)`)
  await mint(10)
  await db.query(sql.unsafe`update grants set access_expires_at = lading_now() where connector_id = ${id}`)
  crm.clearJournal()
  const before = await read(t.context, 'Leads', {ids: absent, fields: 'Company'}, id)
  t.is(before.status, 429)
  t.is(before.body.code, 'CONNECTION_THROTTLED')
  t.true(Number(before.headers.get('retry-after')) > 590)
  t.false('crm' in before.body || 'written' in before.body)
  t.is(crm.journal().length, 0)
  await db.query(sql.unsafe`delete from grant_mints where connector_id = ${id}`)
  t.is((await read(t.context, 'Leads', {ids: absent, fields: 'Company'}, id)).status, 200)
  await mint(10)
  crm.faults.add({match: {module: 'Leads'}, action: 'expireToken'})
  const after = await read(t.context, 'Leads', {ids: absent, fields: 'Company'}, id)
  const said = {code: 'INVALID_TOKEN', status: 401, rateLimited: true, unanswered: false, quotaSpent: false, retryAfterMs: null}
  t.like(after, {status: 502, body: {code: 'CRM_REFUSED', crm: said}})
  t.regex(after.body.error, /renewed too often/)
  const wait = after.body.retryAfterMs
  t.true(Number.isInteger(wait) && wait > 590_000 && wait <= 600_000)
  t.is(after.headers.get('retry-after'), `${wait / 1000}`, 'retry-after comes from our side')
})

/** Authorises a run at a connection. The run has no rows yet. */
const authorise = async ({org}: Here, connectorId = org.connector): Promise<string> =>
  (await ok(org.call('POST', '/entitlements/runs/authorise', {connectorId, declaredRows: 10}), 200)).runId
const noted = async ({world}: Here, run: string) => world.db.oneFirst(sql.unsafe`select stopped_by from runs where id = ${run}`)

test('a refused read marks only an open run of the same org and connection, and only for an exhausted quota', async t => {
  const here = t.context
  const run = await authorise(here)
  const other = await here.world.connect(await here.world.signIn(), {user: 'eva@example.org', name: 'Eva’s'})
  const [elsewhere, ended] = [await authorise(here, other), await authorise(here)]
  await here.world.db.query(sql.unsafe`update runs set state = 'ended' where id = ${ended}`)
  const spent: FaultSpec = {match: {module: 'Leads'}, action: {type: 'rateLimit', credits: 0}}
  const ask = (name: string) => read(here, 'Leads', {ids: absent, fields: 'Company', run: name})

  for (const action of ['rateLimit', 'dropBefore'] as const) {
    here.world.crm.faults.add({match: {module: 'Leads'}, action})
    t.is((await ask(run)).status, 502)
  }
  t.is((await ask(run)).status, 200)
  t.is(await noted(here, run), null)

  here.world.crm.faults.add(spent)
  t.like(await ask(run), {status: 429, body: {crm: {quotaSpent: true}}})
  t.is(await noted(here, run), 'allowance')
  for (const name of [elsewhere, ended, newId('run'), '']) t.like(await ask(name), {status: 429, body: {code: 'DAILY_ALLOWANCE_SPENT'}})
  t.is(await noted(here, elsewhere), null)
  t.is(await noted(here, ended), null)

  const next = await authorise(here)
  t.like(await ask(next), {status: 429, body: {code: 'DAILY_ALLOWANCE_SPENT'}})
  t.is(await noted(here, next), 'allowance', 'our own refusal is one for the spent day, too')
})
