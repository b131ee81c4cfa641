import assert from 'node:assert/strict'
import {once} from 'node:events'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import test from 'node:test'
import {stageEmbedding} from './embedding.ts'

const embedding = stageEmbedding('embed-origins')
const {hosts, opened} = embedding

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
  assert.equal(await ancestors(embedding.template, hosts[0]!.origin), hosts[0]!.origin)
  assert.equal(await ancestors(embedding.template, hosts[1]!.origin), "'none'")
  assert.equal(await ancestors('tpl_none', hosts[0]!.origin), "'none'")
  assert.equal((await get(`/embed?${new URLSearchParams({template: embedding.template, origin: '*'})}`)).status, 400)
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
  await embedding.list([hosts[0]!.origin, origin])
  await page.goto(origin)
  await start.waitFor()
})

/** Replaces `fetch` of the embedding page, so that another frame posts a forged token to the import before the page requests a token. */
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
  const frame = await embedding.openHost(page, 0)
  await frame.getByRole('button', {name: 'Choose file'}).waitFor()
  await page.waitForLoadState('networkidle')
  assert.equal(tokens.length, 1, 'the session is read once')
  assert.ok(!tokens[0]!.includes('forged'))
})

test('the embedded page alone in a window does nothing', async () => {
  const {page, asked} = await opened.open()
  asked.length = 0
  await page.goto(`${opened.world.url}/embed?${new URLSearchParams({template: embedding.template, origin: hosts[0]!.origin})}`)
  await page.getByText('This page works only inside another page').waitFor()
  assert.deepEqual(
    asked.filter(address => address.includes('/auth/embed')),
    [],
  )
})
