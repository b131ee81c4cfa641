import type {ChildProcess} from 'node:child_process'
import anyTest, {type TestFn} from 'ava'
import {listen} from '../../api/listen.ts'
import {sql} from '../../sql/database.ts'
import {startWorkers} from '../../workers/start.ts'
import {openCalls} from '../support/client.ts'
import {ok} from '../support/importing.ts'
import {meterOf, type Orders, openOrders, sheet} from '../support/subform-rows.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker, untilExit} from '../support/worker-process.ts'

/** What the tests share: one CRM and one clock. So they run serially. */
type Here = {world: TestDeployment; orders: Orders}
const test = anyTest.serial as TestFn<Here>
const started: ChildProcess[] = []

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1', CRM_TIMEOUT_SECONDS: '2'}})
  Object.assign(t.context, {world: here, orders: await openOrders(here)})
})
test.beforeEach(async t => {
  const {crm, db, ahead} = t.context.world
  crm.clear()
  // The stand-in reuses record ids, which no CRM does.
  await db.query(sql.unsafe`delete from replacements`)
  await ahead('0 seconds')
})
test.afterEach.always(() => Promise.all(started.splice(0).map(endWorker)))

const startOne = ({config}: TestDeployment, environment: Record<string, string> = {}) => {
  const worker = startWorker(config, environment, ['writes'])
  started.push(worker)
  return worker
}

for (const [point, isDone] of [
  ['after_intent', false],
  ['after_send', true],
  ['before_settle', true],
] as const) {
  test(`parents in flight of a worker killed at ${point} stay counted as unanswered, and the others were not sent`, async t => {
    const {world, orders} = t.context
    const run = await orders.authorise(5_000)
    const parents = [orders.makeOrder(1_500), orders.makeOrder(1_500)]
    const items = parents.map((parentId, n) => ({parentId, writeId: `${point}${n}`, rows: sheet(`A${n}`, `B${n}`)}))
    const dying = startOne(world, {FAULT_POINT: `${point}:1`})
    await ok(orders.replace(run, items, {}, {prefer: 'respond-async'}), 202)
    await untilExit(dying)
    t.like(await meterOf(world, run), {counted: 2, admissions: 2, sends: 1})
    t.is(orders.productsOf(parents[0]!).length, isDone ? 2 : 1_500)

    const {stop} = await startWorkers(['writes'], world.config)
    t.teardown(stop)
    t.like(await orders.replace(run, [items[0]!]), {status: 409, body: {code: 'WRITE_UNDER_WAY'}})
    t.like(await orders.replace(run, [{...items[0]!, writeId: `${point} at once`}]), {
      status: 409,
      body: {code: 'WRITE_UNDER_WAY', written: false},
    })
    await world.ahead('20 seconds')
    await until(
      () => meterOf(world, run),
      ({sends}) => sends === 0,
    )
    t.like(await meterOf(world, run), {counted: 2, admissions: 2, questions: 2})
    t.like(await orders.results(run, [items[0]!]), [{ok: false, crm: {unanswered: true}}])
    t.like(await orders.results(run, [{...items[0]!, writeId: `${point} anew`}]), [{ok: true, deleted: isDone ? 2 : 1_500, added: 2}])
    t.deepEqual(orders.productsOf(parents[0]!), ['A0', 'B0'])

    await world.ahead('1 hour')
    const later = async () => (await orders.replace(run, [items[1]!])).body
    t.like(await until(later, body => 'results' in body), {results: [{ok: true, deleted: 1_500, added: 2}]})
    t.deepEqual(await meterOf(world, run), {counted: 4, admissions: 4, sends: 0, questions: 0, state: 'writing'})
  })
}

test('a worker that gets SIGTERM waits for its current call and sends no further one', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise(5_000)
  const parents = [orders.makeOrder(1_500), orders.makeOrder(1_500)]
  const items = parents.map((parentId, n) => ({parentId, rows: sheet(`A${n}`)}))
  const {stop} = await startWorkers(['writes'], world.config)
  world.crm.faults.add({match: {method: 'PUT', module: 'Orders'}, action: 'hold'})
  const asked = orders.results(run, items)
  await until(world.crm.held, held => held === 1)
  const stopped = stop()
  world.crm.release()
  const [answered] = await Promise.all([asked, stopped])
  t.like(answered, [
    {ok: true, deleted: 1_500},
    {ok: false, code: 'UNAVAILABLE', retryAfterMs: 2_000, written: false},
  ])
  t.deepEqual(await meterOf(world, run), {counted: 1, admissions: 1, sends: 0, questions: 0, state: 'writing'})
})

test('a request that no worker takes is abandoned, and can be sent again', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(1)]
  const item = {parentId, writeId: 'nobody', rows: sheet('A')}
  // Opens an API that waits for a job for two seconds: 30 s plus the CRM time-out of -28 s.
  const impatient = await listen({...world.tools, config: {...world.config, CRM_TIMEOUT_SECONDS: -28}}, world)
  t.teardown(impatient.drain)
  const {body} = await openCalls(impatient.url)(orders.session)('PUT', orders.path(), orders.bodyOf(run, [item]))
  t.like(body.results, [{parentId, writeId: 'nobody', ok: false, code: 'UNAVAILABLE', written: false}])
  const {stop} = await startWorkers(['writes'], world.config)
  t.teardown(stop)
  t.like(await orders.results(run, [item]), [{ok: true, deleted: 1, added: 1}])
  t.is(orders.puts().length, 1)
})
