import {once} from 'node:events'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {startApiProcess} from '../support/api-process.ts'
import {openCalls} from '../support/client.ts'
import {openHalfRequest, readAnswer} from '../support/half-request.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {beginVisit, comeBack, consent, messageOf, visitOf} from '../support/walk.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

/** Starts a separate API process with the same database and CRM stand-in. */
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

/** Sends a request with the first five bytes of its body. The request stays in flight until `finish` sends the rest of the body. */
const beginMint = async (url: string) => {
  const {org, token} = await house.makeOrg()
  const body = '{"name": "slow"}'
  const half = openHalfRequest(url)
  half.send(`POST /orgs/${org}/tokens HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`)
  half.send(`content-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`)
  await once(half.socket, 'ready')
  // An answer on a later connection shows that the first request has arrived.
  await openCalls(url)(null)('GET', '/robots.txt')
  return {...half, finish: () => half.send(body.slice(5))}
}

test.serial('SIGTERM refuses new connections, finishes requests in flight and exits with 0', async t => {
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

test.serial('a request in flight at the end of the drain time is cut off', async t => {
  const api = await startApi(t, {DRAIN_SECONDS: '0.2'})
  const {answer} = await beginMint(api.url)
  api.signal('SIGTERM')
  t.is(await api.exit, 0)
  t.is(await answer, '')
})

test.serial('idle connections do not delay a drain', async t => {
  const api = await startApi(t)
  const idle = openHalfRequest(api.url)
  idle.send('GET /robots.txt HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(idle.socket, 'data')
  const started = performance.now()
  api.signal('SIGTERM')
  t.is(await api.exit, 0)
  t.true(performance.now() - started < 10_000, 'not the whole of DRAIN_SECONDS')
})

/** Sends a request that waits for a job. No worker executes the job. */
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

test.serial('a drain answers a waiting request early', async t => {
  const api = await startApi(t)
  const {outcome} = await beginWait(api.url)
  api.signal('SIGTERM')
  const answer = await outcome
  t.is(answer?.status, 202)
  t.is(answer?.body.job.state, 'queued')
  t.is(await api.exit, 0)
})

test.serial('waiting for a job ends when the client disconnects', async t => {
  const api = await startApi(t)
  const gone = new AbortController()
  const {outcome} = await beginWait(api.url, gone.signal)
  gone.abort()
  await outcome
  await api.hears('"status":null')
  t.pass()
})

test.serial('a client that stops sending headers gets 408', async t => {
  const api = await startApi(t)
  const slow = openHalfRequest(api.url)
  slow.send('GET /health HTTP/1.1\r\nhost: x\r\n')
  const {status, body} = readAnswer(await slow.answer)
  t.like({status, ...body}, {status: 408, code: 'REQUEST_TIMEOUT'})
})

test.serial('a process without a database reports the error and ends', async t => {
  const {error} = await startApiProcess({DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none'}).then(
    () => ({error: null}),
    (error: Error) => ({error}),
  )
  t.regex(error!.message, /ECONNREFUSED/)
})

test.serial('the log contains no secret and no customer data, even at its most verbose level', async t => {
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
