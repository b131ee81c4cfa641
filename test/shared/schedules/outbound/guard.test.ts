import {once} from 'node:events'
import {createServer as createWeb, type RequestListener} from 'node:http'
import {createServer as createSecureWeb} from 'node:https'
import {type AddressInfo, createServer} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import {readConfig} from '../../../../shared/config.ts'
import type {Resolve} from '../../../../shared/schedules/outbound/connect.ts'
import {OutboundFailure} from '../../../../shared/schedules/outbound/failure.ts'
import {type OutboundAnswer, openOutbound, readStart} from '../../../../shared/schedules/outbound/outbound.ts'
import {makeCertificate} from '../../../simulators/certificate.ts'
import {startDns} from '../../../simulators/dns.ts'
import {collect} from '../../files/chunks.ts'

/** Counts connections to this machine at any of its addresses. */
const countCallers = async (t: ExecutionContext) => {
  const seen = {count: 0}
  const server = createServer(socket => {
    seen.count++
    socket.on('error', () => {}).destroy()
  })
  server.listen({port: 0, host: '::', ipv6Only: false})
  await once(server, 'listening')
  t.teardown(() => void server.close())
  return {seen, port: (server.address() as AddressInfo).port}
}

const open = (t: ExecutionContext, privateHosts = '', standins: {resolve?: Resolve; ca?: string} = {}) => {
  const outbound = openOutbound(readConfig({PRIVATE_HOSTS: privateHosts}), standins)
  t.teardown(outbound.close)
  return outbound
}

const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'went through',
    error => (error instanceof OutboundFailure ? error.code : String(error)),
  )

const spellings = Object.values({
  loopback: ['127.0.0.1', '127.1', '127.0.1', '0', '0.0.0.0', '2130706433'],
  loopbackNumbers: ['0x7f000001', '0x7f.0.0.1', '017700000001', '0177.0.0.1', '0177.1'],
  loopbackInDisguise: [
    '127.0.0.1.',
    '127.127.127.127',
    '127.0.0.2',
    '１２７.０.０.１',
    '①②⑦.0.0.1',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    '0x7f.1',
    '00000177.1',
  ],
  localNames: ['localhost', 'localhost.', 'LOCALHOST', 'ⓛocalhost', 'lOcAlHoSt'],
  ipv6Loopback: ['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[0000::1]', '[::127.0.0.1]'],
  mapped: ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:0:127.0.0.1]'],
  translated: ['[64:ff9b::127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]'],
  otherIpv6: [
    '[2002:7f00:1::]',
    '[2002:a9fe:a9fe::]',
    '[2001:0:7f00:1::]',
    '[fe80::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[::ffff:169.254.169.254]',
  ],
  linkLocal: ['169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376'],
  linkLocalNumbers: ['025177524776', '169.254.43518', '169.16689662', '0xA9.254.0251.254'],
  metadata: ['169.254.170.2', '100.100.100.200', '192.0.0.192'],
  privateNetworks: ['10.0.0.1', '10.1', '172.16.0.1', '192.168.1.1', '192.168.257', '0300.0250.1.1'],
}).flat()

test('a loopback or metadata address is refused in every notation', async t => {
  const {seen, port} = await countCallers(t)
  const outbound = open(t)
  for (const host of spellings)
    for (const attempt of [
      () => outbound.request(`https://${host}:${port}/latest/meta-data/`),
      () => outbound.request(`http://${host}:${port}/`),
      () => outbound.request(`https://1.1.1.1@${host}:${port}/`),
      () => outbound.connect({host: decodeURIComponent(host), port}),
    ])
      t.regex(await codeOf(attempt()), /^(ADDRESS|HOST)_REFUSED$/, `${host} ${attempt}`)
  t.is(seen.count, 0)
})

test('a listed place is reachable in every notation, and no other port or host', async t => {
  const [one, other] = [await countCallers(t), await countCallers(t)]
  const outbound = open(t, `127.0.0.1:${one.port}`)
  for (const host of ['127.0.0.1', '127.1', '0x7f000001'])
    t.is(await codeOf(outbound.request(`http://${host}:${one.port}/`)), 'UNREACHABLE', host)
  ;(await outbound.connect({host: '127.0.0.1', port: one.port})).destroy()
  t.is(await codeOf(outbound.request(`https://127.0.0.2:${one.port}/`)), 'ADDRESS_REFUSED')
  t.is(await codeOf(outbound.request(`https://127.0.0.1:${other.port}/`)), 'ADDRESS_REFUSED')
  t.is(await codeOf(outbound.request(`http://127.0.0.1:${other.port}/`)), 'HOST_REFUSED')
  t.deepEqual([one.seen.count, other.seen.count], [4, 0])
})

test('an invalid address, one with a password and another scheme are refused', async t => {
  const outbound = open(t)
  for (const url of [
    '',
    'example.com',
    '//example.com',
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://example.com',
    'data:,x',
    'https://',
  ])
    t.is(await codeOf(outbound.request(url)), 'HOST_REFUSED', url)
  for (const url of ['https://user@example.com/', 'https://user:secret@example.com/', 'http://example.com/'])
    t.is(await codeOf(outbound.request(url)), 'HOST_REFUSED', url)
})

/** An address that is unassigned since 2006 (RFC 3701) but has the form of a public one. */
const nobodys = '3ffe::1'

test('a name is resolved once per connection, so DNS rebinding reaches nothing', async t => {
  const {seen, port} = await countCallers(t)
  const dns = await startDns([[nobodys], ['127.0.0.1']])
  t.teardown(dns.stop)
  const outbound = open(t, '', dns)
  const signal = AbortSignal.timeout(500)
  t.not(await codeOf(outbound.request(`https://rebind.example:${port}/`, {signal})), 'ADDRESS_REFUSED')
  t.deepEqual(dns.asked, {A: 1, AAAA: 1})
  t.is(await codeOf(outbound.request(`https://rebind.example:${port}/`)), 'ADDRESS_REFUSED')
  t.deepEqual([dns.asked, seen.count], [{A: 2, AAAA: 2}, 0])
})

test('a name with one private address among public ones is refused', async t => {
  const {seen, port} = await countCallers(t)
  for (const inside of ['127.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', 'fd00:ec2::254']) {
    const dns = await startDns([[nobodys, '93.184.216.34', inside]])
    t.teardown(dns.stop)
    t.is(await codeOf(open(t, '', dns).request(`https://mixed.example:${port}/`)), 'ADDRESS_REFUSED', inside)
  }
  t.is(seen.count, 0)
})

test('a listed place may resolve to a private address', async t => {
  const {seen, port} = await countCallers(t)
  const dns = await startDns([['127.0.0.1']])
  t.teardown(dns.stop)
  t.is(await codeOf(open(t, `listed.example:${port}`, dns).request(`http://listed.example:${port}/`)), 'UNREACHABLE')
  t.is(seen.count, 1)
})

test('a silent name server and a silent host end with a timeout', async t => {
  const outbound = open(t, '', {resolve: () => new Promise(() => {})})
  t.is(await codeOf(outbound.request('https://silent.example/', {timeoutSeconds: 0.2})), 'TIMED_OUT')
  const called = new AbortController()
  const attempt = outbound.request('https://silent.example/', {signal: called.signal})
  called.abort(new Error('called off'))
  await t.throwsAsync(attempt, {message: 'called off'})
  t.is(await codeOf(open(t, '', {resolve: async () => []}).request('https://nobody.example/')), 'UNREACHABLE')
})

const serve = async (t: ExecutionContext, listener: RequestListener) => {
  const web = createWeb(listener)
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  t.teardown(() => {
    web.closeAllConnections()
    web.close()
  })
  const place = `127.0.0.1:${(web.address() as AddressInfo).port}`
  return {url: `http://${place}/`, outbound: open(t, place)}
}

test('a redirect is not followed, and that of a private host is not quoted', async t => {
  const {seen, port} = await countCallers(t)
  for (const status of [300, 301, 302, 303, 307, 308]) {
    const {url, outbound} = await serve(t, (_, response) => response.writeHead(status, {location: `http://127.0.0.1:${port}/secret`}).end())
    const error = await t.throwsAsync<OutboundFailure>(outbound.request(url))
    t.like(error, {code: 'REDIRECTED', status})
    t.regex(error.message, /redirects\. Enter/)
    t.notRegex(error.message, /secret/)
  }
  t.is(seen.count, 0)
})

const textOf = async ({body}: OutboundAnswer) => String(await collect(body))

test('a request arrives unchanged and asks for no compression', async t => {
  const got: object[] = []
  const {url, outbound} = await serve(t, async (request, response) => {
    got.push({method: request.method, path: request.url, headers: request.headers, body: String(await collect(request))})
    response.writeHead(201, {'x-one': 'a'}).end('made')
  })
  const answer = await outbound.request(`${url}a%20b?c=d`, {method: 'POST', headers: {'x-two': 'b'}, body: '{"e":1}'})
  t.like(answer, {status: 201, headers: {'x-one': 'a'}})
  t.is(await textOf(answer), 'made')
  t.like(got, [
    {method: 'POST', path: '/a%20b?c=d', headers: {'x-two': 'b', 'accept-encoding': 'identity', connection: 'close'}, body: '{"e":1}'},
  ])
})

test('a body is limited in size, with or without an announced length', async t => {
  for (const announced of [true, false]) {
    const {url, outbound} = await serve(t, (_, response) => {
      if (announced) response.setHeader('content-length', 100_000)
      response.write('x'.repeat(50_000))
      response.end('x'.repeat(50_000))
    })
    t.is((await textOf(await outbound.request(url, {limitBytes: 100_000}))).length, 100_000)
    const answer = await outbound.request(url, {limitBytes: 99_999})
    t.is(await codeOf(textOf(answer)), 'TOO_LARGE')
    t.is(await codeOf(outbound.request(url).then(textOf)), 'TOO_LARGE')
    t.is(await readStart(await outbound.request(url, {limitBytes: 200_000}), 10), 'x'.repeat(10))
  }
})

test('a truncated, stalled or endless answer is an error', async t => {
  const cut = await serve(t, (_, response) => {
    response.writeHead(200, {'content-length': 10}).write('12345', () => response.socket?.destroy())
  })
  t.is(await codeOf(cut.outbound.request(cut.url).then(textOf)), 'UNREACHABLE')
  const cutChunks = await serve(t, (_, response) => response.write('12345', () => response.socket?.end()))
  t.is(await codeOf(cutChunks.outbound.request(cutChunks.url).then(textOf)), 'UNREACHABLE')
  const silent = await serve(t, () => {})
  t.is(await codeOf(silent.outbound.request(silent.url, {idleSeconds: 0.2})), 'TIMED_OUT')
  const stalled = await serve(t, (_, response) => response.write('12345'))
  t.is(await codeOf(stalled.outbound.request(stalled.url, {timeoutSeconds: 0.2}).then(textOf)), 'TIMED_OUT')
  const trickling = await serve(t, (_, response) => {
    const timer = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(timer))
  })
  t.is(await codeOf(trickling.outbound.request(trickling.url, {timeoutSeconds: 0.3}).then(textOf)), 'TIMED_OUT')
  const wordy = await serve(t, (_, response) =>
    response.writeHead(200, {'x-long': 'x'.repeat(15_000), 'x-longer': 'x'.repeat(15_000)}).end(),
  )
  t.is(await codeOf(wordy.outbound.request(wordy.url)), 'BAD_ANSWER')
})

test('an unread answer ends with its timeout, and closing ends requests in flight', async t => {
  const gone = Promise.withResolvers<void>()
  const {url, outbound} = await serve(t, (_, response) => {
    response.on('close', gone.resolve)
    response.write('x')
  })
  await outbound.request(url, {timeoutSeconds: 1})
  await gone.promise
  const attempt = outbound.request(url).then(textOf)
  await outbound.close()
  t.is(await codeOf(attempt), 'UNREACHABLE')
})

test('a certificate must match the requested host and have a known signer', async t => {
  const {cert, key} = makeCertificate(['files.example', '127.0.0.1'])
  const web = createSecureWeb({cert, key}, (_, response) => response.end('secret'))
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  t.teardown(() => void web.close())
  const {port} = web.address() as AddressInfo
  const places = `127.0.0.1:${port},files.example:${port},other.example:${port}`
  const resolve = async () => ['127.0.0.1']
  const trusting = open(t, places, {resolve, ca: cert})
  for (const host of ['files.example', 'FILES.example.', '127.0.0.1'])
    t.is(await textOf(await trusting.request(`https://${host}:${port}/`)), 'secret', host)
  await t.throwsAsync(trusting.request(`https://other.example:${port}/`), {message: /certificate .*ERR_TLS_CERT_ALTNAME_INVALID/})
  await t.throwsAsync(open(t, places, {resolve}).request(`https://files.example:${port}/`), {message: /certificate .*SELF_SIGNED/})
})

test('a place listed for one org is reachable for that org only', async t => {
  const {seen, port} = await countCallers(t)
  const outbound = open(t, `127.0.0.1:${port}=org_1`)
  t.is(await codeOf(outbound.request(`http://127.0.0.1:${port}/`)), 'HOST_REFUSED')
  t.is(await codeOf(outbound.request(`http://127.0.0.1:${port}/`, {org: 'org_2'})), 'HOST_REFUSED')
  t.is(await codeOf(outbound.request(`https://127.0.0.1:${port}/`, {org: 'org_2'})), 'ADDRESS_REFUSED')
  t.is(await codeOf(outbound.connect({host: '127.0.0.1', port})), 'ADDRESS_REFUSED')
  t.is(await codeOf(outbound.connect({host: '127.0.0.1', port, org: 'org_2'})), 'ADDRESS_REFUSED')
  t.is(seen.count, 0)
  t.is(await codeOf(outbound.request(`http://127.0.0.1:${port}/`, {org: 'org_1'})), 'UNREACHABLE')
  ;(await outbound.connect({host: '127.0.0.1', port, org: 'org_1'})).destroy()
  t.is(seen.count, 2)
})
