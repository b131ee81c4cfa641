import {once} from 'node:events'
import {createServer} from 'node:https'
import type {AddressInfo} from 'node:net'
import {Client, StreamableHTTPClientTransport, UnauthorizedError} from '@modelcontextprotocol/client'
import test from 'ava'
import {z} from 'zod'
import {listen} from '../../api/listen.ts'
import {openOutbound} from '../../shared/schedules/outbound/outbound.ts'
import {sql} from '../../sql/database.ts'
import {keepClient} from '../../sql/oauth-clients.ts'
import {deleteEndedOAuth} from '../../sql/oauth-grants.ts'
import {makeCertificate} from '../simulators/certificate.ts'
import {openCalls} from '../support/client.ts'
import {answerPage, askFor, letIn, newVerifier, redirectUri, register, signInFrom} from '../support/oauth-client.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

test('the client of the MCP SDK registers, signs in, calls a tool and renews its token', async t => {
  let kept: any = {}
  let sent: URL | undefined
  const keep = (name: string) => (value: unknown) => void (kept = {...kept, [name]: value})
  const authProvider = {
    redirectUrl: 'http://localhost:8765/callback',
    clientMetadata: {client_name: 'SDK', redirect_uris: ['http://localhost:8765/callback'], token_endpoint_auth_method: 'none'},
    clientInformation: () => kept.client,
    saveClientInformation: keep('client'),
    tokens: () => kept.tokens,
    saveTokens: keep('tokens'),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: keep('verifier'),
    discoveryState: () => kept.discovery,
    saveDiscoveryState: keep('discovery'),
    redirectToAuthorization: (url: URL) => void (sent = url),
  }
  const open = () => new StreamableHTTPClientTransport(new URL(`${house.url}/mcp`), {authProvider})
  const first = open()
  await t.throwsAsync(new Client({name: 'sdk', version: '1'}).connect(first), {instanceOf: UnauthorizedError})
  const begun = await house.as(null)('GET', sent!.pathname + sent!.search)
  const answered = await answerPage(house, await signInFrom(house, begun))
  await first.finishAuth(new URL(answered.headers.get('location')!).searchParams)
  const client = new Client({name: 'sdk', version: '1'})
  await client.connect(open())
  t.deepEqual((await client.callTool({name: 'list_modules', arguments: {}})).structuredContent, {
    connections: [],
    modules: [],
    truncated: false,
  })
  const {access_token: before} = kept.tokens
  await house.db.query(sql.unsafe`update oauth_tokens set expires_at = lading_now() where kind = 'access'`)
  t.is((await client.listTools()).tools.length, 6)
  t.not(kept.tokens.access_token, before)
  await client.close()
})

const json = {'content-type': 'application/json; charset=utf-8'}

/** Starts the web server of a client, and an API that trusts its certificate and may connect to it. */
const openPublisher = async () => {
  const {cert, key} = makeCertificate(['localhost'])
  const served = {document: {} as unknown, status: 200, headers: json as Record<string, string>, asked: 0}
  const server = createServer({cert, key}, (_, response) => {
    served.asked++
    response
      .writeHead(served.status, served.headers)
      .end(typeof served.document === 'string' ? served.document : JSON.stringify(served.document))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  endAfterTests(async () => void server.close().closeAllConnections())
  const {port} = server.address() as AddressInfo
  const outbound = openOutbound({PRIVATE_HOSTS: [`localhost:${port}`], SOURCE_HOSTS: ['*']}, {ca: cert})
  const {url, drain} = await listen({...house.tools, outbound, config: {...house.config, PORT: 0}}, house)
  endAfterTests(drain)
  return {served, address: `https://localhost:${port}`, outbound, place: {url, as: openCalls(url)}}
}

test('a client id may name neither the private hosts open to orgs nor this deployment', async t => {
  const {served, address, outbound} = await openPublisher()
  const id = `${address}/client.json`
  served.document = {client_id: id, redirect_uris: [redirectUri]}
  const tell = async (more: object) => {
    const {url, drain} = await listen({...house.tools, outbound, config: {...house.config, PORT: 0, ...more}}, house)
    endAfterTests(drain)
    return askFor({url, as: openCalls(url)}, id, newVerifier())
  }
  for (const more of [{PRIVATE_HOSTS: [new URL(id).host]}, {PUBLIC_URL: 'https://localhost:4000'}]) {
    const {status, body} = await tell(more)
    t.deepEqual([status, body.oauth, served.asked], [400, 'invalid_client', 0])
  }
  t.is((await tell({})).status, 302, 'it was there')
})

test('a client whose id is a document address has the properties of that document', async t => {
  const {served, address, place} = await openPublisher()
  const id = `${address}/client.json`
  const told = async (more: object, path = '/client.json') => {
    await house.db.query(sql.unsafe`update oauth_clients set read_at = lading_now() - interval '61 minutes'`)
    served.document = typeof more === 'string' ? more : {client_id: id, client_name: 'By document', redirect_uris: [redirectUri], ...more}
    const {status, body} = await askFor(place, address + path, newVerifier())
    return status === 302 ? 'let on' : body.oauth
  }
  t.is(await told({}), 'let on')
  const {page} = await signInFrom(place, await askFor(place, id, newVerifier()))
  t.regex(page.text, /<strong>By document<\/strong> and is described at <strong>localhost:\d+<\/strong>/)
  t.is(served.asked, 1, 'read once an hour')

  t.is(await told({client_id: `${address}/other.json`}), 'invalid_client')
  t.is(await told({redirect_uris: ['https://elsewhere.example/']}), 'invalid_request', 'the redirect address is not its own')
  t.is(await told({redirect_uris: ['javascript:alert(1)']}), 'invalid_client')
  t.is(await told({token_endpoint_auth_method: 'private_key_jwt'}), 'invalid_client')
  t.is(await told({client_secret: 'x'}), 'invalid_client')
  t.is(await told({client_name: 'x'.repeat(20_000)}), 'invalid_client', 'too large')
  served.status = 404
  t.is(await told({}), 'invalid_client')
  Object.assign(served, {status: 302, headers: {location: 'http://127.0.0.1:1/'}})
  t.is(await told({}), 'invalid_client', 'nothing is followed')
  Object.assign(served, {status: 200, headers: {'content-type': 'text/plain'}})
  t.is(await told({}), 'invalid_client', 'what people upload to a site of others')
  served.headers = json
  const asked = served.asked
  for (const path of ['', '/', '/client.json#part', '/x/../client.json']) t.is(await told({}, path), 'invalid_client', path)
  t.is(served.asked, asked, 'nor is one asked for that is written otherwise')
})

test('a client id cannot make the service call its own network', async t => {
  for (const id of [
    'https://127.0.0.1/c',
    'https://[::1]/c',
    'https://169.254.169.254/latest',
    'https://10.0.0.1/c',
    'http://example.org/c',
  ]) {
    const {status, body} = await askFor(house, id, newVerifier())
    t.deepEqual([status, body.oauth], [400, 'invalid_client'], id)
    t.notRegex(body.error, /PRIVATE_HOSTS|public address|[Cc]onnection to/, 'the refusal does not reveal which hosts exist')
  }
})

test('any client may register within the rate limit; the oldest unused registrations are dropped', async t => {
  const here = await startTestDeployment(t, {environment: {RATE_PER_ADDRESS: '3000'}})
  for (const _ of Array(3)) await register(here)
  const {status, body, headers} = await here.as(null)('POST', '/oauth/register', {redirect_uris: [redirectUri]})
  t.deepEqual([status, body.code], [429, 'RATE_LIMITED'])
  t.truthy(headers.get('retry-after'))
  t.is((await here.as(null)('GET', '/.well-known/oauth-authorization-server')).status, 200)
  await here.db.query(sql.unsafe`
    insert into oauth_clients (id, kind, name, redirect_uris) select 'mcl_' || n, 'registered', 'x', '{}' from generate_series(1, 5000) n`)
  const {url, drain} = await listen({...here.tools, config: {...here.config, PORT: 0, RATE_PER_ADDRESS: 0}}, here)
  endAfterTests(drain)
  const place = {url, as: openCalls(url)}
  const count = () => here.db.oneFirst(sql.type(z.object({count: z.number()}))`select count(*) from oauth_clients`)
  const before = await count()
  const client = await register(place)
  t.is(await count(), before, 'the oldest of those nobody came for goes')
  const kept = (await askFor(place, client, newVerifier())).status
  t.is(kept, 302)
  t.is(await here.db.oneFirst(sql.type(z.object({count: z.number()}))`select count(*) from oauth_requests`), 0, 'a start stores no request')
  await here.db.query(sql.unsafe`update oauth_clients set visited_at = lading_now() where id <> ${client}`)
  const full = await place.as(null)('POST', '/oauth/register', {redirect_uris: [redirectUri]})
  t.deepEqual([full.status, full.body.error], [503, 'temporarily_unavailable'], 'but no client that a person is signing in for')
  const changed = {id: client, kind: 'registered' as const, name: 'Read again', redirectUris: [redirectUri]}
  t.like(await keepClient(here.db, changed, {mostUnused: 5_000, visitMinutes: 60}), {name: 'Read again'}, 'a stored client needs no room')
  t.is(await count(), before)
})

test('maintenance refuses every OAuth and MCP request', async t => {
  const here = await startTestDeployment(t, {environment: {MAINTENANCE: '1'}})
  for (const [method, path] of [
    ['POST', '/mcp'],
    ['POST', '/oauth/token'],
    ['GET', '/oauth/authorize'],
    ['GET', '/.well-known/oauth-authorization-server'],
  ]) {
    const {status, body, headers} = await here.as(null)(method!, path!)
    t.deepEqual([status, body.code, headers.get('retry-after')], [503, 'MAINTENANCE', '300'], path)
  }
})

test('the nightly task keeps an old unused client while a person signs in for it', async t => {
  const here = await startTestDeployment(t)
  const client = await register(here)
  const isKept = async () => {
    await deleteEndedOAuth(here.db, 100)
    return here.db.exists(sql.unsafe`select from oauth_clients where id = ${client}`)
  }
  await here.ahead('2 days')
  t.is((await askFor(here, client, newVerifier())).status, 302)
  t.true(await isKept())
  await here.ahead('2 days 2 hours')
  t.false(await isKept())
})

test('the nightly task deletes expired OAuth rows, and keeps used refresh tokens to detect reuse', async t => {
  const here = await startTestDeployment(t)
  const {client} = await letIn(here)
  await register(here)
  const count = async () =>
    here.db.one(sql.type(z.object({requests: z.number(), tokens: z.number(), grants: z.number(), clients: z.number()}))`
      select (select count(*) from oauth_requests) as requests, (select count(*) from oauth_tokens) as tokens,
        (select count(*) from oauth_grants) as grants, (select count(*) from oauth_clients) as clients`)
  t.deepEqual(await count(), {requests: 1, tokens: 2, grants: 1, clients: 2})
  await deleteEndedOAuth(here.db, 100)
  t.deepEqual(await count(), {requests: 1, tokens: 2, grants: 1, clients: 2})
  await here.ahead('2 days')
  await deleteEndedOAuth(here.db, 100)
  t.deepEqual(await count(), {requests: 0, tokens: 1, grants: 1, clients: 1}, 'the refresh token is good for a month')
  await here.ahead('32 days')
  await deleteEndedOAuth(here.db, 100)
  t.deepEqual(await count(), {requests: 0, tokens: 0, grants: 0, clients: 1})
  t.true(await here.db.exists(sql.unsafe`select from oauth_clients where id = ${client}`))
  await here.ahead('91 days')
  await deleteEndedOAuth(here.db, 100)
  t.is((await count()).clients, 0)
})
