import assert from 'node:assert/strict'
import {test} from 'node:test'
import {allow, assertAccessible, assertFits, picture, settled, stage, type Visitor} from './stage.ts'
import * as person from './steps.ts'

const here = stage('browser session')
const desktop = {viewport: {width: 1440, height: 900}}
const phone = {viewport: {width: 360, height: 740}}

/** Returns a function that counts a person's clicks in every window of the profile so far. */
const countClicks = async ({context, page}: Visitor) => {
  let clicks = 0
  await context.exposeBinding('noteClick', () => void clicks++)
  await context.addInitScript(`addEventListener('click', event => event.isTrusted && noteClick(), true)`)
  await page.reload()
  return () => clicks
}

const start = ({page}: Visitor) => page.getByRole('button', {name: 'Continue with your CRM'})
const onImports = ({page}: Pick<Visitor, 'page'>) => page.getByRole('heading', {level: 1, name: 'Imports'}).waitFor()

test('two clicks and one consent lead from the sign-in to the drop zone, and every tab stays signed in', async () => {
  const visitor = await here.open(desktop)
  const {page, context} = visitor
  const clicks = await countClicks(visitor)
  await start(visitor).waitFor()
  await page.getByText('Region: Local test CRM').waitFor()
  await assertAccessible(page, 'the sign-in')
  await picture(page, 'sign-in-1440')
  await person.allowInPopUp(visitor, () => start(visitor).click())
  await onImports(visitor)
  await page.getByText('Drop a spreadsheet anywhere on this page').waitFor()
  assert.equal(clicks(), 2)
  assert.equal(visitor.asked.filter(address => address.includes('sim_decision=allow')).length, 1, 'one consent')
  await page.getByText('Reading your CRM’s modules').waitFor({state: 'detached'})
  await settled(page)
  await assertAccessible(page, 'the first imports page')
  await picture(page, 'first-imports-1440')

  const tab = await context.newPage()
  await tab.goto(`${here.world.url}/#/settings/members`)
  await tab.getByRole('heading', {level: 1, name: 'Members'}).waitFor()
  await page.reload()
  await onImports(visitor)
  await person.chooseIn(page, page.getByRole('button', {name: 'Choose file'}), person.csvFile('fair-leads.csv', 'Last Name\nSmith\n'))
  await person.sourceCard(page, 'fair-leads.csv').waitFor()

  const storage = await page.evaluate(() =>
    JSON.stringify([{...(globalThis as any).localStorage}, {...(globalThis as any).sessionStorage}]),
  )
  const [cookie] = (await context.cookies()).filter(({name}) => name === 'lading-session')
  assert.ok(cookie!.httpOnly && cookie!.sameSite === 'Lax')
  assert.ok(!storage.includes(cookie!.value), 'no script can read the session')

  await page.locator('details.account summary').click()
  await page.getByRole('button', {name: 'Sign out'}).click()
  for (const each of [page, tab]) await each.getByRole('button', {name: 'Continue with your CRM'}).waitFor()
  await page.reload()
  await start(visitor).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('a person who refuses the consent can sign in without a connection, and connects on the imports page of a phone', async () => {
  const visitor = await here.open(phone)
  const {page, context} = visitor
  await start(visitor).waitFor()
  await page.getByRole('button', {name: 'Other region'}).click()
  await page.getByLabel('Region of your CRM').selectOption('local')
  await assertFits(page, 'the sign-in')
  await picture(page, 'sign-in-360')
  const waiting = context.waitForEvent('page')
  await start(visitor).click()
  const popUp = await waiting
  await popUp.getByRole('button', {name: 'Deny'}).click()
  await popUp.getByText('You did not allow access').waitFor()
  await popUp.close()
  await person.allowInPopUp(visitor, () => page.getByRole('button', {name: 'sign in without connecting'}).click(), 'zoe@other.example')
  await onImports(visitor)
  await page.getByText('Your CRM is not connected yet').waitFor()
  await assertFits(page, 'the imports page without a connection')
  await picture(page, 'not-connected-360')
  const again = context.waitForEvent('page')
  await page.getByRole('button', {name: 'Connect your CRM'}).click()
  await allow(await again, 'zoe@other.example')
  await page.getByText('Drop a spreadsheet anywhere on this page').waitFor()
  await page.getByText('Reading your CRM’s modules').waitFor({state: 'detached'})
  await settled(page)
  await assertFits(page, 'the first imports page')
  await picture(page, 'first-imports-360')
  assert.deepEqual(visitor.complaints, [])
})

test('a session that ended keeps the page and its form, and loads what failed after the sign-in', async () => {
  const visitor = await here.open(desktop)
  const {page, context} = visitor
  const {format, other} = await openSettings(visitor)
  await format.selectOption(other)
  await context.clearCookies()
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  const dialog = page.getByRole('dialog', {name: 'Sign in again'})
  await dialog.waitFor()
  await assertAccessible(page, 'a session that ended')
  await picture(page, 'session-ended')
  await person.allowInPopUp(visitor, () => dialog.getByRole('button', {name: 'Continue with your CRM'}).click())
  await dialog.waitFor({state: 'detached'})
  assert.equal(await format.inputValue(), other)
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.locator('.toast').filter({hasText: 'Settings saved'}).waitFor()

  await context.clearCookies()
  await page.goto(`${here.world.url}/#/settings/members`)
  await person.allowInPopUp(visitor, () => dialog.getByRole('button', {name: 'Continue with your CRM'}).click())
  await page.getByRole('table').getByText('ana@example.org').first().waitFor()
  await context.clearCookies()
  await page.reload()
  await start(visitor).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('a saved form can be left before the page has loaded the saved values', async () => {
  const visitor = await here.open(desktop)
  const {page} = visitor
  const {format, other} = await openSettings(visitor)
  // The page never gets the saved values, and Playwright answers no to the question whether to leave.
  await page.route(/\/config\/settings$/, route => (route.request().method() === 'GET' ? undefined : route.continue()))
  await format.selectOption(other)
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.locator('.toast').filter({hasText: 'Settings saved'}).waitFor()
  await page.getByRole('link', {name: 'Members'}).click()
  await page.getByRole('table').getByText('ana@example.org').first().waitFor()
})

test('the region of the last sign-in is chosen after a reload', async () => {
  const visitor = await here.open(desktop)
  const {page, context} = visitor
  await start(visitor).waitFor()
  await page.getByText('Region: Local test CRM').waitFor()
  await page.getByRole('button', {name: 'Other region'}).click()
  await page.getByLabel('Region of your CRM').selectOption('local-eu')
  const waiting = context.waitForEvent('page')
  await start(visitor).click()
  await (await waiting).close()
  await page.reload()
  await page.getByText('Region: Local test CRM, second data centre').waitFor()
})

/** Signs in and opens the general settings. Returns the field of the date format and a format that is not selected. */
const openSettings = async (visitor: Visitor) => {
  const {page} = visitor
  await person.allowInPopUp(visitor, () => start(visitor).click())
  await onImports(visitor)
  await page.goto(`${here.world.url}/#/settings`)
  const format = page.getByLabel('Date format')
  const other = (await format.inputValue()) === 'dd/MM/yyyy' ? 'dd.MM.yyyy' : 'dd/MM/yyyy'
  await page.waitForLoadState('networkidle')
  return {format, other}
}

/** Returns the compressed bytes of all response bodies of a reload with an empty cache. */
const weighReload = async ({page, context}: Visitor, shown: () => Promise<void>): Promise<number> => {
  await shown()
  await page.waitForLoadState('networkidle')
  const network = await context.newCDPSession(page)
  await network.send('Network.enable')
  await network.send('Network.setCacheDisabled', {cacheDisabled: true})
  let bytes = 0
  // The first event has the size of the headers, the last one the size of headers and body.
  network.on('Network.responseReceived', ({response}) => void (bytes -= response.encodedDataLength))
  network.on('Network.loadingFinished', ({encodedDataLength}) => void (bytes += encodedDataLength))
  await page.reload()
  await shown()
  await page.waitForLoadState('networkidle')
  await network.detach()
  return bytes
}

for (const [locale, button] of Object.entries({en: 'Continue with your CRM', de: 'Weiter mit Ihrem CRM'}))
  test(`the first page takes at most 80 KB, compressed, in the language ${locale}`, async t => {
    const visitor = await here.open({locale})
    const bytes = await weighReload(visitor, () => visitor.page.getByRole('button', {name: button}).waitFor())
    t.diagnostic(`the first page (${locale}): ${bytes} bytes`)
    assert.equal(await visitor.page.locator('html').getAttribute('lang'), locale)
    assert.ok(bytes > 10_000 && bytes <= 80 * 1024, `it takes ${bytes} bytes`)
  })
