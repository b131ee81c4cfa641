import test from 'ava'
import {ok, undoRun} from '../support/importing.ts'
import {type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'
import type {TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let engine: ExternalEngine

test.before(async t => {
  const environment = {CRM_TIMEOUT_SECONDS: '3', CRM_LAG_SECONDS: '1'}
  engine = await openExternalEngine(t, {workers: ['discovery', 'imports', 'writes'], environment})
  here = engine.house
})
test.afterEach.always(() => here.crm.faults.clear())

const recordOf = (number: string): any => engine.held().find(({Account_Number: one}) => one === number)
const make = (number: string) => {
  here.crm.create('example', 'Accounts', [{Account_Name: `Old ${number}`, Account_Number: number, Billing_City: null}])
  return String(recordOf(number).id)
}
const begin = async () => {
  const {path} = await engine.makeImport()
  return {path, run: await engine.authorise(1_000, {importId: path.split('/').at(-1)})}
}
const end = (run: string) => ok(engine.tell(run, 'progress', {done: true}), 200)
const undo = (path: string, id: string) => undoRun(engine.org, {path, run: {id}})
const change = (rowKey: string, recordId: string, payload: object) => ({rowKey, recordId, payload})
const update = (run: string, ...items: object[]) => ok(engine.update(run, items), 200)
const codesOf = (log: any[]) => log.filter(({phase}) => phase === 'write').map(({recordId, code}) => [recordId, code])

test.serial('a row keeps the record that it created when it updates another, and the undo deletes both created records', async t => {
  const {path, run} = await begin()
  const {results} = await ok(engine.create(run, [row('A-1'), row('A-2')]), 200)
  const [one, two] = results.map(({recordId}: any) => recordId)
  here.crm.clock.advance(60_000)
  await update(run, change('A-1', two, {Billing_City: 'Bern'}))
  t.like((await ok(engine.create(run, [row('A-1')]), 200)).results, [{ok: true, outcome: 'inherited', recordId: one}])
  await end(run)
  t.like((await undo(path, run)).run.undo, {restored: 0, changedSince: 0})
  t.deepEqual([recordOf('A-1'), recordOf('A-2')], [undefined, undefined])
})

test.serial('an undo that paused restores the second record of a row whose first record was settled before the pause', async t => {
  const [one, two] = ['B-1', 'B-2'].map(make) as [string, string]
  const {path, run} = await begin()
  await update(run, change('b', one, {Billing_City: 'Bern'}))
  await update(run, change('b', two, {Billing_City: 'Bern'}))
  await end(run)
  here.crm.update('example', 'Accounts', [{id: one, Billing_City: null}], {as: 'ben@example.org'})
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'rateLimit', retryAfter: 11}})
  const {run: undone, log} = await undo(path, run)
  t.like(undone, {stop: null, undo: {restored: 1, changedSince: 0}})
  t.deepEqual(codesOf(log).toSorted(), [
    [one, 'UNCHANGED'],
    [two, 'RESTORED'],
  ])
  t.is(recordOf('B-2').Billing_City, null)
})

test.serial(
  'an answered update leaves the doubt about a lost create: a create sent again and the undo name the possible second record',
  async t => {
    const {path, run} = await begin()
    const other = make('C-1')
    const lose = async (key: string) => {
      here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: 'dropAfter'})
      t.is((await engine.create(run, [row(key, null)])).status, 502)
    }
    await lose('c')
    await update(run, change('c', other, {Billing_City: 'Bern'}))
    await lose('d')
    await update(run, change('d', make('C-2'), {Billing_City: 'Bern'}))
    await ok(engine.create(run, [row('d', null)]), 200)
    await end(run)
    const twice = (await engine.log(run)).filter(({outcome}) => outcome === 'made_after_no_answer')
    t.deepEqual(
      twice.map(({rowKey}) => rowKey),
      ['d'],
    )
    const {log} = await undo(path, run)
    t.is(recordOf('C-1').Billing_City, null)
    t.regex(
      log.find(({rowKey}) => rowKey === 'c').message,
      /restored\. The CRM never answered a create of this row\. Look for a second record/,
    )
  },
)

test.serial('an undo keeps a value that cannot be compared as unknown, because it proves no change by a person', async t => {
  const parents = ['D-1', 'D-2'].map(make)
  const id = make('D-3')
  here.crm.update('example', 'Accounts', [{id, Parent_Account: {id: parents[0]!}}])
  const {path, run} = await begin()
  await update(run, change('e', id, {Parent_Account: parents[1], Billing_City: 'Bern'}))
  await end(run)
  const {run: undone, log} = await undo(path, run)
  t.like(undone.undo, {restored: 1, changedSince: 0})
  t.like(
    log.find(({target}) => target === 'Parent_Account'),
    {code: 'UNDO_UNKNOWN', message: 'Parent_Account was kept: its values cannot be compared'},
  )
})
