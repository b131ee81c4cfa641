import http, {type RequestListener} from 'node:http'
import type {AddressInfo} from 'node:net'
import test, {type ExecutionContext} from 'ava'
import {bindOperations} from '../../api/clients/client/bind-operations.ts'
import {openClient, strongETag, Unreachable} from '../../api/clients/http.ts'

type Types = {
  listThings: {input: {org: string}; answer: unknown; item: number; errors: string}
  readFile: {input: object; answer: Response; errors: string}
}

/** Starts a server with two operations, and returns them as the client library offers them. */
const openOperations = async (t: ExecutionContext, answer: RequestListener) => {
  const server = http.createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const client = openClient({base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`})
  return bindOperations<Types>(client, {
    listThings: ['get', '/orgs/{org}/things', 'json', 'things'],
    readFile: ['get', '/file', 'raw', null],
  })
}

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

test('an ETag that a proxy made weak is sent as the version that it names', t => {
  const sent = (etag?: string) => strongETag(new Headers(etag === undefined ? {} : {etag}))
  t.deepEqual([sent('W/"7"'), sent('"7"'), sent()], ['"7"', '"7"', undefined])
})
