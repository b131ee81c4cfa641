import assert from 'node:assert/strict'
import {test} from 'node:test'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {assertAccessible, assertFits, enter, picture, stage} from './stage.ts'

let org: Org
const here = stage('browser commands', async world => {
  org = await openOrg(world)
  await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Lisbon fair', connectorId: org.connector}), 201)
})

test('the command menu opens by a shortcut, finds pages and imports, and returns the focus', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  const menu = page.getByRole('dialog', {name: 'Command menu'})
  const field = menu.getByRole('combobox')
  await page.getByRole('link', {name: 'New import'}).focus()
  await page.keyboard.press('Control+k')
  await field.waitFor()
  await page.keyboard.type('lisbon')
  await menu.getByRole('option', {name: /Lisbon fair/, selected: true}).waitFor()
  await assertAccessible(page, 'the command menu')
  await picture(page, 'command-menu')
  await page.keyboard.press('Escape')
  await menu.waitFor({state: 'detached'})
  assert.equal(await page.evaluate(() => (globalThis as any).document.activeElement.textContent), 'New import')
  await page.keyboard.press('Control+k')
  await field.waitFor()
  await page.keyboard.type('invite')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', {level: 1, name: 'Members'}).waitFor()
  await page.getByRole('button', {name: 'Find a page or an import'}).click()
  await field.waitFor()
  await page.keyboard.type('theme')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => (globalThis as any).document.documentElement.dataset.theme), 'dark')
  assert.deepEqual(visitor.complaints, [])
})

test('a shortcut saves the form of a settings page', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings`)
  await page.getByLabel('Date format').selectOption('dd/MM/yyyy')
  await page.keyboard.press('Control+s')
  await page.locator('.toast').filter({hasText: 'Settings saved'}).waitFor()
  assert.equal((await ok(org.call('GET', `/orgs/${org.org}/config/settings`), 200)).settings.dateFormat, 'dd/MM/yyyy')
})

test('the command menu asks before it leaves a form with unsaved changes', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings`)
  await page.getByLabel('Date format').selectOption('dd.MM.yyyy')
  const answers = [false, false, true]
  page.on('dialog', dialog => (answers.shift() ? dialog.accept() : dialog.dismiss()))
  const choose = async (command: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', {name: 'Find a page'}).fill(command)
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({state: 'detached'})
  }
  for (const command of ['members', 'sign out']) await choose(command)
  assert.equal(await page.getByLabel('Date format').inputValue(), 'dd.MM.yyyy', 'both were declined')
  await choose('members')
  await page.getByRole('heading', {level: 1, name: 'Members'}).waitFor()
  assert.deepEqual([answers, visitor.complaints], [[], []])
})

test('the command menu is usable on a phone in dark mode', async () => {
  const visitor = await here.open({colorScheme: 'dark', viewport: {width: 360, height: 740}})
  const {page} = visitor
  await enter(visitor, org.session)
  await page.getByRole('button', {name: 'Find a page or an import'}).click()
  await page.getByRole('option', {name: /Members/}).waitFor()
  await assertAccessible(page, 'the command menu on a phone')
  await assertFits(page, 'the command menu on a phone')
  await picture(page, 'command-menu-phone')
})
