import {randomBytes} from 'node:crypto'
import {once} from 'node:events'
import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import {FileSource} from '../../../../shared/schedules/fetch/main.ts'
import {startS3} from '../../../simulators/s3.ts'
import {until} from '../../../support/until.ts'
import {openDoor} from './fetch-fixture.ts'

const account = {bucket: 'files', accessKeyId: 'AKIALADING', secretAccessKey: 'a secret/with+signs', region: 'eu-central-1'}

const open = async (t: ExecutionContext, doors: Partial<Parameters<typeof openDoor>[1]> = {}) => {
  const s3 = await startS3(account)
  t.teardown(s3.stop)
  const source = (more: object = {}) => FileSource.parse({kind: 's3', endpoint: s3.url, ...account, key: 'in/orders 1 ä+.csv', ...more})
  return {s3, source, ...openDoor(t, {privateHosts: new URL(s3.url).host, ...doors})}
}

test('an object is fetched completely with a signed request', async t => {
  const {s3, source, fetch} = await open(t)
  const content = randomBytes(5_000_000)
  s3.objects.set('in/orders 1 ä+.csv', content)
  const {name, content: got} = await fetch(source())
  t.deepEqual([name, content.equals(got)], ['orders 1 ä+.csv', true])
  t.deepEqual(s3.journal, ['GET /files/in/orders%201%20%C3%A4%2B.csv?x-id=GetObject'])
})

test('refusals, absence and failures of the store have distinct codes and are not retried', async t => {
  const {s3, source, failure} = await open(t)
  s3.objects.set('in/orders.csv', Buffer.from('a,b'))
  const code = async (more: object, limitBytes = 1_000_000) => (await failure(source({key: 'in/orders.csv', ...more}), {limitBytes}))?.code
  t.is(await code({}), undefined)
  t.is(await code({secretAccessKey: 'another'}), 'SIGN_IN_REFUSED')
  t.is(await code({key: 'in/none.csv'}), 'NOT_FOUND')
  t.is(await code({bucket: 'other'}), 'NOT_FOUND')
  t.is(await code({}, 2), 'TOO_LARGE')
  for (const [action, expected] of [
    [{status: 503}, 'UNREACHABLE'],
    ['drop', 'UNREACHABLE'],
    [{status: 301}, 'BAD_ANSWER'],
    [{status: 400}, 'BAD_ANSWER'],
  ] as const) {
    const before = s3.journal.length
    s3.faults.push({method: 'GET', times: 1, action})
    t.is(await code({}), expected)
    t.is(s3.journal.length, before + 1)
  }
})

test('a bucket of another region is reported as such, because the source has no URL', async t => {
  const {s3, source, failure} = await open(t)
  s3.faults.push({method: 'GET', times: 1, action: {status: 301}})
  t.is((await failure(source()))!.message, 'The bucket is in another region or at another endpoint (301). Correct the region')
})

test('a long error answer of the store is cut, and its text is not shown', async t => {
  let left = false
  const server = createServer((_, response) => {
    response.writeHead(400, {'content-type': 'application/xml'})
    response.write('<Error><Code>Pay at https://evil.example\nnow</Code><Message>')
    response.on('close', () => {
      left = true
    })
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
    }
    response.on('drain', more)
    more()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const {failure} = openDoor(t, {privateHosts: place})
  const failed = await failure(FileSource.parse({kind: 's3', ...account, endpoint: `http://${place}`, key: 'a'}), {limitBytes: 1e9})
  t.like(failed, {code: 'BAD_ANSWER'})
  t.notRegex(failed!.message, /evil/)
  await until(
    () => left,
    gone => gone,
  )
})

test('a store that is not public or not listed is not called', async t => {
  const {s3, source, failure} = await open(t, {privateHosts: '127.0.0.1:1'})
  t.like(await failure(source()), {code: 'HOST_REFUSED'})
  t.like(await failure(source({endpoint: s3.url.replace('http:', 'https:')})), {code: 'ADDRESS_REFUSED'})
  const listed = openDoor(t, {privateHosts: new URL(s3.url).host, sourceHosts: '*.amazonaws.com'})
  t.like(await listed.failure(source()), {code: 'HOST_REFUSED'})
  // Without an endpoint, the source uses Amazon's own host name, which the test resolves to this machine.
  t.like(await listed.failure(source({endpoint: undefined})), {code: 'ADDRESS_REFUSED'})
  t.regex((await listed.failure(source({endpoint: undefined})))!.message, /^files\.s3\.eu-central-1\.amazonaws\.com is not/)
  t.deepEqual(s3.journal, [])
})
