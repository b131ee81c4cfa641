import assert from 'node:assert/strict'
import {test} from 'node:test'
import type {Page} from 'playwright-core'
import {keysOf} from './keyboard.ts'
import {fairFile, peopleOf} from './people.ts'
import {stage, type Visitor} from './stage.ts'
import * as person from './steps.ts'

const here = stage('browser keyboard')
const people = peopleOf(12)
const button = (page: Page, name: string | RegExp) => page.getByRole('button', {name})

test('a person signs in, imports a file and reads the results with the keyboard alone', async () => {
  const visitor = await here.open()
  const {page} = visitor
  const keys = keysOf(page)
  await allowByKeys(visitor, () => keys.use(button(page, 'Continue with your CRM')))
  await page.getByRole('navigation', {name: 'Sections'}).waitFor()
  await skipToContent(page)
  await keys.use(page.getByRole('link', {name: 'New import'}))
  await keys.type(page.getByLabel('Name'), 'Contacts of the Lisbon fair')
  await keys.use(button(page, 'Create import'))
  await person.onPage(page, 'Match')
  await keys.assertSomewhere('making the import')
  await sendFile(page)
  await answerAndMap(page)
  await checkAndTry(page)
  await run(page)
  assert.equal(here.world.crm.count('example', 'Contacts'), 12)
  assert.deepEqual(visitor.complaints, [])
})

const allowByKeys = async ({context}: Visitor, open: () => Promise<void>) => {
  const waiting = context.waitForEvent('page')
  await open()
  const popUp = await waiting
  const keys = keysOf(popUp)
  await keys.tabTo(popUp.getByLabel(/Sign in as/))
  await keys.use(button(popUp, 'Allow'))
}

/** Asserts that the first Tab on a new page reaches a link that skips the navigation. */
const skipToContent = async (page: Page) => {
  const keys = keysOf(page)
  await page.reload()
  await page.getByRole('link', {name: 'New import'}).waitFor()
  await keys.press('Tab')
  await keys.use(page.getByRole('link', {name: 'Skip to content'}))
  assert.equal(await page.evaluate(() => (globalThis as any).document.activeElement.id), 'main')
}

const sendFile = async (page: Page) => {
  const keys = keysOf(page)
  const choosing = page.waitForEvent('filechooser')
  await keys.use(button(page, 'Choose files'))
  await (await choosing).setFiles(person.csvFile('fair.csv', fairFile(people)))
  await person.sourceCard(page, 'fair.csv').waitFor()
  await keys.assertSomewhere('sending a file')
  await dialogKeepsFocus(page)
}

/** Asserts that the focus moves from the button into the dialog, stays there at both ends, and returns to the button. */
const dialogKeepsFocus = async (page: Page) => {
  const keys = keysOf(page)
  const opener = button(page, 'Remove fair.csv')
  await keys.use(opener)
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  for (let tabs = 0; tabs < 6; tabs++) {
    const isOutside = await page.evaluate(() => {
      const {activeElement, body} = (globalThis as any).document
      return activeElement !== body && activeElement.closest('dialog') === null
    })
    assert.ok(!isOutside, 'the focus stays in the dialog')
    await keys.press(tabs < 3 ? 'Tab' : 'Shift+Tab')
  }
  await keys.press('Escape')
  await dialog.waitFor({state: 'detached'})
  assert.ok(await opener.evaluate(element => element === (globalThis as any).document.activeElement), 'its button has the focus again')
}

const answerAndMap = async (page: Page) => {
  const keys = keysOf(page)
  await person.matchInto(page, 'Contacts')
  await keys.choose(page.getByLabel('Field for Birthday'), 'Date of Birth')
  await keys.use(button(page, /^Day, month, year/))
  await button(page, 'Change: Birthday').waitFor()
  await keys.use(button(page, 'Review'))
  await keys.assertSomewhere('the mandatory choice')
  await keys.press('Space')
  await keys.use(button(page, 'Review'))
}

const checkAndTry = async (page: Page) => {
  const keys = keysOf(page)
  await person.onPage(page, 'Review')
  await person.reviewed(page)
  await keys.use(button(page, 'Row 1, show all cells'))
  await page.locator('.row-cells').waitFor()
  await keys.assertSomewhere('opening a row')
  await keys.tabTo(button(page, /^Import 12 rows$/), {back: true})
  await keys.press('Enter')
}

const run = async (page: Page) => {
  const keys = keysOf(page)
  await person.onPage(page, 'Run')
  await person.runEnded(page, /^Imported$/)
  await keys.assertSomewhere('the end of the run')
  await keys.use(page.getByRole('link', {name: 'View rows'}))
  await person.onPage(page, 'Results')
  await page.getByText('Rows 1 to 12: 12 rows shown').waitFor()
  await keys.type(page.getByLabel('From row'), '9')
  await page.getByText('Rows 9 to 12: 4 rows shown').waitFor()
  await keys.assertSomewhere('filtering')
  await keys.tabTo(button(page, /^Download results\.csv/), {back: true})
  const saving = page.waitForEvent('download')
  await keys.press('Enter')
  await (await saving).path()
  await keys.assertSomewhere('downloading')
}
