import {randomBytes} from 'node:crypto'
import test from 'ava'
import {Webhook} from 'standardwebhooks'
import {post} from '../../../shared/notifications/post.ts'
import {mintSecret, sealSecret, sign} from '../../../shared/notifications/signature.ts'
import {type Outbound, openOutbound} from '../../../shared/schedules/outbound/outbound.ts'
import {type Receiver, startReceiver} from '../../simulators/receiver.ts'

const ring = [{id: 'k', key: randomBytes(32)}]
const secret = mintSecret()
let receiver: Receiver
let outbound: ReturnType<typeof openOutbound>

test.before(async () => {
  receiver = await startReceiver()
  outbound = openOutbound({PRIVATE_HOSTS: [receiver.place], SOURCE_HOSTS: []})
})
test.after.always(async () => {
  await outbound.close()
  await receiver.stop()
})

/** Returns an outbound client that treats the receiver as a public host, because the receiver has no public address. */
const asPublic = (): Outbound => ({
  ...outbound,
  request: async (url, asked) => ({...(await outbound.request(url, asked)), isPrivate: false}),
})

const send = (path: string, {timeoutSeconds = 5, url = receiver.url(path), through = asPublic()} = {}) => {
  const sealed = sealSecret(ring, 'whk_1', secret)
  const posting = {
    id: 'd',
    attempt: 1,
    org: 'o',
    endpoint: 'whk_1',
    endpointKind: 'json' as const,
    url,
    secret: sealed,
    oldSecret: null,
    notice: 'ntc_1',
    body: '{"a":"ä"}',
  }
  return post(through, {SECRETS_KEYS: ring, PUBLIC_URL: 'http://x'}, posting, timeoutSeconds)
}

test('the public library verifies signed messages and rejects changed ones', t => {
  const signed = sign({id: 'ntc_1', seconds: Math.floor(Date.now() / 1000), body: '{"a":1}', secrets: [mintSecret(), secret]})
  t.deepEqual(new Webhook(secret).verify('{"a":1}', signed), {a: 1})
  t.throws(() => new Webhook(secret).verify('{"a":2}', signed))
  t.throws(() => new Webhook(secret).verify('{"a":1}', {...signed, 'webhook-id': 'ntc_2'}))
  t.throws(() => new Webhook(mintSecret()).verify('{"a":1}', signed))
})

test('a message arrives verifiable byte for byte, and only 2xx is success', async t => {
  for (const status of [200, 204, 299]) {
    receiver.behave('/fine', {status})
    const {error, status: seen} = await send('/fine')
    t.deepEqual([error, seen], [null, status])
  }
  const {headers, body} = receiver.at('/fine')[0]!
  t.deepEqual(new Webhook(secret).verify(body, headers), {a: 'ä'})
  t.is(headers['content-type'], 'application/json')
  for (const status of [400, 404, 410, 429, 500, 503]) {
    receiver.behave('/bad', {status, headers: {'retry-after': '7'}, body: 'no'})
    const posted = await send('/bad')
    t.deepEqual(posted, {
      status,
      error: `The receiver answered ${status}`,
      answer: 'no',
      retryAfterSeconds: status === 429 || status === 503 ? 7 : 0,
    })
  }
})

test('a redirect is a failure and is not followed', async t => {
  for (const status of [301, 302, 307, 308]) {
    receiver.behave('/moved', {status, headers: {location: receiver.url('/elsewhere')}})
    const posted = await send('/moved')
    t.is(posted.status, status)
    t.regex(posted.error!, /^REDIRECTED/)
  }
  t.deepEqual(receiver.at('/elsewhere'), [])
})

test('a receiver that hangs, is down or is forbidden gives an error', async t => {
  receiver.behave('/hangs', 'hang')
  t.regex((await send('/hangs', {timeoutSeconds: 0.3})).error!, /^TIMED_OUT/)
  t.regex((await send('', {url: 'https://127.0.0.1:9/'})).error!, /^ADDRESS_REFUSED/)
  t.regex((await send('', {url: 'https://[::ffff:169.254.169.254]/latest'})).error!, /^ADDRESS_REFUSED/)
})

test('the first KiB of an answer is kept, and a long or broken answer still counts as success', async t => {
  receiver.behave('/long', {status: 200, body: 'x'.repeat(5_000)})
  t.is((await send('/long')).answer, 'x'.repeat(1_024))
  receiver.behave('/huge', {status: 200, headers: {'content-length': '1000000'}, body: 'x'.repeat(1_000_000)})
  const posted = await send('/huge')
  t.deepEqual([posted.error, posted.answer], [null, null])
  receiver.behave('/nul', {status: 500, body: 'a\0b'})
  t.is((await send('/nul')).answer, 'ab')
})

test('of an answer from a private host only the status is kept', async t => {
  receiver.behave('/private', {status: 500, body: 'inner'})
  t.deepEqual(await send('/private', {through: outbound}), {
    status: 500,
    error: 'The receiver answered 500',
    answer: null,
    retryAfterSeconds: 0,
  })
})

test('a private host of another org gets no message', async t => {
  const scoped = (org: string) => openOutbound({PRIVATE_HOSTS: [`${receiver.place}=${org}`], SOURCE_HOSTS: []})
  const [own, foreign] = [scoped('o'), scoped('org_2')]
  t.teardown(() => Promise.all([own.close(), foreign.close()]))
  receiver.behave('/scoped', {status: 200})
  t.regex((await send('/scoped', {through: foreign})).error!, /^HOST_REFUSED/)
  t.is(receiver.at('/scoped').length, 0)
  t.is((await send('/scoped', {through: own})).error, null)
  t.is(receiver.at('/scoped').length, 1)
})
