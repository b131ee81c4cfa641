import test from 'ava'
import {csv as ofCsv, openCorrections} from '../support/corrections.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {openLongLivedWorker} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'}})
  org = await openOrg(here)
  await worker.start()
})
test.afterEach.always(() => here.crm.faults.clear())

const worker = openLongLivedWorker(() => here.config)
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

/** Starts a run while no worker is running, and returns it after its end. `meanwhile`: called before the worker starts. */
const startLater = async (path: string, at: string, body: object, meanwhile: (run: string) => Promise<unknown>) => {
  await worker.stop()
  const {run} = await ok(org.call('POST', `${path}/${at}`, body), 202)
  await meanwhile(run.id)
  await worker.start()
  return untilEnded(org.call, `${path}/runs/${run.id}`)
}
const startUnbegun = (path: string, at: string, body: object = {}) =>
  startLater(path, at, body, id => ok(org.call('POST', `${path}/runs/${id}/cancel`), 200))
const readRun = async (path: string, run: string) => (await ok(org.call('GET', `${path}/runs/${run}`), 200)).run
const undoOf = async (path: string, run: string) => (await ok(org.call('GET', `${path}/runs/${run}/undo`), 200)).undo

test.serial('a retry that was cancelled before it began leaves the first run its questions and its undo', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(2, 'R-4-'), flow: accounts})
  const retry = await startUnbegun(path, 'runs', {retryOf: run.id})
  t.like(retry, {stop: {stopped: 'CANCELLED'}, startedAt: null})
  t.like(await readRun(path, run.id), {retriedBy: null, begunUndo: null}, 'a retried run has no open questions')
  t.like(await undoOf(path, retry.id), {available: false, why: 'UNDO_NOT_KEPT'})
  t.like(await undoOf(path, run.id), {available: true, why: null})
  const undone = await start(path, `runs/${run.id}/undo`)
  t.like(undone.run.undo, {deleted: 2})
  const again = await org.call('POST', `${path}/runs`, {retryOf: retry.id})
  t.like(again, {status: 409, body: {code: 'RUN_UNDONE', run: undone.run.id}})
  for (const {id} of [run, retry]) t.is((await readRun(path, id)).begunUndo, undone.run.id)
  later()
  await start(path, `runs/${undone.run.id}/undo`)
  for (const {id} of [run, retry]) t.is((await readRun(path, id)).begunUndo, null)
})

test.serial('a retry of a retry that was cancelled before it began is undone before the first run', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(2, 'R-5-'), flow: accounts})
  const unbegun = await startUnbegun(path, 'runs', {retryOf: run.id})
  const retry = await start(path, 'runs', {retryOf: run.id})
  t.like(retry.run, {retryOf: unbegun.id, counts: {Accounts: {inherited: 2}}})
  for (const {id} of [run, unbegun]) t.is((await readRun(path, id)).retriedBy, retry.run.id)
  t.like(await undoOf(path, run.id), {available: false, why: 'RUN_RETRIED'})
  const refused = await org.call('POST', `${path}/runs/${run.id}/undo`, {})
  t.like(refused, {status: 409, body: {code: 'RUN_RETRIED', run: retry.run.id}})
})

test.serial('an undo that was cancelled before it began leaves the run to be retried', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(2, 'R-6-'), flow: accounts})
  const undo = await startLater(path, `runs/${run.id}/undo`, {}, async id => {
    t.is((await readRun(path, run.id)).begunUndo, id)
    await ok(org.call('POST', `${path}/runs/${id}/cancel`), 200)
  })
  t.is(undo.startedAt, null)
  t.is((await readRun(path, run.id)).begunUndo, null)
  t.like((await start(path, 'runs', {retryOf: run.id})).run, {stop: null, retryOf: run.id})
})

test.serial('after a run that was cancelled before it began, the deletes of its dry run can be confirmed again', async t => {
  const csv = accountRows(2, 'R-8-')
  await runImport(org, {csv, flow: accounts})
  later()
  const [, number] = accounts.fields
  const {path} = await prepareImport(org, {csv, flow: {...accounts, action: 'delete', match: {by: ['Account_Number']}, fields: [number]}})
  t.like((await start(path, 'runs', {dryRun: true})).run, {deleted: 2})
  t.is((await startUnbegun(path, 'runs', {confirmDeletes: 2})).startedAt, null)
  t.like((await start(path, 'runs', {confirmDeletes: 2})).run, {deleted: 2})
})

test.serial('the failed rows of an undone run can be imported as a new file, but not corrected, because no retry writes them', async t => {
  const {correct, failedOf} = openCorrections(() => org)
  const refusal = {type: 'refuse', index: 1, code: 'INVALID_DATA', message: 'Not this'} as const
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: refusal})
  const {path, run} = await runImport(org, {csv: accountRows(2, 'R-9-'), flow: accounts})
  t.like(run.counts.Accounts, {created: 1, refused: 1})
  const failed = await failedOf(path, run)
  const upload = () => org.call('POST', `${path}/sources?name=failed.csv`, failed, ofCsv)
  t.is((await ok(upload(), 409)).code, 'FAILED_FILE')
  later()
  const {run: undo} = await start(path, `runs/${run.id}/undo`)
  for (const one of [run, undo]) t.like(await correct(path, one, failed), {status: 409, body: {code: 'RUN_UNDONE', run: undo.id}})
  await ok(upload(), 201)
})

test.serial('a retry that was stopped before it opened the connection can be undone, and then the first run', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(2, 'R-7-'), flow: accounts})
  const field = {name: 'Import_Key', type: 'text' as const, length: 26}
  const discover = () => ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  here.crm.addField('example', 'Accounts', {...field, unique: true})
  await discover()
  await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Accounts`, {idempotencyField: field.name}), 200)
  const retry = await startLater(path, 'runs', {retryOf: run.id}, () => {
    here.crm.addField('example', 'Accounts', {...field, unique: false})
    return discover()
  })
  t.like(retry, {stop: {stopped: 'FIELD_NOT_UNIQUE'}})
  await start(path, `runs/${retry.id}/undo`)
  t.like((await start(path, `runs/${run.id}/undo`)).run.undo, {deleted: 2})
})
