import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page} from 'playwright-core'
import {accountRows, accounts, leads, ok, openOrg, runImport} from '../support/importing.ts'
import {companies, people, runFiles} from '../support/lookups.ts'
import {enter, settled, stage} from './stage.ts'

const here = stage('browser results')

const tagCalls = {method: 'POST', path: '/crm/v8/Accounts/actions/add_tags'}

const countRows = async (page: Page, count: number) => {
  await page.getByText(new RegExp(`${count} rows? shown`)).waitFor()
  await settled(page)
  assert.equal(await page.locator('.rows-table tbody tr .row-toggle').count(), count)
}

/** Opens the page of a run that created three records and updated one. The CRM refused the tag of the second row. */
const openTaggedRun = async (prefix: string) => {
  const org = await openOrg(here.world)
  here.world.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: `${prefix}1`}])
  here.world.crm.faults.add({match: tagCalls, times: 1, action: {type: 'refuse', code: 'RECORD_LOCKED', index: [1]}})
  const {path, run} = await runImport(org, {csv: accountRows(4, prefix), flow: {...accounts, tags: ['Fair']}})
  assert.deepEqual([run.counts.Accounts.created, run.counts.Accounts.updated], [3, 1])
  const visitor = await here.open()
  await enter(visitor, org.session)
  await visitor.page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
  return visitor
}

test('an outcome lists as many rows as it counts, without rows whose tags or patches have that outcome', async () => {
  const {page, complaints} = await openTaggedRun('Ro-')
  await page.getByRole('link', {name: 'Updated', exact: true}).click()
  await countRows(page, 1)
  await page.getByLabel('Outcome').selectOption({label: 'All'})
  await countRows(page, 4)
  await page.getByLabel('Outcome').selectOption({label: 'Updated (1)'})
  await countRows(page, 1)
  assert.deepEqual(complaints, [])
})

test('a row that lacks only its tags offers no corrections, because a retry would not write them', async () => {
  const {page, complaints} = await openTaggedRun('Rt-')
  await page.getByRole('link', {name: '1 row, show rows'}).click()
  await countRows(page, 1)
  await page.locator('.row-toggle').click()
  await page.locator('.row-cells').getByText('Rt-2').waitFor()
  assert.equal(await page.locator('.edit-row').count(), 0)
  assert.deepEqual(complaints, [])
})

test('typed corrections of a row stay until they are saved, and a retry warns about those that are not', async () => {
  const org = await openOrg(here.world)
  const csv = 'name,company,mail,staff\nPia,Company,,many\nOlga,Company,,several\n'
  const {path, source, run} = await runImport(org, {csv, flow: leads})
  assert.equal(run.counts.Leads.failed, 2)
  const {page, complaints, ...visitor} = await here.open()
  await enter({page, complaints, ...visitor}, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/results?run=${run.id}`)
  const [first, second] = [1, 2].map(row => page.locator('.row-toggle').nth(row - 1))
  const staff = page.locator('.edit-row').getByLabel('staff', {exact: true})
  await first!.click()
  await staff.fill('12')
  await second!.click()
  await page.locator('.edit-row').getByLabel('name', {exact: true}).and(page.locator('input')).waitFor()
  assert.equal(await staff.inputValue(), 'several')
  await first!.click()
  await page.getByRole('button', {name: 'Save 1 cell'}).waitFor()
  await page.reload()
  await page.getByRole('button', {name: 'Retry 2 rows'}).click()
  await page.getByText('1 row has typed cells that are not saved').waitFor()
  await page.getByRole('button', {name: 'Cancel', exact: true}).click()
  await first!.click()
  await page.getByRole('button', {name: 'Save 1 cell'}).click()
  await page.getByText(/^Row 1 corrected/).waitFor()
  await page.getByRole('button', {name: 'Save row', exact: true}).and(page.locator('[disabled]')).waitFor()
  const {source: saved} = await ok(org.call('GET', `${path}/sources/${source.id}`), 200)
  assert.deepEqual(saved.cleaning[0].cells, [{row: 1, column: 'staff', value: '12'}])
  await page.getByRole('button', {name: 'Retry 2 rows'}).click()
  await page.getByRole('dialog').waitFor()
  assert.equal(await page.getByText('typed cells that are not saved').count(), 0)
  assert.deepEqual(complaints, [])
})

test('“Repeat weekly” saves one template however often it is pressed, and is not offered for files that one schedule cannot fetch', async () => {
  const org = await openOrg(here.world)
  const countTemplates = async () => (await ok(org.call('GET', `/orgs/${org.org}/templates`), 200)).templates.length
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const one = await runImport(org, {csv: 'name,number,city\nHarbour Foods,RW-1,Bilbao\n', flow: accounts})
  const runPage = ({path, run}: {path: string; run: {id: string}}) =>
    `${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`
  await page.goto(runPage(one))
  const button = page.getByRole('button', {name: 'Repeat weekly'})
  for (const _ of [1, 2]) {
    await button.click()
    await page.getByLabel('Time zone').waitFor()
    await page.goBack()
    await button.waitFor()
  }
  assert.equal(await countTemplates(), 1)
  const files = {companies: 'name,number\nHarbour Foods,RW-2\n', people: 'last,mail,code\nBrandt,rw@f.example,RW-2\n'}
  const several = await runFiles(org, files, [companies(), people({key: {parentColumn: 'number', childColumn: 'code'}})])
  await page.goto(runPage(several))
  await page.getByRole('link', {name: 'View rows'}).waitFor()
  assert.equal(await button.count(), 0)
  assert.deepEqual(visitor.complaints, [])
})
