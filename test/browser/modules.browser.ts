import assert from 'node:assert/strict'
import {test} from 'node:test'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage} from './stage.ts'
import * as person from './steps.ts'

let org: Org
const here = stage('browser modules', async world => {
  org = await openOrg(world)
})
const readModule = async () => (await ok(org.call('GET', `/orgs/${org.org}/config/fields/Leads?connector=${org.connector}`), 200)).module

test('match, unique and hidden fields of a module are chosen by label, and nothing is saved before the button', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings/modules/${org.connector}/Leads`)
  const group = (name: string) => page.getByRole('group', {name, exact: true})
  await group('Match fields').waitFor()
  const save = page.getByRole('button', {name: 'Save', exact: true})
  assert.ok(await save.isDisabled())
  await page.getByLabel('Add to match fields').selectOption({label: 'Email'})
  await page.getByLabel('Add to hidden fields').selectOption({label: 'Last Name'})
  await page.getByLabel('Add to hidden fields').selectOption({label: 'Company'})
  await group('Hidden fields').getByRole('button', {name: 'Remove Company'}).click()
  await page.getByText('Unsaved changes').waitFor()
  assert.equal((await readModule()).match, null)
  await picture(page, 'module', {height: 1300})
  await save.click()
  await page.locator('.toast').filter({hasText: 'Module saved'}).waitFor()
  const {match, exclusions} = await readModule()
  assert.deepEqual([match, exclusions], [{by: ['Email'], onOne: 'update', onMany: 'ask'}, ['Last_Name']])
  await page.getByRole('button', {name: 'Save', exact: true, disabled: true}).waitFor()
  await group('Match fields').getByRole('button', {name: 'Remove Email'}).click()
  const asked: string[] = []
  page.once('dialog', dialog => {
    asked.push(dialog.message())
    void dialog.dismiss()
  })
  await page.getByRole('link', {name: 'Connections', exact: true}).click()
  assert.deepEqual(asked, ['Leave this page without saving your changes?'])
  await page.getByText('Unsaved changes').waitFor()
  const another = page.context().waitForEvent('page')
  await page.getByRole('link', {name: 'Connections', exact: true}).click({modifiers: ['Shift']})
  await (await another).close()
  const address = page.url()
  const question = page.waitForEvent('dialog')
  await page.evaluate(() => (globalThis as any).history.back())
  await (await question).dismiss()
  await page.waitForURL(address)
  await page.getByText('Unsaved changes').waitFor()
  page.once('dialog', dialog => {
    asked.push(dialog.message())
    void dialog.accept()
  })
  await page.getByRole('link', {name: 'Connections', exact: true}).click()
  await page.getByRole('heading', {level: 1, name: 'Connections'}).waitFor()
  assert.equal(asked.length, 2, 'a link asks once')
  await page.goBack()
  await group('Match fields').getByRole('button', {name: 'Remove Email'}).click()
  await page.getByRole('button', {name: 'Discard changes'}).click()
  await group('Match fields').getByRole('button', {name: 'Remove Email'}).waitFor()
  await page.getByRole('link', {name: 'Connections', exact: true}).click()
  await page.getByRole('heading', {level: 1, name: 'Connections'}).waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('a field is annotated beside unsaved changes of its module, also after the configuration changed', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings/modules/${org.connector}/Leads`)
  await page.getByLabel('Add to unique fields').selectOption({label: 'Email'})
  await page.getByRole('button', {name: 'Edit Phone', exact: true}).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Description').fill('Of the switchboard')
  await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Deals?connector=${org.connector}`, {singular: 'Sale'}), 200)
  await dialog.getByRole('button', {name: 'Save', exact: true}).click()
  const reloaded = page.waitForResponse(answer => answer.url().includes('/config/fields/Leads') && answer.request().method() === 'GET')
  await dialog.getByRole('button', {name: 'Try again'}).click()
  await reloaded
  await dialog.getByRole('alert').waitFor({state: 'detached'})
  await dialog.getByRole('button', {name: 'Save', exact: true}).click()
  await dialog.waitFor({state: 'detached'})
  await page.getByRole('cell', {name: 'Of the switchboard'}).waitFor()
  await page.getByRole('group', {name: 'Unique fields', exact: true}).getByRole('button', {name: 'Remove Email'}).waitFor()
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.locator('.toast').filter({hasText: 'Module saved'}).waitFor()
  assert.deepEqual((await readModule()).uniqueFields, ['Email'])
  assert.deepEqual(visitor.complaints, [])
})

test('a new import takes the match of the module, and offers no hidden field', async () => {
  const patch = (change: object) =>
    ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Contacts?connector=${org.connector}`, change), 200)
  await patch({match: {by: ['Email'], onOne: 'update', onMany: 'ask'}, exclusions: ['Phone']})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.waitForLoadState('networkidle')
  await person.dropFile(
    page,
    page.locator('header.top'),
    'Contacts.csv',
    'Last Name,Email,Phone\nBrandt,jule@hidden.example,+49 40 555 010\n',
  )
  await page.getByText('2 of 3 columns matched').waitFor()
  assert.ok(await page.getByRole('radio', {name: /^Update existing, add new/}).isChecked(), 'the match of the module is chosen')
  const offered = await page.getByLabel('Field for Phone', {exact: true}).locator('option').allInnerTexts()
  assert.ok(offered.includes('Mobile') && !offered.includes('Phone'), offered.join(', '))
  await person.review(page)
  await person.writeRows(page)
  await person.runEnded(page, /^Imported$/)
  const written = here.world.crm.records('example', 'Contacts').filter(({Email}) => Email === 'jule@hidden.example')
  assert.deepEqual([written.length, written[0]!.Phone ?? null], [1, null])
  assert.deepEqual(visitor.complaints, [])
})

test('a module whose fields were never read offers to read them', async () => {
  const other = await openOrg(here.world, 'zoe@other.example')
  await ok(other.call('PATCH', `/orgs/${other.org}/config/modules/Leads?connector=${other.connector}`, {enabled: true}), 200)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, other.session)
  // The first page starts a discovery if the connection has none, so the discovery is deleted after that page has read it.
  await page.waitForLoadState('networkidle')
  await here.world.hot.query('delete from discoveries where connector_id = $1', [other.connector])
  await page.goto(`${here.world.url}/#/settings/modules/${other.connector}/Leads`)
  await page.getByRole('button', {name: 'Read the fields now'}).click()
  await page.getByRole('group', {name: 'Match fields'}).waitFor()
})

test('dates on pages follow the date format of the settings', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings`)
  await page.getByLabel('Date format').selectOption('dd.MM.yyyy')
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.locator('.toast').filter({hasText: 'Settings saved'}).waitFor()
  await page.getByRole('button', {name: 'Save', exact: true, disabled: true}).waitFor()
  await page.goto(`${here.world.url}/#/settings/changes`)
  const now = new Date().toISOString()
  await page
    .getByRole('cell', {name: new RegExp(`^${now.slice(8, 10)}\\.${now.slice(5, 7)}\\.${now.slice(0, 4)}, `)})
    .first()
    .waitFor()
})

for (const [look, options] of Object.entries({
  light: {},
  dark: {colorScheme: 'dark' as const},
  phone: {viewport: {width: 360, height: 740}},
}))
  test(`the page of a module is usable in the look "${look}"`, async () => {
    const visitor = await here.open(options)
    const {page} = visitor
    await enter(visitor, org.session)
    await page.goto(`${here.world.url}/#/settings/modules/${org.connector}/Leads`)
    await page.getByRole('group', {name: 'Match fields'}).waitFor()
    await settled(page)
    await assertAccessible(page, `a module, ${look}`)
    await assertFits(page, `a module, ${look}`)
    await picture(page, `module-${look}`, {height: 1300})
  })
