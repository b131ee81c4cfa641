import test from 'ava'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {column} from '../support/lookups.ts'
import {applyPlan, makePlan} from '../support/sealed-plans.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let org: Org

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery', 'imports', 'checks']})
  org = await openOrg(here)
})

const run = async (path: string, body: object) => {
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return untilEnded(org.call, `${path}/runs/${begun.id}`)
}
const forecastOf = async (path: string) => (await ok(org.call('POST', `${path}/forecast`, undefined, {prefer: 'wait=60'}), 200)).job.result

test.serial('a forecast of the whole import uses no dry run of some of its rows, and none of a retry', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(40, 'Fs-'), flow: accounts})
  t.is((await run(path, {dryRun: true, rows: {from: 1, to: 5}})).counts.Accounts.planned, 5)
  t.is((await forecastOf(path)).basis, 'file')
  await run(path, {dryRun: true})
  t.is((await forecastOf(path)).basis, 'dry_run')
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 1}})
  const {id} = await run(path, {})
  t.is((await run(path, {dryRun: true, retryOf: id})).counts.Accounts.planned, 1)
  t.is((await forecastOf(path)).basis, 'file')
})

test.serial('a run has the forecast of the import only if it is a first run that reads every row', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(40, 'Fu-'), flow: accounts})
  const assertCurrent = async () => t.false((await ok(org.call('GET', `${path}/forecast`), 200)).stale)
  await forecastOf(path)
  t.is((await run(path, {rows: {from: 1, to: 5}})).forecast, null)
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 1}})
  await forecastOf(path)
  const first = await run(path, {})
  t.truthy(first.forecast)
  await assertCurrent()
  t.is((await run(path, {retryOf: first.id})).forecast, null)
  await assertCurrent()
})

test.serial('a run has no forecast that was made for an earlier discovery', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Fv-'), flow: accounts})
  await forecastOf(path)
  await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  t.true((await ok(org.call('GET', `${path}/forecast`), 200)).stale)
  t.is((await run(path, {})).forecast, null)
})

test.serial('a forecast is out of date once the org turns undo off, and a sealed plan is not', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Fw-'), flow: accounts})
  const readStale = async () => (await ok(org.call('GET', `${path}/forecast`), 200)).stale
  const setUndo = (undo: string) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {undo}), 200)
  // The first setting that an org changes stores all its settings, which makes every earlier plan outdated.
  await setUndo('off')
  await setUndo('on')
  const dry = await makePlan(org, path)
  await forecastOf(path)
  t.false(await readStale())
  await setUndo('off')
  t.true(await readStale())
  await forecastOf(path)
  t.false(await readStale())
  t.like(await applyPlan(org.call, path, dry.run.id), {planOf: dry.run.id, planStale: 0, stop: null})
  await setUndo('on')
})

test.serial('a create whose value is rounded is forecast as a create after a dry run', async t => {
  const lines = Array.from({length: 20}, (_, n) => `Company ${n},Ft-${n},Town,${n}.345`)
  const flow = {...accounts, fields: [...accounts.fields, column('Annual_Revenue', 'revenue')]}
  const {path} = await prepareImport(org, {csv: `name,number,city,revenue\n${lines.join('\n')}\n`, flow})
  t.is((await run(path, {dryRun: true})).counts.Accounts.planned, 20)
  const {basis, credits} = await forecastOf(path)
  t.is(basis, 'dry_run')
  t.deepEqual(credits.byKind.create, {min: 2, max: 2})
})

test.serial('a new forecast is due after a dry run, and after five minutes, because the quota may have changed', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(3, 'Fy-'), flow: accounts})
  const read = () => ok(org.call('GET', `${path}/forecast`), 200)
  await forecastOf(path)
  await run(path, {dryRun: true})
  t.like(await read(), {stale: false, due: true})
  await forecastOf(path)
  t.like(await read(), {stale: false, due: false})
  await here.ahead('6 minutes')
  t.like(await read(), {stale: false, due: true})
})
