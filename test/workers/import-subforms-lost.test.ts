import test from 'ava'
import {sql} from '../../sql/database.ts'
import {ok, openOrg, untilEnded, untilRun} from '../support/importing.ts'
import {prepareFiles, runFiles} from '../support/lookups.ts'
import {assertSheets, assertWritten, lineSheet, lines, orderOf, orderSheet, orders, productsOf} from '../support/subforms.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '1'}})
  org = await openOrg(here)
})
test.beforeEach(() => here.db.query(sql.unsafe`delete from replacements`))
test.afterEach.always(() => here.crm.faults.clear())

const make = (code: string, old: string[]) =>
  here.crm.create('example', 'Orders', [{Name: code, Code: code, Order_Lines: old.map(Product => ({Product}))}])

test.serial('an unanswered write of subform rows is sent again after the rows were read again', async t => {
  make('Sd-1', ['Old'])
  const of = [
    ['Sd-1', 'A'],
    ['Sd-2', 'B'],
    ['Sd-1', 'C'],
  ] as const
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Orders', nth: 2}, times: 1, action: 'dropAfter'})
  const {run, path} = await runFiles(org, {orders: orderSheet(['Sd-1', 'Sd-2']), lines: lineSheet([...of])}, [orders(), lines()])
  const log = await assertWritten(here, {org, path, run, rows: {orders: 2, lines: 3}})
  assertSheets(here, [...of])
  t.like(run, {rowsWritten: 5, counts: {Order_Lines: {updated: 3, unanswered: 0}}})
  t.deepEqual(
    log.filter(({rowKey}) => rowKey === 'lines.1').map(({attempt, outcome}) => [attempt, outcome]),
    [
      [1, 'unanswered'],
      [2, 'updated'],
    ],
  )
})

test.serial('subform rows of an unanswered write that are too many to replace end as unanswered, not failed', async t => {
  const of = Array.from({length: 1_100}, (_, n) => ['Sz-1', `P${n}`] as const)
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Orders'}, times: 1, action: 'dropAfter'})
  const {run, path} = await runFiles(org, {orders: orderSheet(['Sz-1']), lines: lineSheet(of)}, [orders(), lines()])
  await assertWritten(here, {org, path, run, rows: {orders: 1, lines: 1_100}})
  t.like(run, {rowsWritten: 1_101, counts: {Order_Lines: {unanswered: 1_100, failed: 0}}})
  t.is(productsOf(here, 'Sz-1').length, 1_100)
})

test.serial('a run waits for a parent record whose rows another run replaces', async t => {
  make('Sw-1', ['Old'])
  await here.db.query(sql.unsafe`
    insert into replacements (dc, crm_org_id, parent_id, run_no, fence, until, lost)
    select dc, crm_org_id, ${orderOf(here, 'Sw-1').id}, (select max(run_no) from runs), 99, lading_now() + interval '3 seconds', true
    from connectors where id = ${org.connector}`)
  const {run} = await runFiles(org, {orders: orderSheet(['Sw-1']), lines: lineSheet([['Sw-1', 'A']])}, [orders(), lines()])
  t.true(Date.parse(run.endedAt) - Date.parse(run.startedAt) > 1_500)
  t.deepEqual(productsOf(here, 'Sw-1'), ['A'])
})

test.serial('a run that waits for a parent record is cancelled at once', async t => {
  make('Sx-1', ['Old'])
  await here.db.query(sql.unsafe`
    insert into replacements (dc, crm_org_id, parent_id, run_no, fence, until, lost)
    select dc, crm_org_id, ${orderOf(here, 'Sx-1').id}, (select max(run_no) from runs), 99, lading_now() + interval '5 minutes', true
    from connectors where id = ${org.connector}`)
  const {path} = await prepareFiles(org, {orders: orderSheet(['Sx-1']), lines: lineSheet([['Sx-1', 'A']])}, [orders(), lines()])
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await untilRun(org.call, `${path}/runs/${run.id}`, ({counts}) => counts.Orders?.updated === 1)
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  t.deepEqual(productsOf(here, 'Sx-1'), ['Old'])
})

test.serial('a rate-limited and then lost request gets its full timeout before its parent is written again', async t => {
  const putTimes = () => here.crm.journal({method: 'PUT', path: '/crm/v8/Orders'}).map(({at}) => Date.parse(at))
  const before = putTimes().length
  const match = {method: 'PUT', path: '/crm/v8/Orders'}
  here.crm.faults.add({match, times: 1, action: {type: 'rateLimit', retryAfter: 2}})
  here.crm.faults.add({match, times: 1, action: 'dropBefore'})
  const {run} = await runFiles(org, {orders: orderSheet(['Sy-1']), lines: lineSheet([['Sy-1', 'A']])}, [orders(), lines()])
  t.like(run.counts, {Order_Lines: {updated: 1}})
  const [, lost, again] = putTimes().slice(before)
  t.true(again! - lost! > 2_500, `${again! - lost!} ms`)
})
