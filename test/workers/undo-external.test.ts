import test from 'ava'
import {setWritesPaused} from '../../sql/connectors.ts'
import {sql} from '../../sql/database.ts'
import {findRun} from '../../sql/runs.ts'
import {openImageStore} from '../../workers/engine/images/before-images.ts'
import {accounts, ok, runImport, undoRun} from '../support/importing.ts'
import {type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'
import type {TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: TestDeployment
let engine: ExternalEngine

test.before(async t => {
  const environment = {CRM_TIMEOUT_SECONDS: '3', CRM_LAG_SECONDS: '1'}
  engine = await openExternalEngine(t, {workers: ['discovery', 'imports', 'writes'], environment})
  here = engine.house
})
test.afterEach.always(() => here.crm.faults.clear())

const later = () => here.crm.clock.advance(60_000)
const recordOf = (number: string): any => engine.held().find(({Account_Number: one}) => one === number)
const make = (number: string) => {
  here.crm.create('example', 'Accounts', [{Account_Name: `Old ${number}`, Account_Number: number, Billing_City: null}])
  return String(recordOf(number).id)
}

/** Authorises a run of a new import. An external engine writes the rows of the run. */
const begin = async () => {
  const {path} = await engine.makeImport()
  return {path, run: await engine.authorise(1_000, {importId: path.split('/').at(-1)})}
}
const undo = (path: string, id: string, body?: object) => undoRun(engine.org, {path, run: {id}}, body)
const end = (run: string) => ok(engine.tell(run, 'progress', {done: true}), 200)
const change = (key: string, recordId: string, payload: object) => ({rowKey: key, recordId, payload})

test.serial('an undo of an external run restores replaced values, deletes created records, and keeps later edits', async t => {
  const [one, two] = [make('E-1'), make('E-2')]
  const {path, run} = await begin()
  const {results} = await ok(engine.create(run, [row('E-3'), row('E-4')]), 200)
  await ok(
    engine.update(run, [change('u1', one, {Billing_City: 'Bern', Account_Name: 'New'}), change('u2', two, {Billing_City: 'Bern'})]),
    200,
  )
  await ok(
    engine.update(run, [change('u1', one, {Billing_City: 'Basel'}), change('E-3', results[0].recordId, {Billing_City: 'Chur'})]),
    200,
  )
  await end(run)
  later()
  here.crm.update('example', 'Accounts', [{id: two, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  here.crm.update('example', 'Accounts', [{id: results[1].recordId, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  t.like((await undo(path, run, {dryRun: true})).run.undo, {restored: 1, deleted: 1, changedSince: 2})
  const {run: undone, log} = await undo(path, run)
  t.like(undone, {stop: null, rowsWritten: 0, undo: {restored: 1, deleted: 1, changedSince: 2}})
  t.like(recordOf('E-1'), {Account_Name: 'Old E-1', Billing_City: null})
  t.like(recordOf('E-2'), {Billing_City: 'Mine'})
  t.is(recordOf('E-3'), undefined, 'a patch of a created record is no later edit')
  t.is(recordOf('E-4').Billing_City, 'Mine')
  const codes = log.filter(({phase}) => phase === 'write').map(({rowKey, rowNumber, code}) => [rowKey, rowNumber, code])
  t.deepEqual(codes.toSorted(), [
    ['E-3', null, 'DELETED'],
    ['E-4', null, 'CHANGED_SINCE'],
    ['u1', null, 'RESTORED'],
    ['u2', null, 'CHANGED_SINCE'],
  ])
  await undo(path, undone.id)
  t.like(recordOf('E-1'), {Account_Name: 'New', Billing_City: 'Basel'})
  t.is(recordOf('E-3').Billing_City, 'Chur')
})

test.serial('the undo of a second run keeps the record that the first run created, and the undo of the first deletes it', async t => {
  const {path, run} = await begin()
  const {results} = await ok(engine.create(run, [row('T-1')]), 200)
  await end(run)
  const second = await engine.authorise(1_000, {importId: path.split('/').at(-1)})
  await ok(engine.update(second, [change('T-1', results[0].recordId, {Billing_City: 'Basel'})]), 200)
  await end(second)
  t.like((await undo(path, second)).run.undo, {restored: 1, deleted: 0, changedSince: 0})
  t.like(recordOf('T-1'), {Account_Name: 'Company T-1', Billing_City: null})
  t.like((await undo(path, run)).run.undo, {restored: 0, deleted: 1, changedSince: 0})
  t.is(recordOf('T-1'), undefined)
})

test.serial(
  'an undo leaves a record whose update was refused, and reports a create without an answer before a refusal or an update',
  async t => {
    const id = make('R-1')
    const {path, run} = await begin()
    const refuse = (method: string) =>
      here.crm.faults.add({match: {method, path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 0}})
    refuse('PUT')
    t.like((await engine.update(run, [change('r1', id, {Billing_City: 'Bern'})])).body.results, [{ok: false}])
    here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: 'dropAfter'})
    t.is((await engine.create(run, [row('R-2')])).status, 502)
    refuse('POST')
    t.like((await engine.create(run, [row('R-2')])).body.results, [{ok: false}])
    const other = make('R-4')
    for (const method of ['POST', 'PUT']) here.crm.faults.add({match: {method, path: '/crm/v8/Accounts'}, times: 1, action: 'dropAfter'})
    t.is((await engine.create(run, [row('R-3')])).status, 502)
    t.is((await engine.update(run, [change('R-3', other, {Billing_City: 'Chur'})])).status, 502)
    await end(run)
    later()
    here.crm.update('example', 'Accounts', [{id, Billing_City: 'Bern'}], {as: 'ben@example.org'})
    const {run: undone, log} = await undo(path, run)
    t.like(undone.undo, {restored: 1, deleted: 0})
    t.is(recordOf('R-1').Billing_City, 'Bern')
    t.deepEqual(log.map(({rowKey, code}) => [rowKey, code]).toSorted(), [
      ['R-2', 'UNDO_UNKNOWN'],
      ['R-3', 'RESTORED'],
    ])
    t.regex(log.find(({rowKey}) => rowKey === 'R-3').message, /never answered a create of this row\. Look for a second record/)
    t.like(undone.counts.Accounts, {updated: 1, skipped: 1})
  },
)

test.serial('a new external run of the import does not continue a run that was undone, and cannot name that run or its undo', async t => {
  const {path, run} = await begin()
  await ok(engine.create(run, [row('N-1')]), 200)
  await end(run)
  const {run: undone} = await undo(path, run)
  const importId = path.split('/').at(-1)
  for (const retryOf of [run, undone.id]) {
    const refused = await engine.org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, importId, retryOf})
    t.like(refused, {status: 409, body: {code: 'RUN_UNDONE'}})
  }
  const next = await engine.authorise(1_000, {importId})
  t.like(await ok(engine.create(next, [row('N-1')]), 200), {results: [{outcome: 'created'}]})
  t.truthy(recordOf('N-1'))
})

test.serial('values that the CRM does not show now are not replaced, and those that it never shows are reported by the undo', async t => {
  const id = make('S-1')
  const {path, run} = await begin()
  const reads = {method: 'GET', path: '/crm/v8/Accounts'}
  here.crm.faults.add({match: reads, times: 1, action: {type: 'answer', status: 500, body: {code: 'INTERNAL_ERROR', status: 'error'}}})
  const refused = await engine.update(run, [change('s1', id, {Billing_City: 'Bern'})])
  t.like(refused.body, {results: [{ok: false, code: 'UNAVAILABLE', written: false}]}, refused.text)
  t.is(recordOf('S-1').Billing_City, null)
  here.crm.faults.clear()
  here.crm.faults.add({match: reads, times: 1, action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION', status: 'error'}}})
  await ok(engine.update(run, [change('s1', id, {Billing_City: 'Bern'})]), 200)
  await end(run)
  const {run: undone, log} = await undo(path, run)
  t.like(undone, {stop: null, undo: {restored: 0}})
  t.deepEqual(
    log.map(({code}) => code),
    ['UNDO_NOT_KEPT'],
  )
})

test.serial('subform rows that an external engine replaced are restored, unless a person edited them', async t => {
  const products = (id: string) =>
    (here.crm.record('example', 'Orders', id)!.Order_Lines as any[]).map(({Product, Note}) => [Product, Note])
  const orders = ['X-1', 'X-2'].map(
    Code => here.crm.create('example', 'Orders', [{Name: Code, Code, Order_Lines: [{Product: 'Old', Note: 'n'}]}])[0]!.details.id as string,
  )
  const {path, run} = await begin()
  const items = orders.map((parentId, n) => ({parentId, writeId: `w${n}`, rows: [{rowKey: `r${n}`, payload: {Product: 'New'}}]}))
  const lines = `/orgs/${engine.org.org}/connectors/${engine.org.connector}/records/Orders/rows`
  await ok(engine.org.call('PUT', lines, {runId: run, field: 'Order_Lines', child: 'Order_Lines', items}), 200)
  await end(run)
  t.deepEqual(products(orders[0]!), [['New', null]])
  later()
  const [line] = here.crm.record('example', 'Orders', orders[1]!)!.Order_Lines as any[]
  here.crm.update('example', 'Orders', [{id: orders[1]!, Order_Lines: [{id: line.id, Note: 'Mine'}]}], {as: 'ben@example.org'})
  t.like((await undo(path, run)).run.undo, {restored: 1, changedSince: 1})
  t.deepEqual(products(orders[0]!), [['Old', 'n']])
  t.deepEqual(products(orders[1]!), [['New', 'Mine']])
})

const mine = (id: string) => here.crm.update('example', 'Accounts', [{id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
const setPaused = (paused: boolean) =>
  here.db.transaction(tx => setWritesPaused(tx, {org: engine.org.org, id: engine.org.connector, paused}))

test.serial('an undo restores the values of before the request that was sent, not of before one that was refused or not sent', async t => {
  const [paused, refused, left] = ['P-1', 'P-2', 'P-3'].map(make) as [string, string, string]
  const {path, run} = await begin()
  const reads = {method: 'GET', path: '/crm/v8/Accounts'}
  here.crm.faults.add({match: reads, action: 'hold'})
  const unsent = engine.update(run, [
    change('p1', paused, {Billing_City: 'Bern', Account_Name: 'New'}),
    change('p3', left, {Billing_City: 'Mine'}),
  ])
  await until(here.crm.held, held => held === 1)
  await setPaused(true)
  t.teardown(() => setPaused(false))
  here.crm.release()
  t.like((await unsent).body.results, [{code: 'WRITES_PAUSED', written: false}, {code: 'WRITES_PAUSED'}])
  await setPaused(false)
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, action: {type: 'refuse', index: 0}})
  t.like((await engine.update(run, [change('p2', refused, {Billing_City: 'Bern'})])).body.results, [{ok: false}])
  for (const id of [paused, refused, left]) mine(id)
  const again = [change('p1', paused, {Billing_City: 'Bern'}), change('p2', refused, {Billing_City: 'Bern'})]
  await ok(engine.update(run, [...again, change('p3', left, {Account_Name: 'New'})]), 200)
  await end(run)
  later()
  t.like((await undo(path, run)).run.undo, {restored: 3, changedSince: 0})
  t.like(recordOf('P-1'), {Billing_City: 'Mine', Account_Name: 'Old P-1'})
  t.is(recordOf('P-2').Billing_City, 'Mine')
  t.like(recordOf('P-3'), {Billing_City: 'Mine', Account_Name: 'Old P-3'}, 'the run never sent a city')
})

test.serial('the image of a request that ended with its worker gives way to that of the next request of the same attempt', async t => {
  const id = make('C-1')
  const {path, run} = await begin()
  await ok(engine.update(run, [change('first', make('C-2'), {Billing_City: 'Bern'})]), 200)
  const ofRun = (await findRun(here.db, {org: engine.org.org, id: run}))!
  const module = await here.db.oneFirst(sql.unsafe`select module_no from admissions where run_no = ${ofRun.no}`)
  const store = (await openImageStore({...here.tools, db: here.db, config: here.config, run: ofRun} as never))!
  const image = {row: 0, key: 'c1', flow: 0, module: Number(module), recordId: id, phase: 'write' as const, attempt: 1}
  await store.keep([{...image, item: 'crashed 0', before: {Billing_City: null}, sent: {Billing_City: 'Bern'}}])
  mine(id)
  await ok(engine.update(run, [change('c1', id, {Billing_City: 'Bern'})]), 200)
  await end(run)
  later()
  t.like((await undo(path, run)).run.undo, {restored: 2, changedSince: 0})
  t.is(recordOf('C-1').Billing_City, 'Mine')
})

test.serial('an undo restores the subform rows of before the replacement that was sent, not of before a refused one', async t => {
  const [{details}] = here.crm.create('example', 'Orders', [{Name: 'X-4', Code: 'X-4', Order_Lines: [{Product: 'Old'}]}]) as [any]
  const {path, run} = await begin()
  const replace = (writeId: string) =>
    engine.org.call('PUT', `/orgs/${engine.org.org}/connectors/${engine.org.connector}/records/Orders/rows`, {
      runId: run,
      field: 'Order_Lines',
      child: 'Order_Lines',
      items: [{parentId: details.id, writeId, rows: [{rowKey: 'r', payload: {Product: 'New'}}]}],
    })
  here.crm.faults.add({match: {method: 'PUT', module: 'Orders'}, action: {type: 'refuse', index: 0, code: 'RECORD_LOCKED'}})
  t.like((await replace('one')).body.results, [{ok: false}])
  const products = () => (here.crm.record('example', 'Orders', details.id)!.Order_Lines as any[]).map(({Product}) => Product)
  const [line] = here.crm.record('example', 'Orders', details.id)!.Order_Lines as any[]
  here.crm.update('example', 'Orders', [{id: details.id, Order_Lines: [{id: line.id, Product: 'Mine'}]}], {as: 'ben@example.org'})
  t.like((await ok(replace('two'), 200)).results, [{ok: true}])
  t.deepEqual(products(), ['New'])
  await end(run)
  t.like((await undo(path, run)).run.undo, {restored: 1, changedSince: 0})
  t.deepEqual(products(), ['Mine'])
})

test.serial('subform rows that a run replaced twice return as they were before the first time', async t => {
  const [{details}] = here.crm.create('example', 'Orders', [{Name: 'X-3', Code: 'X-3', Order_Lines: [{Product: 'Old'}]}]) as [any]
  const {path, run} = await begin()
  const lines = `/orgs/${engine.org.org}/connectors/${engine.org.connector}/records/Orders/rows`
  for (const Product of ['New', 'Newer']) {
    const items = [{parentId: details.id, writeId: Product, rows: [{rowKey: 'r', payload: {Product}}]}]
    await ok(engine.org.call('PUT', lines, {runId: run, field: 'Order_Lines', child: 'Order_Lines', items}), 200)
  }
  await end(run)
  t.like((await undo(path, run)).run.undo, {restored: 1, changedSince: 0})
  const found = here.crm.record('example', 'Orders', details.id)!.Order_Lines as any[]
  t.deepEqual(
    found.map(({Product}) => Product),
    ['Old'],
  )
})

test.serial('a value that an external engine wrote is no edit of a person to a later run', async t => {
  const id = make('M-1')
  const keeping = {...accounts, match: {...accounts.match, onEdited: 'keep'}}
  const write = (city: string) => runImport(engine.org, {csv: `name,number,city\nOld M-1,M-1,${city}\n`, flow: keeping})
  await write('Bern')
  const {path, run} = await begin()
  await ok(engine.update(run, [change('m1', id, {Billing_City: 'Basel'})]), 200)
  await end(run)
  await here.ahead('10 minutes')
  await write('Chur')
  t.is(recordOf('M-1').Billing_City, 'Chur')
  here.crm.update('example', 'Accounts', [{id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  await here.ahead('10 minutes')
  await write('Genf')
  t.is(recordOf('M-1').Billing_City, 'Mine')
  t.truthy(path)
})

test.serial('subform rows are kept if the subform left the CRM, and the values of other records are restored', async t => {
  const account = make('V-1')
  const [{details}] = here.crm.create('example', 'Orders', [{Name: 'V-1', Code: 'V-1', Order_Lines: [{Product: 'Old'}]}]) as [any]
  const {path, run} = await begin()
  const lines = `/orgs/${engine.org.org}/connectors/${engine.org.connector}/records/Orders/rows`
  const items = [{parentId: details.id, writeId: 'v', rows: [{rowKey: 'r', payload: {Product: 'New'}}]}]
  await ok(engine.org.call('PUT', lines, {runId: run, field: 'Order_Lines', child: 'Order_Lines', items}), 200)
  await ok(engine.update(run, [change('v1', account, {Billing_City: 'Bern'})]), 200)
  await end(run)
  here.crm.dropField('example', 'Orders', 'Order_Lines')
  const {org, connector} = engine.org
  await ok(engine.org.call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'}), 200)
  const {run: undone, log} = await undo(path, run)
  t.like(undone, {stop: null, undo: {restored: 1}})
  t.like(
    log.find(({rowKey, phase}) => rowKey === 'r' && phase === 'write'),
    {outcome: 'skipped', code: 'UNDO_UNKNOWN'},
  )
  t.is(recordOf('V-1').Billing_City, null)
})
