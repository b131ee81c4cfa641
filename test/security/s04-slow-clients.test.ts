import {once} from 'node:events'
import {connect, type Socket} from 'node:net'
import {setTimeout as pause} from 'node:timers/promises'
import test, {type ExecutionContext} from 'ava'
import {listen} from '../../api/listen.ts'
import {startApiProcess} from '../support/api-process.ts'
import {openCalls} from '../support/client.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

type Slow = {open: number; answered: number}

/** Opens connections that send their request a few bytes per second, or nothing more. Counts how many are open and how many got an answer. */
const beSlow = async (t: ExecutionContext, url: string, {count, head, drip}: {count: number; head: string; drip: string}) => {
  const {hostname, port} = new URL(url)
  const seen: Slow = {open: count, answered: 0}
  const sockets = await Promise.all(
    Array.from({length: count}, async () => {
      const socket = connect({host: hostname, port: Number(port)})
      socket.on('error', () => {}).once('close', () => void seen.open--)
      await once(socket, 'connect')
      socket.once('data', () => void seen.answered++).write(head)
      return socket
    }),
  )
  const timer = setInterval(() => dripInto(sockets, drip), 1000)
  t.teardown(() => {
    clearInterval(timer)
    for (const socket of sockets) socket.destroy()
  })
  return seen
}

const dripInto = (sockets: Socket[], drip: string) => {
  if (drip) for (const socket of sockets) if (socket.writable) socket.write(drip)
}

/** Returns the second longest time in ms of twenty sequential requests. */
const slowestOf = async (t: ExecutionContext, url: string) => {
  const took: number[] = []
  for (let n = 0; n < 20; n++) {
    const started = performance.now()
    t.is((await openCalls(url)(null)('GET', '/health')).status, 200)
    took.push(performance.now() - started)
  }
  return took.toSorted((one, other) => other - one)[1]!
}

test.serial('eight hundred slow clients do not delay other clients, and are all disconnected', async t => {
  t.timeout(400_000)
  const {DATABASE_URL, CRM_STANDIN_URL, STORAGE_DIR} = house.config
  const api = await startApiProcess({
    DATABASE_URL: DATABASE_URL!,
    CRM_STANDIN_URL: CRM_STANDIN_URL!,
    STORAGE_DIR,
    RATE_PER_ADDRESS: '0',
    RATE_PER_BEARER: '0',
  })
  t.teardown(() => api.signal('SIGKILL'))
  const {org, token} = await house.makeOrg()
  const post = (more: string) =>
    `POST /orgs/${org}/tokens HTTP/1.1\r\nhost: x\r\n${more}content-type: application/json\r\ncontent-length: 90000\r\n\r\n`
  const quiet = await slowestOf(t, api.url)
  const slow = {
    heads: await beSlow(t, api.url, {count: 640, head: 'GET /health HTTP/1.1\r\nhost: x\r\n', drip: 'x-a: b\r\n'}),
    unreadBodies: await beSlow(t, api.url, {count: 120, head: post(''), drip: ' '}),
    readBodies: await beSlow(t, api.url, {count: 40, head: post(`authorization: Bearer ${token}\r\n`), drip: ' '}),
  }
  const busy = await slowestOf(t, api.url)
  t.true(busy < 50 * Math.max(5, quiet), `${busy.toFixed(0)} ms, ${quiet.toFixed(0)} without them`)
  for (const [name, seen] of Object.entries(slow)) {
    await until(
      () => seen.open,
      open => open === 0,
      100,
    )
    t.true(seen.answered > 0, `${name} were told why`)
  }
})

/** Requests the same long answer many times over one connection. `read` reads until the connection closes, and returns the number of bytes. */
const askAndWait = async (url: string, times: number) => {
  const {hostname, port} = new URL(url)
  const socket = connect({host: hostname, port: Number(port)}).on('error', () => {})
  const closed = once(socket, 'close')
  socket.pause().write('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(times - 1))
  socket.write('GET /openapi.json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  let got = 0
  const read = async () => {
    socket.on('data', chunk => (got += chunk.length)).resume()
    await closed
    return got
  }
  return {read, socket}
}

test.serial('a client that does not read its answer is disconnected, and one that reads late is not', async t => {
  const length = (await house.as(null)('GET', '/openapi.json')).text.length
  const times = Math.ceil(40_000_000 / length)
  const patient = await askAndWait(house.url, times)
  const hasty = await listen(house.tools, {stalledMs: 500})
  t.teardown(hasty.drain)
  const stalled = await askAndWait(hasty.url, times)
  t.teardown(() => stalled.socket.destroy())
  // Neither the end of a stalled connection nor a late read causes an event, so the test waits a fixed time.
  await pause(12_000)
  t.true((await patient.read()) > times * length)
  t.true((await stalled.read()) < times * length)
})
