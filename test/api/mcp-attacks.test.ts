import {once} from 'node:events'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import {McpServer} from '@modelcontextprotocol/server'
import test from 'ava'
import {createApp} from '../../api/app.ts'
import {openKeyedLimiter} from '../../api/keyed-limiter.ts'
import {mountMcp} from '../../api/mcp/mount.ts'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, openOrg, prepareImport} from '../support/importing.ts'
import {openRegistry} from '../support/registry.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let home: Awaited<ReturnType<typeof openOrg>>
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery', 'checks']})
  home = await openOrg(house, 'ana@example.org')
  await ok(home.call('POST', `/orgs/${home.org}/discovery/run`, {connectorId: home.connector}, {prefer: 'wait=30'}), 200)
})

const older = {'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25'}
const meta = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}
const newer = (method: string, name?: string) => ({
  ...older,
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name !== undefined && {'mcp-name': name}),
})
const calling = (name: string, asked: object, more: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {name, arguments: asked, ...more},
})
type More = {headers?: Record<string, string>; bearer?: string; url?: string; signal?: AbortSignal}
const send = (body: string | Buffer, {headers = {}, bearer = home.session, url = house.url, ...more}: More = {}) =>
  fetch(`${url}/mcp`, {method: 'POST', body, headers: {...older, ...headers, authorization: `Bearer ${bearer}`}, ...more})
const jsonOf = (text: string) => JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
const call = async (name: string, asked: object) => jsonOf(await (await send(JSON.stringify(calling(name, asked)))).text())
const refusalOf = ({result}: any) => (result.isError ? JSON.parse(result.content[0].text) : null)

test('an MCP body with invalid UTF-8 is refused', async t => {
  const spoil = (message: unknown) =>
    Buffer.concat([Buffer.from(`${JSON.stringify(message).slice(0, -1)},"x":"`), Buffer.from([0xff]), Buffer.from('"}')])
  for (const body of [spoil(calling('get_fields', {module: 'a\0b'})), spoil(calling('list_modules', {}))]) {
    const answer = await send(body)
    t.deepEqual([answer.status, jsonOf(await answer.text()).error.code], [400, -32_700])
  }
  const many = Buffer.from(JSON.stringify(Array(21).fill(calling('list_modules', {}))).replace('"2.0"', '"2.0","x":"\xff"'), 'latin1')
  t.is((await send(many)).status, 400)
})

test('unknown tools and malformed MCP requests cause no server error', async t => {
  for (const name of ['__proto__', 'constructor', 'toString', '', 'x'.repeat(100_000)]) {
    const {error, result} = await call(name, {})
    t.true(error?.code === -32_602 || result?.isError === true, name.slice(0, 20))
  }
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const proto = '{"__proto__":{"x":1}}'
  const huge = `1${'0'.repeat(100_000)}`
  const bodies = [
    deep,
    huge,
    'null',
    '""',
    '[]',
    '[[]]',
    '[null]',
    '{}',
    '',
    '\ufeff',
    proto,
    JSON.stringify({...calling('list_modules', {}), id: {}}),
  ]
  for (const asked of [deep, proto, huge, '[]', '"x"', 'null'])
    bodies.push(JSON.stringify(calling('list_modules', {})).replace('"arguments":{}', `"arguments":${asked}`))
  for (const body of bodies) {
    const {status} = await send(body)
    t.true(status < 500, `${status} ${body.slice(0, 100)}`)
  }
  for (const headers of [
    {cookie: 'x'},
    {'mcp-name': '=?base64?w6k=?='},
    {'mcp-protocol-version': 'é'},
    {connection: 'close'},
    {'content-encoding': 'gzip'},
  ])
    t.true((await send(JSON.stringify(calling('list_modules', {})), {headers})).status < 500, JSON.stringify(headers))
  for (const value of ['nope', '__proto__', 'constructor'])
    t.is(refusalOf(await call('test_expression', {expression: 'value', rows: [{a: '1'}], value}))?.code, 'INVALID')
  const columns = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
  t.is((await call('propose_mapping', {modules: ['Leads'], columns})).result.structuredContent.proposals.length, 4)
})

test('test_expression needs both `module` and `field`, and checks every field of the module, as REST does', async t => {
  const other = await openRegistry(house)
  await ok(other.call('PATCH', other.at('fields/Leads/Email'), {excluded: true}), 200)
  const asked = (more: object) => JSON.stringify(calling('test_expression', {expression: '"abc"', rows: [{a: '1'}], ...more}))
  const tried = async (more: object) => jsonOf(await (await send(asked(more), {bearer: other.token})).text()).result
  for (const half of [{module: 'Leads'}, {field: 'Email'}]) {
    const {isError, content} = await tried(half)
    t.true(isError)
    t.regex(content[0].text, /Send both `module` and `field`, or neither/)
  }
  t.deepEqual((await tried({module: 'Leads', field: 'Email'})).structuredContent.results, [{row: 1, value: 'abc', problem: null}])
  t.regex((await tried({module: 'Leads', field: 'Fax'})).content[0].text, /Leads has no field Fax\. get_fields lists/)
})

test('get_fields calls a field writable only if a column can fill it', async t => {
  const {fields} = (await call('get_fields', {module: 'Orders'})).result.structuredContent
  const writable = (name: string) => fields.find(({field}: any) => field === name).writable
  t.deepEqual([writable('Name'), writable('Order_Lines')], [true, false], 'a subform gets its rows from a flow of its module')
})

test('a mapping request too large for one thread is refused', async t => {
  const columns = Array.from({length: 500}, (_, at) => `Column ${at}`)
  const modules = ['Leads', 'Contacts', 'Accounts', 'Deals']
  const {code, error} = refusalOf(await call('propose_mapping', {modules, columns}))
  t.is(code, 'INVALID')
  t.regex(error, /at most \d+ columns/)
  const some = Number(/at most (\d+)/.exec(error)![1])
  t.is((await call('propose_mapping', {modules, columns: columns.slice(0, some)})).result.structuredContent.proposals.length, some)
})

test('an org can use only its share of the threads, and stopped work frees its thread', async t => {
  const slow = calling('test_expression', {expression: 'Array.from({length: 1e9}, (_, i) => i % 2).length', rows: Array(20).fill({a: '1'})})
  const leaving = new AbortController()
  let busy = 0
  const asked = Array.from({length: 6}, async () => {
    const answer = await send(JSON.stringify(slow), {signal: leaving.signal})
    if (refusalOf(jsonOf(await answer.text()))?.code === 'BUSY') busy++
  })
  const all = Promise.allSettled(asked)
  await until(
    () => busy,
    seen => seen === 2,
  )
  leaving.abort()
  await all
  const quick = () => call('test_expression', {expression: '1', rows: [{a: '1'}]})
  const told = async () => refusalOf(await quick())?.code ?? null
  t.is(await until(told, code => code !== 'BUSY'), null, 'what was left is done no more')
})

test('forecast_import reports why an import cannot be forecast', async t => {
  const {path} = await prepareImport(home, {csv: accountRows(2), flow: accounts})
  const id = path.split('/').at(-1)!
  await house.db.query(sql.unsafe`update imports set flows = jsonb_set(flows, '{0,fields,0,source}', '"gone"') where id = ${id}`)
  const refusal = refusalOf(await call('forecast_import', {import: id}))
  t.is(refusal?.code, 'NOT_READY')
  t.is(refusal.issues.length, 1)
})

test('a staff view starts no forecast, but reads one that exists', async t => {
  const {path} = await prepareImport(home, {csv: accountRows(2), flow: {...accounts, match: undefined}})
  const id = path.split('/').at(-1)!
  const ask = async (write: boolean) => {
    const bearer = await house.openView({org: home.org, write})
    return jsonOf(await (await send(JSON.stringify(calling('forecast_import', {import: id})), {bearer})).text())
  }
  t.is(refusalOf(await ask(false))?.code, 'IMPERSONATION_READ_ONLY')
  t.is(refusalOf(await ask(true))?.code, 'IMPERSONATION_REFUSED')
  t.like(await ok(home.call('GET', `${path}/forecast`), 200), {forecast: null})
  const told = ({result}: any) => result.structuredContent
  const first = told(await call('forecast_import', {import: id}))
  t.true(first.isReady)
  await house.db.query(sql.unsafe`update forecasts set made_at = made_at - interval '6 minutes'`)
  const old = told(await ask(false))
  t.deepEqual([old.isReady, old.forecast], [true, first.forecast])
  t.true(Date.parse(old.madeAt) < Date.parse(first.madeAt), 'a staff view gets the last forecast with its age')
  const renewed = told(await call('forecast_import', {import: id}))
  t.true(renewed.isReady && Date.parse(renewed.madeAt) > Date.parse(first.madeAt), 'an old forecast is made again')
})

test('a concurrency share is held until the work ends or fails, and is separate per key', async t => {
  const {hold} = openKeyedLimiter({most: 2, says: 'Too many'})
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const held = [hold('a', () => first.promise), hold('a', () => second.promise)]
  const none = async () => t.fail('one too many is begun')
  await t.throwsAsync(hold('a', none), {code: 'BUSY'})
  t.is(await hold('b', async () => 'theirs'), 'theirs')
  first.reject(new Error('broken'))
  await t.throwsAsync(held[0]!, {message: 'broken'})
  const third = Promise.withResolvers<string>()
  held.push(hold('a', () => third.promise))
  await t.throwsAsync(hold('a', none), {code: 'BUSY'})
  second.resolve('done')
  third.resolve('done')
  t.deepEqual(await Promise.all(held.slice(1)), ['done', 'done'])
})

test('a subscription without events is completed at once and holds nothing open', async t => {
  const listen = {jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: {notifications: {toolsListChanged: true}, _meta: meta}}
  const text = await (await send(JSON.stringify(listen), {headers: newer('subscriptions/listen')})).text()
  t.regex(text, /"resultType":"complete"/)
})

for (const [era, headers, more] of [
  ['older', older, {}],
  ['newer', newer('tools/call', 'wait'), {_meta: meta}],
] as const)
  test(`a client that disconnects ends its work, in the ${era} protocol era`, async t => {
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const build = () => {
      const server = new McpServer({name: 'x', version: '1'}, {capabilities: {tools: {}}})
      server.registerTool('wait', {description: 'Waits'}, async ({mcpReq: {signal}}) => {
        begun.resolve()
        await once(signal, 'abort')
        ended.resolve()
        return {content: []}
      })
      return server
    }
    const server = createServer(createApp(house.tools, {routes: [mountMcp(build)]}).callback()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    endAfterTests(async () => void server.close().closeAllConnections())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const leaving = new AbortController()
    const asked = send(JSON.stringify(calling('wait', {}, more)), {url, headers: {...headers}, signal: leaving.signal}).then(answer =>
      answer.text(),
    )
    await begun.promise
    leaving.abort()
    await t.throwsAsync(asked)
    await ended.promise
  })
