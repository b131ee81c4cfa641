import anyTest, {type TestFn} from 'ava'
import {newId} from '../../shared/ids.ts'
import {setWritesPaused} from '../../sql/connectors.ts'
import {sql} from '../../sql/database.ts'
import {writeStop} from '../../sql/run-heads.ts'
import {ok} from '../support/importing.ts'
import {logOf, meterOf, type Orders, openOrders, parentOf, sheet} from '../support/subform-rows.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** What the tests share: one CRM and its journal. So they run serially. */
type Here = {world: TestDeployment; orders: Orders}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '2'}})
  Object.assign(t.context, {world: here, orders: await openOrders(here)})
})
test.beforeEach(t => t.context.world.crm.clear())
test.afterEach.always(async t => {
  const {world, orders} = t.context
  await setPaused(world, orders, false)
})

const setPaused = ({db}: TestDeployment, {org, connector}: Orders, paused: boolean) =>
  db.transaction(tx => setWritesPaused(tx, {org, id: connector, paused}))

test('the subform rows of a parent are replaced, counted one by one and logged under the subform module', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(['Old 1', 'Old 2'])]
  const body = orders.bodyOf(run, [{parentId, writeId: 'one', rows: sheet('Bolt', 'Nut', 'Nail')}], {flowId: 'lines'})
  const {results} = await ok(orders.call('PUT', orders.path(), body), 200)
  t.deepEqual(results, [{parentId, writeId: 'one', ok: true, deleted: 2, added: 3}])
  t.deepEqual(orders.productsOf(parentId), ['Bolt', 'Nut', 'Nail'])
  t.is(orders.puts().length, 1)
  t.deepEqual(orders.puts()[0]!.body.trigger, [])
  t.deepEqual(await meterOf(world, run), {counted: 3, admissions: 3, sends: 0, questions: 0, state: 'writing'})
  t.is(await parentOf(world, run, 'f.Nut'), parentId)
  t.deepEqual(
    (await logOf(world, run)).map(({seq, key, number, module, flow, attempt, recordId, outcome}) => [
      seq,
      key,
      number,
      module,
      flow,
      attempt,
      recordId,
      outcome,
    ]),
    [
      [1, 'f.Bolt', 1, 'Order_Lines', 'lines', 1, parentId, 1],
      [2, 'f.Nut', 2, 'Order_Lines', 'lines', 1, parentId, 1],
      [3, 'f.Nail', 3, 'Order_Lines', 'lines', 1, parentId, 1],
    ],
  )
})

test('automations run for subform rows only when requested', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder()]
  await orders.results(run, [{parentId, rows: sheet('A')}], {automations: true})
  t.false('trigger' in orders.puts()[0]!.body)
  t.like(world.crm.automations('example').at(-1), {operation: 'update'})
})

test('a parent made by the run is neither read nor emptied', async t => {
  const {orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder()]
  const rows = sheet('A', 'B')
  t.like(await orders.results(run, [{parentId, made: true, rows}]), [{ok: true, deleted: 0, added: 2}])
  t.is(orders.reads().length, 0)
  t.deepEqual(orders.productsOf(parentId), ['A', 'B'])
  t.like(await orders.results(run, [{parentId, made: true, rows}]), [{ok: true, deleted: 2, added: 2}])
  t.deepEqual(orders.productsOf(parentId), ['A', 'B'], 'rows sent before may be there: made is not believed twice')
})

test('up to ten parents are written in order, in one call if they fit', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise()
  const parents = Array.from({length: 10}, (_, n) => orders.makeOrder(n))
  const answered = await orders.results(
    run,
    parents.map((parentId, n) => ({parentId, writeId: `p${run}${n}`, rows: sheet(`X${n}`, `Y${n}`)})),
  )
  t.deepEqual(
    answered,
    parents.map((parentId, n) => ({parentId, writeId: `p${run}${n}`, ok: true, deleted: n, added: 2})),
  )
  t.is(orders.puts().length, 1)
  t.deepEqual(
    orders.puts()[0]!.body.data.map(({id}: any) => id),
    parents,
  )
  t.deepEqual(
    parents.map(orders.productsOf),
    parents.map((_, n) => [`X${n}`, `Y${n}`]),
  )
  t.is((await meterOf(world, run)).counted, 20)
})

test('an invalid request for subform rows is refused before anything is counted or sent', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(1)]
  const many = (count: number, prefix = 'k') => Array.from({length: count}, (_, n) => ({rowKey: `${prefix}${n}`, payload: {}}))
  const item = (more: object = {}) => ({parentId, writeId: `v${newId('run')}`, rows: sheet('A'), ...more})
  const bodies: [string, object, string][] = [
    ['no parents', {items: []}, 'BATCH_SIZE'],
    [
      'eleven parents',
      {items: Array.from({length: 11}, (_, n) => item({parentId: String(n), rows: [{rowKey: `r${n}`, payload: {}}]}))},
      'BATCH_SIZE',
    ],
    ['2,001 rows', {items: [item({rows: many(1000)}), item({parentId: '2', rows: many(1001, 'l')})]}, 'BATCH_SIZE'],
    ['a parent without rows', {items: [item({rows: []})]}, 'INVALID'],
    ['a row without a key', {items: [item({rows: [{payload: {}}]})]}, 'INVALID'],
    ['a row with an empty key', {items: [item({rows: [{rowKey: '', payload: {}}]})]}, 'INVALID'],
    ['a row without a payload', {items: [item({rows: [{rowKey: 'a'}]})]}, 'INVALID'],
    ['a payload that names a row of the CRM', {items: [item({rows: [{rowKey: 'a', payload: {id: '1', Product: 'A'}}]})]}, 'INVALID'],
    ['a payload that removes one', {items: [item({rows: [{rowKey: 'a', payload: {_delete: null}}]})]}, 'INVALID'],
    ['a parent without a writeId', {items: [item({writeId: undefined})]}, 'INVALID'],
    ['a writeId named twice', {items: [item({writeId: 'x'}), item({writeId: 'x', parentId: '2', rows: sheet('B')})]}, 'INVALID'],
    ['no run', {runId: undefined}, 'INVALID'],
    ['an empty run', {runId: ''}, 'INVALID'],
    ['a parent named twice', {items: [item(), item({rows: sheet('B')})]}, 'RECORD_REPEATED'],
    ['a row key named twice under one parent', {items: [item({rows: [...sheet('A'), ...sheet('A')]})]}, 'ROW_KEY_REPEATED'],
    ['a row key named twice under two', {items: [item(), item({parentId: '2'})]}, 'ROW_KEY_REPEATED'],
    ['a field that is none', {field: 'Nothing'}, 'NOT_A_SUBFORM'],
    ['a field that holds no rows', {field: 'Name'}, 'NOT_A_SUBFORM'],
    ['a child of something else', {child: 'Orders'}, 'NOT_A_SUBFORM'],
  ]
  for (const [what, more, code] of bodies) {
    const answer = await orders.call('PUT', orders.path(), {...orders.bodyOf(run, [item()]), ...more})
    t.like(answer, {status: 400, body: {code}}, what)
  }
  t.is(world.crm.journal({path: '/crm'}).length, 0)
  t.deepEqual(await meterOf(world, run), {counted: 0, admissions: 0, sends: 0, questions: 0, state: 'authorised'})
})

test('two thousand rows of two thousand characters fit in one request', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(5_000), orders.makeOrder()]
  const rows = sheet(...Array.from({length: 2_000}, (_, n) => `P${n}`))
  for (const {payload} of rows) Object.assign(payload, {Note: 'n'.repeat(200), Unknown: 'u'.repeat(1_500)})
  t.like(await orders.results(run, [{parentId, rows}]), [{ok: true, deleted: 0, added: 2_000}])
  t.is(orders.productsOf(parentId).length, 2_000)
  t.is((await meterOf(world, run)).counted, 2_000)
})

test('a wrong connection, module or run is refused in the fixed order of checks', async t => {
  const {world, orders} = t.context
  const {call, path, authorise, bodyOf} = orders
  const body = (run: string, more: object = {}) => bodyOf(run, [{parentId: '1', rows: sheet('A')}], more)
  const run = await authorise()
  const other = await world.connect(await world.signIn(), {user: 'eva@example.org', name: 'Eva’s'})
  const colleague = await world.makeOrg({org: orders.org, role: 'operator'})
  const [stopped, ended, workers] = [await authorise(), await authorise(), await authorise()]
  const no = (id: string) => world.db.oneFirst(sql.unsafe`select run_no from runs where id = ${id}`) as Promise<number>
  await writeStop(world.db, {run: await no(stopped), stop: {stopped: 'LIMIT_ROWS_PER_RUN', message: 'Enough'}})
  await world.db.query(sql.unsafe`update runs set state = 'ended', engine = 'outside' where id = ${ended}`)
  await world.db.query(sql.unsafe`update runs set state = 'writing', engine = 'worker' where id = ${workers}`)

  const [nothing, elsewhere] = [newId('run'), await authorise(10, other)]
  world.crm.clearJournal()
  t.like(await call('PUT', path('Orders', newId('con')), body(nothing, {child: 'No'})), {status: 404, body: {code: 'NOT_FOUND'}})
  t.like(await call('PUT', path('Nowhere'), body(nothing, {child: 'No'})), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
  t.like(await call('PUT', path(), body(nothing, {child: 'No'})), {status: 400, body: {code: 'NOT_A_SUBFORM'}})
  t.like(await call('PUT', path(), body(nothing)), {status: 404, body: {code: 'RUN_NOT_FOUND'}})
  t.like(await world.as(colleague.token)('PUT', path(), body(run)), {status: 403, body: {code: 'NOT_YOUR_RUN'}})
  t.like(await call('PUT', path(), body(elsewhere)), {status: 409, body: {code: 'RUN_CONNECTOR_MISMATCH', written: false}})
  t.like(await call('PUT', path(), body(workers)), {status: 409, body: {code: 'RUN_USED', written: false}})
  t.like(await call('PUT', path(), body(ended)), {status: 409, body: {code: 'RUN_ENDED', written: false}})
  t.like(await call('PUT', path(), body(stopped)), {
    status: 403,
    body: {code: 'RUN_STOPPED', written: false, stop: {stopped: 'LIMIT_ROWS_PER_RUN'}},
  })
  t.is(world.crm.journal({path: '/crm'}).length, 0)
})

test('a run and a connection of another org look like unknown ones', async t => {
  const {world, orders} = t.context
  const theirs = await openOrders(world, 'zoe@other.example')
  const [mine, foreign] = [await orders.authorise(), await theirs.authorise()]
  const items = [{parentId: '1', writeId: 'foreign', rows: sheet('A')}]
  const ask = (run: string, connector?: string) => orders.call('PUT', orders.path('Orders', connector), orders.bodyOf(run, items))
  const [seen, unknown] = [await ask(foreign), await ask(newId('run'))]
  t.deepEqual([seen.status, seen.text], [unknown.status, unknown.text])
  t.deepEqual((await ask(mine, theirs.connector)).text, (await ask(mine, newId('con'))).text)
  t.is((await meterOf(world, foreign)).state, 'authorised')
  t.is((await theirs.call('PUT', orders.path(), orders.bodyOf(mine, items))).status, 403)
})

test('a run that lost the lease of its import cannot write subform rows', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(1)]
  const {import: made} = await ok(orders.call('POST', `/orgs/${orders.org}/imports`, {name: 'Lines', connectorId: orders.connector}), 201)
  await world.db.query(sql.unsafe`update runs set import_no = (select import_no from imports where id = ${made.id}) where id = ${run}`)
  t.like(await orders.results(run, [{parentId, rows: sheet('A')}]), [{ok: true}])
  await world.db.query(
    sql.unsafe`update run_heads set lease_until = lading_now() where run_no = (select run_no from runs where id = ${run})`,
  )
  t.like(await orders.replace(run, [{parentId, rows: sheet('B')}]), {status: 409, body: {code: 'LEASE_LOST', written: false}})
  t.deepEqual(orders.productsOf(parentId), ['A'])
})

test('a writeId sent again gets its stored result, and with another body is refused', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(1)]
  const item = {parentId, writeId: 'again', rows: sheet('A', 'B')}
  const first = await orders.results(run, [item])
  t.deepEqual(await orders.results(run, [item]), first)
  t.is(orders.puts().length, 1)
  t.like(await orders.replace(run, [{...item, rows: sheet('C')}]), {
    status: 409,
    body: {code: 'WRITE_ID_REUSED', writeId: 'again', written: false},
  })
  t.like(await orders.replace(run, [item], {automations: true}), {status: 409, body: {code: 'WRITE_ID_REUSED'}})
  const other = orders.makeOrder()
  const both = await orders.results(run, [item, {parentId: other, writeId: 'new', rows: sheet('D')}])
  t.deepEqual(both, [...first, {parentId: other, writeId: 'new', ok: true, deleted: 0, added: 1}])
  t.is(orders.puts().length, 2)
  t.is((await meterOf(world, run)).counted, 3)
})

test('nothing is read or sent while writes are paused, and the request can be repeated later', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(1)]
  const item = {parentId, writeId: 'paused', rows: sheet('A')}
  await setPaused(world, orders, true)
  t.like(await orders.replace(run, [item]), {status: 409, body: {code: 'WRITES_PAUSED', written: false}})
  t.is(world.crm.journal({path: '/crm'}).length, 0)
  t.is((await meterOf(world, run)).counted, 0)
  await setPaused(world, orders, false)
  t.like(await orders.results(run, [item]), [{ok: true}])
})

test('an asynchronous request gets a job, and the same writeId returns its result', async t => {
  const {orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(1)]
  const items = [{parentId, writeId: 'later', rows: sheet('A')}]
  const {status, body, headers} = await orders.replace(run, items, {}, {prefer: 'respond-async'})
  t.is(status, 202)
  t.is(headers.get('location'), `/orgs/${orders.org}/jobs/${body.job.id}`)
  t.notRegex(JSON.stringify(body), /Product/)
  const waited = await orders.replace(run, [{parentId: orders.makeOrder(), writeId: 'soon', rows: sheet('B')}], {}, {prefer: 'wait=20'})
  t.like(waited, {status: 200, body: {results: [{writeId: 'soon', ok: true}]}})
  const asked = await orders.replace(run, items)
  t.like(asked, {status: 200, body: {results: [{writeId: 'later', ok: true, deleted: 1, added: 1}]}})
})

test('a job contains no customer data, and the rows to write are deleted afterwards', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(1)]
  await orders.results(run, [{parentId, rows: sheet('Secretly')}])
  const jobs = await world.db.anyFirst(
    sql.unsafe`select data::text || coalesce(output::text, '') from pgboss.job where name = 'rows.replace'`,
  )
  t.true(jobs.length > 0)
  t.false(jobs.some(text => String(text).includes('Secretly')))
  const requests = await world.db.anyFirst(sql.unsafe`select request from writes where jsonb_typeof(request) <> 'null'`)
  t.deepEqual(requests, [])
})
