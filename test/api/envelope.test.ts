import {once} from 'node:events'
import type {AddressInfo} from 'node:net'
import {Readable} from 'node:stream'
import test from 'ava'
import Koa from 'koa'
import {z} from 'zod'
import {envelope} from '../../api/envelope.ts'
import {observe} from '../../api/observe.ts'
import {routes} from '../../api/routes.ts'
import {CrmError} from '../../shared/crm/error.ts'
import {codes, Refusal} from '../../shared/errors.ts'
import {StorageFailed} from '../../shared/storage/failed.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {openCalls} from '../support/client.ts'
import {openHalfRequest, readAnswer} from '../support/half-request.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let path: string
let owner: ReturnType<TestDeployment['as']>
const json = {'content-type': 'application/json'}

test.before(async t => {
  house = await startTestDeployment(t, {environment: {RETURN_ORIGINS: 'https://widget.example.org'}})
  const place = await house.makeOrg()
  owner = house.as(place.token)
  path = `/orgs/${place.org}/tokens`
})

test('an unknown path is 404, and a known path with another method is 405 with the allowed methods', async t => {
  for (const address of ['/nothing', '/orgs', '/auth/zoho', '/auth/me/more']) {
    const {status, body} = await owner('GET', address)
    t.like({status, code: body.code}, {status: 404, code: 'NOT_FOUND'}, address)
  }
  const {status, body, headers} = await owner('PUT', path, {})
  t.like({status, code: body.code}, {status: 405, code: 'METHOD_NOT_ALLOWED'})
  t.deepEqual(headers.get('allow')!.split(', ').sort(), ['GET', 'HEAD', 'POST'])
})

test('a path has one spelling: another case or a trailing slash is 404 for every method', async t => {
  t.is((await owner('GET', path)).status, 200)
  t.is((await owner('GET', '/')).status, 200)
  const spellings = [
    path.replace('/orgs', '/Orgs'),
    path.replace('tokens', 'TOKENS'),
    `${path}/`,
    `${path}//`,
    `/${path}`,
    '/health/',
    '/Health',
  ]
  const others = [
    '/auth/me/',
    '/mcp/',
    '/MCP',
    '/OAuth/authorize',
    '/oauth/register/',
    '/reference/',
    '/.Well-Known/oauth-authorization-server',
    '/STAFF',
  ]
  for (const address of [...spellings, ...others]) {
    for (const method of ['GET', 'POST', 'PUT']) {
      const {status, body} = await house.as(null)(method, address, method === 'GET' ? undefined : {})
      t.like({status, code: body.code}, {status: 404, code: 'NOT_FOUND'}, `${method} ${address}`)
    }
  }
})

test('a missing body is read as an empty object', async t => {
  const {status, body} = await owner('POST', path)
  t.like({status, code: body.code}, {status: 400, code: 'INVALID'})
  t.is(body.issues[0].path[0], 'name')
})

test('only JSON in UTF-8 is accepted as a body', async t => {
  const text = '{"name": "ci"}'
  const wrong = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    'json',
  ]
  for (const type of wrong) {
    const {status, body} = await owner('POST', path, text, {'content-type': type})
    t.like({status, code: body.code}, {status: 415, code: 'CONTENT_TYPE'}, type)
  }
  t.is((await owner('POST', path, text, {...json, 'content-encoding': 'gzip'})).body.code, 'CONTENT_TYPE')
  for (const type of ['application/json; charset=UTF-8', 'Application/JSON', 'application/merge-patch+json']) {
    t.is((await owner('POST', path, text, {'content-type': type})).status, 201, type)
  }
})

test('malformed and dangerous JSON is refused with 400', async t => {
  const wrong = [
    '{not json',
    '{"name": "ci"} trailing',
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    '{"name": "ci", "__proto__": {"admin": true}}',
    '{"name": "ci", "deep": {"deeper": [{"__proto__": 1}]}}',
    `${'['.repeat(200)}${']'.repeat(200)}`,
    `{"name": ${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`,
    '{"name": "c\\u0000i"}',
    '{"n\\u0000": 1}',
    '{"name": "\\ud800"}',
  ]
  for (const body of wrong) {
    const answer = await owner('POST', path, body, json)
    t.like({status: answer.status, code: answer.body.code}, {status: 400, code: 'BAD_JSON'}, String(body).slice(0, 60))
  }
  t.is(({} as {admin?: boolean}).admin, undefined)
})

test('JSON of more than a mebibyte is refused, with or without a content length', async t => {
  const large = JSON.stringify({name: 'x'.repeat(1024 ** 2)})
  const {status, body} = await owner('POST', path, large, json)
  t.like({status, code: body.code}, {status: 413, code: 'BODY_TOO_LARGE'})
  const chunks = Readable.from(Array.from({length: 20}, () => Buffer.alloc(64 * 1024, 'x')))
  t.is((await owner('POST', path, chunks, json)).body.code, 'BODY_TOO_LARGE')
})

test('the sender of an endless body gets the refusal while still sending', async t => {
  const {send, answer, socket} = openHalfRequest(house.url)
  send(`POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`)
  send(`10000\r\n${'x'.repeat(65_536)}\r\n`)
  const [first] = await once(socket, 'data')
  t.is(readAnswer(first).status, 401)
  socket.destroy()
  await answer
})

test('an address that is not percent-encoded UTF-8 is refused with 400', async t => {
  for (const address of ['/auth/%zz', '/auth/me?x=%', '/orgs/%ff/tokens', '/orgs/%00/tokens', '/auth/me?x=%00']) {
    const {status, body} = await owner('GET', address)
    t.like({status, code: body.code}, {status: 400, code: 'INVALID'}, address)
  }
})

test('HEAD answers like GET without the body', async t => {
  const get = await owner('GET', path)
  const head = await owner('HEAD', path)
  t.is(head.status, 200)
  t.is(head.text, '')
  t.is(head.headers.get('content-length'), get.headers.get('content-length'))
  t.is((await house.as(null)('HEAD', path)).status, 401)
})

test('a GET with an effect refuses HEAD, and its allowed methods do not name HEAD', async t => {
  const answers = await Promise.all(['HEAD', 'POST', 'OPTIONS'].map(method => house.as(null)(method, '/auth/zoho/start?dc=local')))
  const said = answers.map(({status, headers}) => `${status} ${headers.get('allow')}`)
  t.deepEqual(said, ['405 GET', '405 GET', '204 GET'])
})

test('OPTIONS lists the methods of a path', async t => {
  const {status, headers} = await house.as(null)('OPTIONS', path)
  t.is(status, 204)
  t.deepEqual(headers.get('allow')!.split(', ').sort(), ['GET', 'HEAD', 'POST'])
  t.is((await house.as(null)('OPTIONS', '/nothing')).status, 404)
})

test('listed origins may call from a browser; others may not', async t => {
  const ask = {'access-control-request-method': 'DELETE', 'access-control-request-headers': 'authorization'}
  const listed = await house.as(null)('OPTIONS', path, undefined, {...ask, origin: 'https://widget.example.org'})
  t.is(listed.status, 204)
  t.is(listed.headers.get('access-control-allow-origin'), 'https://widget.example.org')
  t.regex(listed.headers.get('access-control-allow-methods')!, /DELETE/)
  t.regex(listed.headers.get('access-control-allow-headers')!, /Authorization/)
  for (const origin of ['https://evil.example', 'null', 'https://widget.example.org.evil.example']) {
    const {headers} = await house.as(null)('OPTIONS', path, undefined, {...ask, origin})
    t.is(headers.get('access-control-allow-origin'), null, origin)
  }
  const refused = await house.as(null)('GET', path, undefined, {origin: 'https://widget.example.org'})
  t.is(refused.headers.get('access-control-allow-origin'), 'https://widget.example.org', 'a refusal is read as well')
})

test('every answer has a request id and headers against sniffing and caching', async t => {
  for (const answer of [await owner('GET', path), await owner('GET', '/nothing'), await house.as(null)('GET', path)]) {
    t.regex(answer.headers.get('x-request-id')!, /^req_/)
    t.is(answer.headers.get('x-content-type-options'), 'nosniff')
    t.is(answer.headers.get('cache-control'), 'no-store')
    t.regex(answer.headers.get('content-security-policy')!, /^default-src 'none'/)
  }
  for (const junk of ['ci-7.build:3', 'req_01k9m0v6f8e2r4t7w3y5z1a2b3', 'x'.repeat(65), 'a b', '<script>', '{}']) {
    t.regex(
      (await owner('GET', path, undefined, {'x-request-id': junk})).headers.get('x-request-id')!,
      /^req_(?!01k9m0v6f8e2r4t7w3y5z1a2b3)/,
      junk,
    )
  }
})

test('a 401 names the scheme Bearer', async t => {
  t.is((await house.as(null)('GET', path)).headers.get('www-authenticate'), 'Bearer')
})

test('malformed HTTP is answered in the error envelope', async t => {
  const garbage = openHalfRequest(house.url)
  garbage.send('GARBAGE\r\n\r\n')
  const {status, body} = readAnswer(await garbage.answer)
  t.like({status, ...body}, {status: 400, code: 'INVALID'})
  const large = openHalfRequest(house.url)
  large.send(`GET /health HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`)
  t.is(readAnswer(await large.answer).status, 431)
})

test('every error code has an error status', t => {
  for (const code of codes) t.true(new Refusal(code, '').status >= 400, code)
})

test('every declared effect of a route is a known one', t => {
  for (const {method, path: address, effect} of routes) {
    if (effect !== undefined) t.true(['read', 'write', 'money', 'publisher', 'access'].includes(effect), `${method} ${address}`)
  }
  t.pass()
})

/** Returns how the envelope middleware alone answers when a handler throws this error. */
const failWith = async (error: unknown) => {
  const app = new Koa()
    .use(observe(openLog('test', 'silent'), new AbortController().signal, () => ({})))
    .use(envelope(openLog('test', 'silent')))
  app.use(() => {
    throw error
  })
  const server = app.listen(0)
  await once(server, 'listening')
  const answer = await openCalls(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)(null)('GET', '/')
  server.close()
  return answer
}

const problem = {
  code: 'INVALID_DATA',
  status: 400,
  details: {},
  retryable: false,
  response: {code: 'INVALID_DATA'},
  unanswered: false,
  retryAfterMs: null,
  quotaSpent: false,
}

test('a CRM refusal becomes a 502 with the crm object', async t => {
  const {status, body, headers} = await failWith(new CrmError(problem))
  t.is(status, 502)
  t.like(body, {code: 'CRM_REFUSED', crm: problem})
  t.is(headers.get('retry-after'), null)
})

test('an exhausted CRM quota is 429, a CRM rate limit 502; a wait time of the rate limit is passed on', async t => {
  const spent = await failWith(new CrmError({...problem, code: 'TOO_MANY_REQUESTS', status: 429, rateLimited: true, quotaSpent: true}))
  t.is(spent.status, 429)
  t.is(spent.headers.get('retry-after'), null)
  const asksToWait = {...problem, code: 'TOO_MANY_REQUESTS', status: 429, rateLimited: true, quotaSpent: true, retryAfterMs: 1500}
  t.is((await failWith(new CrmError(asksToWait))).headers.get('retry-after'), null)
  const limited = await failWith(new CrmError({...problem, code: 'TOO_MANY_REQUESTS', status: 429, rateLimited: true, retryAfterMs: 1500}))
  t.is(limited.status, 502)
  t.is(limited.headers.get('retry-after'), '2')
})

test('a refusal with a retry time, and each UNAVAILABLE, sets the Retry-After header', async t => {
  const {status, headers, body} = await failWith(new Refusal('CONNECTION_THROTTLED', 'Wait', {retryAfterMs: 90_000, written: false}))
  t.is(status, 429)
  t.is(headers.get('retry-after'), '90')
  t.like(body, {error: 'Wait', code: 'CONNECTION_THROTTLED', written: false})
  const unavailable = await failWith(new Refusal('UNAVAILABLE', 'All slots are in use'))
  t.deepEqual(unavailable.body, {error: 'All slots are in use', code: 'UNAVAILABLE', retryAfterMs: 5_000})
  t.is(unavailable.headers.get('retry-after'), '5')
})

test('unavailable or full storage is a 503 with Retry-After that names neither file nor host', async t => {
  const away = new StorageFailed(Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:9000'), {code: 'ECONNREFUSED'}))
  const full = Object.assign(new Error('ENOSPC: no space left on device, write /data/x'), {code: 'ENOSPC'})
  for (const [error, says, seconds] of [
    [away, /storage is unavailable/, '5'],
    [new StorageFailed(full), /storage is full/, '60'],
    [full, /storage is full/, '60'],
  ] as const) {
    const {status, body, headers} = await failWith(error)
    t.like({status, code: body.code, retry: headers.get('retry-after')}, {status: 503, code: 'UNAVAILABLE', retry: seconds})
    t.regex(body.error, says)
    t.notRegex(body.error, /10\.1|data\/x|database/)
  }
})

test('an internal schema error is a 500, not a 400', async t => {
  const {error} = z.object({name: z.string()}).safeParse({})
  const {status, body} = await failWith(error)
  t.like({status, code: body.code, issues: body.issues}, {status: 500, code: 'INTERNAL', issues: undefined})
})

test('an unexpected error is a 500 with its request id and no details', async t => {
  for (const error of [new Error('secret row value'), new TypeError('secret row value'), 'secret row value', null]) {
    const {status, body, text, headers} = await failWith(error)
    t.like({status, code: body.code}, {status: 500, code: 'INTERNAL'})
    t.is(body.request, headers.get('x-request-id'))
    t.false(text.includes('secret'))
  }
})
