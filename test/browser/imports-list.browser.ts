import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page} from 'playwright-core'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage} from './stage.ts'
import * as person from './steps.ts'

let session = ''
const paths = new Map<string, string>()

/** A deployment with three imports, of which the last one has run. */
const here = stage('browser imports list', async world => {
  const org = await openOrg(world)
  session = org.session
  for (const name of ['Leads Lisbon fair', 'Leads Porto fair', 'Accounts of spring']) {
    const {path} = await prepareImport(org, {csv: accountRows(3, 'L-'), flow: accounts})
    await ok(org.call('PATCH', path, {name}), 200)
    paths.set(name, path)
    if (name !== 'Accounts of spring') continue
    const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
    await untilEnded(org.call, `${path}/runs/${run.id}`)
  }
})

const openMenu = (page: Page, name: string) => page.getByRole('button', {name: `Actions for ${name}`}).click()
const action = (page: Page, name: string) => page.getByRole('button', {name, exact: true})
const link = (page: Page, name: string) => page.getByRole('link', {name, exact: true})

test('imports are found by name, renamed, archived and listed again, and the last run is undone from the list', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await link(page, 'Leads Porto fair').waitFor()
  await page.getByLabel('Search by name').fill('lisbon')
  await link(page, 'Leads Porto fair').waitFor({state: 'detached'})
  await link(page, 'Leads Lisbon fair').waitFor()

  await openMenu(page, 'Leads Lisbon fair')
  await action(page, 'Archive').click()
  await page.getByText('No import has “lisbon” in its name.').waitFor()
  await page.getByLabel('Show').selectOption('archived')
  await link(page, 'Leads Lisbon fair').waitFor()
  await page.reload()
  await link(page, 'Leads Lisbon fair').waitFor()
  await openMenu(page, 'Leads Lisbon fair')
  await action(page, 'Unarchive').click()
  await page.getByText('No archived import has “lisbon” in its name.').waitFor()
  await page.getByLabel('Show').selectOption('listed')
  await page.getByLabel('Search by name').fill('')
  await link(page, 'Accounts of spring').waitFor()

  const change = here.world.as(session)
  for (const name of ['Changed elsewhere', 'Leads Lisbon fair']) await ok(change('PATCH', paths.get('Leads Lisbon fair')!, {name}), 200)
  await openMenu(page, 'Leads Lisbon fair')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').getByLabel('Name').fill('Leads Faro fair')
  await page.keyboard.press('Enter')
  await link(page, 'Leads Faro fair').waitFor()

  await openMenu(page, 'Leads Porto fair')
  await action(page, 'Delete').waitFor()
  assert.equal(await action(page, 'Preview undo of last run').count(), 0, 'it never ran')
  await page.keyboard.press('Escape')
  await openMenu(page, 'Accounts of spring')
  await action(page, 'Preview undo of last run').click()
  await person.runEnded(page, /./)
  await page.getByText(/^Preview: .*3 deleted/).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('a trailing blank stays in the search field when the user pauses while typing', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, session)
  await link(page, 'Leads Porto fair').waitFor()
  const search = page.getByLabel('Search by name')
  await search.pressSequentially('Porto ')
  await link(page, 'Accounts of spring').waitFor({state: 'detached'})
  await search.pressSequentially('fair')
  await page.waitForURL(/name=Porto[+]fair/)
  assert.equal(await search.inputValue(), 'Porto fair')
  assert.deepEqual(visitor.complaints, [])
})

test('older imports that arrive after the search changed are not listed', async () => {
  const org = await openOrg(here.world, 'zoe@other.example')
  for (let n = 1; n <= 26; n++)
    await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: `Import ${n}`, connectorId: org.connector}), 201)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const held = Promise.withResolvers<void>()
  await page.route(/cursor=/, route => held.promise.then(() => route.continue()))
  const older = page.waitForResponse(/cursor=/)
  await action(page, 'Show older').click()
  await page.getByLabel('Search by name').fill('import 26')
  await link(page, 'Import 25').waitFor({state: 'detached'})
  held.resolve()
  await (await older).finished()
  await page.evaluate(() => new Promise(resolve => (globalThis as any).requestIdleCallback(resolve)))
  assert.deepEqual(await page.getByRole('rowheader').allInnerTexts(), ['Import 26'])
  assert.deepEqual(visitor.complaints, [])
})

for (const [name, options] of Object.entries({
  'light-1440': {viewport: {width: 1440, height: 900}},
  'dark-360': {viewport: {width: 360, height: 740}, colorScheme: 'dark' as const},
}))
  test(`the list of imports and its menu fit the screen ${name}`, async () => {
    const visitor = await here.open(options)
    const {page} = visitor
    await enter(visitor, session)
    await settled(page)
    await openMenu(page, 'Accounts of spring')
    await action(page, 'Preview undo of last run').waitFor()
    await assertAccessible(page, name)
    await assertFits(page, name)
    await picture(page, `imports-list-${name}`)
    assert.deepEqual(visitor.complaints, [])
  })
