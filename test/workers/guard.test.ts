import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {readFigures} from '../../sql/figures.ts'
import {listUnownedRuns} from '../../sql/unowned-runs.ts'
import {accountRows, ok, openOrg, prepareImport, untilEnded, untilRun, accounts as writing} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {openLasting} from '../support/retention.ts'
import {fire, makeSchedule, startFileHost} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const slots = 4
const guard = {refused: 0.05, unanswered: 0.01}

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery', 'imports', 'clock'],
    environment: {CRM_SLOTS: String(slots), LEASE_SECONDS: '2'},
  })
  org = await openOrg(here)
})
test.afterEach.always(() => {
  here.crm.faults.clear()
  here.crm.setSwitches({latencyMs: 0})
})

/** Lets the CRM refuse every tenth row of each batch. */
const refuseSome = () => {
  const index = Array.from({length: 10}, (_, n) => n * 10)
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1_000, action: {type: 'refuse', index}})
}

const begin = async (prefix: string, rows: number, start: object) => {
  const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow: writing})
  const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
  return {path, runPath: `${path}/runs/${run.id}`, id: run.id}
}
const untilHeld = (runPath: string) => untilRun(org.call, runPath, ({state, held}) => state === 'paused' && held !== null)
const creates = () => here.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).length
const noticesOf = async (run: string) =>
  (await here.hot.query(`select about from notices where kind = 'run.held' and about ->> 'run' = $1`, [run])).rows.map(({about}) => about)

test.serial('a run is held within the batches in flight once too many rows are refused, and goes on when it is resumed', async t => {
  refuseSome()
  // An answer takes longer than a settlement, so that no batch is sent between an answer and its settlement.
  here.crm.setSwitches({latencyMs: 500})
  here.crm.clearJournal()
  const {path, runPath, id} = await begin('G-', 5_000, {guard})
  const held = await untilHeld(runPath)
  // The first batches of all slots end at once. By then each slot has its next batch, and five more batches have stored their intents.
  t.true(creates() <= 2 * slots + 5, `${creates()} calls`)
  t.like(held, {pause: {code: 'GUARD'}, held: {outcome: 'refused', limit: 0.05}, stop: null})
  t.is(held.held.rows / held.held.settled, 0.1)
  t.regex(held.pause.message, /rows were refused by the CRM\. The guard of this run allows 5 %/)
  t.is(held.counts.Accounts.refused, creates() * 10)
  const [notice, ...others] = await until(
    () => noticesOf(id),
    list => list.length > 0,
  )
  t.like(notice, {run: id, held: held.held})
  t.deepEqual(others, [])

  // Neither the sweep nor another delivery of the job continues the run.
  await here.ahead('10 minutes')
  const unowned = await here.db.transaction(tx => listUnownedRuns(tx, {limit: 100}))
  t.false(unowned.some(run => run.id === id))
  const figures = await readFigures(here.db)
  t.is(figures.find(({figure}) => figure === 'runs_unowned')?.value, unowned.length)

  here.crm.faults.clear()
  here.crm.setSwitches({latencyMs: 0})
  const resumed = await ok(org.call('POST', `${runPath}/resume`), 200)
  t.like(resumed.run, {state: 'queued', pause: null, held: null})
  const ended = await untilEnded(org.call, runPath)
  const {finals} = await assertAccounted(here, {org, path, run: ended, rows: 5_000})
  t.is(ended.counts.Accounts.refused, held.counts.Accounts.refused, 'rows before the resumption count no more')
  t.is(ended.counts.Accounts.created + ended.counts.Accounts.refused, 5_000)
  assertOnce(here.crm, 'G-', new Map([...finals].filter(([, {outcome}]) => outcome === 'created')))
  t.like((await org.call('POST', `${runPath}/resume`)).body, {code: 'RUN_NOT_HELD'})
  const kinds = (await here.hot.query(`select kind from audit_events where detail ->> 'runId' = $1 order by 1`, [id])).rows.map(
    ({kind}) => kind,
  )
  t.deepEqual(kinds, ['run.resumed'])
})

test.serial(
  'a fault that begins at row 2,001 holds the run within the batches in flight, and resuming ends with correct totals',
  async t => {
    const index = Array.from({length: 100}, (_, n) => n)
    here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts', nth: 21}, times: 1_000, action: {type: 'refuse', index}})
    here.crm.setSwitches({latencyMs: 500})
    here.crm.clearJournal()
    const {path, runPath} = await begin('K-', 6_000, {guard})
    const held = await untilHeld(runPath)
    t.is(held.held.outcome, 'refused')
    // Two refused batches exceed the share. By then all slots have their next batches, and five more batches have stored their intents.
    t.true(creates() > 20 && creates() <= 20 + 3 * slots + 5, `${creates()} calls`)
    here.crm.faults.clear()
    here.crm.setSwitches({latencyMs: 0})
    await ok(org.call('POST', `${runPath}/resume`), 200)
    const ended = await untilEnded(org.call, runPath)
    const {finals} = await assertAccounted(here, {org, path, run: ended, rows: 6_000})
    const {created, refused} = ended.counts.Accounts
    t.deepEqual([created + refused, refused], [6_000, held.counts.Accounts.refused])
    assertOnce(here.crm, 'K-', new Map([...finals].filter(([, {outcome}]) => outcome === 'created')))
  },
)

test.serial('a resumed run is held again if its rows still end badly, and a held run can be cancelled', async t => {
  refuseSome()
  const {runPath, id} = await begin('H-', 4_000, {guard})
  const first = await untilHeld(runPath)
  await ok(org.call('POST', `${runPath}/resume`), 200)
  const again = await untilRun(
    org.call,
    runPath,
    ({held, counts}) => held !== null && counts.Accounts.refused > first.counts.Accounts.refused,
  )
  t.true(again.held.settled < again.counts.Accounts.created + again.counts.Accounts.refused, 'the guard counts anew')
  t.is((await noticesOf(id)).length, 2)
  await ok(org.call('POST', `${runPath}/cancel`), 200)
  t.like(await untilEnded(org.call, runPath), {stop: {stopped: 'CANCELLED'}, held: null})
})

test.serial('rows that fail before they are sent hold the run too', async t => {
  const failing = writing.fields.map(field => ({...field, transform: 'value.missing.deeper'}))
  const {path} = await prepareImport(org, {csv: accountRows(20_000, 'E-'), flow: {...writing, fields: failing}})
  const {run} = await ok(org.call('POST', `${path}/runs`, {guard: {failed: 0.5}}), 202)
  const held = await untilHeld(`${path}/runs/${run.id}`)
  t.is(held.held.outcome, 'failed')
  t.true(held.progress.done < 20_000)
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  await untilEnded(org.call, `${path}/runs/${run.id}`)
})

test.serial('a run without a guard is never held, and `{}` switches the guard of the org off', async t => {
  refuseSome()
  const setGuard = (value: object | null) => ok(org.call('PATCH', `/orgs/${org.org}/config/settings`, {guard: value}), 200)
  t.is((await untilEnded(org.call, (await begin('N-', 1_000, {})).runPath)).counts.Accounts.refused, 100)
  t.deepEqual((await setGuard({refused: 0.02})).settings.guard, {refused: 0.02})
  const {runPath} = await begin('O-', 1_000, {})
  t.is((await untilHeld(runPath)).held.limit, 0.02)
  await ok(org.call('POST', `${runPath}/cancel`), 200)
  await untilEnded(org.call, runPath)
  t.is((await untilEnded(org.call, (await begin('P-', 1_000, {guard: {}})).runPath)).counts.Accounts.refused, 100)
  await setGuard(null)
  t.is((await untilEnded(org.call, (await begin('Q-', 1_000, {})).runPath)).counts.Accounts.refused, 100)
})

test('a scheduled run is held after five percent refused rows, unless the org says otherwise', async t => {
  const host = await startFileHost()
  t.teardown(() => host.stop())
  const workers = ['imports', 'discovery', 'schedules', 'clock']
  const there = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: host.place}})
  const scheduling = await openLasting(there)
  const {path} = await makeSchedule(scheduling, host)
  host.serve(accountRows(3))
  const firing = await fire(scheduling, path)
  t.is(firing.outcome, 'done')
  const guardOf = async (run: string) => {
    const found = sql.type(z.object({guard: z.json().nullable()}))`select guard from run_heads join runs using (run_no) where id = ${run}`
    return (await there.db.one(found)).guard
  }
  t.deepEqual(await guardOf(firing.runId), {refused: 0.05, unanswered: 0.01, canary: 200})
  await ok(scheduling.call('PATCH', `/orgs/${scheduling.org}/config/settings`, {guard: {}}), 200)
  host.serve(accountRows(3, 'B-'))
  t.is(await guardOf((await fire(scheduling, path)).runId), null)
  const guard = {refused: 0.02, coerced: 0.05, canary: 30}
  await ok(scheduling.call('PATCH', `/orgs/${scheduling.org}/config/settings`, {guard}), 200)
  const {settings} = await ok(scheduling.call('PATCH', `/orgs/${scheduling.org}/config/settings`, {timezone: 'Europe/Berlin'}), 200)
  t.deepEqual(settings.guard, guard, 'a change of another setting keeps every limit')
  host.serve(accountRows(3, 'C-'))
  t.deepEqual(await guardOf((await fire(scheduling, path)).runId), guard)
})

test('the guard weighs each outcome against the rows that were written or ended badly, from fifty rows on', async t => {
  const breachOf = async (limits: object, counts: number[], since: number[] = []) =>
    (await here.hot.query('select guard_breach($1, $2, $3) as breach', [JSON.stringify(limits), counts, since])).rows[0].breach
  const counted = (of: Record<number, number>, module = 1) =>
    Array.from({length: 16 * module}, (_, n) => (n >= 16 * (module - 1) ? (of[n % 16] ?? 0) : 0))
  t.is(await breachOf(guard, counted({0: 40, 2: 9})), null, '49 rows')
  t.deepEqual(await breachOf(guard, counted({0: 40, 2: 10})), {outcome: 'refused', rows: 10, settled: 50, limit: 0.05})
  t.is(await breachOf(guard, counted({0: 95, 2: 5})), null, 'exactly the limit')
  t.like(await breachOf(guard, counted({1: 94, 2: 6}, 2)), {outcome: 'refused', settled: 100})
  t.is(await breachOf(guard, counted({0: 40, 2: 9, 6: 1_000, 7: 50, 14: 1_000, 15: 1_000})), null, 'skipped and filtered rows do not count')
  t.like(await breachOf(guard, counted({0: 900, 2: 60, 3: 90})), {outcome: 'unanswered', rows: 90})
  t.is(await breachOf(guard, counted({0: 80, 2: 20}), counted({0: 20, 2: 20})), null, 'rows before the resumption')
  t.is(await breachOf({failed: 0.1}, counted({0: 50, 2: 50})), null)
  t.is(await breachOf({}, counted({2: 100})), null)
})
