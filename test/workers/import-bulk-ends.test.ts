import test from 'ava'
import {setWritesPaused} from '../../sql/connectors.ts'
import {sql} from '../../sql/database.ts'
import {flow, jobs, openBulkImports, rows} from '../support/bulk-imports.ts'
import {accountRows, accounts, type Org, ok, openOrg, readLog, untilEnded, untilRun} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {openLongLivedWorker} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org
let imports: ReturnType<typeof openBulkImports>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery'],
    environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1', VERIFY_AFTER_SECONDS: '2'},
  })
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
  imports = openBulkImports(here, org)
})
test.beforeEach(async () => {
  await worker.start()
  here.crm.clearJournal()
})
test.afterEach.always(async () => {
  here.crm.release()
  here.crm.faults.clear()
  here.crm.setSwitches({bulkHold: false, rewrites: []})
})

const worker = openLongLivedWorker(() => ({...here.config, PUBLIC_URL: here.url}))
const updates = {method: 'PUT', path: '/crm/v8/Accounts'}
const changed = (prefix: string) => imports.list(prefix).filter(({Account_Name}) => String(Account_Name).startsWith('Company'))

/** Starts a run and waits until the CRM has its first job, which the CRM does not execute yet. */
const startRunWithHeldJob = async (prefix: string, start: object = {write: 'bulk'}, csv = accountRows(rows, prefix)) => {
  here.crm.setSwitches({bulkHold: true})
  const started = await imports.begin(csv, start)
  await untilStarted(started)
  return started
}
type StartedRun = {path: string}
const idOf = ({path}: StartedRun) => path.split('/').at(-1)!
/** Waits until the CRM has accepted a job of the run. */
const untilStarted = async (started: StartedRun) => {
  const [key] = await until(
    async () =>
      here.db.anyFirst(
        sql.unsafe`select key from bulk_jobs b where state = 'started' and run_no = (select run_no from runs where id = ${idOf(started)})`,
      ),
    keys => keys.length === 1,
  )
  return key as string
}
/** Moves the time at which the open job of a run was sent into the past. */
const age = (started: StartedRun, interval: string) =>
  here.db.query(sql.unsafe`
    update bulk_jobs set sent_at = sent_at - ${interval}::text::interval
    where state <> 'done' and run_no = (select run_no from runs where id = ${idOf(started)})`)
const cancel = ({path}: StartedRun) => ok(org.call('POST', `${path}/cancel`, {}), 200)
/** Makes all paused runs due. */
const wake = () => here.db.query(sql.unsafe`update runs set resume_at = lading_now() where state = 'paused'`)
const untilPaused = ({path}: StartedRun, code: string) => untilRun(org.call, path, ({pause}) => pause?.code === code, 60)

test.serial('a cancelled run with an open job ends while writes are paused, and sends nothing', async t => {
  imports.create('Ea-')
  const started = await startRunWithHeldJob('Ea-')
  // A worker that stops leaves the job to the next one.
  await worker.stop()
  const pause = (paused: boolean) => here.db.transaction(tx => setWritesPaused(tx, {org: org.org, id: org.connector, paused}))
  await pause(true)
  t.teardown(() => pause(false))
  await worker.start()
  await untilPaused(started, 'WRITES_PAUSED')
  await cancel(started)
  here.crm.clearJournal()
  here.crm.setSwitches({bulkHold: false})
  const run = await started.end()
  t.is(run.stop.stopped, 'CANCELLED')
  const log = await readLog(org.call, started.path)
  t.is(log.length, 10, 'the rows of the job')
  t.true(log.every(({outcome}) => ['created', 'updated'].includes(outcome)))
  t.is(changed('Ea-').length, 10)
  t.deepEqual(
    here.crm.journal({}).filter(({method, path}) => method !== 'GET' && !path.includes('/oauth/') && !path.includes('/coql')),
    [],
  )
})

test.serial('a cancelled run that its guard holds ends with what its open job wrote', async t => {
  imports.create('Eb-')
  const started = await startRunWithHeldJob('Eb-')
  await worker.stop()
  const held = JSON.stringify({outcome: 'refused', rows: 1, settled: 10, limit: 0.05})
  await here.db.query(sql.unsafe`
    update run_heads set held = ${held}::jsonb where run_no = (select run_no from runs where id = ${idOf(started)})`)
  await worker.start()
  t.like(await untilPaused(started, 'GUARD'), {stop: null})
  await cancel(started)
  here.crm.setSwitches({bulkHold: false})
  const run = await started.end()
  t.is(run.stop.stopped, 'CANCELLED')
  const log = await readLog(org.call, started.path)
  t.is(log.length, 10)
  t.true(log.every(({outcome}) => ['created', 'updated'].includes(outcome)))
  t.is(changed('Eb-').length, 10)
})

test.serial('a run that stops because a field was removed still reports what its open job wrote', async t => {
  const note = {name: 'Extra_Note', type: 'text' as const, length: 40}
  const discover = () => ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
  here.crm.addField('example', 'Accounts', note)
  await discover()
  imports.create('Ej-')
  here.crm.setSwitches({bulkHold: true})
  const fields = [...flow.fields, {field: note.name, mode: 'static', staticValue: 'x'}]
  const started = await imports.begin(accountRows(rows, 'Ej-'), {write: 'bulk'}, {...flow, fields})
  await untilStarted(started)
  await worker.stop()
  here.crm.dropField('example', 'Accounts', note.name)
  await discover()
  await worker.start()
  here.crm.setSwitches({bulkHold: false})
  const run = await started.end()
  t.is(run.stop.stopped, 'FIELD_NOT_WRITABLE')
  const log = await readLog(org.call, started.path)
  t.is(log.length, 10, 'the rows of the job')
  t.true(log.every(({outcome}) => ['created', 'updated'].includes(outcome)))
  t.is(here.crm.journal(jobs).length, 1)
})

test.serial('a run that is stopped from outside reports the rows of its open job, and deletes what it stored of them', async t => {
  const other = await openOrg(here, 'zoe@other.example')
  const theirs = openBulkImports(here, other)
  here.crm.setSwitches({bulkHold: true})
  here.crm.faults.add({match: {path: '/oauth/v2/token/revoke'}, action: 'dropBefore'})
  const started = await theirs.begin(accountRows(rows, 'Ec-'))
  const key = await untilStarted(started)
  t.is(typeof key, 'string')
  await worker.stop()
  await ok(other.call('DELETE', `/orgs/${other.org}/connectors/${other.connector}`), 200)
  await worker.start()
  const run = await started.end()
  t.is(run.stop.stopped, 'GRANT_ENDED')
  t.true((await readLog(other.call, started.path)).every(({outcome}) => outcome === 'unanswered'))
  const [job] = await here.db.any(sql.unsafe`
    select b.state, key, sealed, left_at is not null as "isAbandoned" from bulk_jobs b join runs using (run_no) where runs.id = ${run.id}`)
  t.deepEqual(job, {state: 'done', key: null, sealed: null, isAbandoned: true})
  t.true(await here.db.exists(sql.unsafe`select from loose_objects where key = ${key} and doomed`), 'retention removes the object')
})

test.serial('a run pauses while the CRM executes a job for more than an hour, and writes every row once when it ends', async t => {
  imports.create('Ed-')
  const started = await startRunWithHeldJob('Ed-')
  await age(started, '2 hours')
  t.like(await untilPaused(started, 'BULK_JOB_OPEN'), {stop: null})
  here.crm.setSwitches({bulkHold: false})
  await wake()
  const {log} = await imports.check(t, 'Ed-', started)
  t.true(log.every(({outcome}) => outcome !== 'unanswered'))
  t.is(here.crm.journal(jobs).length, 2)
})

test.serial('a job that runs for a day is left, and record calls write its rows', async t => {
  imports.create('Ee-')
  here.crm.faults.add({match: jobs, times: 1, action: 'bulkStuck'})
  const started = await imports.begin(accountRows(rows, 'Ee-'))
  await untilStarted(started)
  await age(started, '25 hours')
  const {log} = await imports.check(t, 'Ee-', started)
  t.is(log.filter(({outcome}) => outcome === 'unanswered').length, 10)
})

test.serial(
  'a cancelled run leaves a job after an hour, and its retry waits until the job can no longer put older values back',
  async t => {
    const csv = accountRows(rows, 'Ef-')
    imports.create('Ef-', rows)
    const started = await startRunWithHeldJob('Ef-', {write: 'bulk'}, csv)
    await age(started, '2 hours')
    await untilPaused(started, 'BULK_JOB_OPEN')
    await cancel(started)
    const stopped = await started.end()
    t.is(stopped.stop.stopped, 'CANCELLED')
    t.like(stopped.counts.Accounts, {unanswered: rows, updated: 0})
    const path = started.path.slice(0, started.path.lastIndexOf('/runs/'))
    const {run} = await ok(org.call('POST', `${path}/runs`, {retryOf: stopped.id}), 202)
    const retry = {path: `${path}/runs/${run.id}`}
    t.like(await untilPaused(retry, 'BULK_JOB_OPEN'), {stop: null})
    t.is(here.crm.journal(updates).length, 0)
    here.crm.setSwitches({bulkHold: false})
    await wake()
    t.like((await untilEnded(org.call, retry.path)).counts.Accounts, {updated: rows, unanswered: 0})
    t.is(here.crm.journal(updates).length, 1)
  },
)

test.serial('a stopped run ends although an abandoned batch may still write a record that it would verify', async t => {
  const where = {module: 'Accounts', where: {field: 'Account_Number', values: ['Eg-3']}}
  here.crm.setSwitches({rewrites: [{...where, how: 'store', field: 'Billing_City', value: 'Other'}]})
  here.crm.faults.add({
    match: {method: 'POST', path: '/crm/v8/Accounts', nth: 2},
    times: 99,
    action: {type: 'slow', ms: 400, when: 'before'},
  })
  const started = await imports.begin(accountRows(6_000, 'Eg-'), {verify: 'all'}, accounts)
  const target = await until(
    () => imports.list('Eg-').find(({Account_Number}) => Account_Number === 'Eg-3')?.id as string | undefined,
    id => id !== undefined,
  )
  await here.db.query(sql.unsafe`
    insert into sends (run_no, batch_no, fence, flow_no, module_no, kind, row_keys, row_numbers, attempts, targets, witness, sent_at, deadline_at)
    select run_no, 1000, fence, 1, 1, 1, '{f.3}', '{3}', '{2}', ${sql.array([target!], 'text')}, '{false}', lading_now(), lading_now()
    from runs join run_heads using (run_no) where id = ${idOf(started)}`)
  await cancel(started)
  const run = await untilEnded(org.call, started.path, 60)
  t.is(run.stop.stopped, 'CANCELLED')
  t.is(run.verify.unverified, 100, 'the rows of the batch were not read')
  const log = await readLog(org.call, started.path)
  t.like(
    log.find(({rowNumber, attempt}) => rowNumber === 3 && attempt === 2),
    {outcome: 'unanswered'},
  )
})

test.serial('a run pauses if the CRM refuses the renewed token for a job, and writes every row once when it resumes', async t => {
  imports.create('Eh-')
  here.crm.faults.add({match: jobs, times: 10_000, action: 'expireToken'})
  const started = await imports.begin(accountRows(rows, 'Eh-'))
  t.like(await untilPaused(started, 'CONNECTION_UNAVAILABLE'), {stop: null, rowsWritten: 0})
  here.crm.faults.clear()
  await wake()
  const {log} = await imports.check(t, 'Eh-', started)
  t.true(log.every(({outcome}) => outcome !== 'unanswered'))
})

test.serial('a run that must pause leaves its job open, and reports its rows when it resumes', async t => {
  here.crm.setSwitches({bulkHold: true})
  const limit = (retryAfter: number) =>
    here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 99, action: {type: 'rateLimit', retryAfter}})
  limit(3)
  // A full file goes at once, and record calls write the rows without a number.
  const loose = Array.from({length: 5}, (_, n) => `Loose ${n},,Town\n`).join('')
  const started = await imports.begin(accountRows(10_000, 'Ei-') + loose)
  await untilStarted(started)
  here.crm.faults.clear()
  limit(60)
  t.like(await untilPaused(started, 'RATE_LIMITED'), {stop: null})
  t.deepEqual(await readLog(org.call, started.path), [])
  here.crm.faults.clear()
  here.crm.setSwitches({bulkHold: false})
  await wake()
  const run = await started.end()
  t.like(run.counts.Accounts, {created: 10_005, unanswered: 0, refused: 0})
  t.is(here.crm.journal(jobs).length, 1)
  t.is(imports.list('Ei-').length, 10_000)
})
