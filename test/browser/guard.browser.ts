import assert from 'node:assert/strict'
import {test} from 'node:test'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded, untilRun} from '../support/importing.ts'
import {enter, picture, stage} from './stage.ts'

const here = stage('browser guard')

test('a person sees why a run is held, and resumes it', async () => {
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
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
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
  // The city column contains addresses, which the CRM shortens.
  crm.setSwitches({rewrites: [{module: 'Accounts', how: 'cut', field: 'Billing_City', length: 20}]})
  const shifted = accountRows(1_000, 'U-').replaceAll('Town ', 'Long Street in Town ')
  const {path} = await prepareImport(org, {csv: shifted, flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {guard: {coerced: 0.05, canary: 200}}), 202)
  await untilRun(org.call, `${path}/runs/${run.id}`, ({held}) => held !== null)
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
