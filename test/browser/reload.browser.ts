import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page} from 'playwright-core'
import {accounts, openOrg, prepareImport} from '../importing.ts'
import {fairFile, peopleOf} from './people.ts'
import {enter, settled, stage} from './stage.ts'
import * as person from './steps.ts'

const here = stage('browser reload')

const openedBy = async () => {
  const org = await openOrg(here.world)
  const visitor = await here.open()
  await enter(visitor, org.session)
  return {org, visitor, page: visitor.page}
}

test('a reload in the middle of mapping loses nothing of the draft, and one on any page comes back to it', async () => {
  const {visitor, page} = await openedBy()
  await person.makeImport(page, 'Contacts of the Lisbon fair')
  await person.chooseFile(page, person.csvFile('fair.csv', fairFile(peopleOf(40))))
  await person.stepTo(page, 'Mapping')
  await person.proposeInto(page, 'Contacts')
  await page.getByRole('button', {name: 'Leave out Birthday'}).click()
  await person.acceptSure(page)
  const title = await person.openField(page, 'Title')
  await title.getByLabel('Where the value comes from').selectOption('expression')
  await title.getByLabel('Expression', {exact: true}).fill("row['Position'].toUpperCase()")
  await title.getByText('HEAD OF PURCHASING').waitFor()
  const before = await drafted(page)
  await page.reload()
  await page.getByText('1 column left out').waitFor()
  assert.deepEqual(await drafted(page), before)
  const again = await person.openField(page, 'Title')
  assert.equal(await again.getByLabel('Expression', {exact: true}).inputValue(), "row['Position'].toUpperCase()")
  await person.saveMapping(page)
  await page.reload()
  await page.locator('.save-bar').getByText('Saved', {exact: true}).waitFor()
  for (const step of ['Files', 'Columns', 'Check', 'Try', 'Run', 'Results']) {
    await person.stepTo(page, step)
    const address = page.url()
    await page.reload()
    await person.onPage(page, step)
    assert.equal(page.url(), address)
  }
  assert.deepEqual(visitor.complaints, [])
})

const drafted = async (page: Page) => {
  await settled(page)
  const mapped = await page.locator('.mapping > summary').allInnerTexts()
  assert.ok(mapped.length >= 5, mapped.join())
  return {mapped, said: await page.locator('.save-bar p').innerText()}
}

test('a reload in the middle of a run comes back to it, and so does the list of runs', async () => {
  const {org, visitor, page} = await openedBy()
  const csv = `name,number,city\n${Array.from({length: 300}, (_, n) => `Company ${n},R-${n},Bilbao`).join('\n')}\n`
  const {path} = await prepareImport(org, {csv, flow: accounts})
  const match = {method: 'POST', module: 'Accounts'}
  here.world.crm.faults.add({match, action: {type: 'slow', ms: 300}})
  here.world.crm.faults.add({match, times: 1000, action: {type: 'hold'}})
  await page.goto(`${here.world.url}/#/imports/${path.split('/').at(-1)}/run`)
  await person.writeRows(page)
  const live = page.getByRole('region', {name: 'Run under way'})
  await live.getByText(/^100 of 300 rows/).waitFor()
  await page.reload()
  await live.getByText(/^100 of 300 rows/).waitFor()
  await page.getByRole('navigation', {name: 'Sections'}).getByRole('link', {name: 'Runs'}).click()
  await page.getByRole('link', {name: 'Run', exact: true}).first().click()
  await live.getByText(/^100 of 300 rows/).waitFor()
  here.world.crm.faults.clear()
  here.world.crm.release()
  await person.runEnded(page, /^Done: no row failed$/)
  await person.assertAccount(page, '300 created = 300 rows')
  assert.equal(here.world.crm.count('example', 'Accounts'), 300)
  assert.deepEqual(visitor.complaints, [])
})

const partBytes = 8 * 1024 ** 2

test('a reload in the middle of an upload leaves what was sent, and choosing the file again sends the rest', async () => {
  const {visitor, page} = await openedBy()
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
  await left.getByText(/^Broken off at 8 MiB of /).waitFor()
  const sentBefore = visitor.asked.length
  await person.chooseIn(page, left.getByRole('button', {name: 'Choose the same file to go on'}), file)
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
