import anyTest, {type TestFn} from 'ava'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {type Org, ok, openOrg} from '../importing.ts'
import type {FaultSpec} from '../simulators/crm/faults.ts'
import {type World, world} from '../world.ts'

/** One CRM org and one clock: the tests take turns. */
type Here = {world: World; org: Org}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await world(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '1'}})
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

test('a record or null for each id, in the order asked, whatever the CRM’s', async t => {
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

test('an id asked twice is answered twice from one read', async t => {
  const [one] = make(t.context, 'Leads', [{Last_Name: 'One'}])
  const {body} = await read(t.context, 'Leads', {ids: `${one},${one}`, fields: 'Company'})
  t.deepEqual(body.records, [
    {id: one, Company: null},
    {id: one, Company: null},
  ])
  t.is(calls(t.context)[0].ids, one)
})

test('all of them absent is no failure; what no CRM has as an id is not asked', async t => {
  t.deepEqual((await read(t.context, 'Leads', {ids: absent, fields: 'Company'})).body.records, [null])
  t.is(calls(t.context).length, 1)
  t.deepEqual((await read(t.context, 'Leads', {ids: 'none,x1', fields: 'Company'})).body.records, [null, null])
  t.is(calls(t.context).length, 1)
})

test('no ids, and more than a hundred, are refused before anything is asked', async t => {
  const ids = Array.from({length: 101}, (_, n) => String(n + 1))
  const refused = [{}, {ids: ''}, {ids: ' , ,'}, {ids: ids.join(',')}]
  for (const query of refused) t.like(await read(t.context, 'Leads', query as any), {status: 400, body: {code: 'BATCH_SIZE'}})
  t.is(calls(t.context).length, 0)
  t.is((await read(t.context, 'Leads', {ids: ids.slice(1).join(','), fields: 'Company'})).body.records.length, 100)
})

test('names the module does not have are left out and listed, in the order named', async t => {
  const [one] = make(t.context, 'Leads', [{Last_Name: 'One', Company: 'Acme'}])
  const {body} = await read(t.context, 'Leads', {ids: one!, fields: 'Zz,Company, Aa ,Zz,id', check: 'Qq'})
  t.deepEqual(body, {records: [{id: one, Company: 'Acme'}], dropped: ['Zz', 'Aa']})
  t.is(calls(t.context)[0].fields, 'Company')
  const none = await read(t.context, 'Leads', {ids: `${one},${absent}`, fields: 'Zz'})
  t.deepEqual(none.body, {records: [{id: one}, null], dropped: ['Zz']})
})

test('no field named means every field, fifty a call, each call for every id', async t => {
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

test('subforms and multi-select lookups, which lists never carry, are said to be dropped and not shown as empty', async t => {
  const [order] = make(t.context, 'Orders', [{Name: 'O-1', Order_Lines: [{Product: 'Bolt'}]}])
  const {body} = await read(t.context, 'Orders', {ids: order!, fields: 'Name,Order_Lines,Related_Products'})
  t.deepEqual(body, {records: [{id: order, Name: 'O-1', $display_name: 'O-1'}], dropped: ['Order_Lines', 'Related_Products']})
  const whole = await read(t.context, 'Orders', {ids: order!})
  t.deepEqual(whole.body.dropped, [])
  t.false('Order_Lines' in whole.body.records[0])
})

test('the name is told only where the naming field is asked and filled', async t => {
  const [account] = make(t.context, 'Accounts', [{Account_Name: 'Acme', Billing_City: 'Cork'}])
  const named = async (fields: string) => (await read(t.context, 'Accounts', {ids: account!, fields})).body.records[0]
  t.is((await named('Account_Name')).$display_name, 'Acme')
  t.false('$display_name' in (await named('Billing_City')))
})

test('a converted lead is found', async t => {
  const [one] = make(t.context, 'Leads', [{Last_Name: 'Gone'}])
  t.context.world.crm.mark('example', 'Leads', [one!], {converted: true})
  t.is((await read(t.context, 'Leads', {ids: one!, fields: 'Last_Name'})).body.records[0].Last_Name, 'Gone')
  await read(t.context, 'Accounts', {ids: one!, fields: 'Account_Name'})
  t.deepEqual(
    calls(t.context).map(({converted}) => converted),
    ['both', undefined],
  )
})

test('a record that goes between two calls is gone', async t => {
  const [one] = make(t.context, 'Surveys', [{Name: 'One'}])
  t.context.world.crm.faults.add({match: {module: 'Surveys', nth: 2}, action: {type: 'answer', status: 204}})
  t.deepEqual((await read(t.context, 'Surveys', {ids: one!})).body.records, [null])
})

test('no such connection, no such module', async t => {
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
  test(`a CRM that ${what} is relayed with its object, and without written`, async t => {
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

test('while the day is spent the read is refused before it is sent: 429, no crm, no Retry-After', async t => {
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

test('a grant that does not renew is 502, and so is a connection somebody ended', async t => {
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

test('a grant whose renewal is throttled is 429 with its time before the call, and 502 with the crm object after it', async t => {
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
  t.like(after, {status: 502, body: {crm: {rateLimited: true, unanswered: false, quotaSpent: false, status: 401}}})
})

/** A run of the first import of this org, or of another connection of it, as it stands before its first row. */
const authorise = async ({org}: Here, connectorId = org.connector): Promise<string> =>
  (await ok(org.call('POST', '/entitlements/runs/authorise', {connectorId, declaredRows: 10}), 200)).runId
const noted = async ({world}: Here, run: string) => world.db.oneFirst(sql.unsafe`select stopped_by from runs where id = ${run}`)

test('a run is noted only when its read is refused for the spent day, and only an open one of this org on this connection', async t => {
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
