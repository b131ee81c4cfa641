import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {ok, openOrg, untilEnded} from '../support/importing.ts'
import {prepareFiles} from '../support/lookups.ts'
import {assertSheets, assertWritten, lineSheet, lines, orderSheet, orders} from '../support/subforms.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {killAt, killAtRows, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '1'}})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const startWorker = openWorkers(() => here.config)

const [parents, each] = [80, 4]
const replaces = {method: 'PUT', path: '/crm/v8/Orders'}

/** Starts a run of orders with lines. Half of the orders exist already and have rows. No two lines of one order are adjacent. */
const begin = async (mark: string) => {
  const codes = Array.from({length: parents}, (_, n) => `${mark}-${n}`)
  for (const Code of codes.filter((_, n) => n % 2))
    here.crm.create('example', 'Orders', [{Name: Code, Code, Order_Lines: [{Product: 'Old 1'}, {Product: 'Old 2'}]}])
  const of = Array.from({length: each}, (_, n) => codes.map(code => [code, `${code} ${n}`] as const)).flat()
  const {path} = await prepareFiles(org, {orders: orderSheet(codes), lines: lineSheet(of)}, [orders(), lines()])
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return {path, of, runPath: `${path}/runs/${run.id}`}
}

const assertWhole = async (t: any, {path, of, runPath}: Awaited<ReturnType<typeof begin>>) => {
  const run = await untilEnded(org.call, runPath)
  t.is(run.stop, null)
  const log = await assertWritten(here, {org, path, run, rows: {orders: parents, lines: parents * each}})
  assertSheets(here, of)
  t.like(run, {stop: null, rowsWritten: parents * (1 + each), counts: {Order_Lines: {updated: parents * each, unanswered: 0}}})
  const held = sql.type(z.object({count: z.number()}))`select count(*) from replacements where not lost`
  t.is(await here.db.oneFirst(held), 0, 'nothing is held any more')
  return log
}

for (const point of ['after_intent:3', 'after_send:3']) {
  test.serial(`every order has exactly the rows of its sheet after a worker was killed at ${point}`, async t => {
    const begun = await begin(`K${point.replace(':', '')}`)
    await killAt(startWorker, point)
    startWorker()
    const log = await assertWhole(t, begun)
    t.true(
      log.some(({flowId, outcome}) => flowId === 'lines' && outcome === 'unanswered'),
      'some were in flight',
    )
  })
}

test.serial('subform rows are neither duplicated nor lost when workers are killed and answers are lost', async t => {
  const begun = await begin('M')
  here.crm.faults.add({match: replaces, times: 1_000, action: {type: 'slow', ms: 200, when: 'after'}})
  here.crm.faults.add({match: {...replaces, nth: 2}, times: 1, action: 'dropAfter'})
  await killAtRows(startWorker, {call: org.call, runPath: begun.runPath, rows: [parents + 50, parents + 100, parents + 150]})
  await assertWhole(t, begun)
})

test.serial(
  'records stay reserved after their run is cancelled, while the CRM may still execute the request of a killed worker',
  async t => {
    const {runPath} = await begin('C')
    await killAt(startWorker, 'after_send:3')
    await ok(org.call('POST', `${runPath}/cancel`), 200)
    startWorker()
    t.is((await untilEnded(org.call, runPath)).stop.stopped, 'CANCELLED')
    const held = await here.db.anyFirst(sql.type(z.object({lost: z.boolean()}))`select lost from replacements`)
    t.true(held.length > 0 && held.every(Boolean))
  },
)
