import test from 'ava'
import {ok, undoRun} from '../support/importing.ts'
import {runFiles} from '../support/lookups.ts'
import {type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'
import {lineSheet, lines, orderSheet, orders} from '../support/subforms.ts'

let engine: ExternalEngine

test.before(async t => {
  const environment = {CRM_TIMEOUT_SECONDS: '3', CRM_LAG_SECONDS: '1'}
  engine = await openExternalEngine(t, {workers: ['discovery', 'imports', 'writes'], environment})
})

const discover = () => {
  const {org, connector, call} = engine.org
  return ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'}), 200)
}

test.serial('an undo of a run whose module was renamed in the CRM asks for a discovery, then uses the new name', async t => {
  const {crm} = engine.house
  crm.create('example', 'Orders', [{Name: 'Rn-1', Code: 'Rn-1', Order_Lines: [{Product: 'Old'}]}])
  const {path, run} = await runFiles(engine.org, {orders: orderSheet(['Rn-1', 'Rn-2']), lines: lineSheet([['Rn-1', 'A']])}, [
    orders(),
    lines(),
  ])
  t.like(run, {stop: null, counts: {Orders: {created: 1, updated: 1}}})
  crm.renameModule('example', 'Orders', 'Purchases')
  const {run: stopped} = await undoRun(engine.org, {path, run})
  t.is(stopped.stop.stopped, 'CRM_REFUSED')
  t.regex(stopped.stop.message, /If the module was renamed there, run a discovery\. Undo the run again to continue$/)
  await discover()
  const {run: undone} = await undoRun(engine.org, {path, run})
  t.like(undone, {stop: null, undo: {deleted: 1, changedSince: 0}})
  const left = crm.records('example', 'Purchases').filter(({Code}) => String(Code).startsWith('Rn-')) as any[]
  t.deepEqual(
    left.map(({Code, Order_Lines}) => [Code, Order_Lines.map(({Product}: any) => Product)]),
    [['Rn-1', ['Old']]],
  )
})

test.serial(
  'an undo of an external run uses the new name of a renamed module, although another module has the earlier name now',
  async t => {
    const {crm} = engine.house
    const {path} = await engine.makeImport()
    const run = await engine.authorise(1_000, {importId: path.split('/').at(-1)})
    await ok(engine.create(run, [row('Re-1')]), 200)
    await ok(engine.tell(run, 'progress', {done: true}), 200)
    crm.renameModule('example', 'Accounts', 'Firms')
    crm.renameModule('example', 'Leads', 'Accounts')
    await discover()
    const {run: undone} = await undoRun(engine.org, {path, run: {id: run}})
    t.like(undone, {stop: null, undo: {deleted: 1, changedSince: 0}})
    t.is(crm.count('example', 'Firms'), 0)
  },
)
