import assert from 'node:assert/strict'
import {test} from 'node:test'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {addConnector} from '../support/registry.ts'
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

test('unsaved general settings stay after another admin changed the settings, and the other changes are kept', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings`)
  await page.getByLabel('Expression context').fill('{"region": "south"}')
  await ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {aiSamplePolicy: 'deny'}), 200)
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.getByRole('button', {name: 'Try again'}).click()
  await page.getByLabel('Data sent to AI').and(page.locator(':has(option[value=deny]:checked)')).waitFor()
  assert.equal(await page.getByLabel('Expression context').inputValue(), '{"region": "south"}')
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.locator('.toast').filter({hasText: 'Settings saved'}).waitFor()
  await page.getByRole('button', {name: 'Save', exact: true, disabled: true}).waitFor()
  const {settings} = await ok(org.call('GET', `/orgs/${org.org}/config/settings`), 200)
  assert.deepEqual([settings.expressionContext, settings.aiSamplePolicy], [{region: 'south'}, 'deny'])
  assert.deepEqual(visitor.complaints, [])
})

test('unsaved settings of a module stay after another admin changed the module', async () => {
  const change = (changed: object) =>
    ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Deals?connector=${org.connector}`, changed), 200)
  await change({singular: null, onEdited: null})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings/modules/${org.connector}/Deals`)
  await page.getByLabel('Singular name').fill('Bargain ')
  await change({onEdited: 'keep'})
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.getByRole('button', {name: 'Try again'}).click()
  await page.locator('select:has(option[value=keep]:checked)').waitFor()
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.locator('.toast').filter({hasText: 'Module saved'}).waitFor()
  await page.getByRole('button', {name: 'Save', exact: true, disabled: true}).waitFor()
  const {module} = await ok(org.call('GET', `/orgs/${org.org}/config/fields/Deals?connector=${org.connector}`), 200)
  assert.deepEqual([module.singular, module.onEdited], ['Bargain', 'keep'])
  assert.deepEqual(visitor.complaints, [])
})

test('unsaved general settings stay after the configuration changed meanwhile', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings`)
  await page.getByLabel('Expression context').fill('{"region": "north"}')
  await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Deals?connector=${org.connector}`, {singular: 'Contract'}), 200)
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  const reloaded = page.waitForResponse(answer => answer.url().endsWith('/config/settings') && answer.request().method() === 'GET')
  await page.getByRole('button', {name: 'Try again'}).click()
  await (await reloaded).finished()
  await page.getByRole('alert').waitFor({state: 'detached'})
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.locator('.toast').filter({hasText: 'Settings saved'}).waitFor()
  const {settings} = await ok(org.call('GET', `/orgs/${org.org}/config/settings`), 200)
  assert.deepEqual(settings.expressionContext, {region: 'north'})
  assert.deepEqual(visitor.complaints, [])
})

test('moving a module before the list shows the previous move does not revert the previous move', async () => {
  const order = async (): Promise<string[]> => {
    const {modules} = await ok(org.call('GET', `/orgs/${org.org}/config/modules?connector=${org.connector}`), 200)
    return modules.filter(({key}: any) => key !== null).map(({label}: any) => label)
  }
  for (const module of ['Leads', 'Deals', 'Contacts'])
    await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/${module}?connector=${org.connector}`, {enabled: true}), 200)
  const [first = '', second = '', third = ''] = await order()
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings/modules`)
  const down = page.getByRole('button', {name: `Move ${first} down`})
  await down.waitFor()
  const held = Promise.withResolvers<void>()
  await page.route(/\/config\/modules\?/, async route => {
    if (route.request().method() === 'GET') await held.promise
    await route.continue()
  })
  const moved = (name: string) => page.locator('.toast').filter({hasText: name})
  await down.click()
  await moved(first).waitFor()
  const up = page.getByRole('button', {name: `Move ${third} up`})
  await up.and(page.locator('[aria-disabled=true]')).waitFor()
  await up.click({force: true})
  held.resolve()
  await page.getByRole('row').nth(2).filter({hasText: first}).waitFor()
  assert.deepEqual(await order(), [second, first, third])
  await up.click()
  await moved(third).waitFor()
  assert.deepEqual(await order(), [second, third, first])
  assert.deepEqual(visitor.complaints, [])
})

test('a new import uses the connection of its template, and never a chosen connection that was disconnected later', async () => {
  const {world} = here
  const {org: other, token} = await world.makeOrg()
  const call = world.as(token)
  const [own, spare] = [await addConnector(world, other, 'Own'), await addConnector(world, other, 'Spare')]
  const body = {name: 'Leads of the month', connectorId: own, sources: [{slot: 'leads', label: 'Leads', columns: ['name']}]}
  const flows = [{id: 'f', sourceId: 'leads', module: 'Leads', fields: [{field: 'Last_Name', mode: 'column', source: 'name'}]}]
  const {template} = await ok(call('POST', `/orgs/${other}/templates`, {...body, flows}), 201)
  const setState = (connector: string, state: string) =>
    world.hot.query('update connectors set state = $2 where id = $1', [connector, state])
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, token)
  const connection = page.getByLabel('Connection', {exact: true})
  const newImport = `${world.url}/#/imports/new`
  const create = async () => {
    await page.getByRole('button', {name: 'Create import'}).click()
    await page.getByRole('heading', {level: 1, name: 'Match'}).waitFor()
    return (await ok(call('GET', `/orgs/${other}/imports`), 200)).imports[0].connectorId
  }
  await page.goto(newImport)
  await connection.selectOption(spare)
  await page.goto(`${newImport}?template=${template.id}`)
  await page.locator('select:disabled').waitFor()
  assert.equal(await connection.inputValue(), own)
  assert.equal(await create(), own)
  await page.goto(newImport)
  await connection.selectOption(spare)
  await page.goto(`${world.url}/#/imports`)
  await setState(spare, 'disconnected')
  await page.goto(newImport)
  await page.getByRole('button', {name: 'Create import'}).waitFor()
  assert.equal(await create(), own)
  await setState(spare, 'connected')
  await setState(own, 'ended')
  await page.goto(`${newImport}?template=${template.id}`)
  await page.getByText('The CRM of this template is not connected').waitFor()
  assert.ok(await page.getByRole('button', {name: 'Create import'}).isDisabled())
  assert.deepEqual(visitor.complaints, [])
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
