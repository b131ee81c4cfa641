import {randomBytes} from 'node:crypto'
import {once} from 'node:events'
import type {IncomingMessage, ServerResponse} from 'node:http'
import {createServer} from 'node:https'
import type {AddressInfo} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import {FileSource, type SourceCode} from '../../../../shared/schedules/fetch/main.ts'
import {makeCertificate} from '../../../simulators/certificate.ts'
import {openDoor} from './fetch-fixture.ts'

const open = async (
  t: ExecutionContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  {sourceHosts = '*'} = {},
) => {
  const {cert, key} = makeCertificate(['files.example'])
  const web = createServer({cert, key}, answer)
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  t.teardown(() => {
    web.closeAllConnections()
    web.close()
  })
  const place = `files.example:${(web.address() as AddressInfo).port}`
  const source = (more: object = {}) => FileSource.parse({kind: 'https', url: `https://${place}/in/orders.csv`, ...more})
  return {...openDoor(t, {privateHosts: place, sourceHosts, ca: cert}), source, place}
}

test('a file is fetched completely with its name, and credentials are sent', async t => {
  const content = randomBytes(3_000_000)
  const asked: object[] = []
  const {fetch, source, place} = await open(t, ({url, headers}, response) => {
    asked.push({url, authorization: headers.authorization, key: headers['x-key']})
    response.end(content)
  })
  const {name, content: got} = await fetch(source({bearer: 'abc', headers: {'x-key': 'k'}}))
  t.deepEqual([name, content.equals(got)], ['orders.csv', true])
  await fetch(source({basic: {user: 'ana', password: 'pä:ss'}}))
  await fetch(source({url: `https://${place}/in/orders.csv?sig=a%2Fb&x`}))
  t.deepEqual(asked, [
    {url: '/in/orders.csv', authorization: 'Bearer abc', key: 'k'},
    {url: '/in/orders.csv', authorization: `Basic ${Buffer.from('ana:pä:ss').toString('base64')}`, key: undefined},
    {url: '/in/orders.csv?sig=a%2Fb&x', authorization: undefined, key: undefined},
  ])
})

type Row = [status: number, headers: Record<string, string>, code: SourceCode]

test('an answer without a file gives its own error, which contains no secret', async t => {
  let answer: [number, Record<string, string>] = [200, {}]
  const {failure, source, place} = await open(t, (_, response) => response.writeHead(...answer).end('x'))
  const table: Row[] = [
    ...[401, 403, 407].map((status): Row => [status, {}, 'SIGN_IN_REFUSED']),
    ...[404, 410].map((status): Row => [status, {}, 'NOT_FOUND']),
    ...[408, 429, 500, 503].map((status): Row => [status, {}, 'UNREACHABLE']),
    ...[204, 206, 400, 418].map((status): Row => [status, {}, 'BAD_ANSWER']),
    [302, {location: 'https://elsewhere.example/'}, 'REDIRECTED'],
    [200, {'content-encoding': 'gzip'}, 'BAD_ANSWER'],
  ]
  const secrets = source({url: `https://${place}/path-of-it?sig=the-secret`, bearer: 'the-secret'})
  for (const [status, headers, code] of table) {
    answer = [status, headers]
    const failed = await failure(secrets)
    t.is(failed?.code, code, `${status}`)
    t.notRegex(failed!.message, /the-secret|path-of-it/)
  }
})

test('a truncated file is an error, and a body of unknown end is refused', async t => {
  let how: (response: ServerResponse) => void = () => {}
  const {failure, source} = await open(t, (_, response) => how(response))
  how = response => response.writeHead(200, {'content-length': 10}).write('12345', () => response.socket!.end())
  t.like(await failure(source()), {code: 'UNREACHABLE'})
  how = response => response.writeHead(200, {'transfer-encoding': 'chunked'}).write('12345', () => response.socket!.end())
  t.like(await failure(source()), {code: 'UNREACHABLE'})
  how = response => response.socket!.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n12345')
  t.like(await failure(source()), {code: 'BAD_ANSWER'})
  how = response => response.end('x'.repeat(1_000))
  t.like(await failure(source(), {limitBytes: 999}), {code: 'TOO_LARGE'})
  t.is(await failure(source(), {limitBytes: 1_000}), null)
  how = response => response.write('x')
  t.like(await failure(source(), {timeoutSeconds: 0.3}), {code: 'TIMED_OUT'})
  await t.throwsAsync(failure(source(), {signal: AbortSignal.abort(new Error('called off'))}), {message: 'called off'})
})

test('an unlisted host and a host that is not public are not called', async t => {
  let calls = 0
  const {failure, source, place} = await open(t, (_, response) => response.end(`${++calls}`), {sourceHosts: 'sftp.example,*.files.example'})
  t.like(await failure(source()), {code: 'HOST_REFUSED'})
  const inside = openDoor(t, {})
  t.like(await inside.failure(source()), {code: 'ADDRESS_REFUSED'})
  t.like(await inside.failure(source({url: `http://${place}/`})), {code: 'HOST_REFUSED'})
  t.is(calls, 0)
  t.is(
    await openDoor(t, {})
      .failure(source({url: 'https://127.0.0.1:1/'}))
      .then(failed => failed?.code),
    'ADDRESS_REFUSED',
  )
})
