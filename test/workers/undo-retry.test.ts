import test from 'ava'
import {accounts, type Org, ok, openOrg, readLog, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  org = await openOrg(here)
})
test.afterEach.always(() => here.crm.faults.clear())

const recordOf = (number: string) => here.crm.records('example', 'Accounts').find(({Account_Number: one}) => one === number)
const later = () => here.crm.clock.advance(60_000)

const start = async (path: string, at: string, body: object = {}) => {
  const {run} = await ok(org.call('POST', `${path}/${at}`, body), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
  return {run: ended, log: await readLog(org.call, `${path}/runs/${ended.id}`)}
}

/**
 * Lets a run create a record from row 1 while the CRM refuses the update by row 2. A retry then updates the record. In an undo of the run, both
 * rows name the record.
 */
const createThenRetry = async (number: string) => {
  here.crm.faults.add({
    match: {method: 'PUT', path: '/crm/v8/Accounts'},
    times: 1,
    action: {type: 'answer', status: 400, body: {code: 'INVALID_DATA', status: 'error', message: 'invalid data', details: {}}},
  })
  const csv = `name,number,city\nAcme,${number},Bern\nAcme,${number},Basel\n`
  const {path, run} = await runImport(org, {csv, flow: accounts})
  later()
  const retry = await start(path, 'runs', {retryOf: run.id})
  later()
  return {path, run, retry: retry.run}
}

test.serial('after the undo of a retry, the undo of the first run deletes the record that the first run created', async t => {
  const {path, run, retry} = await createThenRetry('R-1')
  t.like(run.counts.Accounts, {created: 1, refused: 1})
  t.like(retry.counts.Accounts, {updated: 1})
  t.is(recordOf('R-1')!.Billing_City, 'Basel')
  t.like((await start(path, `runs/${retry.id}/undo`)).run.undo, {restored: 1, changedSince: 0})
  t.is(recordOf('R-1')!.Billing_City, 'Bern')
  later()
  t.like((await start(path, `runs/${run.id}/undo`)).run.undo, {deleted: 2, changedSince: 0})
  t.is(recordOf('R-1'), undefined)
})

test.serial('after a lost answer too, the undo of the first run deletes the record', async t => {
  const {path, run, retry} = await createThenRetry('R-2')
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: 'dropAfter'})
  t.like((await start(path, `runs/${retry.id}/undo`)).run.undo, {restored: 1})
  later()
  t.like((await start(path, `runs/${run.id}/undo`)).run.undo, {deleted: 2})
})

test.serial('a record that a person edited before the undo of the retry is kept by the undo of the first run', async t => {
  const {path, run, retry} = await createThenRetry('R-3')
  here.crm.update('example', 'Accounts', [{id: recordOf('R-3')!.id, Account_Name: 'Mine'}], {as: 'ben@example.org'})
  later()
  t.like((await start(path, `runs/${retry.id}/undo`)).run.undo, {restored: 1})
  t.like(recordOf('R-3'), {Account_Name: 'Mine', Billing_City: 'Bern'})
  later()
  t.like((await start(path, `runs/${run.id}/undo`)).run.undo, {deleted: 0, changedSince: 2})
  t.is(recordOf('R-3')!.Account_Name, 'Mine')
})
