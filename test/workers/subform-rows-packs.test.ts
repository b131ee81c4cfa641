import anyTest, {type TestFn} from 'ava'
import {logOf, meterOf, type Orders, openOrders, sheet} from '../support/subform-rows.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

/** What the tests share: one CRM and its journal. So they run serially. */
type Here = {world: TestDeployment; orders: Orders}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '5'}})
  Object.assign(t.context, {world: here, orders: await openOrders(here)})
})
test.beforeEach(t => {
  t.context.world.crm.clear()
  t.context.world.crm.setSwitches({subformRowsRead: null, cutSubforms: false})
})

const lines = (count: number, prefix: string) => sheet(...Array.from({length: count}, (_, n) => `${prefix}${n}`))
const idsIn = (put: any) => put.body.data.map(({id}: any) => id)
const elementsIn = (put: any) => put.body.data.reduce((sum: number, {Order_Lines: rows}: any) => sum + rows.length, 0)

test('parents beyond two thousand elements are sent in a further call, and none is refused', async t => {
  const {world, orders} = t.context
  for (const cutSubforms of [false, true]) {
    world.crm.clearJournal()
    world.crm.setSwitches({cutSubforms})
    const run = await orders.authorise(5_000)
    const parents = [orders.makeOrder(900), orders.makeOrder(500), orders.makeOrder(400), orders.makeOrder(1_700), orders.makeOrder()]
    const answered = await orders.results(
      run,
      parents.map((parentId, n) => ({parentId, rows: lines(300, `${cutSubforms}${n}-`)})),
    )
    t.deepEqual(
      answered.map(({ok, deleted, added}) => [ok, deleted, added]),
      [900, 500, 400, 1_700, 0].map(deleted => [true, deleted, 300]),
    )
    const puts = orders.puts()
    t.deepEqual(puts.map(idsIn), [parents.slice(0, 2), [parents[2]], [parents[3]], [parents[4]]])
    t.deepEqual(puts.map(elementsIn), [2_000, 700, 2_000, 300])
    t.true(puts.every(({status}) => status === 200))
    for (const [n, parentId] of parents.entries())
      t.deepEqual(
        orders.productsOf(parentId),
        lines(300, `${cutSubforms}${n}-`).map(({payload}) => payload.Product),
      )
    t.is((await meterOf(world, run)).counted, 1_500)
  }
})

test('each parent is read right before the call that writes it', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise(5_000)
  const parents = [orders.makeOrder(1_000), orders.makeOrder(1_000)]
  // Another user adds a row to the second parent while the first one is written.
  world.crm.faults.add({
    match: {method: 'PUT', module: 'Orders'},
    action: {type: 'foreignCreate', module: 'Orders', record: {id: parents[1], Order_Lines: [{Product: 'Meanwhile'}]}, when: 'after'},
  })
  const answered = await orders.results(
    run,
    parents.map((parentId, n) => ({parentId, rows: lines(20, `m${n}-`)})),
  )
  t.deepEqual(
    answered.map(({deleted}) => deleted),
    [1_000, 1_001],
  )
  t.is(orders.productsOf(parents[1]!).length, 20)
})

test('a parent whose old and new rows exceed one call is the only one not written', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise(5_000)
  const parents = [orders.makeOrder(1), orders.makeOrder(1_999), orders.makeOrder(2)]
  const answered = await orders.results(
    run,
    parents.map((parentId, n) => ({parentId, rows: lines(2, `t${n}-`)})),
  )
  t.like(answered, [
    {ok: true, deleted: 1},
    {ok: false, code: 'BATCH_SIZE', written: false},
    {ok: true, deleted: 2},
  ])
  t.regex(answered[1].error, /1999 or more rows would be removed and 2 added/)
  t.is(orders.productsOf(parents[1]!).length, 1_999)
  t.deepEqual(await meterOf(world, run), {counted: 4, admissions: 4, sends: 0, questions: 0, state: 'writing'})
  t.deepEqual(orders.puts().map(idsIn), [[parents[0], parents[2]]])
})

test('rows that the read of a single record leaves out are removed too', async t => {
  const {world, orders} = t.context
  const [run, parentId] = [await orders.authorise(), orders.makeOrder(730)]
  world.crm.setSwitches({subformRowsRead: 100})
  t.like(await orders.results(run, [{parentId, rows: sheet('A', 'B')}]), [{ok: true, deleted: 730, added: 2}])
  world.crm.setSwitches({subformRowsRead: null})
  t.deepEqual(orders.productsOf(parentId), ['A', 'B'])
  t.is(world.crm.count('example', 'Order_Lines'), 2)
})

test('a refused row leaves its parent unchanged and uncounted, and does not affect other parents', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise()
  const [bad, good] = [orders.makeOrder(['Old']), orders.makeOrder(['Old'])]
  const rows = sheet('A', 'B', 'C')
  const [, second] = rows
  Object.assign(second!.payload, {Quantity: 'many'})
  const answered = await orders.results(run, [
    {parentId: bad, writeId: 'bad', rows},
    {parentId: good, writeId: 'good', rows: sheet('D')},
  ])
  t.like(answered[0], {parentId: bad, writeId: 'bad', ok: false, crm: {code: 'INVALID_DATA', unanswered: false, retryable: false}})
  t.false('written' in answered[0])
  t.like(answered[1], {parentId: good, ok: true, deleted: 1, added: 1})
  t.deepEqual([orders.productsOf(bad), orders.productsOf(good)], [['Old'], ['D']])
  t.deepEqual(await meterOf(world, run), {counted: 1, admissions: 1, sends: 0, questions: 0, state: 'writing'})
  const log = await logOf(world, run)
  t.deepEqual(
    log.map(({key, outcome, code, attempt}) => [key, outcome, code, attempt]),
    [
      ['f.A', 2, 'INVALID_DATA', 1],
      ['f.B', 2, 'INVALID_DATA', 1],
      ['f.C', 2, 'INVALID_DATA', 1],
      ['f.D', 1, null, 1],
    ],
  )
  t.regex(log[0]!.message!, /^Row f\.B of the same parent: /)
  t.notRegex(log[1]!.message!, /same parent/)

  Object.assign(second!.payload, {Quantity: 2})
  t.like(await orders.results(run, [{parentId: bad, writeId: 'mended', rows}]), [{ok: true, deleted: 1, added: 3}])
  t.deepEqual(
    (await logOf(world, run)).slice(4).map(({key, outcome, attempt}) => [key, outcome, attempt]),
    [
      ['f.A', 1, 2],
      ['f.B', 1, 2],
      ['f.C', 1, 2],
    ],
  )
  t.is((await meterOf(world, run)).counted, 4)
})

test('a row written under one parent is not written under another in the same run', async t => {
  const {world, orders} = t.context
  const run = await orders.authorise()
  const [first, other, third] = [orders.makeOrder(), orders.makeOrder(['Old']), orders.makeOrder()]
  await orders.results(run, [{parentId: first, rows: sheet('A', 'B')}])
  const answered = await orders.results(run, [
    {parentId: other, rows: [...sheet('C'), ...sheet('B')]},
    {parentId: third, rows: sheet('D')},
  ])
  t.like(answered, [
    {ok: false, code: 'ROW_OF_ANOTHER_PARENT', written: false},
    {ok: true, added: 1},
  ])
  t.deepEqual(orders.productsOf(other), ['Old'])
  t.is((await meterOf(world, run)).counted, 3)
  t.like(await orders.results(await orders.authorise(), [{parentId: other, rows: sheet('B')}]), [{ok: true}], 'another run may')
})

test('a parent that was deleted is reported as not found, and nothing is sent for it', async t => {
  const {world, orders} = t.context
  const [run, gone, there] = [await orders.authorise(), orders.makeOrder(1), orders.makeOrder(1)]
  world.crm.remove('example', 'Orders', [gone])
  const items = [
    {parentId: gone, rows: sheet('A')},
    {parentId: '../Accounts', rows: sheet('B')},
    {parentId: there, rows: sheet('C')},
  ]
  const notThere = {ok: false, code: 'NOT_FOUND', written: false}
  t.like(await orders.results(run, items), [notThere, notThere, {ok: true}])
  t.deepEqual(orders.puts().map(idsIn), [[there]])
  t.is((await meterOf(world, run)).counted, 1)
})
