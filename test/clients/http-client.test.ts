import http, {type RequestListener} from 'node:http'
import type {AddressInfo} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import {bindOperations} from '../../api/clients/client/bind-operations.ts'
import {readEvents} from '../../api/clients/event-stream.ts'
import {type Client, openClient, strongETag, Unreachable} from '../../api/clients/http.ts'
import {openRetryingClient} from '../../api/clients/retry.ts'

type Types = {
  listThings: {input: {org: string}; answer: unknown; item: number; errors: string}
  readFile: {input: object; answer: Response; errors: string}
}

/** Starts a server, and returns its address. */
const listen = async (t: ExecutionContext, answer: RequestListener) => {
  const server = http.createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const bind = (client: Client) =>
  bindOperations<Types>(client, {
    listThings: ['get', '/orgs/{org}/things', 'json', 'things'],
    readFile: ['get', '/file', 'raw', null],
  })

/** Starts a server with two operations, and returns them as functions, without retries. */
const openOperations = async (t: ExecutionContext, answer: RequestListener) => bind(openClient({base: await listen(t, answer)}))

test('the options of a list apply to the request of every page', async t => {
  const asked: (string | undefined)[] = []
  const stop = new AbortController()
  const operations = await openOperations(t, (request, response) => {
    asked.push(`${request.url} ${request.headers['x-trace']}`)
    const isFirst = asked.length === 1
    response.setHeader('content-type', 'application/json')
    if (asked.length > 2) return
    response.end(JSON.stringify({things: [asked.length], nextCursor: isFirst ? 'next' : 'last'}))
  })
  const all: number[] = []
  const reading = (async () => {
    for await (const one of operations.each.listThings(
      {org: 'o'},
      {headers: {'x-trace': 'mine'}, signal: stop.signal, timeoutMs: 20_000},
    )) {
      all.push(one)
      if (one === 2) stop.abort(new Error('Enough'))
    }
  })()
  await t.throwsAsync(reading, {message: 'Enough'})
  t.deepEqual(
    [all, asked],
    [
      [1, 2],
      ['/orgs/o/things mine', '/orgs/o/things?cursor=next mine'],
    ],
  )
  const slow = Array.fromAsync(operations.each.listThings({org: 'o'}, {timeoutMs: 50}))
  await t.throwsAsync(slow, {instanceOf: Unreachable, message: /did not respond in time/})
})

test('the time-out of a file ends when its headers arrive, and a server that sends none is given up', async t => {
  let isSilent = false
  const timeoutMs = 500
  const operations = await openOperations(t, (_, response) => {
    if (isSilent) return
    response.write('first,')
    setTimeout(() => response.end('last'), 2 * timeoutMs)
  })
  t.is(await (await operations.readFile({}, {timeoutMs})).text(), 'first,last')
  isSilent = true
  await t.throwsAsync(operations.readFile({}, {timeoutMs: 50}), {instanceOf: Unreachable, message: /did not respond in time/})
})

test('a file is requested again after a rate limit and a temporary error; an event stream is not, because its reader retries', async t => {
  const statuses = [429, 503, 200, 503]
  let requests = 0
  const base = await listen(t, (_, response) => {
    const status = statuses[requests++]!
    const body = status === 200 ? 'first,last' : JSON.stringify({error: 'Wait', code: status === 429 ? 'RATE_LIMITED' : 'BUSY'})
    response.writeHead(status, {'content-type': status === 200 ? 'text/csv' : 'application/json', 'retry-after': '0'}).end(body)
  })
  const client = openRetryingClient(base, () => 'token')
  t.is(await (await bind(client).readFile()).text(), 'first,last')
  await t.throwsAsync(readEvents(client, 'GET', '/events').next(), {message: 'Wait'})
  t.is(requests, 4)
})

test('an ETag that a proxy made weak is sent as the version that it names', t => {
  const sent = (etag?: string) => strongETag(new Headers(etag === undefined ? {} : {etag}))
  t.deepEqual([sent('W/"7"'), sent('"7"'), sent()], ['"7"', '"7"', undefined])
})
