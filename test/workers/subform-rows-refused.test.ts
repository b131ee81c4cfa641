import anyTest, {type TestFn} from 'ava'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {logOf, meterOf, type Orders, openOrders, sheet} from '../support/subform-rows.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** What the tests share: one CRM org and one clock. So they run serially. */
type Here = {world: TestDeployment; orders: Orders}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '2'}})
  Object.assign(t.context, {world: here, orders: await openOrders(here)})
})
test.beforeEach(async t => {
  const {crm, db, ahead} = t.context.world
  crm.clear()
  await ahead('0 seconds')
  await db.query(sql.unsafe`delete from crm_allowances`)
  await db.query(sql.unsafe`delete from grant_mints`)
})

const READ = {method: 'GET', module: 'Orders'}
const PUT = {method: 'PUT', module: 'Orders'}
const nothing = {counted: 0, admissions: 0, sends: 0, questions: 0}

test('a parent whose rows cannot be read is not written, and the other parents are', async t => {
  const {world, orders} = t.context
  const faults = [
    'dropBefore',
    'status5xxAfter',
    'nonJson',
    {type: 'answer', status: 403, body: {code: 'NO_PERMISSION', status: 'error'}},
  ] as const
  for (const [n, action] of faults.entries()) {
    const run = await orders.authorise()
    const [bad, good] = [orders.makeOrder(['Old']), orders.makeOrder(['Old'])]
    world.crm.clearJournal()
    world.crm.faults.add({match: {...READ, path: `/crm/v8/Orders/${bad}`}, action})
    const answered = await orders.results(run, [
      {parentId: bad, rows: sheet('A')},
      {parentId: good, rows: sheet('B')},
    ])
    t.like(answered, [
      {ok: false, written: false, crm: {unanswered: n < 3}},
      {ok: true, deleted: 1, added: 1},
    ])
    t.regex(answered[0].error, /could not be read, so nothing was written/)
    t.deepEqual([orders.productsOf(bad), orders.productsOf(good)], [['Old'], ['B']])
    t.deepEqual(await meterOf(world, run), {...nothing, counted: 1, admissions: 1, state: 'writing'})
    t.is((await logOf(world, run)).length, 1)
  }
})

test('a row that was not sent is logged with a reason that is cut within a character', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise()
  const parents = ['', '.'].map(first => {
    const parentId = orders.makeOrder()
    const body = {code: 'NO_PERMISSION', message: `${first}${'\u{1f600}'.repeat(600)}`, status: 'error'}
    world.crm.faults.add({match: {...READ, path: `/crm/v8/Orders/${parentId}`}, action: {type: 'answer', status: 403, body}})
    return {parentId, rows: sheet(`A${first}`)}
  })
  t.like(await orders.results(run, parents), [{written: false}, {written: false}])
  await ok(orders.call('POST', `/entitlements/runs/${run}/progress`, {done: true}), 200)
  const log = await logOf(world, run)
  t.deepEqual(
    log.map(({message}) => message!.length),
    [1_000, 1_000],
  )
  t.is(log.filter(({message}) => message!.endsWith('\ufffd')).length, 1)
})

test('a writeId can be reused if nothing was sent, and returns the same answer if the CRM refused', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(['Old'])]
  const item = {parentId, writeId: 'once more', rows: sheet('A')}
  world.crm.faults.add({match: READ, action: 'dropBefore'})
  t.like(await orders.results(run, [item]), [{ok: false, written: false}])
  world.crm.faults.add({match: PUT, action: {type: 'refuse', index: 0, code: 'RECORD_LOCKED'}})
  const refused = await orders.results(run, [item])
  t.like(refused, [{ok: false, crm: {code: 'RECORD_LOCKED', retryable: true, unanswered: false}}])
  t.deepEqual(await orders.results(run, [item]), refused)
  t.is(orders.puts().length, 1)
  t.like(await orders.results(run, [{...item, writeId: 'anew'}]), [{ok: true, deleted: 1}])
})

test('parents written before the quota is exhausted stay written, and the rest is not sent', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise(5_000)
  const parents = [orders.makeOrder(1_500), orders.makeOrder(1_500), orders.makeOrder(1_500), orders.makeOrder()]
  world.crm.faults.add({match: PUT, action: {type: 'allowanceSpent', forSeconds: 10}})
  const items = parents.map((parentId, n) => ({parentId, made: n === 3, rows: sheet(`A${n}`, `B${n}`)}))
  // The first call finds the quota exhausted, and nothing is sent after it.
  const spent = await orders.results(run, items)
  t.like(spent[0], {ok: false, crm: {quotaSpent: true, rateLimited: true, retryable: false, unanswered: false}})
  t.like(spent.slice(1), Array(3).fill({ok: false, code: 'DAILY_ALLOWANCE_SPENT', written: false}))
  t.false('crm' in spent[1])
  t.deepEqual(await meterOf(world, run), {...nothing, state: 'writing'})

  world.crm.clock.advance(11_000)
  await world.db.query(sql.unsafe`delete from crm_allowances`)
  world.crm.clearJournal()
  world.crm.faults.add({match: {...READ, nth: 3}, action: {type: 'rateLimit', credits: 0}})
  const answered = await orders.results(run, items)
  t.like(answered, [
    {ok: true, deleted: 1_500},
    {ok: false, written: false, crm: {quotaSpent: true}},
    ...Array(2).fill({ok: false, code: 'DAILY_ALLOWANCE_SPENT', written: false}),
  ])
  t.is(orders.puts().length, 1)
  t.deepEqual(orders.productsOf(parents[0]!), ['A0', 'B0'])
  t.deepEqual(await meterOf(world, run), {...nothing, counted: 2, admissions: 2, state: 'writing'})
})

/** Adds a connection without a cached access token, with a copy of the first connection's discovery. */
const connectAnew = async ({world, orders}: Here) => {
  const [id, discovery] = [await world.connect(await world.signIn(), {user: 'eva@example.org', name: 'Eva’s'}), newId('dis')]
  await world.db.query(sql.unsafe`
    with copy as (insert into discoveries (id, connector_id, diff) select ${discovery}, ${id}, diff from discoveries limit 1 returning 1)
    select from copy`)
  await world.db.query(sql.unsafe`
    insert into discovered_modules (discovery_id, api_name, module)
    select ${discovery}, api_name, module from discovered_modules join discoveries d on d.id = discovery_id where connector_id = ${orders.connector}`)
  return id
}

test('a connection with throttled token renewal answers the whole request with 429 and its Retry-After', async t => {
  const {world, orders} = t.context
  const {db, crm} = world
  const connector = await connectAnew(t.context)
  const [run, parentId] = [await orders.authorise(10, connector), orders.makeOrder(1)]
  const body = orders.bodyOf(run, [{parentId, rows: sheet('A')}])
  await db.query(sql.unsafe`insert into grant_mints (connector_id) select ${connector} from generate_series(1, 10)`)
  await db.query(sql.unsafe`update grants set access_expires_at = lading_now() where connector_id = ${connector}`)
  crm.clearJournal()
  const {status, body: said, headers} = await orders.call('PUT', orders.path('Orders', connector), body)
  t.like({status, said}, {status: 429, said: {code: 'CONNECTION_THROTTLED', written: false}})
  t.true(Number(headers.get('retry-after')) > 590)
  t.deepEqual([crm.journal().length, await meterOf(world, run)], [0, {...nothing, state: 'writing'}])
  await db.query(sql.unsafe`delete from grant_mints`)
  t.is((await orders.call('PUT', orders.path('Orders', connector), body)).body.results[0].ok, true)
})

test('a connection lost after the first parent is reported for each remaining parent, without further attempts', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise(5_000)
  const parents = [orders.makeOrder(1_500), orders.makeOrder(1_500), orders.makeOrder(1)]
  world.crm.faults.add({match: {...READ, path: `/crm/v8/Orders/${parents[1]}`, nth: 2}, action: 'expireToken'})
  world.crm.faults.add({action: 'tokenDown'})
  const answered = await orders.results(
    run,
    parents.map((parentId, n) => ({parentId, rows: sheet(`A${n}`)})),
  )
  const unavailable = {ok: false, code: 'CONNECTION_UNAVAILABLE', written: false}
  t.like(answered, [{ok: true, deleted: 1_500}, unavailable, unavailable])
  t.deepEqual(
    orders.reads().map(({path}) => path.split('/').at(-1)),
    [parents[0], parents[1], parents[1]],
  )
  t.is((await meterOf(world, run)).counted, 1)
})

test('an unavailable connection answers the whole request with 502, and nothing is counted', async t => {
  const {world, orders} = t.context
  const {db} = world
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(['Old'])]
  const item = {parentId, writeId: 'unavailable', rows: sheet('A')}
  await db.query(sql.unsafe`update connectors set state = 'disconnected' where id = ${orders.connector}`)
  t.like(await orders.replace(run, [item]), {status: 502, body: {code: 'CONNECTION_UNAVAILABLE', written: false}})
  await db.query(sql.unsafe`update connectors set state = 'connected' where id = ${orders.connector}`)
  world.crm.faults.add({match: READ, action: 'expireToken'})
  world.crm.faults.add({action: 'tokenDown'})
  t.like(await orders.replace(run, [item]), {status: 502, body: {code: 'CONNECTION_UNAVAILABLE', written: false}})
  t.deepEqual(await meterOf(world, run), {...nothing, state: 'writing'})
  t.like(await orders.results(run, [item]), [{ok: true}])
})

test('a rate limit of the CRM is reported for each parent, and nothing is counted', async t => {
  const {world, orders} = t.context
  const [run, one, other] = [await orders.authorise(), orders.makeOrder(1), orders.makeOrder(1)]
  world.crm.faults.add({match: PUT, action: {type: 'rateLimit', retryAfter: 3}})
  const answered = await orders.results(run, [
    {parentId: one, rows: sheet('A')},
    {parentId: other, rows: sheet('B')},
  ])
  t.like(
    answered,
    Array(2).fill({ok: false, crm: {rateLimited: true, retryable: true, retryAfterMs: 3_000, quotaSpent: false, unanswered: false}}),
  )
  t.deepEqual(await meterOf(world, run), {...nothing, state: 'writing'})
})
