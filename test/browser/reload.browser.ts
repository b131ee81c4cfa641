import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page, Request} from 'playwright-core'
import {accounts, ok, openOrg, prepareImport} from '../support/importing.ts'
import {fairFile, peopleOf} from './people.ts'
import {enter, picture, settled, stage} from './stage.ts'
import * as person from './steps.ts'

const here = stage('browser reload')

const openedBy = async () => {
  const org = await openOrg(here.world)
  const visitor = await here.open()
  await enter(visitor, org.session)
  return {org, visitor, page: visitor.page}
}

test('a reload keeps the draft of a mapping, and returns to the same page everywhere', async () => {
  const {visitor, page} = await openedBy()
  await person.makeImport(page, 'Contacts of the Lisbon fair')
  await person.chooseFile(page, person.csvFile('fair.csv', fairFile(peopleOf(40))))
  await person.matchInto(page, 'Contacts')
  await person.mapColumn(page, 'Birthday', '')
  await person.chooseExisting(page, 'Always add')
  const title = await person.openOptions(page, 'Title')
  await title.getByLabel('Source', {exact: true}).selectOption('expression')
  await title.getByLabel('Expression', {exact: true}).fill("row['Position'].toUpperCase()")
  await title.getByText('HEAD OF PURCHASING').waitFor()
  const before = await drafted(page)
  await page.reload()
  await page.getByText(/of 9 columns matched/).waitFor()
  assert.deepEqual(await drafted(page), before)
  const again = await person.openOptions(page, 'Title')
  assert.equal(await again.getByLabel('Expression', {exact: true}).inputValue(), "row['Position'].toUpperCase()")
  await person.review(page)
  await person.stepTo(page, 'Match')
  await page.locator('.save-bar').getByText('Saved', {exact: true}).waitFor()
  for (const step of ['Match', 'Review', 'Run', 'Results']) {
    await person.stepTo(page, step)
    const address = page.url()
    await page.reload()
    await person.onPage(page, step)
    assert.equal(page.url(), address)
  }
  for (const [old, step] of [
    ['files', 'Match'],
    ['columns', 'Match'],
    ['mapping', 'Match'],
    ['check', 'Review'],
    ['try', 'Review'],
  ] as const) {
    await page.goto(page.url().replace(/[a-z]+$/, old))
    await person.onPage(page, step)
  }
  assert.deepEqual(visitor.complaints, [])
})

test('suggestions for a module that was left do not bring that module back', async () => {
  const {visitor, page} = await openedBy()
  const held = Promise.withResolvers<void>()
  const isLate = (request: Request) => request.url().endsWith('/auto-map') && String(request.postDataJSON().modules) === 'Leads'
  await page.route('**/auto-map', async route => {
    if (isLate(route.request())) await held.promise
    await route.continue()
  })
  const asked = page.waitForRequest(isLate)
  await person.makeImport(page, 'Guests of the fair')
  await person.chooseFile(page, person.csvFile('Leads.csv', fairFile(peopleOf(3))))
  const late = (await asked).response()
  await page.getByLabel('Import into', {exact: true}).selectOption('Contacts')
  await page.getByRole('button', {name: 'Suggest again'}).waitFor()
  held.resolve()
  await (await late)!.finished()
  await settled(page)
  assert.equal(await page.getByLabel('Import into', {exact: true}).inputValue(), 'Contacts')
  assert.deepEqual(visitor.complaints, [])
})

const drafted = async (page: Page) => {
  await settled(page)
  const mapped = await page
    .locator('.match-column')
    .evaluateAll(found => found.map(one => (one as any).querySelector('select').value as string))
  assert.ok(mapped.filter(Boolean).length >= 5, mapped.join())
  return {mapped, said: await page.locator('.save-bar p').innerText()}
}

test('a reload during a run returns to the run, and so does the list of runs', async () => {
  const {org, visitor, page} = await openedBy()
  const csv = `name,number,city\n${Array.from({length: 300}, (_, n) => `Company ${n},R-${n},Bilbao`).join('\n')}\n`
  const {path} = await prepareImport(org, {csv, flow: accounts})
  const match = {method: 'POST', module: 'Accounts'}
  here.world.crm.faults.add({match, action: {type: 'slow', ms: 300}})
  here.world.crm.faults.add({match, times: 1000, action: {type: 'hold'}})
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/review`)
  await person.reviewed(page)
  await person.writeRows(page)
  const live = page.getByRole('region', {name: 'Run in progress'})
  await live.getByText(/^100 of 300 rows/).waitFor()
  await live.getByText('You can close this page.').waitFor()
  assert.match(await page.title(), /^33\s?% · /, 'the title of the tab shows the progress')
  await page.reload()
  await live.getByText(/^100 of 300 rows/).waitFor()
  await page.getByRole('navigation', {name: 'Sections'}).getByRole('link', {name: 'Runs'}).click()
  await page.getByRole('link', {name: 'Run', exact: true}).first().click()
  await live.getByText(/^100 of 300 rows/).waitFor()
  await person.stepTo(page, 'Results')
  await person.assertAccount(page, '100 created + 200 not reached = 300 rows')
  await page.getByText('Rows 1 to 50: 50 rows shown').waitFor()
  await picture(page, 'results-under-way')
  await page.getByLabel('From row').fill('101')
  await page.getByText('No rows match these filters.').waitFor()
  here.world.crm.faults.clear()
  here.world.crm.release()
  await person.assertAccount(page, '300 created = 300 rows')
  await page.getByText('Rows 101 to 150: 50 rows shown').waitFor()
  await person.stepTo(page, 'Run')
  await person.runEnded(page, /^Imported$/)
  assert.equal(here.world.crm.count('example', 'Accounts'), 300)
  assert.deepEqual(visitor.complaints, [])
})

test('a page open during an update shows that, and a reload fixes it', async () => {
  const {visitor, page} = await openedBy()
  // After an update of the server, the page belongs to an older build. The test simulates this.
  await page.route('**/clients/*/**', route =>
    route.continue({
      url: route
        .request()
        .url()
        .replace(/clients\/\w+/, 'clients/0123456789abcdef'),
    }),
  )
  await page.getByRole('navigation', {name: 'Sections'}).getByRole('link', {name: 'Runs'}).click()
  await page.getByText('Lading was updated').waitFor()
  await picture(page, 'updated')
  await page.unroute('**/clients/*/**')
  await page.getByRole('button', {name: 'Reload'}).click()
  await person.onPage(page, 'Runs')
  assert.deepEqual(visitor.complaints, [])
})

const mapCity = async (page: Page, expression: string) => {
  const field = await person.openOptions(page, 'Billing City')
  await field.getByLabel('Source', {exact: true}).selectOption('expression')
  await field.getByLabel('Expression', {exact: true}).fill(expression)
}

test('a mapping that is edited while it is saved keeps the edit, which is saved next', async () => {
  const {org, visitor, page} = await openedBy()
  const {path} = await prepareImport(org, {csv: 'name,number,city\nCompany,E-1,Bilbao\n', flow: accounts})
  const savedCity = async () => {
    const {fields} = (await ok(org.call('GET', path), 200)).import.flows[0]
    return fields.find(({field}: any) => field === 'Billing_City').transform
  }
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/match`)
  await mapCity(page, "row['city'] + '!'")
  const held = Promise.withResolvers<void>()
  const isHeld = page.waitForRequest(request => request.method() === 'PUT' && request.url().endsWith('/flows'))
  await page.route('**/flows', route => held.promise.then(() => route.continue()), {times: 1})
  await page.getByRole('button', {name: 'Review', exact: true}).click()
  await isHeld
  await mapCity(page, "row['city'] + '?'")
  held.resolve()
  await page.locator('.toast').filter({hasText: 'Mapping saved'}).waitFor()
  await page.locator('.save-bar').getByText('Unsaved changes').waitFor()
  assert.equal(await page.getByLabel('Expression', {exact: true}).inputValue(), "row['city'] + '?'")
  assert.equal(await page.getByText('The import has changed').count(), 0)
  assert.equal(await savedCity(), "row['city'] + '!'")
  await person.review(page)
  assert.equal(await savedCity(), "row['city'] + '?'")
  assert.deepEqual(visitor.complaints, [])
})

test('a mapping saved by another user meanwhile is shown before it is replaced, and members delete only their own imports', async () => {
  const {org, visitor, page} = await openedBy()
  const {path} = await prepareImport(org, {csv: 'name,number,city\nCompany,M-1,Bilbao\n', flow: accounts})
  const theirs = await here.world.makeOrg({role: 'operator', org: org.org})
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/match`)
  const change = (expression: string) => mapCity(page, expression)
  await change("row['city'] + '!'")
  const {flows} = (await ok(org.call('GET', path), 200)).import
  await ok(org.call('PUT', `${path}/flows`, [{...flows[0], id: 'other'}]), 200)
  await page.getByRole('button', {name: 'Review', exact: true}).click()
  await page.locator('.save-bar').getByText('The import has changed').waitFor()
  await picture(page, 'stale')
  await page.getByRole('button', {name: 'Load saved mapping'}).click()
  await page.locator('.save-bar').getByText('Saved', {exact: true}).waitFor()
  await change("row['city'] + '?'")
  await person.review(page)

  const other = await here.open()
  await enter(other, theirs.token)
  await settled(other.page)
  const actions = async (name: string) => {
    await other.page
      .getByRole('button', {name: `Actions for ${name}`})
      .first()
      .click()
    await other.page.getByRole('button', {name: 'Rename', exact: true}).waitFor()
    return other.page.getByRole('button', {name: 'Delete', exact: true}).count()
  }
  assert.equal(await actions('Test'), 0)
  await person.makeImport(other.page, 'Their own')
  await other.page.goto(`${here.world.url}/#/imports`)
  assert.equal(await actions('Their own'), 1)
  await signOut(other.page)
  assert.equal((await here.world.as(theirs.token)('GET', '/auth/me')).status, 401)
  assert.deepEqual([...visitor.complaints, ...other.complaints], [])
})

const signOut = async (page: Page) => {
  await page.locator('details.account > summary').click()
  await page.getByRole('button', {name: 'Sign out'}).click()
  await page.getByRole('button', {name: 'Continue with your CRM'}).waitFor()
  await page.waitForLoadState('networkidle')
}

const partBytes = 8 * 1024 ** 2

/** Uploads the first part of a file, then reloads the page. Returns the file, and its region on the page. */
const stopUpload = async (page: Page) => {
  const text = 'Bilbao, north of the river; '.repeat(30)
  const rows = Array.from({length: 11_000}, (_, n) => `${n},"${text}"\n`)
  const file = person.csvFile('warehouse.csv', `number,text\n${rows.join('')}`)
  assert.ok(file.buffer.length > partBytes && file.buffer.length < 2 * partBytes, `${file.buffer.length}`)
  await person.makeImport(page, 'The warehouse')
  await page.route('**/parts/*', route => (route.request().url().endsWith('/parts/0') ? route.continue() : undefined))
  await person.chooseIn(page, page.getByRole('button', {name: 'Choose files'}), file)
  await page.waitForRequest(request => request.url().endsWith(`/parts/${partBytes}`))
  await page.reload()
  await page.unroute('**/parts/*')
  const left = page.getByRole('region', {name: 'Unfinished: warehouse.csv'})
  await left.getByText(/^Stopped at 8\.4 MB of /).waitFor()
  return {file, left}
}

test('a resumed upload that is cancelled is not listed as unfinished', async () => {
  const {visitor, page} = await openedBy()
  const {file, left} = await stopUpload(page)
  await page.route('**/parts/*', () => {})
  const resumed = page.waitForRequest(request => request.url().endsWith(`/parts/${partBytes}`))
  await person.chooseIn(page, left.getByRole('button', {name: 'Choose the same file to resume'}), file)
  await resumed
  await page.getByRole('button', {name: 'Cancel warehouse.csv'}).click()
  await page.getByRole('region', {name: 'Uploading warehouse.csv'}).waitFor({state: 'detached'})
  assert.equal(await left.count(), 0)
  await page.reload()
  await page.getByRole('button', {name: 'Choose files'}).waitFor()
  await settled(page)
  assert.equal(await left.count(), 0)
  assert.deepEqual(visitor.complaints, [])
})

test('a file that is paused and resumed while its upload begins is uploaded once', async () => {
  const {visitor, page} = await openedBy()
  const rows = Array.from({length: 11_000}, (_, n) => `${n},${'x'.repeat(1_000)}\n`)
  await person.makeImport(page, 'The shed')
  const held = Promise.withResolvers<void>()
  await page.route('**/uploads', route => held.promise.then(() => route.continue()))
  const begun: string[] = []
  page.on('request', request => request.method() === 'POST' && request.url().endsWith('/uploads') && begun.push(request.url()))
  await person.chooseIn(page, page.getByRole('button', {name: 'Choose files'}), person.csvFile('shed.csv', `number,text\n${rows.join('')}`))
  await page.getByRole('button', {name: 'Pause shed.csv'}).click()
  await page.getByRole('button', {name: 'Resume: shed.csv'}).click()
  held.resolve()
  await person.sourceCard(page, 'shed.csv').getByText('11,000 rows, 2 columns').waitFor()
  assert.equal(begun.length, 1)
  assert.deepEqual(visitor.complaints, [])
})

test('a reload during an upload keeps the parts that were sent, and choosing the file again sends the rest', async () => {
  const {visitor, page} = await openedBy()
  const {file, left} = await stopUpload(page)
  const sentBefore = visitor.asked.length
  await person.chooseIn(page, left.getByRole('button', {name: 'Choose the same file to resume'}), file)
  await person.sourceCard(page, 'warehouse.csv').getByText('11,000 rows, 2 columns').waitFor()
  const parts = visitor.asked.slice(sentBefore).filter(asked => asked.includes('/parts/'))
  assert.deepEqual(
    parts.map(asked => asked.split('/').at(-1)),
    [`${partBytes}`],
    'what was kept is not sent again',
  )
  await left.waitFor({state: 'detached'})
  assert.deepEqual(visitor.complaints, [])
})
