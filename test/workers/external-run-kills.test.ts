import type {ChildProcess} from 'node:child_process'
import {once} from 'node:events'
import anyTest, {type TestFn} from 'ava'
import {handleWrite} from '../../api/handle-write.ts'
import {writeRecords} from '../../shared/jobs.ts'
import {sql} from '../../sql/database.ts'
import {ok} from '../support/importing.ts'
import {assertLedger, type ExternalEngine, nameless, openExternalEngine, row, rowsOf} from '../support/record-writes.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

/** The tests run serially, because they share one clock. */
const test = anyTest.serial as TestFn<ExternalEngine>
const started: ChildProcess[] = []

test.before(async t => {
  Object.assign(
    t.context,
    await openExternalEngine(t, {workers: ['discovery'], environment: {CRM_TIMEOUT_SECONDS: '3', LEASE_SECONDS: '1'}}),
  )
})
test.beforeEach(async ({context: {house}}) => {
  house.crm.clear()
  await house.ahead('0 seconds')
})
test.afterEach.always(async ({context: {house}}) => {
  house.crm.release()
  await Promise.all(started.splice(0).map(endWorker))
})

const start = ({house}: ExternalEngine, environment: Record<string, string> = {}) => {
  const worker = startWorker(house.config, environment, ['writes'])
  started.push(worker)
  return worker
}

const creates = {method: 'POST', path: '/crm/v8/Accounts'}

/** Submits rows without waiting. Returns functions that read the results. */
const handIn = async (here: ExternalEngine, run: string, items: object[]) => {
  const {write} = await ok(here.create(run, items, {}, {prefer: 'respond-async'}), 202)
  const look = async () => (await ok(here.org.call('GET', `/orgs/${here.org.org}/writes/${write.id}`), 200)) as any
  return {id: write.id as string, done: () => until(look, ({write}) => write.state === 'done'), look}
}

const dies = async (worker: ChildProcess) => (await once(worker, 'exit'))[1]

for (const [point, isSent] of [
  ['after_intent', false],
  ['after_send', true],
  ['before_settle', true],
] as const) {
  test(`rows whose worker is killed at ${point} are reported unanswered once, stay counted and are never sent again`, async t => {
    const here = t.context
    const run = await here.authorise(10)
    const write = await handIn(here, run, [row('a', 'a', {writeId: 'wa'}), row('b')])
    t.is(await dies(start(here, {FAULT_POINT: point})), 'SIGKILL')
    start(here)
    await here.house.ahead('20 seconds')
    const {results} = await write.done()
    t.like(results, [
      {rowKey: 'a', writeId: 'wa', ok: false, crm: {unanswered: true, status: null}},
      {rowKey: 'b', ok: false, crm: {unanswered: true}},
    ])
    const {entries, run: seen} = await assertLedger(here, run)
    t.deepEqual(
      entries.map(({rowKey, outcome, attempt}) => [rowKey, outcome, attempt]),
      [
        ['a', 'unanswered', 1],
        ['b', 'unanswered', 1],
      ],
    )
    t.is(seen.rowsWritten, 2)
    t.is(here.held().length, isSent ? 2 : 0)
    t.is(here.posts(), isSent ? 1 : 0)
    t.like((await ok(here.create(run, [row('a', 'a', {writeId: 'wa'})]), 200)).results, [results[0]])
    t.is(here.posts(), isSent ? 1 : 0)
  })
}

test('a run that is closed waits for the batch of a killed worker, and then releases its import', async t => {
  const here = t.context
  const {path} = await here.makeImport()
  const run = await here.authorise(10, {importId: path.split('/').at(-1)!})
  await handIn(here, run, [row('c')])
  t.is(await dies(start(here, {FAULT_POINT: 'after_send'})), 'SIGKILL')
  t.is((await ok(here.tell(run, 'progress', {done: true}), 200)).run.state, 'closing')
  t.like(await here.create(run, [row('d')]), {status: 409, body: {code: 'LEASE_LOST'}})
  t.is((await ok(here.tell(run, 'progress', {done: true}), 200)).run.state, 'closing')
  start(here)
  await here.house.ahead('20 seconds')
  const ended = await until(
    () => here.read(run),
    ({state}) => state === 'ended',
  )
  t.is(ended.rowsWritten, 1)
  t.is((await ok(here.org.call('GET', path), 200)).import.state, 'done')
})

test('a write that was accepted before its run was done is sent, and then the run ends', async t => {
  const here = t.context
  const run = await here.authorise(10)
  const write = await handIn(here, run, [row('late')])
  t.is((await ok(here.tell(run, 'progress', {done: true}), 200)).run.state, 'closing')
  t.like(await here.create(run, [row('later')]), {status: 409, body: {code: 'RUN_ENDED'}})
  start(here)
  t.like((await write.done()).results, [{ok: true, outcome: 'created'}])
  await until(
    () => here.read(run),
    ({state}) => state === 'ended',
  )
  t.is(here.posts(), 1)
  t.like(await assertLedger(here, run), {outcomes: {created: 1}})
})

test('an accepted write that can no longer be sent is logged as failed, and its run ends', async t => {
  const here = t.context
  const run = await here.authorise(10)
  const write = await handIn(here, run, [row('stuck', 'stuck', {rowNumber: 7})])
  await ok(here.tell(run, 'progress', {done: true}), 200)
  const pause = (paused: boolean) =>
    here.house.db.query(sql.unsafe`update connectors set writes_paused = ${paused} where id = ${here.org.connector}`)
  await pause(true)
  start(here)
  t.like((await write.done()).results, [{ok: false, code: 'WRITES_PAUSED', written: false}])
  await until(
    () => here.read(run),
    ({state}) => state === 'ended',
  )
  await pause(false)
  t.is(here.posts(), 0)
  const {entries} = await assertLedger(here, run)
  t.like(entries, [{rowKey: 'stuck', rowNumber: 7, module: 'Accounts', outcome: 'failed', code: 'WRITES_PAUSED', attempt: 0}])
})

test('a caller whose worker dies with a sent batch gets an answer within the timeout of the request', async t => {
  const here = t.context
  const run = await here.authorise(10)
  const items = [row('dead', 'dead', {writeId: 'w-dead'})]
  const begun = performance.now()
  const asked = here.create(run, items)
  await dies(start(here, {FAULT_POINT: 'after_send'}))
  const {status, body} = await asked
  const seconds = (performance.now() - begun) / 1000
  t.true(seconds < here.house.config.CRM_TIMEOUT_SECONDS + 20, `told after ${seconds} s`)
  t.like({status, body}, {status: 502, body: {crm: {unanswered: true}, results: [{rowKey: 'dead', ok: false}]}})
  t.like(await here.create(run, items), {body: {results: [{rowKey: 'dead', crm: {unanswered: true}}]}}, 'nothing is under way')
  t.like(await assertLedger(here, run), {outcomes: {unanswered: 1}, run: {rowsWritten: 1}})
  t.is(here.posts(), 1)
})

test('a queued write is not sent but logged when another run takes over the import', async t => {
  const here = t.context
  const {path} = await here.makeImport()
  const importId = path.split('/').at(-1)!
  const run = await here.authorise(10, {importId})
  const write = await handIn(here, run, [row('stale')])
  await here.house.ahead('121 seconds')
  const other = await here.authorise(10, {importId})
  await ok(here.tell(other, 'lease'), 200)
  start(here)
  t.like((await write.done()).results, [{ok: false, code: 'LEASE_LOST', written: false}])
  t.is(here.posts(), 0)
  const {entries} = await assertLedger(here, run)
  t.like(entries, [{rowKey: 'stale', outcome: 'failed', code: 'LEASE_LOST', attempt: 0}])
})

test('a late answer to an abandoned batch replaces the unanswered outcome', async t => {
  const here = t.context
  const run = await here.authorise(10)
  here.house.crm.faults.add({match: creates, action: {type: 'hold', when: 'after'}})
  const write = await handIn(here, run, [row('z', null), nameless('y')])
  const sleeper = start(here, {CRM_TIMEOUT_SECONDS: '60'})
  await until(
    () => here.house.crm.held(),
    held => held === 1,
  )
  sleeper.kill('SIGSTOP')
  start(here)
  await here.house.ahead('80 seconds')
  t.like((await write.done()).results, [
    {ok: false, crm: {unanswered: true}},
    {ok: false, crm: {unanswered: true}},
  ])
  t.like(await assertLedger(here, run), {outcomes: {unanswered: 2}, run: {rowsWritten: 2}})
  here.house.crm.release()
  sleeper.kill('SIGCONT')
  sleeper.kill('SIGTERM')
  await once(sleeper, 'exit')
  const [made] = here.held()
  t.like((await write.look()).results, [
    {ok: true, outcome: 'created', recordId: made!.id},
    {ok: false, crm: {code: 'MANDATORY_NOT_FOUND', unanswered: false}},
  ])
  const {entries, outcomes, run: seen} = await assertLedger(here, run)
  t.deepEqual(
    entries.map(({rowKey, attempt, outcome}) => [rowKey, attempt, outcome]),
    [
      ['z', 1, 'unanswered'],
      ['y', 1, 'unanswered'],
      ['z', 1, 'created'],
      ['y', 1, 'refused'],
    ],
  )
  t.deepEqual([outcomes, seen.rowsWritten], [{created: 1, refused: 1}, 1])
  t.like((await ok(here.create(run, [row('z', null)]), 200)).results, [{ok: true, outcome: 'inherited', recordId: made!.id}])
})

test('a late answer changes nothing after its row was sent again', async t => {
  const here = t.context
  const run = await here.authorise(10)
  here.house.crm.faults.add({match: creates, action: {type: 'hold', when: 'after'}})
  const write = await handIn(here, run, [row('w', null)])
  const sleeper = start(here, {CRM_TIMEOUT_SECONDS: '60'})
  await until(
    () => here.house.crm.held(),
    held => held === 1,
  )
  sleeper.kill('SIGSTOP')
  start(here)
  await here.house.ahead('80 seconds')
  await write.done()
  const again = await handIn(here, run, [row('w', null)])
  t.like((await again.done()).results, [{ok: true, outcome: 'created'}])
  here.house.crm.release()
  sleeper.kill('SIGCONT')
  sleeper.kill('SIGTERM')
  await once(sleeper, 'exit')
  t.like((await write.look()).results, [{ok: false, crm: {unanswered: true}}])
  const {entries} = await assertLedger(here, run)
  t.deepEqual(
    entries.map(({attempt, outcome}) => [attempt, outcome]),
    [
      [1, 'unanswered'],
      [2, 'created'],
      [0, 'made_after_no_answer'],
    ],
  )
})

test('a worker that gets SIGTERM waits for the answers to its sent requests', async t => {
  const here = t.context
  const run = await here.authorise(10)
  here.house.crm.faults.add({match: creates, action: {type: 'slow', ms: 1_000, when: 'after'}})
  const write = await handIn(here, run, [row('e')])
  const leaver = start(here)
  await until(
    () => here.held().length,
    made => made === 1,
  )
  leaver.kill('SIGTERM')
  const [code] = await once(leaver, 'exit')
  t.is(code, 0)
  t.like((await write.done()).results, [{ok: true, outcome: 'created'}])
  await assertLedger(here, run)
})

test('two workers share the requests of a run, and each row is created once', async t => {
  const here = t.context
  const run = await here.authorise(200)
  const writes = await Promise.all(Array.from({length: 20}, (_, n) => handIn(here, run, rowsOf(10, `two-${n}-`))))
  start(here)
  start(here)
  for (const write of writes) t.true((await write.done()).results.every((one: any) => one.ok))
  t.is(here.held().length, 200)
  t.like(await assertLedger(here, run), {outcomes: {created: 200}, run: {rowsWritten: 200, stop: null}})
})

test('a request whose worker died before sending is finally answered as not written, and its row keys are free', async t => {
  const here = t.context
  const run = await here.authorise(10)
  const items = [row('f', 'f', {writeId: 'wf'})]
  const write = await handIn(here, run, items)
  t.is((await here.house.queue.fetch(writeRecords.name)).length, 1)
  await here.house.ahead('21 minutes')
  start(here)
  t.like((await write.done()).results, [{ok: false, code: 'UNAVAILABLE', written: false}])
  t.like((await ok(here.create(run, items), 200)).results, [{ok: true}])
  t.is(here.held().length, 1)
})

test('a request without a worker in time gets 503 as not written, and its row keys are free', async t => {
  const here = t.context
  const {house, org} = here
  const run = await here.authorise(10)
  const items = [row('g', 'g', {writeId: 'wg'})]
  const {write, job} = await ok(here.create(run, items, {}, {prefer: 'respond-async'}), 202)
  const signal = new AbortController().signal
  const request = {id: 'req', method: 'POST', headers: {}, signal, draining: signal}
  // The timeout has already passed, so that the call does not wait.
  const input = {...house.tools, config: {...house.config, CRM_TIMEOUT_SECONDS: -30}, caller: {org: org.org} as any, request}
  const unstarted: any = await t.throwsAsync(handleWrite(input, {write: write.id, job: job.id}))
  t.is(unstarted.status, 503)
  t.like(unstarted.envelope, {code: 'UNAVAILABLE', retryAfterMs: 2_000, written: false, results: [{rowKey: 'g', writeId: 'wg', ok: false}]})
  const again = await ok(here.create(run, items, {}, {prefer: 'respond-async'}), 202)
  t.is((await house.queue.fetch(writeRecords.name)).length, 1)
  const unsent: any = await t.throwsAsync(handleWrite(input, {write: again.write.id, job: again.job.id}))
  t.like(unsent.envelope, {code: 'UNAVAILABLE', written: false, results: [{rowKey: 'g', writeId: 'wg', ok: false}]})
  t.is(here.posts(), 0)
})
