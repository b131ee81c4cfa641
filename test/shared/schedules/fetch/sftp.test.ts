import {randomBytes} from 'node:crypto'
import test, {type ExecutionContext} from 'ava'
import {FileSource, fetchSource} from '../../../../shared/schedules/fetch/main.ts'
import {makeKeys, startSftp} from '../../../simulators/sftp.ts'
import {until} from '../../../support/until.ts'
import {openDoor} from './fetch-fixture.ts'

const open = async (t: ExecutionContext, options: Partial<Parameters<typeof startSftp>[0]> = {password: 'open sesame'}) => {
  const server = await startSftp({user: 'ana', ...options})
  t.teardown(server.stop)
  const place = `sftp.example:${server.port}`
  const common = {kind: 'sftp', host: 'sftp.example', port: server.port, user: 'ana', path: '/out/orders.csv', hostKey: server.fingerprint}
  const source = (more: object = {password: 'open sesame'}) => FileSource.parse({...common, ...more})
  const put = (content: Buffer | string, more: object = {}) => {
    const held = {content: Buffer.from(content), mtime: 1_800_000_000, ...more}
    server.files.set('/out/orders.csv', held)
    return held
  }
  return {server, place, source, put, ...openDoor(t, {privateHosts: place})}
}

test('a file of any size is fetched completely, even if the server returns less than requested', async t => {
  const {server, source, put, fetch} = await open(t)
  for (const [size, mostPerRead] of [
    [0, 32_768],
    [1, 32_768],
    [32_768, 32_768],
    [1_000_001, 10_000],
    [3_000_000, 32_768],
  ] as const) {
    const content = randomBytes(size)
    put(content)
    server.faults.mostPerRead = mostPerRead
    const {name, content: got} = await fetch(source())
    t.deepEqual([name, content.equals(got)], ['orders.csv', true], `${size}`)
  }
})

/** Returns the key with another number of rounds. The number follows the names of the cipher and the function, and the salt. */
const withRounds = (privateKey: string, rounds: number) => {
  const bytes = Buffer.from(privateKey.replaceAll(/-----.*-----|\s/g, ''), 'base64')
  bytes.writeUInt32BE(rounds, 63)
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${bytes.toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`
}

test('sign-in works by password, by keyboard-interactive, and by key with or without passphrase', async t => {
  const byQuestions = await open(t, {password: 'open sesame', byQuestions: true})
  byQuestions.put('a,b')
  t.is(String((await byQuestions.fetch(byQuestions.source())).content), 'a,b')
  const pair = makeKeys({passphrase: 'and another', cipher: 'aes256-ctr', rounds: 4})
  const byKey = await open(t, {publicKey: pair.public})
  byKey.put('a,b')
  const key = byKey.source({privateKey: pair.private, passphrase: 'and another'})
  t.is(String((await byKey.fetch(key)).content), 'a,b')
  t.like(await byKey.failure(byKey.source({privateKey: pair.private, passphrase: 'wrong'})), {code: 'SIGN_IN_REFUSED'})
  t.like(await byKey.failure(byKey.source({privateKey: pair.private})), {code: 'SIGN_IN_REFUSED'})
  t.like(await byKey.failure(byKey.source({privateKey: 'no key'})), {code: 'SIGN_IN_REFUSED'})
  const refused = await byKey.failure(byKey.source({privateKey: withRounds(pair.private, 101), passphrase: 'and another'}))
  t.regex(refused!.message, /needs 101 rounds/)
  const stranger = makeKeys()
  t.like(await byKey.failure(byKey.source({privateKey: stranger.private})), {code: 'SIGN_IN_REFUSED'})
})

test('a server with another host key gets no credentials, and the error names its key', async t => {
  const {server, source, put, failure} = await open(t)
  put('a,b')
  const failed = await failure(source({password: 'open sesame', hostKey: `SHA256:${'a'.repeat(43)}`}))
  t.is(failed?.code, 'HOST_KEY')
  t.true(failed?.message.includes(server.fingerprint))
  t.deepEqual(server.signIns, [])
})

test('a wrong password, a missing or locked file, a large file and a folder have distinct codes', async t => {
  const {source, put, failure} = await open(t)
  const failed = await failure(source({password: 'the-wrong-one'}))
  t.is(failed?.code, 'SIGN_IN_REFUSED')
  t.notRegex(failed!.message, /the-wrong-one/)
  t.like(await failure(source()), {code: 'NOT_FOUND'})
  put('a,b', {isLocked: true})
  t.like(await failure(source()), {code: 'SIGN_IN_REFUSED'})
  put('a,b', {isFolder: true})
  t.like(await failure(source()), {code: 'NOT_FOUND'})
  put('a,b')
  t.like(await failure(source(), {limitBytes: 2}), {code: 'TOO_LARGE'})
  t.is(await failure(source(), {limitBytes: 3}), null)
})

test('a file that is truncated, or changed while being read, is an error', async t => {
  const {server, source, put, failure} = await open(t)
  put('a,b', {shownSize: 10})
  t.like(await failure(source()), {code: 'UNREACHABLE'})
  const held = put(randomBytes(100_000))
  server.faults.onRead = () => {
    held.mtime += 1
    return true
  }
  t.like(await failure(source()), {code: 'UNREACHABLE'})
})

test('a silent server ends with a timeout, and a cancelled fetch ends at once', async t => {
  const {server, source, put, failure} = await open(t)
  put(randomBytes(100_000))
  server.faults.onRead = at => at === 0
  t.like(await failure(source(), {timeoutSeconds: 0.5}), {code: 'TIMED_OUT'})
  const called = new AbortController()
  server.faults.onRead = () => {
    called.abort(new Error('called off'))
    return false
  }
  await t.throwsAsync(failure(source(), {signal: called.signal}), {message: 'called off'})
})

test('leaving in the middle of a file closes the connection', async t => {
  const {source, put, outbound, server} = await open(t)
  put(randomBytes(5_000_000))
  const {stream} = await fetchSource(outbound, source(), {limitBytes: 10_000_000})
  for await (const piece of stream) {
    t.true(piece.length > 0)
    break
  }
  await until(server.connected, count => count === 0)
})

test('a server that is not public or not listed gets no sign-in', async t => {
  const {source, put, server} = await open(t)
  put('a,b')
  t.like(await openDoor(t, {}).failure(source()), {code: 'ADDRESS_REFUSED'})
  t.like(await openDoor(t, {sourceHosts: '*.other.example'}).failure(source()), {code: 'HOST_REFUSED'})
  t.like(await openDoor(t, {}).failure(source({password: 'a', host: '0x7f.1'})), {code: 'ADDRESS_REFUSED'})
  t.deepEqual(server.signIns, [])
})
