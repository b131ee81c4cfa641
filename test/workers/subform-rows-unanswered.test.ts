import anyTest, {type ExecutionContext, type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import type {FaultSpec} from '../simulators/crm/faults.ts'
import {logOf, meterOf, type Orders, openOrders, sheet} from '../support/subform-rows.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

/** What the tests share: one CRM. So they run serially. */
type Here = {world: TestDeployment; orders: Orders}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '1'}})
  Object.assign(t.context, {world: here, orders: await openOrders(here)})
})
test.beforeEach(async ({context: {world}}) => {
  await untilRecorded(world)
  world.crm.clear()
  // The stand-in reuses record ids, which no CRM does.
  await world.db.query(sql.unsafe`delete from replacements`)
  await world.ahead('0 seconds')
})

/** Waits until abandoned calls have ended, because the stand-in records a call when the call ends. */
const untilRecorded = ({crm}: TestDeployment) =>
  until(
    () => crm.inFlight(),
    count => count === 0,
  )

const PUT = {method: 'PUT', module: 'Orders'}

/**
 * Asserts that these parents are neither read nor sent before the deadline of the first call, unlike other parents. Then advances the clock past
 * that deadline.
 */
const assertWaits = async (t: ExecutionContext<Here>, {run, items}: {run: string; items: {parentId: string}[]}) => {
  const {world, orders} = t.context
  const about = () =>
    world.crm.journal({path: '/crm'}).filter(call => items.some(one => JSON.stringify(call).includes(one.parentId))).length
  await untilRecorded(world)
  const asked = about()
  const {status, body, headers} = await orders.replace(run, items)
  t.like({status, body}, {status: 409, body: {code: 'WRITE_UNDER_WAY', written: false}})
  const seconds = Number(headers.get('retry-after'))
  t.true(seconds >= 5 && seconds <= 11, `Retry-After ${seconds}`)
  t.like(await orders.replace(await orders.authorise(), items), {status: 409, body: {code: 'WRITE_UNDER_WAY'}}, 'nor under another run')
  const ofOther = {parentId: orders.makeOrder(1), rows: sheet('Z')}
  const again = {...items[0], rows: sheet('A of another sheet')}
  t.like(await orders.results(run, [again, ofOther]), [{code: 'WRITE_UNDER_WAY', written: false}, {ok: true}])
  t.is(about(), asked)
  await world.ahead(`${seconds} seconds`)
}

/** `mayGoOn`: the CRM may still process the call, because no answer arrived or a gateway answered in its place. */
for (const [what, action, {isDone = true, mayGoOn = false}] of [
  ['before the CRM acted', 'dropBefore', {isDone: false, mayGoOn: true}],
  ['after the CRM acted', 'dropAfter', {mayGoOn: true}],
  ['with half an answer', 'truncateAfter', {}],
  ['with an answer that takes too long', {type: 'slow', ms: 2_500, when: 'after'}, {mayGoOn: true}],
  ['with a server error', 'status5xxAfter', {}],
  ['with a gateway timeout', {type: 'status5xxAfter', status: 504}, {mayGoOn: true}],
  ['with a page of a gateway that lost the connection', {type: 'status5xxAfter', status: 502, html: true}, {mayGoOn: true}],
  ['with a 502 of the CRM itself', {type: 'status5xxAfter', status: 502}, {}],
] as [string, FaultSpec['action'], {isDone?: boolean; mayGoOn?: boolean}][]) {
  for (const made of [false, true]) {
    test(`a call that ends ${what} stays counted, and repeating it replaces the rows again (${made ? 'made' : 'held rows'})`, async t => {
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

      if (mayGoOn) await assertWaits(t, {run, items})
      t.like(await orders.results(run, items), [
        {ok: true, deleted: isDone ? 3 : made ? 0 : 2, added: 3},
        {ok: true, deleted: isDone ? 1 : made ? 0 : 1, added: 1},
      ])
      t.deepEqual(parents.map(orders.productsOf), [['A', 'B', 'C'], ['D']])
      const beside = mayGoOn ? 1 : 0
      t.deepEqual(await meterOf(world, run), {counted: 4 + beside, admissions: 4 + beside, sends: 0, questions: 0, state: 'writing'})
      const log = (await logOf(world, run)).filter(({key}) => key !== 'f.Z')
      t.deepEqual(
        log.map(({key, attempt, outcome, recordId}) => [key, attempt, outcome, recordId]),
        [1, 2].flatMap(attempt =>
          rows.flatMap((sheet, n) => sheet.map(({rowKey}) => [rowKey, attempt, attempt === 1 ? 3 : 1, parents[n]])),
        ),
      )
    })
  }
}
