import assert from 'node:assert/strict'
import {after, test} from 'node:test'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {fire, makeSchedule, makeTemplate, startFileHost} from '../support/schedules.ts'
import {enter, picture, stage} from './stage.ts'

const host = await startFileHost()
after(() => host.stop())
const here = stage('browser verify', async () => {}, {environment: {PRIVATE_HOSTS: host.place}})
const idOf = (path: string) => path.split('/').at(-1)!

test('a person starts an import whose written rows are all compared with the CRM', async () => {
  const org = await openOrg(here.world)
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Vb-'), flow: accounts})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${idOf(path)}/review`)
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

test('the next scheduled run compares the rows that the page of its template says, unless the page of its schedule says otherwise', async () => {
  const org = await openOrg(here.world)
  const {template, path} = await makeSchedule(org, host)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const picker = page.getByLabel('Rows to compare')
  const choose = async (label: string | RegExp, saved: string, [method, at]: [method: string, at: string]) => {
    await picker.selectOption({label: (await picker.locator('option').filter({hasText: label}).innerText()).trim()})
    // The notice of an earlier save may still be visible.
    const answered = page.waitForResponse(
      response => response.request().method() === method && new URL(response.url()).pathname.endsWith(at),
    )
    await page.getByRole('button', {name: 'Save', exact: true}).click()
    assert.equal((await answered).status(), 200)
    await page.locator('.toast').filter({hasText: saved}).waitFor()
  }
  let files = 0
  const compare = async () => {
    host.serve(accountRows(3, `Vs-${++files}-`))
    const {importId, runId} = await fire(org, path)
    const {verify} = await untilEnded(org.call, `/orgs/${org.org}/imports/${importId}/runs/${runId}`)
    return [verify.mode, verify.rows]
  }

  await page.goto(`${here.world.url}/#/templates/${idOf(template)}`)
  await picker.waitFor()
  assert.equal(await picker.inputValue(), 'off')
  await choose('All written rows', 'Setting saved', ['PATCH', template])
  assert.equal((await ok(org.call('GET', template), 200)).template.verify, 'all')
  assert.deepEqual(await compare(), ['all', 3])

  await page.goto(`${here.world.url}/#/templates/${idOf(template)}/schedules/${idOf(path)}`)
  await picker.waitFor()
  assert.equal(await picker.inputValue(), 'inherited')
  for (const [label, mode, rows] of [
    [/^A sample/, 'sample', 3],
    [/^None/, 'off', 0],
  ] as const) {
    await choose(label, 'Schedule saved', ['PUT', path])
    assert.equal((await ok(org.call('GET', path), 200)).schedule.verify, mode)
    assert.deepEqual(await compare(), [mode, rows])
  }
  await choose('As the template says', 'Schedule saved', ['PUT', path])
  assert.equal((await ok(org.call('GET', path), 200)).schedule.verify, null)
  await page.reload()
  await picker.waitFor()
  assert.equal(await picker.inputValue(), 'inherited')
  assert.deepEqual(await compare(), ['all', 3])
  assert.deepEqual(visitor.complaints, [])
})

test('an admin approves a template for schedules, which another person changed', async () => {
  const org = await openOrg(here.world)
  await ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {approvalAbove: 2}), 200)
  const template = await makeTemplate(org)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/templates/${idOf(template)}`)
  await page.getByText('Another admin must approve this version, because you changed the template.').waitFor()
  assert.equal(await page.getByRole('button', {name: 'Approve version 1'}).count(), 0)

  const other = await here.open()
  await enter(other, (await here.world.makeOrg({org: org.org, role: 'admin'})).token)
  await other.page.goto(`${here.world.url}/#/templates/${idOf(template)}`)
  await other.page.getByRole('button', {name: 'Approve version 1'}).click()
  await other.page.getByText(/^Version 1 was approved by/).waitFor()
  await picture(other.page, 'template-approval')
  const {approval} = await ok(org.call('GET', `${template}/approval`), 200)
  assert.equal(approval.isApproved, true)
  assert.deepEqual([visitor.complaints, other.complaints], [[], []])
})
