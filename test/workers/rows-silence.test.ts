import anyTest, {type TestFn} from 'ava'
import {logOf, meterOf, type Orders, openOrders, sheet} from '../replacing.ts'
import {type World, world} from '../world.ts'

/** Writes nobody answered, and workers that died. One CRM: the tests take turns. */
type Here = {world: World; orders: Orders}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await world(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '1'}})
  Object.assign(t.context, {world: here, orders: await openOrders(here)})
})
test.beforeEach(t => t.context.world.crm.clear())

const PUT = {method: 'PUT', module: 'Orders'}

for (const [what, action, isDone] of [
  ['before it is done', 'dropBefore', false],
  ['after it is done', 'dropAfter', true],
  ['with half an answer', 'truncateAfter', true],
  ['with an answer that takes too long', {type: 'slow', ms: 2_500, when: 'after'}, true],
  ['with a server’s error', 'status5xxAfter', true],
] as const) {
  for (const made of [false, true]) {
    test(`a call that ends ${what} stays counted, and asked again it replaces again (${made ? 'made' : 'held rows'})`, async t => {
      const {world, orders} = t.context
      const run = await orders.authorise()
      const parents = made ? [orders.makeOrder(), orders.makeOrder()] : [orders.makeOrder(2), orders.makeOrder(1)]
      const rows = [sheet('A', 'B', 'C'), sheet('D')]
      const items = parents.map((parentId, n) => ({parentId, made, rows: rows[n]}))
      world.crm.faults.add({match: PUT, action})
      const answered = await orders.results(run, items)
      t.like(answered, Array(2).fill({ok: false, crm: {unanswered: true}}))
      t.false(answered.some(one => 'written' in one))
      t.deepEqual(parents.map(orders.productsOf), isDone ? [['A', 'B', 'C'], ['D']] : made ? [[], []] : [['Old 1', 'Old 2'], ['Old 1']])
      t.deepEqual(await meterOf(world, run), {counted: 4, admissions: 4, sends: 0, questions: 4, state: 'writing'})
      t.deepEqual(
        await orders.results(
          run,
          items.map((item, n) => ({...item, writeId: answered[n].writeId})),
        ),
        answered,
      )

      t.like(await orders.results(run, items), [
        {ok: true, deleted: isDone ? 3 : made ? 0 : 2, added: 3},
        {ok: true, deleted: isDone ? 1 : made ? 0 : 1, added: 1},
      ])
      t.deepEqual(parents.map(orders.productsOf), [['A', 'B', 'C'], ['D']])
      t.deepEqual(await meterOf(world, run), {counted: 4, admissions: 4, sends: 0, questions: 0, state: 'writing'})
      t.deepEqual(
        (await logOf(world, run)).map(({key, attempt, outcome, recordId}) => [key, attempt, outcome, recordId]),
        [1, 2].flatMap(attempt =>
          rows.flatMap((sheet, n) => sheet.map(({rowKey}) => [rowKey, attempt, attempt === 1 ? 3 : 1, parents[n]])),
        ),
      )
    })
  }
}
