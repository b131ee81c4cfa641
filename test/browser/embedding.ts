import assert from 'node:assert/strict'
import type {Server} from 'node:http'
import type {AddressInfo} from 'node:net'
import test from 'node:test'
import type {FrameLocator, Page} from 'playwright-core'
import {stage} from './stage.ts'

type HostInput = {lading: string; token: string; org: string; template: string}
const example = new URL('../../examples/embed/server.js', import.meta.url).href
const {startHost}: {startHost(of: HostInput): Promise<Server>} = await import(example)

/** The server of the example's page, on another origin. */
type Host = {origin: string; server: Server}

export const flow = {
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

/**
 * `hosts`: pages on other origins that embed the template. The org lists only the origin of the first page. `list`: sets the origins that may embed
 * imports.
 */
type Embedding = {
  opened: ReturnType<typeof stage>
  hosts: Host[]
  org: string
  template: string
  list(embedOrigins: string[]): Promise<unknown>
  addHost(of: {org: string; token: string; template: string}): Promise<Host>
  openHost(page: Page, at: number): Promise<FrameLocator>
}

/**
 * Opens a stage with an org, a template for Leads, and two servers of the example that embed the template. All properties but `opened` are set before
 * the first test.
 */
export const stageEmbedding = (name: string): Embedding => {
  const embedding = {hosts: [] as Host[], org: '', template: ''} as Embedding
  embedding.opened = stage(name, async world => {
    const owner = await world.signIn('ana@example.org')
    const call = world.as(owner)
    const must = async (method: string, path: string, body?: object, headers?: Record<string, string>) => {
      const answer = await call(method, path, body, headers)
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
      return answer.body
    }
    const org = (await must('GET', '/auth/me')).org.id
    const token = (await must('POST', `/orgs/${org}/tokens`, {name: 'host'})).secret
    const slot = {slot: 'leads', label: 'Leads', columns: ['Last Name', 'Company', 'Email']}
    await must(
      'POST',
      `/orgs/${org}/discovery/run`,
      {connectorId: await world.connect(owner, {user: 'ana@example.org'})},
      {prefer: 'wait=30'},
    )
    const template = (await must('POST', `/orgs/${org}/templates`, {name: 'Customers', sources: [slot], flows: [flow]})).template.id
    for (const _ of [1, 2]) await embedding.addHost({org, token, template})
    embedding.list = embedOrigins => must('PATCH', `/orgs/${org}/config/settings`, {embedOrigins})
    Object.assign(embedding, {org, template})
    await embedding.list([embedding.hosts[0]!.origin])
  })
  test.after(() => {
    for (const {server} of embedding.hosts) {
      server.closeAllConnections()
      server.close()
    }
  })

  // Starts the example's server on another origin.
  embedding.addHost = async of => {
    const server = await startHost({lading: embedding.opened.world.url, ...of})
    const host = {origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server}
    embedding.hosts.push(host)
    return host
  }

  embedding.openHost = async (page, at) => {
    await page.goto(embedding.hosts[at]!.origin)
    return page.frameLocator('lading-import iframe')
  }
  return embedding
}
