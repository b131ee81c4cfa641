import test, {type ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import {codesOf, jobs, matched, openBulkImports, rows, written} from '../support/bulk-imports.ts'
import {accountRows, type Org, ok, openOrg, readLog, untilRun} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {openLongLivedWorker, openWorkers} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org
let imports: ReturnType<typeof openBulkImports>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery'],
    environment: {LEASE_SECONDS: '10', CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'},
  })
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
  imports = openBulkImports(here, org)
})
test.beforeEach(async () => {
  await usual.start()
  here.crm.clearJournal()
})
test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
  here.crm.setSwitches({bulkHold: false})
})

const start = openWorkers(() => here.config)
const usual = openLongLivedWorker(() => ({...here.config, PUBLIC_URL: here.url}))
const states = {method: 'GET', path: '/crm/bulk/v8/write/*'}
const result = {path: '/v2/crm/**'}

test.serial('a job whose creation was not answered is found by its callback', async t => {
  imports.create('Fg-')
  here.crm.faults.add({match: jobs, times: 1, action: 'dropAfter'})
  const {log} = await imports.check(t, 'Fg-', await imports.begin(accountRows(rows, 'Fg-')))
  t.deepEqual(codesOf(log), written)
  t.is(here.crm.journal(jobs).length, 2)
})

/** Makes Postgres fail with this code when the id of a job is stored for the first time. */
const failFirstId = async (t: ExecutionContext, code: string) => {
  await here.db.query(sql.unsafe`create sequence stores_of_ids`)
  await here.db.query(sql.unsafe`
    create function fail_first() returns trigger language plpgsql as
    $$begin if nextval('stores_of_ids') = 1 then raise exception 'failed' using errcode = tg_argv[0]; end if; return new; end$$`)
  await here.db.query(sql.unsafe`
    create trigger fail_first before update on bulk_jobs for each row when (new.state = 'started')
    execute function fail_first(${sql.literalValue(code)})`)
  t.teardown(async () => {
    await here.db.query(sql.unsafe`drop function fail_first cascade`)
    await here.db.query(sql.unsafe`drop sequence stores_of_ids`)
  })
}

test.serial('the id of a job is stored although Postgres fails at first, so that no callback is needed', async t => {
  imports.create('Fh-')
  await failFirstId(t, '53200')
  await usual.stop()
  const begun = await imports.begin(accountRows(rows, 'Fh-'))
  start({PUBLIC_URL: 'http://127.0.0.1:1'})
  const {log} = await imports.check(t, 'Fh-', begun)
  t.deepEqual(codesOf(log), written)
  t.is(here.crm.journal(jobs).length, 2)
})

test.serial('rows of a job whose id could not be stored are not sent again, because its callback names the job', async t => {
  imports.create('Fs-')
  await failFirstId(t, 'XX000')
  const {log} = await imports.check(t, 'Fs-', await imports.begin(accountRows(rows, 'Fs-')))
  t.deepEqual(codesOf(log), written)
  t.is(here.crm.journal(jobs).length, 2)
})

test.serial('without a callback, creates of a lost job are sent again after ten minutes, and updates after an hour of pause', async t => {
  imports.create('Fi-')
  for (const action of ['dropBefore', 'dropAfter'] as const) here.crm.faults.add({match: jobs, times: 1, action})
  await usual.stop()
  const begun = await imports.begin(accountRows(rows, 'Fi-'))
  start({PUBLIC_URL: 'http://127.0.0.1:1'})
  const untilLost = (operation: string) =>
    until(
      async () => here.db.anyFirst(sql.unsafe`select operation from bulk_jobs where sent_at is not null and state = 'uploaded'`),
      found => found.length === 1 && found[0] === operation,
    )
  await untilLost('create')
  await here.ahead('11 minutes')
  await untilLost('update')
  await here.ahead('22 minutes')
  t.like(await untilRun(org.call, begun.path, ({state}) => state === 'paused'), {pause: {code: 'BULK_JOB_OPEN'}, stop: null})
  t.is(here.crm.journal({method: 'PUT', path: '/crm/v8/Accounts'}).length, 0, 'the job might still put older values back')
  await here.ahead('80 minutes')
  const {log} = await imports.check(t, 'Fi-', begun)
  t.is(log.filter(({outcome}) => outcome === 'unanswered').length, rows)
})

test.serial('a job that fails leaves its rows unanswered, and record calls write these rows and all later rows', async t => {
  imports.create('Fj-')
  here.crm.faults.add({match: jobs, times: 2, action: 'bulkFailure'})
  const {log, run} = await imports.check(t, 'Fj-', await imports.begin(accountRows(rows, 'Fj-')))
  t.is(log.filter(({outcome}) => outcome === 'unanswered').length, rows - matched)
  t.is(here.crm.journal(jobs).length, 1, 'no further job costs credits')
  t.like(run.routes[0], {write: 'records', writeWhy: 'The CRM reports a bulk job as failed: FAILED'})
})

for (const change of ['reversed', 'short', 'doubled'] as const)
  test.serial(`results that are ${change} are read by key, and a row without one is looked up`, async t => {
    const prefix = `F${change.slice(0, 2)}-`
    imports.create(prefix)
    here.crm.faults.add({match: result, times: 2, action: {type: 'bulkResult', change}})
    const {log} = await imports.check(t, prefix, await imports.begin(accountRows(rows, prefix)))
    const lost = log.filter(({outcome}) => outcome === 'unanswered').length
    t.is(lost, change === 'reversed' ? 0 : 2)
    t.is(codesOf(log).includes('created MADE_EARLIER'), change !== 'reversed')
  })

test.serial('rows that a job does not execute are written by record calls', async t => {
  imports.create('Fk-')
  here.crm.faults.add({match: jobs, times: 1, action: {type: 'bulkUnprocessed', rows: 4}})
  here.crm.faults.add({match: jobs, times: 1, action: 'bulkSkipped'})
  const {log} = await imports.check(t, 'Fk-', await imports.begin(accountRows(rows, 'Fk-')))
  t.deepEqual(codesOf(log), written)
})

for (const [name, action, times] of [
  ['broken once', {type: 'brokenZip', how: 'checksum'}, 1],
  ['broken always', {type: 'brokenZip', how: 'truncated'}, 99],
  ['gone', {type: 'bulkResult', change: 'gone'}, 99],
  ['moved', {type: 'redirect'}, 99],
  ['throttled', {type: 'rateLimit', retryAfter: 1}, 2],
] as const)
  test.serial(`a result that is ${name} loses no row`, async t => {
    const prefix = `F${name.at(-1)}${name.length}-`
    imports.create(prefix)
    here.crm.faults.add({match: result, times, action})
    const {log} = await imports.check(t, prefix, await imports.begin(accountRows(rows, prefix)))
    if (times < 9) t.deepEqual(codesOf(log), written)
    else t.true(codesOf(log).includes('created MADE_EARLIER'))
  })

test.serial('a file whose upload always gets a 408 is written by record calls', async t => {
  imports.create('Ft-')
  here.crm.faults.add({match: {path: '/crm/v8/upload'}, times: 99, action: {type: 'answer', status: 408}})
  const {log, run} = await imports.check(t, 'Ft-', await imports.begin(accountRows(rows, 'Ft-')))
  t.deepEqual(codesOf(log), written)
  t.like(run.routes[0], {write: 'records', writeWhy: 'The CRM refuses the file'})
})

test.serial('a result on a host that is not listed is not downloaded, and loses no row', async t => {
  imports.create('Fl-')
  here.crm.faults.add({match: states, times: 99, action: {type: 'resultHost', origin: 'https://elsewhere.test'}})
  const {log} = await imports.check(t, 'Fl-', await imports.begin(accountRows(rows, 'Fl-')))
  t.true(codesOf(log).includes('created MADE_EARLIER'))
})

test.serial('a record that a person creates before the job runs is updated, and none exists twice', async t => {
  imports.create('Fm-')
  here.crm.setSwitches({bulkHold: true})
  const begun = await imports.begin(accountRows(rows, 'Fm-'))
  await until(
    () => here.crm.journal(jobs).length,
    count => count === 1,
  )
  here.crm.create('example', 'Accounts', [{Account_Name: 'Theirs', Account_Number: 'Fm-15', Billing_City: 'Mine'}], {as: 'ben@example.org'})
  here.crm.setSwitches({bulkHold: false})
  const run = await begun.end()
  t.like(run.counts.Accounts, {created: 9, updated: 11, refused: 0, unanswered: 0})
  t.is(imports.list('Fm-').length, rows)
  t.like(
    imports.list('Fm-').find(({Account_Number}) => Account_Number === 'Fm-15'),
    {Account_Name: 'Company 15'},
  )
})

test.serial('a cancelled run reports what a job that the CRM executes has written', async t => {
  imports.create('Fn-')
  here.crm.setSwitches({bulkHold: true})
  const begun = await imports.begin(accountRows(rows, 'Fn-'))
  await until(
    () => here.crm.journal(jobs).length,
    count => count === 1,
  )
  await ok(org.call('POST', `${begun.path}/cancel`, {}), 200)
  here.crm.setSwitches({bulkHold: false})
  const run = await begun.end()
  const log = await readLog(org.call, begun.path)
  t.is(run.stop.stopped, 'CANCELLED')
  t.is(log.length, 10, 'the rows of the job')
  t.true(log.every(({outcome}) => ['created', 'updated'].includes(outcome)))
  const changed = imports.list('Fn-').filter(({Account_Name}) => String(Account_Name).startsWith('Company'))
  t.is(changed.length, 10)
})
