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
