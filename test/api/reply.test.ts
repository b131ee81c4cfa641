import {once} from 'node:events'
import type {AddressInfo} from 'node:net'
import {Readable} from 'node:stream'
import {buffer} from 'node:stream/consumers'
import test, {type ExecutionContext} from 'ava'
import Koa from 'koa'
import {envelope} from '../../api/envelope.ts'
import {observe} from '../../api/observe.ts'
import {reply, send} from '../../api/reply.ts'
import {Refusal} from '../../shared/errors.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {until} from '../support/until.ts'

const log = openLog('test', 'silent')
const csv = {'content-type': 'text/csv; charset=utf-8', 'content-disposition': 'attachment'}

/** Starts a server that answers every request with this object. */
const serve = async (t: ExecutionContext, answer: () => object, status = 200) => {
  const app = new Koa().use(observe(log, new AbortController().signal, () => ({}))).use(envelope(log))
  const broken: unknown[] = []
  app.on('error', error => broken.push(error)).use(ctx => send(ctx, answer(), status))
  const server = app.listen(0)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return {url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, broken}
}

test('an object is sent as JSON with the status of its route', async t => {
  const {url} = await serve(t, () => ({made: true}), 201)
  const response = await fetch(url)
  t.is(response.status, 201)
  t.is(response.headers.get('content-type'), 'application/json; charset=utf-8')
  t.is(response.headers.get('cache-control'), 'no-store')
  t.deepEqual(await response.json(), {made: true})
})

test('a reply has its own status and headers, with or without a body', async t => {
  const gone = await serve(t, () => reply({status: 302, headers: {location: '/there'}}))
  const redirect = await fetch(gone.url, {redirect: 'manual'})
  t.is(redirect.status, 302)
  t.is(redirect.headers.get('location'), '/there')
  t.is(redirect.headers.get('content-type'), null)
  const empty = await serve(t, () => reply({status: 200, body: null}))
  t.is((await fetch(empty.url)).status, 200)
  const bytes = await serve(t, () => reply({headers: {'content-type': 'image/png'}, body: Buffer.from([1, 2, 3])}))
  t.deepEqual([...(await (await fetch(bytes.url)).bytes())], [1, 2, 3])
})

test('a stream arrives complete at any size, also empty', async t => {
  for (const chunks of [0, 1, 1000]) {
    const {url} = await serve(t, () =>
      reply({headers: csv, body: Readable.from(Array(chunks).fill(Buffer.alloc(10_000, 'x')), {objectMode: false})}),
    )
    const response = await fetch(url)
    t.is(response.headers.get('content-type'), csv['content-type'])
    t.is((await response.bytes()).length, chunks * 10_000)
  }
})

const failing = async function* (chunks: number, error: Error) {
  for (let n = 0; n < chunks; n++) yield Buffer.alloc(100_000, 'x')
  throw error
}

test('a stream that fails before its first byte gives an error in the envelope', async t => {
  const {url} = await serve(t, () => reply({headers: csv, body: Readable.from(failing(0, new Refusal('FILE_GONE', 'It is gone')))}))
  const response = await fetch(url)
  t.is(response.status, 410)
  t.is(response.headers.get('content-disposition'), null)
  t.deepEqual(await response.json(), {error: 'It is gone', code: 'FILE_GONE'})
})

test('a stream that fails later breaks the connection', async t => {
  const {url, broken} = await serve(t, () => reply({headers: csv, body: Readable.from(failing(3, new Error('the disk')))}))
  await t.throwsAsync(fetch(url).then(response => response.bytes()))
  await until(
    () => broken.length,
    count => count === 1,
  )
})

test('HEAD closes the stream, and so does a client that disconnects', async t => {
  const opened: Readable[] = []
  const endless = () => {
    const body = Readable.from(failing(1e9, new Error('never')))
    opened.push(body)
    return reply({headers: csv, body})
  }
  const {url} = await serve(t, endless)
  const head = await fetch(url, {method: 'HEAD'})
  t.is(head.headers.get('content-type'), csv['content-type'])
  t.is((await buffer(head.body ?? Readable.from([]))).length, 0)
  const gone = new AbortController()
  const response = await fetch(url, {signal: gone.signal})
  await response.body!.getReader().read()
  gone.abort()
  await until(
    () => opened.map(({destroyed}) => destroyed),
    closed => closed.length === 2 && closed.every(Boolean),
  )
  t.pass()
})
