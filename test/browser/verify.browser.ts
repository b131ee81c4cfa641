import assert from 'node:assert/strict'
import {test} from 'node:test'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {makeTemplate} from '../support/schedules.ts'
import {enter, picture, stage} from './stage.ts'

const here = stage('browser verify')

test('a person starts an import whose written rows are all compared with the CRM', async () => {
  const org = await openOrg(here.world)
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Vb-'), flow: accounts})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review`)
  await page.getByText('Compare written rows with the CRM').click()
  await page.getByLabel('Rows to compare').selectOption({label: 'All written rows'})
  await picture(page, 'verify-choice')
  await page.getByRole('button', {name: 'Import 5 rows'}).click()
  await page.waitForURL(/\/run\?run=/)
  const run = new URLSearchParams(page.url().split('?')[1]).get('run')
  const ended = await untilEnded(org.call, `${path}/runs/${run}`)
  assert.deepEqual([ended.verify.mode, ended.verify.rows, ended.rowsWritten], ['all', 5, 5])
  assert.deepEqual(visitor.complaints, [])
})

test('an admin approves a template for schedules, which another person changed', async () => {
  const org = await openOrg(here.world)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {approvalAbove: 2}), 200)
  const template = await makeTemplate(org)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/templates/${template.split('/').at(-1)}`)
  await page.getByText('Another admin must approve this version, because you changed the template.').waitFor()
  assert.equal(await page.getByRole('button', {name: 'Approve version 1'}).count(), 0)

  const other = await here.open()
  await enter(other, (await here.world.makeOrg({org: org.org, role: 'admin'})).token)
  await other.page.goto(`${here.world.url}/#/templates/${template.split('/').at(-1)}`)
  await other.page.getByRole('button', {name: 'Approve version 1'}).click()
  await other.page.getByText(/^Version 1 was approved by/).waitFor()
  await picture(other.page, 'template-approval')
  const {approval} = await ok(org.call('GET', `${template}/approval`), 200)
  assert.equal(approval.isApproved, true)
  assert.deepEqual([visitor.complaints, other.complaints], [[], []])
})
