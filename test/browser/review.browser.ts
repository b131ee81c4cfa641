import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page} from 'playwright-core'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, leads, ok, openOrg, prepareImport, runImport, untilEnded} from '../support/importing.ts'
import {enter, settled, stage} from './stage.ts'

const here = stage('browser review')

const rows = 6

/** Lists the tabs of the review with their numbers of rows, such as "Ready 0". */
const tabsOf = (page: Page): Promise<string[]> => page.getByRole('navigation', {name: 'Rows by result'}).getByRole('link').allInnerTexts()

test('headline, tabs and button of a review count the same rows, also if skipped records only get fields afterwards', async () => {
  const org = await openOrg(here.world)
  const there = Array.from({length: rows}, (_, n) => ({Account_Name: 'There', Account_Number: `R-${n + 1}`, Billing_City: 'Old'}))
  here.world.crm.create('example', 'Accounts', there)
  const [name, number, city] = accounts.fields
  const later = {...accounts, fields: [name, number, {...city, patch: {when: ['skipped']}}]}
  const flow = {...later, match: {by: ['Account_Number'], onOne: 'skip', onMany: 'skip'}}
  const {path} = await prepareImport(org, {csv: accountRows(rows, 'R-'), flow})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review`)
  await page.getByRole('heading', {name: `0 ready · ${rows} skipped`}).waitFor()
  await page.getByRole('link', {name: `Filled in afterwards ${rows}`}).click()
  await settled(page)
  assert.deepEqual(await tabsOf(page), [`All ${rows}`, 'Ready 0', 'Errors 0', `Skipped ${rows}`, `Filled in afterwards ${rows}`])
  assert.equal(await page.locator('.review-rows tbody tr').count(), rows)
  await page.getByRole('button', {name: 'Start run', exact: true}).click()
  await page.getByRole('heading', {level: 2, name: 'Imported', exact: true}).waitFor()
  const cities = here.world.crm.records('example', 'Accounts').filter(({Account_Name}) => Account_Name === 'There')
  assert.ok(cities.every(({Billing_City}) => String(Billing_City).startsWith('Town')))
  assert.deepEqual(visitor.complaints, [])
})

test('rows with questions are counted as such, and an earlier preview says that it is not the current one', async () => {
  const org = await openOrg(here.world)
  here.world.crm.create(
    'example',
    'Accounts',
    [1, 1, 2, 2].map(n => ({Account_Name: `Company ${n}`})),
  )
  const flow = {...accounts, match: {...accounts.match, by: ['Account_Name'], onMany: 'ask'}}
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Q-'), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const review = `${here.world.url}/#/imports/${path.split('/').at(-1)}/review`
  await page.goto(review)
  await page.getByRole('heading', {name: '3 ready · 2 need your answer', exact: true}).waitFor()
  assert.deepEqual(await tabsOf(page), ['All 5', 'Ready 3', 'Errors 0', 'Questions 2'])
  here.world.crm.create('example', 'Accounts', [{Account_Name: 'Company 3'}, {Account_Name: 'Company 3'}])
  const {run: newer} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${newer.id}`)
  await page.goto(`${review}?run=${run.id}`)
  await page.reload()
  await page.getByText('You are viewing an earlier preview').waitFor()
  await page.getByRole('link', {name: 'Questions 2'}).waitFor()
  await page.getByRole('heading', {name: '3 ready · 2 need your answer', exact: true}).waitFor()
  assert.deepEqual(await tabsOf(page), ['All 5', 'Ready 3', 'Errors 0', 'Questions 2'], 'the rows of that preview')
  assert.equal(await page.getByRole('button', {name: /^Import/}).count(), 0, 'an earlier preview starts nothing')
  await page.getByRole('link', {name: 'View the current preview'}).click()
  await page.getByRole('heading', {name: '2 ready · 3 need your answer', exact: true}).waitFor()
  await page.getByRole('link', {name: 'Questions 3'}).waitFor()
  const {runs} = await ok(org.call('GET', `${path}/runs`), 200)
  assert.equal(runs.length, 2, 'viewing an earlier preview makes no new one')

  const {run: real} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await untilEnded(org.call, `${path}/runs/${real.id}`)
  await page.goto(`${review}?run=${newer.id}`)
  await page.reload()
  await page.getByText('You are viewing an earlier preview').waitFor()
  await page.getByRole('heading', {name: '2 ready · 3 need your answer', exact: true}).waitFor()
  await page.getByRole('link', {name: 'Ready 2'}).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('twenty newer dry runs do not hide an earlier run, so a user must confirm a run that would create records again', async () => {
  const org = await openOrg(here.world)
  const {path, run} = await runImport(org, {csv: accountRows(2, 'D-'), flow: {...accounts, match: null}})
  for (let n = 0; n < 20; n++) {
    const {run: dry} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
    await untilEnded(org.call, `${path}/runs/${dry.id}`)
  }
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const address = `${here.world.url}/#/imports/${path.split('/').at(-1)}`
  await page.goto(address)
  await page.getByRole('heading', {level: 1, name: 'Results'}).waitFor()
  await page.goto(`${address}/run`)
  await page.locator('.every-row').filter({hasText: '2 created'}).waitFor()
  await page.goto(`${address}/review`)
  await page.getByText('This run would create records a second time').waitFor()
  await page.getByText('Earlier runs wrote 2 rows').waitFor()
  await page.getByRole('button', {name: 'Import 2 rows', exact: true}).click()
  await page.getByRole('dialog', {name: 'Create records a second time?'}).waitFor()
  const {runs} = await ok(org.call('GET', `${path}/runs?dryRun=false`), 200)
  assert.deepEqual(
    runs.map(({id}: {id: string}) => id),
    [run.id],
  )
  assert.deepEqual(visitor.complaints, [])
})

test('a review that is opened again after five minutes shows a new forecast, because other runs may have used the CRM quota', async () => {
  const org = await openOrg(here.world)
  const {path} = await prepareImport(org, {csv: accountRows(3, 'F-'), flow: accounts})
  const {page, complaints, ...visitor} = await here.open()
  await enter({page, complaints, ...visitor}, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review`)
  const cost = page.getByText(/CRM credits?/)
  await cost.waitFor()
  await settled(page)
  const shown = await cost.innerText()
  await here.world.db.query(sql.unsafe`
    update forecasts set made_at = made_at - interval '6 minutes', forecast = jsonb_set(forecast, '{credits}', '{"min": 4711, "max": 4711, "byKind": {}}')`)
  await page.reload()
  await cost.waitFor()
  assert.equal(await cost.innerText(), shown)
  assert.deepEqual(complaints, [])
})

test('a cancelled preview says so, starts again on request only, and does not count as complete', async () => {
  const org = await openOrg(here.world)
  const {crm} = here.world
  const {path} = await prepareImport(org, {csv: accountRows(rows, 'C-'), flow: accounts})
  crm.faults.add({times: 1000, action: {type: 'hold'}})
  const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const started: string[] = []
  page.on('request', request => request.method() === 'POST' && request.url().endsWith('/runs') && started.push(request.url()))
  await page.clock.install()
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review`)
  await page.getByRole('progressbar', {name: 'Previewing rows'}).waitFor()
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  crm.faults.clear()
  crm.release()
  await page.getByText('The dry run was cancelled').waitFor()
  await settled(page)
  // Longer than the wait before an automatic dry run.
  await page.clock.runFor(5_000)
  await settled(page)
  assert.deepEqual(started, [], 'no dry run starts automatically')
  await page.getByRole('button', {name: 'Preview all rows'}).click()
  await page.getByRole('heading', {name: `${rows} ready`, exact: true}).waitFor()
  await page.getByText('The dry run was cancelled').waitFor({state: 'detached'})
  assert.equal(started.length, 1)
  assert.deepEqual(visitor.complaints, [])
})

test('a cell edited while another one is saved is saved too, and the text of a refused edit stays', async () => {
  const org = await openOrg(here.world)
  const {path, source} = await prepareImport(org, {csv: accountRows(3, 'E-'), flow: accounts})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review`)
  await page.getByRole('heading', {name: '3 ready', exact: true}).waitFor()
  await page.getByRole('button', {name: 'Edit name of row 1: Company 1'}).click()
  const [first, second] = [page.getByRole('textbox', {name: 'name of row 1'}), page.getByRole('textbox', {name: 'name of row 2'})]
  const long = 'x'.repeat(10_001)
  await first.fill(long)
  await page.keyboard.press('Enter')
  await page.getByText('Could not change the cell').waitFor()
  assert.equal(await first.inputValue(), long)
  const held = Promise.withResolvers<void>()
  await page.route(
    '**/cells',
    async route => {
      await held.promise
      await route.continue()
    },
    {times: 1},
  )
  await first.fill('First')
  await page.keyboard.press('Enter')
  await page.getByRole('button', {name: 'Edit name of row 2: Company 2'}).click()
  await second.fill('Second')
  await page.keyboard.press('Enter')
  assert.equal(await first.inputValue(), 'First', 'the input is open until the value is saved')
  held.resolve()
  await page.getByRole('button', {name: 'Edit name of row 1: First'}).waitFor()
  await page.getByRole('button', {name: 'Edit name of row 2: Second'}).waitFor()
  const {source: saved} = await ok(org.call('GET', `${path}/sources/${source.id}`), 200)
  assert.deepEqual(
    saved.cleaning[0].cells.map(({value}: {value: string}) => value),
    ['First', 'Second'],
  )
  assert.deepEqual(visitor.complaints, [])
})

test('a new cleaning step keeps cells that were edited after the page was loaded, and removing the edits removes them', async () => {
  const org = await openOrg(here.world)
  const {path, source} = await prepareImport(org, {csv: accountRows(3, 'K-'), flow: accounts})
  const edit = (row: number) =>
    ok(org.call('PATCH', `${path}/sources/${source.id}/cells`, {cells: [{row, column: 'city', value: 'Bern'}]}), 200)
  const steps = async () =>
    (await ok(org.call('GET', `${path}/sources/${source.id}`), 200)).source.cleaning.map(({step, cells}: any) => [step, cells?.length])
  await edit(1)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/match`)
  await page.getByText('Advanced', {exact: true}).click()
  await page.getByText('Cells edited by hand: 1').waitFor()
  await edit(2)
  await page.getByLabel('Add a step').selectOption('trim')
  await page.getByRole('button', {name: 'Add step'}).click()
  await page.getByText('Cells edited by hand: 2').waitFor()
  assert.deepEqual(await steps(), [
    ['trim', undefined],
    ['editCells', 2],
  ])
  await page.getByRole('button', {name: 'Remove: Cells edited by hand: 2'}).click()
  await page.getByText('Cells edited by hand').waitFor({state: 'detached'})
  assert.deepEqual(await steps(), [['trim', undefined]])
  assert.deepEqual(visitor.complaints, [])
})

test('the link of a reason shows the rows of its file, also from a later page of another reason', async () => {
  const org = await openOrg(here.world)
  const csv = (rows: string[]) => `name,company,mail,staff\n${rows.join('\n')}\n`
  const many = Array.from({length: 30}, (_, n) => [`Person ${n},Company,,many`, ',Company,,1']).flat()
  const {path, source} = await prepareImport(org, {csv: csv(many), flow: leads})
  const few = csv(['Ines,Company,,several', 'Olga,Company,,several'])
  const {source: second} = await ok(org.call('POST', `${path}/sources?name=second.csv`, few, {'content-type': 'text/csv'}), 201)
  const flows = [source, second].map(({id}, at) => ({id: `f${at}`, sourceId: id, ...leads}))
  await ok(org.call('PUT', `${path}/flows`, flows), 200)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const address = `${here.world.url}/#/imports/${path.split('/').at(-1)}`
  await page.goto(`${address}/review?tab=errors`)
  const reasons = page.getByRole('link', {name: '30 rows, show rows'})
  const countRows = async (table: string, count: number) => {
    await page
      .locator(`${table} tbody tr`)
      .nth(count - 1)
      .waitFor()
    await settled(page)
    assert.equal(await page.locator(`${table} tbody tr`).count(), count)
  }
  await reasons.first().click()
  await countRows('.review-rows', 25)
  await page.getByRole('button', {name: 'Next page'}).click()
  await page.getByRole('button', {name: 'Previous page'}).waitFor()
  await countRows('.review-rows', 5)
  await reasons.last().click()
  await page.getByRole('button', {name: 'Previous page'}).waitFor({state: 'detached'})
  await countRows('.review-rows', 25)
  assert.equal(await page.getByRole('alert').count(), 0)
  await page.getByRole('link', {name: '2 rows, show rows'}).click()
  await page
    .getByRole('link', {name: /^second/})
    .and(page.locator('[aria-current]'))
    .waitFor()
  await countRows('.review-rows', 2)

  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
  await page.goto(`${address}/run?run=${run.id}`)
  await page.getByRole('link', {name: '2 rows, show rows'}).click()
  await countRows('.rows-table', 2)
  assert.deepEqual(visitor.complaints, [])
})

test('the review button opens the destination that lacks a choice about existing records, and moves the focus to it', async () => {
  const org = await openOrg(here.world)
  const contacts = {module: 'Contacts', fields: [{field: 'Last_Name', mode: 'column', source: 'name'}]}
  const {path} = await prepareImport(org, {csv: accountRows(2, 'D-'), flow: [accounts, contacts]})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/match`)
  await page.locator('input[name="existing f"]').first().waitFor()
  await page.getByRole('button', {name: 'Review', exact: true}).click()
  await page.locator('input[name="existing f2"]:focus').waitFor()
  assert.deepEqual(visitor.complaints, [])
})
