import assert from 'node:assert/strict'
import {test} from 'node:test'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {addConnector} from '../support/registry.ts'
import {makeTemplate} from '../support/schedules.ts'
import {assertAccessible, assertFits, enter, picture, settled, stage} from './stage.ts'
import * as person from './steps.ts'

let org: Org
let template = ''
const here = stage('browser states', async world => {
  world.crm.addModule('example', {
    name: 'Parcels',
    plural: 'Deliveries',
    kind: 'custom',
    fields: [{name: 'Name', type: 'text', length: 50}],
  })
  org = await openOrg(world)
  template = (await makeTemplate(org)).split('/').at(-1)!
  await ok(org.call('POST', `/orgs/${org.org}/templates/${template}/share`, {}), 200)
})

test('pages say what a role does not allow, what was deleted, and what is empty', async () => {
  const operator = await here.world.makeOrg({org: org.org, role: 'operator'})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, operator.token)
  const show = async (address: string, text: string) => {
    await page.goto(`${here.world.url}/#${address}`)
    await page.getByText(text).first().waitFor()
    await settled(page)
    await assertAccessible(page, address)
    await assertFits(page, address)
  }
  for (const address of ['/settings/tokens', '/settings/notices', `/templates/${template}/schedules/sch_unknown`])
    await show(address, 'Your role does not allow this')
  await picture(page, 'no-permission')
  await show(`/templates/${template}/schedules/new`, 'Only builders and admins can create schedules')
  await show(`/templates/${template}`, 'Flows')
  assert.equal(await page.getByRole('heading', {name: 'Schedules'}).count(), 0)
  await show('/settings', 'Only admins can change these settings')
  await show(`/settings/modules/${org.connector}/Leads`, 'Only admins can change these settings')
  for (const address of ['/templates/tpl_unknown', `/settings/modules/${org.connector}/Unknown`])
    await show(address, 'It was deleted, or it belongs to another organisation.')
  await picture(page, 'not-found')
  await show('/runs', 'No runs yet')
  assert.deepEqual(visitor.complaints, [])
})

test('a template shows a module by its label in the CRM', async () => {
  const field = {field: 'Name', mode: 'column', source: 'name', empty: 'leave'}
  const ofParcels = await makeTemplate(org, {
    name: 'Parcels of the week',
    flows: [{id: 'f', sourceId: 'companies', module: 'Parcels', fields: [field]}],
  })
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/templates/${ofParcels.split('/').at(-1)}`)
  const flows = page.getByRole('table', {name: 'Flows'})
  await flows.getByRole('rowheader', {name: 'Deliveries', exact: true}).waitFor()
  assert.equal(await flows.getByText('Parcels').count(), 0)
  assert.deepEqual(visitor.complaints, [])
})

test('a page that cannot load its data says so, and loads it when it is tried again', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.route('**/templates?*', route => route.abort())
  await page.goto(`${here.world.url}/#/templates`)
  await page.getByText('Check your connection.').waitFor()
  await page.unroute('**/templates?*')
  await page.getByRole('button', {name: 'Try again'}).click()
  await page.getByRole('rowheader', {name: 'Companies of the night'}).waitFor()
})

test('a message stays four seconds, and a newer message replaces it', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.clock.install()
  await page.goto(`${here.world.url}/#/settings/modules`)
  const choice = page
    .getByRole('row')
    .filter({has: page.getByRole('link', {name: 'Leads', exact: true})})
    .getByRole('combobox')
  const toasts = page.locator('.toast')
  await choice.selectOption('true')
  await toasts.filter({hasText: 'Leads enabled'}).waitFor()
  await choice.selectOption('false')
  await toasts.filter({hasText: 'Leads disabled'}).waitFor()
  assert.deepEqual(await toasts.allInnerTexts(), ['Leads disabled'])
  await page.clock.fastForward(4_000)
  assert.equal(await toasts.count(), 0)
  assert.deepEqual(visitor.complaints, [])
})

test('a template opened by the command menu shows none of the unsaved values of the template before', async () => {
  await makeTemplate(org, {name: 'Suppliers of the month'})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/templates/${template}`)
  await page.getByLabel('No repeats: number').check()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', {name: 'Find a page'}).fill('suppliers')
  await page.getByRole('option', {name: /Suppliers of the month/, selected: true}).waitFor()
  page.once('dialog', dialog => dialog.accept())
  await page.keyboard.press('Enter')
  await page.getByRole('heading', {level: 1, name: 'Suppliers of the month'}).waitFor()
  assert.equal(await page.getByLabel('No repeats: number').isChecked(), false)
  assert.deepEqual(visitor.complaints, [])
})

test('the secret of a new webhook stays if the list of webhooks cannot be loaded again', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings/notices`)
  await page.getByLabel('URL').fill('https://hooks.example.com/lading')
  await page.route('**/notices', route => route.abort(), {times: 1})
  await page.getByRole('button', {name: 'Add', exact: true}).click()
  await page.getByText('Copy the signing secret now').waitFor()
  await page.getByText('Check your connection.').waitFor()
  assert.equal(await page.getByText('Copy the signing secret now').count(), 1)
  await page.getByRole('button', {name: 'Try again'}).click()
  await page.getByRole('rowheader', {name: 'https://hooks.example.com/lading'}).waitFor()
  assert.equal(await page.getByText('Copy the signing secret now').count(), 1)
  assert.deepEqual(visitor.complaints, [])
})

test('every version of a library can be reached', async () => {
  const functions = [{name: 'one', description: 'One', parameters: [], returns: 'number', examples: [{arguments: [], result: 1}]}]
  const manifest = {namespace: 'counts', version: '1.0.0', scope: 'org', description: 'Counts', functions}
  await ok(org.call('PUT', `/orgs/${org.org}/libraries/counts`, {manifest, source: 'export const one = () => 1'}), 200)
  await here.world.hot.query(
    `with more as (
       insert into library_versions (library_id, version_no, manifest, source)
       select id, n, v.manifest, v.source from libraries join library_versions v on v.library_id = id, generate_series(2, 60) n
       where org_id = $1 and namespace = 'counts' returning 1)
     update libraries set version_no = 60 where org_id = $1 and namespace = 'counts'`,
    [org.org],
  )
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings/libraries/counts`)
  await page.getByRole('rowheader', {name: 'v60: 1.0.0'}).waitFor()
  await page.getByRole('button', {name: 'Show older'}).click()
  await page.getByRole('rowheader', {name: 'v1: 1.0.0'}).waitFor()
  assert.equal(await page.getByRole('button', {name: 'Restore v60'}).count(), 0, 'the current version')
  assert.deepEqual(visitor.complaints, [])
})

test('a template without a connection is checked against the chosen one of several', async () => {
  await here.world.connect(org.session, {user: 'zoe@other.example'})
  const anywhere = await makeTemplate(org, {name: 'Anywhere', connectorId: null})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/templates/${anywhere.split('/').at(-1)}`)
  await page.getByLabel('Connection', {exact: true}).selectOption(org.connector)
  await page.getByRole('button', {name: 'Check against CRM'}).click()
  await page.getByText('The template fits the CRM.').waitFor()
  assert.deepEqual(visitor.complaints, [])
})

test('an operator is advised to ask an admin if the connection of a template ended', async () => {
  await addConnector(here.world, org.org, 'Spare')
  const operator = await here.world.makeOrg({org: org.org, role: 'operator'})
  const setState = (state: string) => here.world.hot.query('update connectors set state = $2 where id = $1', [org.connector, state])
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, operator.token)
  await setState('ended')
  await page.goto(`${here.world.url}/#/imports/new?template=${template}`)
  await page.getByText('Ask an admin to connect it again').waitFor()
  assert.equal(await page.getByRole('link', {name: 'Go to connections'}).count(), 0)
  await setState('connected')
  assert.deepEqual(visitor.complaints, [])
})

test('signing in as another CRM user at “Connect again” is reported, and adds a second connection', async () => {
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/connections`)
  const sheet = page.locator('.connection').filter({has: page.getByText('Ana Ruiz')})
  await person.allowInPopUp(visitor, () => sheet.getByRole('button', {name: 'Connect again'}).click(), 'eva@example.org')
  await sheet.getByText(/^You signed in as another CRM user/).waitFor()
  await page
    .locator('.connection')
    .filter({has: page.getByText('Eva Lind')})
    .waitFor()
  assert.equal(await page.locator('.toast').filter({hasText: 'connected again'}).count(), 0)
  assert.deepEqual(visitor.complaints, [])
})

test('unsaved changes of the notices stay when a webhook is removed', async () => {
  const add = (url: string) => ok(org.call('POST', `/orgs/${org.org}/webhooks`, {url, kind: 'slack'}), 201)
  const [stays, goes] = [await add('https://hooks.example.com/stays'), await add('https://hooks.example.com/gone')]
  const rule = {emails: [], endpoints: [stays.webhook.id, goes.webhook.id], on: ['run.held']}
  await ok(org.call('PUT', `/orgs/${org.org}/notices`, rule), 200)
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings/notices`)
  await page.getByLabel('A plan waits for approval').check()
  await page.getByRole('button', {name: 'Remove https://hooks.example.com/gone'}).click()
  await page.getByRole('dialog').getByRole('button', {name: 'Remove', exact: true}).click()
  await page.getByLabel('https://hooks.example.com/gone').waitFor({state: 'detached'})
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.locator('.toast').filter({hasText: 'Notices saved'}).waitFor()
  await page.getByRole('button', {name: 'Save', exact: true, disabled: true}).waitFor()
  const {notices} = await ok(org.call('GET', `/orgs/${org.org}/notices`), 200)
  assert.deepEqual([notices.endpoints, notices.on.toSorted()], [[stays.webhook.id], ['plan.waiting', 'run.held']])
  assert.deepEqual(visitor.complaints, [])
})

test('unsaved changes of the notices stay beside changes that another admin made, and no change is reverted', async () => {
  const add = async (url: string) => (await ok(org.call('POST', `/orgs/${org.org}/webhooks`, {url, kind: 'slack'}), 201)).webhook
  const [before, added] = [await add('https://hooks.example.com/before'), await add('https://hooks.example.com/of-another-admin')]
  const save = (rule: object) =>
    ok(org.call('PUT', `/orgs/${org.org}/notices`, {emails: [], endpoints: [before.id, added.id], on: ['run.held'], ...rule}), 200)
  await save({endpoints: [before.id]})
  const visitor = await here.open()
  const {page} = visitor
  await enter(visitor, org.session)
  await page.goto(`${here.world.url}/#/settings/notices`)
  const addHere = async (url: string) => {
    await page.getByLabel('URL').fill(url)
    await page.getByRole('button', {name: 'Add', exact: true}).click()
    await page.getByRole('rowheader', {name: url}).waitFor()
  }
  await page.getByLabel('A plan waits for approval').waitFor()
  await save({})
  await addHere('https://hooks.example.com/first')
  assert.ok(await page.getByLabel(added.url, {exact: true}).isChecked())
  assert.ok(await page.getByRole('button', {name: 'Save', exact: true}).isDisabled(), 'the change of another admin is not unsaved')
  await page.getByLabel('A plan waits for approval').check()
  await save({on: ['run.held', 'run.ended']})
  await addHere('https://hooks.example.com/second')
  await page.getByRole('button', {name: 'Save', exact: true}).click()
  await page.locator('.toast').filter({hasText: 'Notices saved'}).waitFor()
  await page.getByRole('button', {name: 'Save', exact: true, disabled: true}).waitFor()
  const {notices} = await ok(org.call('GET', `/orgs/${org.org}/notices`), 200)
  assert.deepEqual(
    [notices.endpoints.toSorted(), notices.on.toSorted()],
    [[before.id, added.id].toSorted(), ['plan.waiting', 'run.ended', 'run.held']],
  )
  assert.deepEqual(visitor.complaints, [])
})
