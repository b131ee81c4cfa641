import {once} from 'node:events'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {startApiProcess} from '../api-process.ts'
import {openCalls} from '../client.ts'
import {openHalfRequest, readAnswer} from '../half-request.ts'
import {until} from '../until.ts'
import {beginVisit, comeBack, consent, messageOf, visitOf} from '../walk.ts'
import {type World, world} from '../world.ts'

let house: World
test.before(async t => {
  house = await world(t)
})

/** The API as a process beside the world: same database, same stand-in, same keys. */
const startApi = async (t: ExecutionContext, environment = {}) => {
  const storage = await mkdtemp(join(tmpdir(), 'lading-process-'))
  const {DATABASE_URL, CRM_STANDIN_URL} = house.config
  const api = await startApiProcess({DATABASE_URL: DATABASE_URL!, CRM_STANDIN_URL: CRM_STANDIN_URL!, STORAGE_DIR: storage, ...environment})
  t.teardown(async () => {
    api.signal('SIGKILL')
    await api.exit
    await rm(storage, {recursive: true})
  })
  return api
}

/** A request whose head is sent and whose body is not: in flight until the test says so. */
const beginMint = async (url: string) => {
  const {org, token} = await house.makeOrg()
  const body = '{"name": "slow"}'
  const half = openHalfRequest(url)
  half.send(`POST /orgs/${org}/tokens HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`)
  half.send(`content-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`)
  await once(half.socket, 'ready')
  // Another request on another connection, so that the first has surely arrived.
  await openCalls(url)(null)('GET', '/robots.txt')
  return {...half, finish: () => half.send(body.slice(5))}
}

test.serial('SIGTERM lets nobody new in, finishes what is in flight and exits well', async t => {
  const api = await startApi(t)
  const {finish, answer} = await beginMint(api.url)
  api.signal('SIGTERM')
  await api.hears('"draining"')
  await until(
    () =>
      openCalls(api.url)(null)('GET', '/health').then(
        () => 'open',
        () => 'closed',
      ),
    seen => seen === 'closed',
  )
  finish()
  const {status, head, body} = readAnswer(await answer)
  t.is(status, 201)
  t.regex(head, /connection: close/)
  t.is(body.token.name, 'slow')
  t.is(await api.exit, 0)
  t.regex(api.output(), /"msg":"stopped"/)
})

test.serial('a second signal ends the process at once', async t => {
  const api = await startApi(t)
  const {answer} = await beginMint(api.url)
  api.signal('SIGTERM')
  await api.hears('"draining"')
  api.signal('SIGTERM')
  t.is(await api.exit, 1)
  t.is(await answer, '')
})

test.serial('what is still in flight when the time is up is cut off', async t => {
  const api = await startApi(t, {DRAIN_SECONDS: '0.2'})
  const {answer} = await beginMint(api.url)
  api.signal('SIGTERM')
  t.is(await api.exit, 0)
  t.is(await answer, '')
})

test.serial('idle connections do not hold a drain', async t => {
  const api = await startApi(t)
  const idle = openHalfRequest(api.url)
  idle.send('GET /robots.txt HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(idle.socket, 'data')
  const started = performance.now()
  api.signal('SIGTERM')
  t.is(await api.exit, 0)
  t.true(performance.now() - started < 10_000, 'not the whole of DRAIN_SECONDS')
})

/** A request that waits for a job nobody works on. */
const beginWait = async (url: string, signal?: AbortSignal) => {
  const {org, token} = await house.makeOrg({role: 'admin'})
  const connectorId = await house.connect(token)
  const waiting = fetch(`${url}/orgs/${org}/discovery/run`, {
    method: 'POST',
    body: JSON.stringify({connectorId}),
    headers: {authorization: `Bearer ${token}`, 'content-type': 'application/json', prefer: 'wait=60'},
    ...(signal && {signal}),
  })
  const outcome = waiting.then(
    async response => ({status: response.status, body: (await response.json()) as any}),
    () => null,
  )
  await until(
    () => house.queue.findJobs('discovery.run', {key: connectorId}),
    found => found.length > 0,
  )
  return {outcome}
}

test.serial('who waits for a job is answered early by a drain', async t => {
  const api = await startApi(t)
  const {outcome} = await beginWait(api.url)
  api.signal('SIGTERM')
  const answer = await outcome
  t.is(answer?.status, 202)
  t.is(answer?.body.job.state, 'queued')
  t.is(await api.exit, 0)
})

test.serial('a wait ends when the client goes', async t => {
  const api = await startApi(t)
  const gone = new AbortController()
  const {outcome} = await beginWait(api.url, gone.signal)
  gone.abort()
  await outcome
  await api.hears('"status":null')
  t.pass()
})

test.serial('an idle sender of headers is cut off with an answer', async t => {
  const api = await startApi(t)
  const slow = openHalfRequest(api.url)
  slow.send('GET /health HTTP/1.1\r\nhost: x\r\n')
  const {status, body} = readAnswer(await slow.answer)
  t.like({status, ...body}, {status: 408, code: 'REQUEST_TIMEOUT'})
})

test.serial('without a database the process says so and ends', async t => {
  const {error} = await startApiProcess({DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none'}).then(
    () => ({error: null}),
    (error: Error) => ({error}),
  )
  t.regex(error!.message, /ECONNREFUSED/)
})

test.serial('nothing secret and nothing of a customer’s is ever in the log', async t => {
  const api = await startApi(t, {LOG_LEVEL: 'trace'})
  const as = openCalls(api.url)
  const visit = await beginVisit(as(null))
  const back = await consent(visit)
  const session = messageOf(await comeBack(as(null), back, visit.cookie)).token
  const org = (await as(session)('GET', '/auth/me')).body.org.id
  const {secret} = (await as(session)('POST', `/orgs/${org}/tokens`, {name: 'canary-of-a-body'})).body
  await as(secret)('GET', '/auth/me')
  await as(secret)('GET', '/auth/me?word=canary-of-a-query', undefined, {'x-api-key': 'canary-of-a-header'})
  await as(secret)('GET', '/unknown/canary-of-a-path')
  await as(`${secret}x`)('GET', '/auth/me')
  await as(session)('POST', `/orgs/${org}/tokens`, '{"name": canary-of-bad-json', {'content-type': 'application/json'})
  const connecting = visitOf(await as(session)('POST', `/auth/orgs/${org}/connect`, {dc: 'local', name: 'canary-of-a-name'}))
  const connected = await consent(connecting)
  await comeBack(as(null), connected, connecting.cookie)
  await comeBack(as(null), connected, connecting.cookie)
  await as(session)('GET', `/auth/orgs/${org}/connection`)
  api.signal('SIGTERM')
  await api.exit
  const output = api.output()
  const secrets = [session, secret, ...[back, connected].flatMap(secretsOf), visit.cookie.split('=')[1]!, connecting.cookie.split('=')[1]!]
  for (const canary of [...secrets, 'canary-of', '1000.LADING.', 'stand-in-secret', 'ana@example.org', 'Ana Ruiz']) {
    t.false(output.includes(canary), `${canary} is in the log`)
  }
  t.regex(output, /"route":"\/auth\/zoho\/callback","status":200/)
  t.regex(output, /"caller":"token"/)
})

const secretsOf = (back: string) => ['state', 'code'].map(name => new URL(back, 'http://x').searchParams.get(name)!)
