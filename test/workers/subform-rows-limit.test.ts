import anyTest, {type TestFn} from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {logOf, meterOf, type Orders, openOrders, sheet} from '../support/subform-rows.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

type Here = {world: TestDeployment; orders: Orders}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '5'}})
  Object.assign(t.context, {world: here, orders: await openOrders(here)})
})
test.beforeEach(t => t.context.world.crm.clear())

const stopped = {
  ok: false,
  code: 'RUN_STOPPED',
  written: false,
  stop: {stopped: 'LIMIT_ROWS_PER_RUN', rowsPerRun: 5, stoppedBy: 'declaration'},
}

test('parents before the row limit are written, and the one that exceeds it and later ones are not written at all', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise(5)
  const parents = [1, 1, 1, 1].map(rows => orders.makeOrder(rows))
  const rows = [sheet('A', 'B'), sheet('C', 'D'), sheet('E', 'F'), sheet('G')]
  const answered = await orders.results(
    run,
    parents.map((parentId, n) => ({parentId, rows: rows[n]})),
  )
  t.like(answered, [{ok: true}, {ok: true}, stopped, stopped])
  t.is(answered[2].stop.rowsWrittenTotal, 4)
  t.deepEqual(parents.map(orders.productsOf), [['A', 'B'], ['C', 'D'], ['Old 1'], ['Old 1']])
  t.deepEqual(await meterOf(world, run), {counted: 4, admissions: 4, sends: 0, questions: 0, state: 'writing'})
  t.is((await logOf(world, run)).length, 4)
  t.is(orders.reads().length, 2, 'nothing is read of what the limit refuses')
  t.like(await orders.replace(run, [{parentId: parents[3], rows: sheet('G')}]), {status: 403, body: {code: 'RUN_STOPPED', written: false}})
})

test('rows that are already counted need no room under the row limit', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(3), orders.makeOrder()]
  await orders.results(run, [{parentId, rows: sheet('A', 'B', 'C')}])
  t.like(await orders.results(run, [{parentId, rows: sheet('A', 'B', 'C')}]), [{ok: true, deleted: 3, added: 3}])
  t.deepEqual(orders.productsOf(parentId), ['A', 'B', 'C'])
  t.is((await meterOf(world, run)).counted, 3)
})

test('a parent without room under the limit waits for rows in flight, and is written if those are refused', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise(5)
  const [first, second] = [orders.makeOrder(['Old']), orders.makeOrder(['Old'])]
  world.crm.faults.add({
    match: {method: 'PUT', module: 'Orders'},
    action: [
      {type: 'hold', when: 'before'},
      {type: 'refuse', index: 0, code: 'RECORD_LOCKED'},
    ],
  })
  const one = orders.results(run, [{parentId: first, rows: sheet('A', 'B', 'C', 'D')}])
  await until(world.crm.held, held => held === 1)
  const other = orders.results(run, [{parentId: second, rows: sheet('E', 'F', 'G')}])
  await until(
    () => world.queue.findJobs('rows.replace'),
    jobs => jobs.filter(({state}) => state === 'active').length === 2,
  )
  world.crm.release()
  t.like(await one, [{ok: false, crm: {code: 'RECORD_LOCKED', retryable: true}}])
  t.like(await other, [{ok: true, deleted: 1, added: 3}])
  t.deepEqual([orders.productsOf(first), orders.productsOf(second)], [['Old'], ['E', 'F', 'G']])
  t.deepEqual(await meterOf(world, run), {counted: 3, admissions: 3, sends: 0, questions: 0, state: 'writing'})
})

test('two requests for one parent do not mix: the second gets WRITE_UNDER_WAY', async t => {
  const {world, orders} = t.context
  const [run, parentId, other] = [await orders.authorise(), orders.makeOrder(), orders.makeOrder(1)]
  world.crm.faults.add({match: {method: 'PUT', module: 'Orders'}, action: 'hold'})
  const one = orders.results(run, [{parentId, rows: sheet('A', 'B')}])
  await until(world.crm.held, held => held === 1)
  const items = [
    {parentId, rows: sheet('C')},
    {parentId: other, rows: sheet('D')},
  ]
  t.like(await orders.results(run, items), [
    {ok: false, code: 'WRITE_UNDER_WAY', written: false},
    {ok: true, deleted: 1},
  ])
  world.crm.release()
  t.like(await one, [{ok: true, deleted: 0, added: 2}])
  t.like(await orders.results(run, items.slice(0, 1)), [{ok: true, deleted: 2, added: 1}])
  t.deepEqual(orders.productsOf(parentId), ['C'])
  t.is((await meterOf(world, run)).counted, 4)
})

test('concurrent requests for one parent, of one run or several, never mix their rows', async t => {
  const {world, orders} = t.context
  for (let round = 0; round < 8; round++) {
    const [run, parentId] = [await orders.authorise(), orders.makeOrder()]
    const runs = [run, run, await orders.authorise(), await orders.authorise()]
    const answers = await Promise.all(runs.map((one, n) => orders.replace(one, [{parentId, rows: sheet(`P${n}`, `Q${n}`)}])))
    const done = answers.flatMap(({body}, n) => (body.results?.[0].ok ? [n] : []))
    for (const [n, {status, body}] of answers.entries())
      if (!done.includes(n)) t.like({status, body}, {status: 409, body: {written: false}})
    t.true(done.map(n => `P${n},Q${n}`).includes(orders.productsOf(parentId).join()), orders.productsOf(parentId).join())
  }
  t.is(await world.db.oneFirst(sql.type(z.object({held: z.number()}))`select count(*) as held from replacements`), 0)
})
