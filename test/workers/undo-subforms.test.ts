import test from 'ava'
import {type Org, undoRun} from '../support/importing.ts'
import {runFiles} from '../support/lookups.ts'
import {lineSheet, lines, orderOf, orderSheet, orders, productsOf} from '../support/subforms.ts'
import {openImports, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  ;({here, org} = await openImports(t))
})
test.afterEach.always(() => here.crm.faults.clear())

const make = (code: string, rows: object[]) => here.crm.create('example', 'Orders', [{Name: code, Code: code, Order_Lines: rows}])
const rowsOf = (code: string): any[] => here.crm.record('example', 'Orders', orderOf(here, code).id)!.Order_Lines as any[]
const valuesOf = (code: string) => rowsOf(code).map(({Product, Quantity, Price, Note}) => ({Product, Quantity, Price, Note}))

const codesOf = (log: any[]) =>
  log
    .filter(({phase, flowId, outcome}) => phase === 'write' && flowId === 'lines' && outcome !== 'unanswered')
    .sort((a, b) => a.rowNumber - b.rowNumber)
    .map(({rowNumber, outcome, code}) => [rowNumber, outcome, code])

test.serial('an undo gives a record its earlier subform rows with every value, and keeps rows that a person edited', async t => {
  const old = {Product: 'Old', Quantity: 7, Price: 2.5, Note: 'not mapped'}
  for (const code of ['Ua-1', 'Ua-2', 'Ua-3']) make(code, [old, {Product: 'Older'}])
  const [one] = [valuesOf('Ua-1')]
  const files = {
    orders: orderSheet(['Ua-1', 'Ua-2', 'Ua-3', 'Ua-4']),
    lines: lineSheet([
      ['Ua-1', 'A'],
      ['Ua-1', 'B'],
      ['Ua-2', 'C'],
      ['Ua-3', 'D'],
      ['Ua-4', 'E'],
    ]),
  }
  const {path, run} = await runFiles(org, files, [orders(), lines()])
  t.like(run, {stop: null, counts: {Orders: {created: 1, updated: 3}, Order_Lines: {updated: 5}}})
  const [edited] = rowsOf('Ua-2')
  here.crm.clock.advance(60_000)
  here.crm.update('example', 'Orders', [{id: orderOf(here, 'Ua-2').id, Order_Lines: [{id: edited.id, Note: 'Mine'}]}], {
    as: 'ben@example.org',
  })
  here.crm.update('example', 'Orders', [{id: orderOf(here, 'Ua-3').id, Order_Lines: [{Product: 'Mine'}]}], {as: 'ben@example.org'})
  const planned = await undoRun(org, {path, run}, {dryRun: true})
  t.deepEqual(productsOf(here, 'Ua-1'), ['A', 'B'])
  t.like(planned.run.undo, {restored: 5, deleted: 2, changedSince: 2})
  const {run: undone, log} = await undoRun(org, {path, run})
  t.deepEqual(valuesOf('Ua-1'), one)
  t.deepEqual([productsOf(here, 'Ua-2'), productsOf(here, 'Ua-3')], [['C'], ['D', 'Mine']])
  t.is(rowsOf('Ua-2')[0].Note, 'Mine')
  t.is(orderOf(here, 'Ua-4'), undefined, 'a created record is deleted, although its rows were added after it')
  t.like(undone, {stop: null, rowsWritten: 0})
  t.deepEqual(codesOf(log), [
    [1, 'updated', 'RESTORED'],
    [2, 'updated', 'RESTORED'],
    [3, 'skipped', 'CHANGED_SINCE'],
    [4, 'skipped', 'CHANGED_SINCE'],
    [5, 'updated', 'DELETED'],
  ])
  const kept = log.find(({phase, rowNumber}: any) => phase === 'edit' && rowNumber === 3)
  t.like(kept, {target: 'Order_Lines', code: 'CHANGED_SINCE'})
  t.regex(kept.message, /last changed by .+ at \d{4}-/)
})

test.serial('after a lost answer, rows are restored once, and an undo of the undo writes the imported rows again', async t => {
  make('Ub-1', [{Product: 'Old', Note: 'n'}])
  const before = valuesOf('Ub-1')
  const files = {
    orders: orderSheet(['Ub-1']),
    lines: lineSheet([
      ['Ub-1', 'A'],
      ['Ub-1', 'B'],
    ]),
  }
  const {path, run} = await runFiles(org, files, [orders(), lines()])
  const after = valuesOf('Ub-1')
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Orders'}, times: 2, action: 'dropAfter'})
  const first = await undoRun(org, {path, run})
  here.crm.faults.clear()
  t.deepEqual(valuesOf('Ub-1'), before)
  t.deepEqual(codesOf(first.log), [
    [1, 'updated', 'RESTORED'],
    [2, 'updated', 'RESTORED'],
  ])
  await undoRun(org, first)
  t.deepEqual(valuesOf('Ub-1'), after)
})

test.serial('an undo keeps the rows of a record whose subform field the CRM no longer shows, and restores the others', async t => {
  for (const code of ['Uc-1', 'Uc-2']) make(code, [{Product: 'Old'}])
  const sheet = lineSheet([
    ['Uc-1', 'A'],
    ['Uc-2', 'B'],
  ])
  const {path, run} = await runFiles(org, {orders: orderSheet(['Uc-1', 'Uc-2']), lines: sheet}, [orders(), lines()])
  const {id} = orderOf(here, 'Uc-1')
  const answer = {type: 'answer' as const, status: 200, body: {data: [{id, Name: 'Uc-1'}]}}
  here.crm.faults.add({match: {method: 'GET', path: `/crm/v8/Orders/${id}`}, times: 1_000, action: answer})
  const {run: undone, log} = await undoRun(org, {path, run})
  t.is(undone.stop, null)
  t.deepEqual(codesOf(log), [
    [1, 'skipped', 'UNDO_UNKNOWN'],
    [2, 'updated', 'RESTORED'],
  ])
  t.deepEqual([productsOf(here, 'Uc-1'), productsOf(here, 'Uc-2')], [['A'], ['Old']])
})
