import assert from 'node:assert/strict'
import {test} from 'node:test'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {enter, picture, stage} from './stage.ts'
import {runRequested} from './steps.ts'

const here = stage('browser sealed plan')

test('a person seals a plan, another admin approves it, and it is applied', async () => {
  const org = await openOrg(here.world)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {approvalAbove: 2}), 200)
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Sp-'), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  const importId = path.split('/').at(-1)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${importId}/review?run=${run.id}`)
  await page.getByRole('button', {name: 'Seal this plan'}).click()
  await page.getByText('Another admin must approve it, because you sealed it.').waitFor()
  await picture(page, 'sealed-plan')
  assert.equal(await page.getByRole('button', {name: 'Apply plan'}).count(), 0)

  const other = await here.world.makeOrg({org: org.org, role: 'admin'})
  const {plan} = await ok(org.call('GET', `${path}/runs/${run.id}/seal`), 200)
  await ok(here.world.as(other.token)('POST', `${path}/runs/${run.id}/approve`, {digest: plan.digest}), 200)
  await page.reload()
  const requested = runRequested(page)
  await page.getByRole('button', {name: 'Apply plan'}).click()
  assert.deepEqual(await requested, {planOf: run.id, guard: 'usual'})
  await page.waitForURL(/\/run\?run=/)
  const applied = new URLSearchParams(page.url().split('?')[1]).get('run')
  const ended = await untilEnded(org.call, `${path}/runs/${applied}`)
  assert.deepEqual([ended.planOf, ended.rowsWritten], [run.id, 5])
  assert.deepEqual(visitor.complaints, [])
})

test('the person who started a dry run is not offered to approve its plan, also if another admin sealed it', async () => {
  const org = await openOrg(here.world)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {approvalAbove: 2}), 200)
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Sq-'), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  const other = await here.world.makeOrg({org: org.org, role: 'admin'})
  await ok(here.world.as(other.token)('POST', `${path}/runs/${run.id}/seal`), 200)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review?run=${run.id}`)
  await page.getByText('Another admin must approve it, because you started its dry run.').waitFor()
  assert.equal(await page.getByRole('button', {name: 'Approve plan'}).count(), 0)
  assert.deepEqual(visitor.complaints, [])
})
