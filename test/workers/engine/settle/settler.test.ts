import test, {type ExecutionContext} from 'ava'
import {openLog} from '../../../../shared/telemetry/log.ts'
import {openHot, sqlStateOf} from '../../../../sql/database.ts'
import {admit} from '../../../../sql/ledger.ts'
import {findHead, takeLease} from '../../../../sql/run-heads.ts'
import {countAt, listLog, OUTCOMES} from '../../../../sql/run-log.ts'
import {listSends} from '../../../../sql/sends.ts'
import type {Context} from '../../../../workers/engine/context.ts'
import {holdLease} from '../../../../workers/engine/recover/lease.ts'
import {LeaseLost, RunStopped} from '../../../../workers/engine/run-endings.ts'
import {admitOps} from '../../../../workers/engine/send/admission.ts'
import {openIntents} from '../../../../workers/engine/send/intents.ts'
import {putBack} from '../../../../workers/engine/settle/settle-answers.ts'
import {emptySettlement, openSettler, type SettlementParts} from '../../../../workers/engine/settle/settler.ts'
import {openPostgresProxy} from '../../../support/postgres-proxy.ts'
import {beginRun, created, expireLease, intent, openLedger} from '../../../support/running.ts'
import {until} from '../../../support/until.ts'
import {compiledFlow, row as rowOf} from '../fixtures.ts'

let here: Awaited<ReturnType<typeof openLedger>>
let proxy: Awaited<ReturnType<typeof openPostgresProxy>>
test.before(async () => {
  here = await openLedger('settler')
  proxy = await openPostgresProxy(here.url)
})
test.after.always(async () => {
  await proxy?.close()
  await here?.close()
})

const log = openLog('test', 'silent')

/** Opens the owner of a separate run. Its settlements pass through the proxy. */
const own = async (t: ExecutionContext) => {
  const begun = await beginRun(here)
  const {run, head} = begun
  const hot = openHot(proxy.url, {connections: 3})
  const {db} = here
  const lease = holdLease({db, hot, run, head, seconds: 60, leaveSeconds: 5, log})
  t.teardown(async () => {
    await lease.release(false)
    await hot.end()
  })
  const settler = openSettler({db, hot, run, chain: run, lease, leaseSeconds: 60, answerSeconds: 10, log})
  let read = 0
  settler.follow(() => ({flow: 1, lowWater: read}))
  /** Settles rows that leave the window when they are settled. */
  const settle = (more: Partial<SettlementParts>, number = 0) =>
    settler.settle({...emptySettlement(), leave: () => (read = Math.max(read, number)), ...more})
  return {...begun, hot, lease, settle}
}

const logOf = async (run: number) =>
  (await listLog(here.db, {run, after: 0, limit: 1_000})).map(({seq, rowNumber, outcome, code}) => [
    seq,
    rowNumber,
    OUTCOMES[outcome],
    code,
  ])
const cursorOf = async (run: number) =>
  (await here.hot.query('select low_water from run_cursors where run_no = $1', [run])).rows[0].low_water
const row = (number: number) => ({log: [created(number)], counts: new Map([[countAt(1, 'created'), 1]])})

test('a slow ANALYZE delays no settlement', async t => {
  const {run, settle} = await own(t)
  const other = await here.hot.connect()
  await other.query('begin')
  // An ANALYZE takes this lock against other ANALYZE statements; it blocks no row.
  await other.query('lock table log_batches in share update exclusive mode')
  const log = Array.from({length: 2_000}, (_, n) => created(n + 1))
  await settle({log, counts: new Map([[countAt(1, 'created'), 2_000]])})
  const analysing = () =>
    here.hot.query(`select from pg_stat_activity where datname = current_database() and query like 'analyze%' and state = 'active'`)
  await until(analysing, ({rows}) => rows.length === 1)
  await settle({log: [created(2_001)], counts: new Map([[countAt(1, 'created'), 1]])})
  t.is((await findHead(here.db, run))!.counts[countAt(1, 'created')], 2_001)
  t.is((await analysing()).rows.length, 1)
  await other.query('commit')
  other.release()
  await until(analysing, ({rows}) => rows.length === 0)
})

test('settlements that arrive together keep their order', async t => {
  const {run, settle} = await own(t)
  await Promise.all(Array.from({length: 30}, (_, n) => settle(row(n + 1), n + 1)))
  t.deepEqual(
    (await logOf(run)).map(([seq, number]) => [seq, number]),
    Array.from({length: 30}, (_, n) => [n + 1, n + 1]),
  )
  const head = await findHead(here.db, run)
  t.is(head!.counts[countAt(1, 'created')], 30)
  t.true(head!.settleNo < 30, 'several go in one statement')
  t.is(await cursorOf(run), 30)
})

for (const when of ['before', 'after'] as const) {
  test.serial(`every row is settled once when the connection is lost ${when} the statement was committed`, async t => {
    const {run, fence, hot, settle} = await own(t)
    for (const batch of [1, 2, 3]) await admit(hot, intent({run, fence}, batch, batch, 1))
    await settle({...row(1), batches: [1]}, 1)
    proxy.lose('settle', {when, times: 3})
    await Promise.all([2, 3].map(number => settle({...row(number), batches: [number]}, number)))
    t.true(proxy.lost('settle') >= 1)
    proxy.restore()
    t.deepEqual(
      (await logOf(run)).map(([seq, number]) => [seq, number]),
      [
        [1, 1],
        [2, 2],
        [3, 3],
      ],
    )
    t.like(await findHead(here.db, run), {counted: 3, counts: [3]})
  })
}

test.serial('a batch is admitted only once its intent is stored, although the lookup of the intent is lost too', async t => {
  const {run, hot, lease} = await own(t)
  const config = {CRM_TIMEOUT_SECONDS: 5, LEASE_SECONDS: 60}
  const intend = openIntents(([first, ...others]) => admit(hot, first!, ...others))
  const ctx = {hot, lease, log, config, run: {no: run}, intend, nextBatch: () => 1} as unknown as Context
  const slot = {granted: async () => {}, give() {}, again: async () => {}}
  proxy.lose('admit', {when: 'before'})
  proxy.lose('find-send', {when: 'before'})
  const hooks = {change: async () => {}, resending: () => false}
  await admitOps(ctx, compiledFlow([]), 'create', [{row: rowOf(1), target: null}], slot, hooks)
  t.deepEqual([proxy.lost('admit'), proxy.lost('find-send'), (await listSends(here.db, run)).length], [1, 1, 1])
})

for (const by of ['drain', 'cancel'])
  test(`a batch that waits for room under the row limit ends at a ${by}`, async t => {
    const {run, hot, lease} = await own(t)
    await here.hot.query('update run_heads set rows_limit = counted where run_no = $1', [run])
    const draining = new AbortController()
    let stop: ReturnType<typeof lease.stopSeen> = null
    const ctx = {
      hot,
      log,
      db: here.db,
      run: {no: run},
      nextBatch: () => 1,
      signal: draining.signal,
      lease: {...lease, stopSeen: () => stop},
      config: {CRM_TIMEOUT_SECONDS: 5, LEASE_SECONDS: 60},
      intend: openIntents(([first, ...others]) => admit(hot, first!, ...others)),
    } as unknown as Context
    const resending = () => {
      if (by === 'drain') draining.abort()
      else stop = {stopped: 'CANCELLED', message: 'Cancelled'}
      return true
    }
    const slot = {granted: async () => {}, give() {}, again: async () => {}}
    const hooks = {change: () => new Promise<void>(() => {}), resending}
    const waiting = admitOps(ctx, compiledFlow([]), 'create', [{row: rowOf(1), target: null}], slot, hooks)
    await t.throwsAsync(waiting, by === 'drain' ? {name: 'AbortError'} : {instanceOf: RunStopped})
  })

test('no settlement after a failed one is committed or moves the cursor past its rows', async t => {
  const {run, settle} = await own(t)
  await settle(row(1), 1)
  const failed = settle({log: [created(2, {message: 'a \0 that Postgres does not take'})]}, 2)
  const after = settle(row(3), 3)
  t.is(sqlStateOf(await t.throwsAsync(failed)), '22021')
  await t.throwsAsync(after)
  await t.throwsAsync(settle(row(4), 4))
  t.is(await cursorOf(run), 1)
  t.is((await logOf(run)).length, 1)
})

test('a record claimed by two rows stays with the first, and the other row is unanswered and counted', async t => {
  const {run, settle} = await own(t)
  const claim = (number: number) => ({...row(number), kept: [{module: 1, key: `f.${number}`, recordId: 'r', how: 1, matchKey: null}]})
  await settle(claim(1))
  await Promise.all([settle(claim(2)), settle(row(3)), settle(claim(4))])
  t.deepEqual(await logOf(run), [
    [1, 1, 'created', null],
    [2, 2, 'unanswered', 'RECORD_HELD'],
    [3, 3, 'created', null],
    [4, 4, 'unanswered', 'RECORD_HELD'],
  ])
  t.deepEqual((await findHead(here.db, run))!.counts, [2, 0, 0, 2])
})

test('a record claimed by two rows of one settlement goes to the first row', async t => {
  const {run, settle} = await own(t)
  const kept = [1, 2].map(number => ({module: 1, key: `f.${number}`, recordId: 'r', how: 2, matchKey: null}))
  await settle({log: [created(1), created(2)], kept, counts: new Map([[countAt(1, 'created'), 2]])})
  t.deepEqual(
    (await logOf(run)).map(([, number, outcome]) => [number, outcome]),
    [
      [1, 'created'],
      [2, 'unanswered'],
    ],
  )
})

test('an owner whose run was taken over settles nothing and gets LeaseLost', async t => {
  const {run, settle} = await own(t)
  await settle(row(1), 1)
  await expireLease(here, run)
  await takeLease(here.db, {run, owner: 'next', seconds: 60})
  await t.throwsAsync(settle(row(2), 2), {instanceOf: LeaseLost})
  t.is((await logOf(run)).length, 1)
  t.is(await cursorOf(run), 1)
})

test('an owner that only puts batches back makes no progress, so its crashes add up', async t => {
  const {run, fence, settle} = await own(t)
  await admit(here.hot, intent({run, fence}, 1, 1, 1))
  const ctx = {settler: {settle}} as unknown as Context
  await putBack(ctx, compiledFlow([]), {batches: [1], ops: [{row: rowOf(1), target: null}]})
  t.like(await findHead(here.db, run), {takeovers: 1, counted: 0})
  await settle(row(2), 2)
  t.is((await findHead(here.db, run))!.takeovers, 0)
})
