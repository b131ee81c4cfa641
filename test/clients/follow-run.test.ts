import http, {type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {mock} from 'node:test'
import test from 'ava'
import {prepareClient} from '../../api/clients/client/open-client.ts'
import {followJob} from '../../api/clients/follow-job.ts'
import {followRun} from '../../api/clients/follow-run.ts'
import {openClient} from '../../api/clients/http.ts'
import {type Run, withEvent} from '../../api/clients/widget/runs/run.ts'

/** Starts a server with one run. `stream` scripts its event stream, and a plain read returns its current state. */
const openRun = async (stream: (response: ServerResponse, heard: string | undefined, times: number) => void) => {
  const state = {run: {id: 'run_1', state: 'writing', counts: {}, progress: {done: 0, total: 9}} as unknown as Run, asked: 0, streams: 0}
  const heard: (string | undefined)[] = []
  const server = http.createServer((request, response) => {
    if (request.url!.endsWith('/events')) {
      const id = request.headers['last-event-id'] as string | undefined
      heard.push(id)
      stream(response, id, ++state.streams)
    } else {
      state.asked++
      if (state.run.id === 'gone')
        response.writeHead(404, {'content-type': 'application/json'}).end('{"error": "No such run", "code": "RUN_NOT_FOUND"}')
      else response.writeHead(200, {'content-type': 'application/json'}).end(JSON.stringify({run: state.run}))
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const client = openClient({base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bearer: () => 'token'})
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return {client, state, heard, close}
}

const follow = async (open: Awaited<ReturnType<typeof openRun>>, onPause: () => void = () => {}) => {
  const told: {done: number | undefined; state: string; how: string}[] = []
  let {run} = open.state
  const pause = async () => onPause()
  for await (const heard of followRun({client: open.client, path: '/run', signal: AbortSignal.timeout(20_000), pause})) {
    run = withEvent(run, heard)
    told.push({done: run.progress?.done, state: run.state, how: heard.event})
  }
  return told
}

const frame = (event: string, id: string, data: object) => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`

test('a broken event stream is continued from its last event to the end', async t => {
  const open = await openRun((response, _, times) => {
    response.writeHead(200, {'content-type': 'text/event-stream'})
    if (times === 1) {
      open.state.run = {...open.state.run, progress: {done: 4, total: 9} as Run['progress']}
      response.write(frame('progress', 'a', {progress: {done: 4, total: 9}}), () => response.destroy())
    } else response.end(frame('end', 'b', {run: {...open.state.run, state: 'ended', progress: {done: 9, total: 9}}}))
  })
  t.teardown(open.close)
  const told = await follow(open)
  t.deepEqual(open.heard, [undefined, 'a'])
  t.deepEqual([told[0]!.done, told.at(-1)], [4, {done: 9, state: 'ended', how: 'end'}])
})

test('a run is polled if no event stream gets through', async t => {
  const open = await openRun(response =>
    response.writeHead(503, {'content-type': 'application/json'}).end('{"error": "Busy", "code": "BUSY"}'),
  )
  t.teardown(open.close)
  const told = await follow(open, () => {
    if (open.state.asked > 5) open.state.run = {...open.state.run, state: 'ended'}
  })
  t.is(open.state.streams, 3)
  t.deepEqual([told[0]!.how, told.at(-1)], ['asked', {done: 0, state: 'ended', how: 'end'}])
})

test('a deleted run is reported as not found', async t => {
  const open = await openRun(response => {
    open.state.run = {...open.state.run, id: 'gone'}
    response.writeHead(200, {'content-type': 'text/event-stream'}).end()
  })
  t.teardown(open.close)
  await t.throwsAsync(follow(open), {message: 'No such run'})
})

const minutes = (count: number) => mock.timers.tick(count * 60_000)

test.serial('a stream without events for longer than the patience is continued when it breaks, also if it breaks twice', async t => {
  mock.timers.enable({apis: ['Date'], now: Date.now()})
  t.teardown(() => mock.timers.reset())
  let streaming: ServerResponse
  const open = await openRun((response, _, times) => {
    streaming = response.writeHead(200, {'content-type': 'text/event-stream'})
    if (times === 1) response.write(frame('progress', 'a', {progress: {done: 4, total: 9}}))
    if (times === 2)
      response.write(': still here\n\n', () => {
        minutes(60)
        response.destroy()
      })
    if (times === 3) response.end(frame('end', 'b', {run: open.state.run}))
  })
  t.teardown(open.close)
  const told: string[] = []
  const following = {client: open.client, path: '/run', signal: AbortSignal.timeout(20_000), pause: async () => {}, patienceMs: 5 * 60_000}
  for await (const {event} of followRun(following)) {
    told.push(event)
    if (event === 'end') break
    minutes(60)
    streaming!.destroy()
  }
  t.deepEqual(told, ['progress', 'end'])
  t.is(open.state.streams, 3)
})

test.serial('a run is given up once errors have lasted for the patience', async t => {
  mock.timers.enable({apis: ['Date'], now: Date.now()})
  t.teardown(() => mock.timers.reset())
  const open = await openRun(() => {})
  open.close()
  let pauses = 0
  const pause = async () => {
    pauses++
    minutes(3)
  }
  const following = followRun({client: open.client, path: '/run', pause, patienceMs: 5 * 60_000})
  await t.throwsAsync(following.next(), {message: /Could not reach/})
  t.is(pauses, 2)
})

test.serial('the client library stops at once at another server, and after five minutes without a response', async t => {
  mock.timers.enable({apis: ['Date'], now: Date.now()})
  t.teardown(() => mock.timers.reset())
  let requests = 0
  const server = http.createServer((request, response) => {
    requests++
    if (request.url!.includes('org_page')) response.writeHead(200, {'content-type': 'text/html'}).end('<p>Sign in</p>')
    else {
      minutes(3)
      request.socket.destroy()
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const lading = prepareClient({})({server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'token'})
  const follow = (org: string) => lading.followRun({org, id: 'imp_1', run: 'run_1'}, {signal: AbortSignal.timeout(10_000)}).next()
  await t.throwsAsync(follow('org_page'), {message: /not a Lading server/})
  t.is(requests, 2)
  await t.throwsAsync(follow('org_gone'), {message: /Could not reach/})
})

test.serial('a job is followed further after one poll that took longer than the patience, and after a time-out of a gateway', async t => {
  mock.timers.enable({apis: ['Date'], now: Date.now()})
  t.teardown(() => mock.timers.reset())
  let polls = 0
  const server = http.createServer((_, response) => {
    const status = [503, 504, 200][polls++]!
    if (status === 503) minutes(5)
    const body = status === 200 ? {id: 'job', name: 'discover', state: 'done'} : {error: 'Busy', code: 'BUSY'}
    response.writeHead(status, {'content-type': 'application/json'}).end(JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const client = openClient({base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`})
  t.like(await followJob({client, path: '/job', mostMs: 60 * 60_000}), {state: 'done'})
})
