import assert from 'node:assert/strict'
import {once} from 'node:events'
import {createServer, type Server} from 'node:http'
import type {AddressInfo} from 'node:net'
import test from 'node:test'
import type {FrameLocator, Page} from 'playwright-core'
import {storeTemplate} from '../support/embed.ts'
import {serveFiles, serveReact} from '../support/react-host.ts'
import {allow, assertAccessible, picture, stage} from './stage.ts'
import {csvFile} from './steps.ts'

type HostInput = {lading: string; token: string; org: string; template: string}
const example = new URL('../../examples/embed/server.js', import.meta.url).href
const {startHost}: {startHost(of: HostInput): Promise<Server>} = await import(example)

/** The server of the example's page, on another origin. */
type Host = {origin: string; server: Server}
const hosts: Host[] = []
let org: string
let template: string
/** Sets the origins that may embed imports of the org. */
let list: (embedOrigins: string[]) => Promise<unknown>

const flow = {
  id: 'f',
  sourceId: 'leads',
  module: 'Leads',
  match: {by: ['Email'], onOne: 'update', onMany: 'skip'},
  fields: [
    {field: 'Last_Name', mode: 'column', source: 'Last Name'},
    {field: 'Company', mode: 'column', source: 'Company'},
    {field: 'Email', mode: 'column', source: 'Email'},
  ],
}

const opened = stage('embed', async world => {
  const owner = await world.signIn('ana@example.org')
  const call = world.as(owner)
  const must = async (method: string, path: string, body?: object, headers?: Record<string, string>) => {
    const answer = await call(method, path, body, headers)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
    return answer.body
  }
  org = (await must('GET', '/auth/me')).org.id
  const token = (await must('POST', `/orgs/${org}/tokens`, {name: 'host'})).secret
  const slot = {slot: 'leads', label: 'Leads', columns: ['Last Name', 'Company', 'Email']}
  await must(
    'POST',
    `/orgs/${org}/discovery/run`,
    {connectorId: await world.connect(owner, {user: 'ana@example.org'})},
    {prefer: 'wait=30'},
  )
  template = (await must('POST', `/orgs/${org}/templates`, {name: 'Customers', sources: [slot], flows: [flow]})).template.id
  for (const _ of [1, 2]) await addHost({org, token, template})
  list = embedOrigins => must('PATCH', `/orgs/${org}/config/settings`, {embedOrigins})
  await list([hosts[0]!.origin])
})
test.after(() => {
  for (const {server} of hosts) {
    server.closeAllConnections()
    server.close()
  }
})

/** Starts the example's server on another origin. */
const addHost = async (of: {org: string; token: string; template: string}): Promise<Host> => {
  const server = await startHost({lading: opened.world.url, ...of})
  const host = {origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server}
  hosts.push(host)
  return host
}

const openHost = async (page: Page, at: number): Promise<FrameLocator> => {
  await page.goto(hosts[at]!.origin)
  return page.frameLocator('lading-import iframe')
}

const file = csvFile('customers.csv', 'Family name,Company,e-mail\nEmbedded,Firm,embedded@example.org\nSecond,Firm,second@example.org\n')

test('a page of another origin embeds an import, from the file to its results', async () => {
  const {page} = await opened.open()
  const addresses: string[] = []
  page.context().on('request', request => addresses.push(request.url()))
  const errors: string[] = []
  page.on('pageerror', error => errors.push(error.message))
  page.on('console', message => message.type() === 'error' && errors.push(message.text()))
  const frame = await openHost(page, 0)
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

test('a file that cannot be read as the template defines says why, and another file takes its place', async () => {
  const call = opened.world.as(await opened.world.signIn('ana@example.org'))
  const {secret} = (await call('POST', `/orgs/${org}/tokens`, {name: 'host of names'})).body
  const names = {step: 'split', column: 'Person', separator: ', ', into: ['Last Name', 'First Name']}
  const slot = {slot: 'leads', label: 'Leads', columns: ['Person', 'Company', 'Email'], cleaning: [names]}
  const made = await call('POST', `/orgs/${org}/templates`, {name: 'Split names', sources: [slot], flows: [flow]})
  assert.equal(made.status, 201, made.text)
  const host = await addHost({org, token: secret, template: made.body.template.id})
  await list([hosts[0]!.origin, host.origin])
  const {page} = await opened.open()
  await page.goto(host.origin)
  const frame = page.frameLocator('lading-import iframe')
  const choose = async (button: string, text: string) => {
    const waiting = page.waitForEvent('filechooser')
    await frame.getByRole('button', {name: button}).click()
    await (await waiting).setFiles(csvFile(`${button}.csv`, text))
  }
  await choose('Choose file', 'Name,Company,Email\nOther,Split firm,split@example.org\n')
  await frame.getByText('Choose file.csv does not fit the template').waitFor()
  await frame
    .getByText(/Person/)
    .first()
    .waitFor()
  await choose('Upload file', 'Person,Company,Email\n"Name, Given",Split firm,split@example.org\n')
  await frame.getByRole('button', {name: 'Review', exact: true}).click()
  await frame.getByRole('button', {name: 'Import 1 row'}).waitFor()
})

test('the React component embeds the import, calls its latest handlers, and leaves no frame behind', async () => {
  await serveReact(hosts[0]!.server, {lading: opened.world.url, template})
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
  await openHost(page, 0)
  await page.getByRole('button', {name: 'Import in a dialog'}).click()
  const dialog = page.getByRole('dialog')
  await dialog.frameLocator('iframe').getByRole('button', {name: 'Choose file'}).waitFor()
  await dialog.getByRole('button', {name: 'Close'}).click()
  await page.getByText('The dialog was closed').waitFor()
})

test('properties that a page sets before the script defines the element are kept, and the script may load twice', async () => {
  const {page} = await opened.open()
  const script = `<script src="${opened.world.url}/embed.js"></script>`
  const body = `<!doctype html><lading-import template="${template}"></lading-import><script>
    const token = async () => (await (await fetch('/embed-token', {method: 'POST'})).json()).token
    Object.assign(document.querySelector('lading-import'), {token, server: '${opened.world.url}/'})
  </script>${script}${script}<button onclick="Lading.open({template: '${template}', token})">Open</button>`
  serveFiles(hosts[0]!.server, {'/early': ['text/html', body]})
  await page.goto(`${hosts[0]!.origin}/early`)
  await page.frameLocator('lading-import iframe').getByRole('button', {name: 'Choose file'}).waitFor()
  assert.equal(await page.locator('lading-import').getAttribute('server'), `${opened.world.url}/`)
  await page.getByRole('button', {name: 'Open', exact: true}).click()
  await page.getByRole('dialog').frameLocator('iframe').getByRole('button', {name: 'Choose file'}).waitFor()
})

test('a page of an origin that the org does not list gets neither a frame nor a token', async () => {
  const {page} = await opened.open()
  const refused: string[] = []
  page.on('console', message => message.type() === 'error' && refused.push(message.text()))
  await page.goto(hosts[1]!.origin)
  await page.waitForFunction(() => (globalThis as any).document.querySelector('lading-import iframe') !== null)
  while (!refused.some(text => text.includes('frame-ancestors'))) await page.waitForEvent('console', {timeout: 10_000})
  const answer = await page.request.post(`${hosts[1]!.origin}/embed-token`)
  assert.equal(answer.status(), 502)
})

test('no other page can be framed, and the embedded page only by its origin', async () => {
  const get = (path: string) => fetch(opened.world.url + path)
  for (const path of ['/', '/reference', '/auth/zoho/callback', '/auth/me', '/embed.js', '/nothing']) {
    const {headers} = await get(path)
    assert.match(headers.get('content-security-policy')!, /frame-ancestors 'none'/, path)
    assert.equal(headers.get('x-frame-options'), 'DENY', path)
  }
  const ancestors = async (named: string, origin: string) => {
    const {headers} = await get(`/embed?${new URLSearchParams({template: named, origin})}`)
    return /frame-ancestors ([^;]+)/.exec(headers.get('content-security-policy')!)?.[1]
  }
  assert.equal(await ancestors(template, hosts[0]!.origin), hosts[0]!.origin)
  assert.equal(await ancestors(template, hosts[1]!.origin), "'none'")
  assert.equal(await ancestors('tpl_none', hosts[0]!.origin), "'none'")
  assert.equal((await get(`/embed?${new URLSearchParams({template, origin: '*'})}`)).status, 400)
})

test('a web tab works: the page around the embedding page must be listed too', async () => {
  const outer = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<title>CRM</title><link rel="icon" href="data:,"><iframe src="${hosts[0]!.origin}" width="900" height="600"></iframe>`)
  }).listen(0, '127.0.0.1')
  await once(outer, 'listening')
  const origin = `http://127.0.0.1:${(outer.address() as AddressInfo).port}`
  hosts.push({origin, server: outer})
  const {page} = await opened.open()
  const start = page.frameLocator('iframe').frameLocator('lading-import iframe').getByRole('button', {name: 'Choose file'})
  const refused = page.waitForEvent('console', message => message.text().includes('frame-ancestors'))
  await page.goto(origin)
  await refused
  await list([hosts[0]!.origin, origin])
  await page.goto(origin)
  await start.waitFor()
})

/** Replaces `fetch` of the embedding page. Before the page requests a token, another frame posts a forged token to the import. */
const forgeSession = () => {
  const page = globalThis as any
  // The frame of the import stays unchanged.
  if (page.parent !== page) return
  const ask = page.fetch
  page.fetch = async (...sent: unknown[]) => {
    const posted = new Promise<void>(resolve => {
      page.addEventListener('message', ({data}: {data: unknown}) => data === 'posted' && resolve())
    })
    const other = page.document.createElement('iframe')
    other.srcdoc = `<script>
      parent.frames[0].postMessage({type: 'lading:session', token: 'lading-embed_forged'}, '*')
      parent.postMessage('posted', '*')
    </script>`
    page.document.body.append(other)
    await posted
    return ask(...sent)
  }
}

test('the frame takes a token only from the page that embeds it', async () => {
  const {page} = await opened.open()
  const tokens: string[] = []
  page.on('request', request => {
    if (request.url().endsWith('/auth/embed')) tokens.push(request.headers().authorization ?? '')
  })
  await page.addInitScript(forgeSession)
  const frame = await openHost(page, 0)
  await frame.getByRole('button', {name: 'Choose file'}).waitFor()
  assert.equal(new Set(tokens).size, 1)
  assert.ok(!tokens[0]!.includes('forged'))
})

test('the embedded page alone in a window does nothing', async () => {
  const {page, asked} = await opened.open()
  asked.length = 0
  await page.goto(`${opened.world.url}/embed?${new URLSearchParams({template, origin: hosts[0]!.origin})}`)
  await page.getByText('This page works only inside another page').waitFor()
  assert.deepEqual(
    asked.filter(address => address.includes('/auth/embed')),
    [],
  )
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
  const host = await addHost({org: id, token: secret, template: named})
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
