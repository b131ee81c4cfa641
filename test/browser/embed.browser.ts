import assert from 'node:assert/strict'
import test from 'node:test'
import {storeTemplate} from '../support/embed.ts'
import {serveFiles, serveReact} from '../support/react-host.ts'
import {flow, stageEmbedding} from './embedding.ts'
import {allow, assertAccessible, picture} from './stage.ts'
import {csvFile} from './steps.ts'

const embedding = stageEmbedding('embed')
const {hosts, opened} = embedding

const file = csvFile('customers.csv', 'Family name,Company,e-mail\nEmbedded,Firm,embedded@example.org\nSecond,Firm,second@example.org\n')

test('a page of another origin embeds an import, from the file to its results', async () => {
  const {page} = await opened.open()
  const addresses: string[] = []
  page.context().on('request', request => addresses.push(request.url()))
  const errors: string[] = []
  page.on('pageerror', error => errors.push(error.message))
  page.on('console', message => message.type() === 'error' && errors.push(message.text()))
  const frame = await embedding.openHost(page, 0)
  const waiting = page.waitForEvent('filechooser')
  await frame.getByRole('button', {name: 'Choose file'}).click()
  await (await waiting).setFiles(file)
  await frame.getByLabel('Last Name').selectOption('Family name')
  assert.equal(await frame.getByLabel('Email', {exact: true}).inputValue(), 'e-mail', 'found by its name')
  await picture(page, 'embed-match')
  await frame.getByRole('button', {name: 'Review', exact: true}).click()
  await frame
    .locator('#review-sum')
    .filter({hasText: /^\s*2 ready/})
    .waitFor()
  await picture(page, 'embed-review', {height: 1200})
  await frame.getByRole('button', {name: 'Import 2 rows'}).click()
  await page.getByText('The import has ended').waitFor()
  await frame.locator('.every-row').filter({hasText: '2 created'}).waitFor()
  await picture(page, 'embed-run', {height: 1200})
  await frame.getByRole('link', {name: 'View rows'}).click()
  await frame.getByRole('heading', {level: 1, name: 'Results'}).waitFor()
  await frame.getByText('embedded@example.org').first().waitFor()
  const {height} = (await page.locator('lading-import iframe').boundingBox())!
  const inside = await frame.locator('html').evaluate(root => (root as any).scrollHeight)
  assert.ok(height >= inside - 1 && height > 200, `the frame is ${height} px high, its content ${inside} px`)
  assert.deepEqual(errors, [])
  assert.deepEqual(
    addresses.filter(address => /lading-embed_|lading_[0-9A-Za-z]{20}/.test(address)),
    [],
    'no address has a token',
  )
  const records = opened.world.crm.records('example', 'Leads').filter(({Company}: Record<string, unknown>) => Company === 'Firm')
  assert.equal(records.length, 2)
  await frame.locator('html').evaluate(() => (globalThis as any).location.assign('#/'))
  await frame.getByText('Up to 998 rows').waitFor()
  await assertAccessible(page, 'the page that embeds the import')
})

test('a file that cannot be read as the template defines is refused with the reason, and another file can replace it', async () => {
  const call = opened.world.as(await opened.world.signIn('ana@example.org'))
  const {secret} = (await call('POST', `/orgs/${embedding.org}/tokens`, {name: 'host of names'})).body
  const names = {step: 'split', column: 'Person', separator: ', ', into: ['Last Name', 'First Name']}
  const slot = {slot: 'leads', label: 'Leads', columns: ['Person', 'Company', 'Email'], cleaning: [names]}
  const made = await call('POST', `/orgs/${embedding.org}/templates`, {name: 'Split names', sources: [slot], flows: [flow]})
  assert.equal(made.status, 201, made.text)
  const host = await embedding.addHost({org: embedding.org, token: secret, template: made.body.template.id})
  await embedding.list([hosts[0]!.origin, host.origin])
  const {page} = await opened.open()
  await page.goto(host.origin)
  const frame = page.frameLocator('lading-import iframe')
  const choose = async (button: string, text: string) => {
    const waiting = page.waitForEvent('filechooser')
    await frame.getByRole('button', {name: button}).click()
    await (await waiting).setFiles(csvFile(`${button}.csv`, text))
  }
  await choose('Choose file', 'Name,Company,Email\nOther,Split firm,split@example.org\n')
  const notice = frame.locator('.notice').filter({hasText: 'Choose file.csv does not fit the template'})
  await notice
    .getByRole('listitem')
    .filter({hasText: /Person/})
    .first()
    .waitFor()
  await choose('Upload file', 'Person,Company,Email\n"Name, Given",Split firm,split@example.org\n')
  await notice.waitFor({state: 'detached'})
  await frame.getByRole('button', {name: 'Review', exact: true}).click()
  await frame.getByRole('button', {name: 'Import 1 row'}).waitFor()
})

test('an embedded run that waits, and a refused start, show no link that leaves the import', async () => {
  const call = opened.world.as(await opened.world.signIn('ana@example.org'))
  const [{id}] = (await call('GET', `/orgs/${embedding.org}/connectors`)).body.connectors
  const pauseWrites = async (paused: boolean) => {
    const {status, text} = await call('PATCH', `/orgs/${embedding.org}/config/writing?connector=${id}`, {paused})
    assert.equal(status, 200, text)
  }
  const {page} = await opened.open()
  const frame = await embedding.openHost(page, 0)
  const waiting = page.waitForEvent('filechooser')
  await frame.getByRole('button', {name: 'Choose file'}).click()
  await (await waiting).setFiles(csvFile('paused.csv', 'Last Name,Company,Email\nPaused,Paused firm,paused@example.org\n'))
  await frame.getByRole('button', {name: 'Review', exact: true}).click()
  const start = frame.getByRole('button', {name: 'Import 1 row'})
  await start.waitFor()
  await pauseWrites(true)
  await start.click()
  await frame.getByRole('alert').waitFor()
  assert.equal(await frame.getByRole('link', {name: 'Go to connections'}).count(), 0)
  await pauseWrites(false)
  opened.world.crm.faults.add({match: {method: 'POST', path: '/crm/v8/coql'}, times: 1, action: {type: 'hold', when: 'before'}})
  await start.click()
  await frame.getByRole('region', {name: 'Run in progress'}).waitFor()
  await pauseWrites(true)
  opened.world.crm.release()
  await frame.getByText('Ask an admin to resume writing under Connections.').waitFor()
  assert.equal(await frame.getByRole('link', {name: 'Connections'}).count(), 0)
  await pauseWrites(false)
  await frame.locator('.every-row').filter({hasText: '1 created'}).waitFor()
})

test('an embedded verification lists the cut values without the values of the CRM, which it may not read', async () => {
  const {world} = opened
  const call = world.as(await world.signIn('ana@example.org'))
  const template = `/orgs/${embedding.org}/templates/${embedding.template}`
  assert.equal((await call('PATCH', template, {verify: 'all'})).status, 200)
  world.crm.setSwitches({
    rewrites: [{module: 'Leads', where: {field: 'Company', values: ['Cut firm']}, how: 'cut', field: 'Last_Name', length: 3}],
  })
  const {page} = await opened.open()
  const frame = await embedding.openHost(page, 0)
  const waiting = page.waitForEvent('filechooser')
  await frame.getByRole('button', {name: 'Choose file'}).click()
  await (await waiting).setFiles(csvFile('cut.csv', 'Last Name,Company,Email\nShortened,Cut firm,cut@example.org\n'))
  await frame.getByRole('button', {name: 'Review', exact: true}).click()
  await frame.getByRole('button', {name: 'Import 1 row'}).click()
  await frame.getByRole('link', {name: 'View rows'}).click()
  const differences = frame.locator('.verification table').last()
  await differences.getByText('Shortened').waitFor()
  assert.deepEqual(await differences.locator('thead th').allInnerTexts(), ['Row', 'Field', 'Found', 'Sent'])
  assert.deepEqual(await differences.locator('tbody td').allInnerTexts(), ['1', 'Last Name', 'Cut', 'Shortened'])
  world.crm.setSwitches({rewrites: []})
  assert.equal((await call('PATCH', template, {verify: 'off'})).status, 200)
})

test('the React component embeds the import, calls its latest handlers, and leaves no frame behind', async () => {
  await serveReact(hosts[0]!.server, {lading: opened.world.url, template: embedding.template})
  const {page} = await opened.open()
  const errors: string[] = []
  page.on('pageerror', error => errors.push(error.message))
  page.on('console', message => message.type() === 'error' && errors.push(message.text()))
  await page.goto(`${hosts[0]!.origin}/react`)
  const frame = page.frameLocator('lading-import iframe')
  await frame.getByRole('button', {name: 'Choose file'}).waitFor()
  await page.getByRole('button', {name: 'Close the import'}).click()
  await page.locator('lading-import').waitFor({state: 'detached'})
  await page.getByRole('button', {name: 'Open the import'}).click()
  const waiting = page.waitForEvent('filechooser')
  await frame.getByRole('button', {name: 'Choose file'}).click()
  await (await waiting).setFiles(csvFile('react.csv', 'Last Name,Company,Email\nReacting,React firm,react@example.org\n'))
  await frame.getByRole('button', {name: 'Review', exact: true}).click()
  await frame.getByRole('button', {name: 'Import 1 row'}).click()
  await page.getByText('started; ended: 1 created', {exact: true}).waitFor()
  assert.equal(await page.locator('iframe').count(), 1)
  assert.deepEqual(errors, [])
  const records = opened.world.crm.records('example', 'Leads').filter(({Company}: Record<string, unknown>) => Company === 'React firm')
  assert.equal(records.length, 1)
})

test('the dialog opens the same import, and tells that it was closed', async () => {
  const {page} = await opened.open()
  await embedding.openHost(page, 0)
  await page.getByRole('button', {name: 'Import in a dialog'}).click()
  const dialog = page.getByRole('dialog')
  await dialog.frameLocator('iframe').getByRole('button', {name: 'Choose file'}).waitFor()
  await dialog.getByRole('button', {name: 'Close'}).click()
  await page.getByText('The dialog was closed').waitFor()
})

test('properties that a page sets before the script defines the element are kept, and the script may load twice', async () => {
  const {page} = await opened.open()
  const script = `<script src="${opened.world.url}/embed.js"></script>`
  const body = `<!doctype html><lading-import template="${embedding.template}"></lading-import><script>
    const token = async () => (await (await fetch('/embed-token', {method: 'POST'})).json()).token
    Object.assign(document.querySelector('lading-import'), {token, server: '${opened.world.url}/'})
  </script>${script}${script}<button onclick="Lading.open({template: '${embedding.template}', token})">Open</button>`
  serveFiles(hosts[0]!.server, {'/early': ['text/html', body]})
  await page.goto(`${hosts[0]!.origin}/early`)
  await page.frameLocator('lading-import iframe').getByRole('button', {name: 'Choose file'}).waitFor()
  assert.equal(await page.locator('lading-import').getAttribute('server'), `${opened.world.url}/`)
  await page.getByRole('button', {name: 'Open', exact: true}).click()
  await page.getByRole('dialog').frameLocator('iframe').getByRole('button', {name: 'Choose file'}).waitFor()
})

test('an org without a connection is connected from the frame, because the pop-up starts the sign-in', async () => {
  const zoe = 'zoe@other.example'
  const {world} = opened
  const session = await world.signIn(zoe)
  const call = world.as(session)
  const {id} = (await call('GET', '/auth/me')).body.org
  const {secret} = (await call('POST', `/orgs/${id}/tokens`, {name: 'host'})).body
  const slot = {slot: 'leads', label: 'Leads', columns: ['Last Name', 'Company', 'Email']}
  const named = await storeTemplate(world, id, {sources: [slot], flows: [flow]})
  const host = await embedding.addHost({org: id, token: secret, template: named})
  assert.equal((await call('PATCH', `/orgs/${id}/config/settings`, {embedOrigins: [host.origin]})).status, 200)
  const {page, context} = await opened.open()
  await page.goto(host.origin)
  const frame = page.frameLocator('lading-import iframe')
  const waiting = context.waitForEvent('page')
  await frame.getByRole('button', {name: 'Connect CRM'}).click()
  await allow(await waiting, zoe)
  await frame.getByRole('button', {name: 'Choose file'}).waitFor()
  const {connectors} = (await call('GET', `/orgs/${id}/connectors`)).body
  assert.deepEqual(
    connectors.map(({state}: {state: string}) => state),
    ['connected'],
  )
})
