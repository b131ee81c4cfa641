import assert from 'node:assert/strict'
import {test} from 'node:test'
import {accountRows, accounts, ok, openOrg, runImport, undoRun} from '../support/importing.ts'
import {enter, picture, stage} from './stage.ts'

const here = stage('browser undo')

test('a person previews the undo of a run, undoes it, and finds the way to take it back', async () => {
  const org = await openOrg(here.world)
  const {crm, hot} = here.world
  await hot.query(`update plan_versions set limits = limits || '{"undoDays": 90}'`)
  crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'A-1', Billing_City: 'Old Town'}])
  const {path, run} = await runImport(org, {csv: accountRows(4), flow: accounts})
  const edited = crm.records('example', 'Accounts').find(({Account_Number: number}) => number === 'A-4')!
  crm.update('example', 'Accounts', [{id: edited.id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
  await page.getByRole('heading', {name: 'Undo', exact: true}).waitFor()
  await picture(page, 'undo-offered')
  const previews: string[] = []
  page.on('request', request => request.method() === 'POST' && request.url().endsWith('/undo') && previews.push(request.url()))
  await page.getByRole('button', {name: 'Preview the undo'}).dblclick()
  await page.getByText('Preview: 1 restored, 2 deleted, 1 kept').waitFor()
  assert.equal(previews.length, 1, 'a double click starts one preview')
  assert.equal(crm.count('example', 'Accounts'), 4)
  await picture(page, 'undo-preview')
  const preview = page.url()
  assert.equal(await page.getByRole('button', {name: /^Download/}).count(), 0, 'a dry run has no results to download')
  await page.getByRole('link', {name: '1 row, show rows'}).click()
  await page.locator('.review-rows tbody tr').first().waitFor()
  assert.equal(await page.locator('.review-rows tbody tr').count(), 1, 'the reason leads to its row')
  await page.goBack()
  await page.getByRole('main').getByRole('link', {name: 'View rows'}).first().click()
  await page.getByText('Preview of an undo').waitFor()
  await page.getByRole('link', {name: 'Ready 3'}).click()
  await page.locator('.review-rows tbody tr').nth(2).waitFor()
  assert.equal(await page.getByText('You are viewing an earlier preview').count(), 0)
  assert.equal(await page.getByRole('button', {name: /^Edit /}).count(), 0, 'the undo does not read the cells')
  await page.getByRole('link', {name: 'View run', exact: true}).click()
  await page.waitForURL(preview)
  await page.getByRole('button', {name: 'Undo 3 rows'}).click()
  await page.getByRole('dialog').getByRole('button', {name: 'Undo', exact: true}).click()
  await page.getByText('Rows: 1 restored, 2 deleted, 1 kept').waitFor()
  await page.getByRole('heading', {name: 'Take the undo back'}).waitFor()
  await picture(page, 'undo-done')
  const left = crm.records('example', 'Accounts').map(({Account_Number, Billing_City}) => `${Account_Number} ${Billing_City}`)
  assert.deepEqual(left.toSorted(), ['A-1 Old Town', 'A-4 Mine'])
  await page.getByText('Deleted records can return until').waitFor()
  await page.getByRole('link', {name: 'View the undone run'}).click()
  await page.getByText('This run was undone.').waitFor()
  await page.getByRole('link', {name: 'View the undo'}).click()
  await page.getByRole('button', {name: 'Preview the undo'}).click()
  await page.getByRole('button', {name: /^Undo \d rows/}).click()
  await page.getByRole('dialog').getByRole('button', {name: 'Undo', exact: true}).click()
  await page.getByText(/^Rows: \d restored/).waitFor()
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
  await page.getByRole('button', {name: 'Preview the undo'}).click()
  await page.getByRole('button', {name: /^Undo \d rows/}).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('a person previews an undo from the list of runs, which leads to the undo once it is done', async () => {
  const org = await openOrg(here.world)
  const {path, run} = await runImport(org, {csv: accountRows(2, 'B-'), flow: accounts})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const actions = () => page.getByRole('button', {name: /^Actions for the run of/})
  await page.goto(`${here.world.url}/#/runs`)
  await actions().first().click()
  await page.getByRole('button', {name: 'Preview the undo'}).waitFor()
  await picture(page, 'undo-run-list')
  await page.getByRole('button', {name: 'Preview the undo'}).click()
  await page.getByText('Preview: 0 restored, 2 deleted, 0 kept').waitFor()
  await ok(org.call('POST', `${path}/runs/${run.id}/undo`, {}), 202)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/runs`)
  await actions().last().click()
  await page.getByRole('link', {name: 'View the undo'}).click()
  await page.getByText('Rows: 0 restored, 2 deleted, 0 kept').waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('an API of an earlier version, which ignores the kind of runs asked for, makes no run appear twice', async () => {
  const org = await openOrg(here.world)
  const {path, run} = await runImport(org, {csv: accountRows(2, 'T-'), flow: accounts})
  await ok(org.call('POST', `${path}/runs`, {retryOf: run.id}), 202)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.route(/\/runs\?dryRun=/, route =>
    route.continue({
      url: route
        .request()
        .url()
        .replace(/dryRun=\w+&/, ''),
    }),
  )
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/results`)
  const runs = page.getByLabel('Run', {exact: true}).locator('option')
  await runs.nth(1).waitFor({state: 'attached'})
  assert.equal(await runs.count(), 2)
  assert.deepEqual(visitor.complaints, [])
})

test('an undo with a refused row offers no fix, no correction and no retry', async () => {
  const org = await openOrg(here.world)
  const {crm} = here.world
  const imported = await runImport(org, {csv: accountRows(2, 'R-'), flow: accounts})
  crm.faults.add({match: {method: 'DELETE', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 0}})
  const {path, run} = await undoRun(org, imported)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run?run=${run.id}`)
  await page.locator('.every-row').filter({hasText: '1 refused'}).waitFor()
  assert.equal(await page.getByRole('link', {name: 'Fix 1 row'}).count(), 0)
  await page.getByRole('link', {name: 'View rows'}).click()
  await page.getByRole('button', {name: 'Row 1, show details'}).click()
  await page.locator('.row-cells').waitFor()
  for (const heading of ['Retry', 'Fix 1 row']) assert.equal(await page.getByRole('heading', {name: heading}).count(), 0, heading)
  assert.equal(await page.locator('.edit-row').count(), 0)
  assert.deepEqual(visitor.complaints, [])
})
