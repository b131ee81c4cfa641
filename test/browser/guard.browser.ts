import assert from 'node:assert/strict'
import {test} from 'node:test'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, runImport, untilEnded, untilRun} from '../support/importing.ts'
import {enter, picture, stage} from './stage.ts'
import {retryRows, runRequested} from './steps.ts'

const here = stage('browser guard')

/** Starts a run that its canary holds, because the city column contains addresses, which the CRM shortens. */
const holdAtCanary = async (org: Org, prefix: string) => {
  here.world.crm.setSwitches({rewrites: [{module: 'Accounts', how: 'cut', field: 'Billing_City', length: 20}]})
  const shifted = accountRows(1_000, prefix).replaceAll('Town ', 'Long Street in Town ')
  const {path} = await prepareImport(org, {csv: shifted, flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {guard: {coerced: 0.05, canary: 200}}), 202)
  await untilRun(org.call, `${path}/runs/${run.id}`, ({held}) => held !== null)
  return {path, run}
}

test('a person sees why a run is held, also if the page cannot load the run at first, and resumes it', async () => {
  const org = await openOrg(here.world)
  const index = Array.from({length: 10}, (_, n) => n)
  here.world.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1_000, action: {type: 'refuse', index}})
  const {path} = await prepareImport(org, {csv: accountRows(5_000, 'G-'), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {guard: 'usual'}), 202)
  const runPath = `${path}/runs/${run.id}`
  await untilRun(org.call, runPath, ({held}) => held !== null)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.route(`**${runPath}`, route => route.abort(), {times: 1})
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
  await page.getByText('Check your connection.').waitFor()
  await page.getByRole('button', {name: 'Try again'}).click()
  await page.getByText('Too many rows ended badly, so this run waits').waitFor()
  await page.getByText('The guard of this run allows 5 %').waitFor()
  await picture(page, 'guard-held')
  here.world.crm.faults.clear()
  await page.getByRole('button', {name: 'Resume run'}).click()
  await untilEnded(org.call, runPath)
  await page.getByRole('button', {name: 'Resume run'}).waitFor({state: 'detached'})
  assert.deepEqual(visitor.complaints, [])
})

test('a person stops a run that its canary holds, and undoes it, with one button', async () => {
  const org = await openOrg(here.world)
  const {crm} = here.world
  const {path, run} = await holdAtCanary(org, 'U-')
  const count = () => crm.records('example', 'Accounts').filter(({Account_Number: no}) => String(no).startsWith('U-')).length
  assert.equal(count(), 200)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
  await page.getByRole('button', {name: 'Stop and undo'}).click()
  await page.getByText('The run has written 200 rows').waitFor()
  await picture(page, 'guard-stop-and-undo')
  await page.getByRole('dialog').getByRole('button', {name: 'Stop and undo'}).click()
  await page.getByText('Rows: 0 restored, 200 deleted, 0 kept').waitFor()
  assert.equal(count(), 0)
  assert.deepEqual(visitor.complaints, [])
})

test('a person whose run was stopped but not undone sees the reason, and can still undo it', async () => {
  const org = await openOrg(here.world)
  const {path, run} = await holdAtCanary(org, 'W-')
  const runPath = `${path}/runs/${run.id}`
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
  await page.getByRole('button', {name: 'Stop and undo'}).click()
  await page.route(`**${runPath}`, route => route.abort(), {times: 1})
  await page.route(`**${runPath}/undo`, route => (route.request().method() === 'POST' ? route.abort() : route.continue()))
  await page.getByRole('dialog').getByRole('button', {name: 'Stop and undo'}).click()
  await page.getByText('Could not stop and undo the run').waitFor()
  assert.equal((await untilEnded(org.call, runPath)).state, 'ended')
  await page.getByRole('button', {name: 'Preview the undo'}).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('a retry has the usual guard, and reads back the rows that the retried run was to read back', async () => {
  const org = await openOrg(here.world)
  const csv = 'name,number,city\nHarbour Foods,V-1,Bilbao\n,V-2,Lyon\n'
  for (const verify of ['all', 'off']) {
    const {path, run} = await runImport(org, {csv, flow: accounts, start: {verify}})
    const visitor = await here.open()
    const {page} = visitor
    await enter(visitor, org.session)
    await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
    const requested = runRequested(page)
    await retryRows(page)
    assert.deepEqual(await requested, {retryOf: run.id, guard: 'usual', ...(verify === 'all' && {verify})})
    assert.deepEqual(visitor.complaints, [])
  }
})
