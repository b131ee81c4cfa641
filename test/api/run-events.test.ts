import type {Readable} from 'node:stream'
import test from 'ava'
import {readCaller} from '../../api/caller.ts'
import {streamRun} from '../../api/run-stream.ts'
import {findOrgRun} from '../../shared/runs/find.ts'
import {type Pool, sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, runImport, untilEnded, untilRun} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>
let token: string

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {CRM_SLOTS: '1'}})
  org = await openOrg(here)
  token = await here.signIn()
})
test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}

type Event = {event: string; id: string | null; data: any}

/** Opens a stream as a browser does. `events` grows with each event, and `ended` resolves when the response ends. */
const watch = async (runPath: string, headers: Record<string, string> = {}) => {
  const gone = new AbortController()
  const response = await fetch(`${here.url}${runPath}/events`, {
    headers: {authorization: `Bearer ${token}`, ...headers},
    signal: gone.signal,
  })
  const events: Event[] = []
  const read = async () => {
    let text = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const frames = (text + chunk).split('\n\n')
      text = frames.pop()!
      events.push(...frames.flatMap(eventOf))
    }
  }
  const ended = read().catch(() => {})
  return {response, events, ended, leave: () => gone.abort()}
}

const eventOf = (frame: string): Event[] => {
  const lines = Object.fromEntries(frame.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
  return lines.event ? [{event: lines.event, id: lines.id ?? null, data: JSON.parse(lines.data!)}] : []
}

/** Starts a run of 400 rows, which stops at its second batch until the test releases it. */
const begin = async (prefix: string) => {
  here.crm.faults.add({match: {...creates, nth: 2}, times: 1, action: {type: 'hold', when: 'after'}})
  const {path} = await prepareImport(org, {csv: accountRows(400, prefix), flow: {...accounts, match: undefined}})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const runPath = `${path}/runs/${run.id as string}`
  await untilRun(org.call, runPath, () => here.crm.held() > 0)
  return {runPath, id: run.id as string}
}

test.serial('a run is streamed from its current state to its end', async t => {
  const {runPath} = await begin('Ev-')
  const {response, events, ended} = await watch(runPath)
  t.is(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  await until(
    () => events,
    seen => seen.some(({data}) => data.progress?.done === 100),
  )
  t.like(events[0], {event: 'state', data: {state: 'writing', stop: null, pause: null}})
  here.crm.release()
  await ended
  const done = events.filter(({event}) => event === 'progress').map(({data}) => data.progress.done)
  t.deepEqual(
    done,
    done.toSorted((a, b) => a - b),
  )
  t.is(done.at(-1), 400)
  const last = events.at(-1)!
  t.like(last, {event: 'end', data: {run: {state: 'ended', counts: {Accounts: {created: 400}}}}})
  t.like(events.findLast(({event}) => event === 'progress')!.data, {rowsWritten: 400, counts: {Accounts: {created: 400}}})
  t.is(events.findLast(({event}) => event === 'state')!.data.state, 'ended')
  t.is((await org.call('GET', `${runPath}/events`, undefined, {'last-event-id': last.id!})).status, 204)
})

test.serial('a client that reconnects gets only the changes since its last event', async t => {
  const {runPath} = await begin('Ag-')
  const first = await watch(runPath)
  const [id] = await until(
    () => first.events.flatMap(event => event.id ?? []),
    ids => ids.length > 0,
  )
  first.leave()
  const again = await watch(runPath, {'last-event-id': id!})
  here.crm.release()
  await again.ended
  t.true(again.events.every(({data}) => !data.progress || data.progress.done > 100))
  t.is(again.events.at(-1)!.event, 'end')
})

test.serial('the stream of an ended run sends its state and ends', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(3, 'En-'), flow: accounts})
  const {events, ended} = await watch(`${path}/runs/${run.id}`)
  await ended
  t.deepEqual(
    events.map(({event, id}) => [event, id !== null]),
    [
      ['state', false],
      ['progress', false],
      ['end', true],
    ],
  )
})

/** Opens a stream without the API. The test can abort its client and its process. */
const open = async (runId: string, {beatMs = 60_000, db = here.db as Pool, assertAdmitted = async () => {}} = {}) => {
  const [client, process] = [new AbortController(), new AbortController()]
  const request = {headers: {}, signal: client.signal, draining: process.signal, assertAdmitted}
  const found = await findOrgRun(here.db, {org: org.org, runId})
  const {body} = streamRun({db, log: here.tools.log, request}, found, {beatMs})
  return {body: body as Readable, client, process}
}

const textOf = async (body: Readable, isEnough: (text: string) => boolean) => {
  let text = ''
  for await (const chunk of body) if (isEnough((text += chunk))) break
  return text
}

test.serial('a stream without news sends keep-alives and ends on drain or disconnect', async t => {
  const {runPath, id} = await begin('He-')
  const {body, client} = await open(id, {beatMs: 20})
  t.regex(await textOf(body, text => text.split(': still here').length > 3), /^retry: \d+\n\nevent: state\n[\s\S]*(: still here\n\n)+/)
  client.abort()
  const other = await open(id)
  const reading = textOf(other.body, () => false)
  other.process.abort()
  t.false((await reading).includes('event: end'))
  here.crm.release()
  await untilEnded(org.call, runPath)
})

test.serial('a stream ends when its bearer becomes invalid, and stays while that cannot be checked', async t => {
  const {runPath, id} = await begin('Ad-')
  const {secret, token: made} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'watcher'}), 201)
  let isAway = true
  const assertAdmitted = async () => {
    if (isAway) throw new Error('Postgres is away')
    await readCaller(here.tools, `Bearer ${secret}`)
  }
  const {body} = await open(id, {beatMs: 20, assertAdmitted})
  let beats = 0
  for await (const chunk of body) {
    if (String(chunk).includes('still here') && ++beats === 3) {
      isAway = false
      await ok(org.call('DELETE', `/orgs/${org.org}/tokens/${made.id}`), 200)
    }
  }
  t.true(beats >= 3)
  t.is((await fetch(`${here.url}${runPath}/events`, {headers: {authorization: `Bearer ${secret}`}})).status, 401)
  here.crm.release()
  await untilEnded(org.call, runPath)
})

test.serial('a run is polled four times in its first two seconds and then once a second, however many clients stream it', async t => {
  const {runPath, id} = await begin('On-')
  let looks = 0
  const db = new Proxy(here.db, {
    get: (pool, name) => {
      if (name === 'maybeOne') looks++
      return Reflect.get(pool, name)
    },
  })
  const since = performance.now()
  const streams = await Promise.all(Array.from({length: 30}, () => open(id, {db, beatMs: 100})))
  const read = streams.map(({body}) => textOf(body, () => looks >= 6))
  await Promise.all(read)
  t.true(looks <= 7 && performance.now() - since > 3_400, `${looks} looks`)
  for (const {client} of streams) client.abort()
  here.crm.release()
  await untilEnded(org.call, runPath)
})

test.serial('a slow reader gets the newest progress and skips older events', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Sl-'), flow: accounts})
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 100_000, importId: path.split('/').at(-1)}), 200)
  await ok(org.call('POST', `/entitlements/runs/${runId}/lease`), 200)
  const [slow, quick] = [await open(runId), await open(runId)]
  const seen: number[] = []
  const reading = textOf(quick.body, text => {
    seen.push(...[...text.matchAll(/"rowsWritten":(\d+)/g)].map(([, count]) => Number(count)))
    return seen.includes(5)
  })
  for (let rowsWritten = 1; rowsWritten <= 5; rowsWritten++) {
    await ok(org.call('POST', `/entitlements/runs/${runId}/progress`, {rowsWritten, done: rowsWritten === 5}), 200)
    if (rowsWritten < 5)
      await until(
        () => seen,
        counts => counts.includes(rowsWritten),
      )
  }
  await reading
  const told = [...(await textOf(slow.body, () => false)).matchAll(/event: progress\ndata: \{[^\n]*"rowsWritten":(\d+)/g)].map(
    ([, count]) => Number(count),
  )
  t.is(told.at(-1), 5)
  t.true(told.length < 5, `${told}`)
})

test.serial('an org has a limited number of streams per process, and a closed stream frees its place', async t => {
  const {runPath} = await begin('Ro-')
  const streams = await Promise.all(Array.from({length: 50}, () => watch(runPath)))
  t.true(streams.every(({response}) => response.status === 200))
  const refused = await org.call('GET', `${runPath}/events`)
  t.deepEqual([refused.status, refused.body.code, refused.headers.get('retry-after')], [503, 'BUSY', '30'])
  streams[0]!.leave()
  const next = await until(
    () => watch(runPath),
    ({response}) => response.status === 200,
  )
  for (const {leave} of [...streams, next]) leave()
  here.crm.release()
  await untilEnded(org.call, runPath)
})

test.serial('a run deleted during streaming ends its stream', async t => {
  const {path, run} = await runImport(org, {csv: accountRows(1, 'Er-'), flow: accounts})
  await here.db.query(sql.unsafe`update runs set state = 'paused', resume_at = 'infinity' where id = ${run.id}`)
  const {events, ended} = await watch(`${path}/runs/${run.id}`)
  await until(
    () => events.length,
    count => count > 0,
  )
  await here.db.query(sql.unsafe`delete from runs where id = ${run.id}`)
  await ended
  t.is(
    events.find(({event}) => event === 'end'),
    undefined,
  )
})
