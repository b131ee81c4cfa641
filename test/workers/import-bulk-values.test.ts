import test from 'ava'
import {sql} from '../../sql/database.ts'
import {codesOf, flow, jobs, openBulkImports, rows, written} from '../support/bulk-imports.ts'
import {accountRows, type Org, ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {openLongLivedWorker} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org
let imports: ReturnType<typeof openBulkImports>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {CRM_LAG_SECONDS: '1', VERIFY_AFTER_SECONDS: '1'}})
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  here.crm.addField('example', 'Leads', {name: 'Import_Key', type: 'text', length: 26, unique: true})
  org = await openOrg(here)
  imports = openBulkImports(here, org)
})
test.beforeEach(async () => {
  await worker.start()
  here.crm.clearJournal()
})
test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
  here.crm.setSwitches({bulkHold: false, bulkSeconds: 0, rewrites: []})
})

const worker = openLongLivedWorker(() => ({...here.config, PUBLIC_URL: here.url}))
const recordOf = (prefix: string, n: number) => imports.list(prefix).find(({Account_Number}) => Account_Number === `${prefix}${n}`)!
const importOf = (path: string) => path.slice(0, path.lastIndexOf('/runs/'))

test.serial('an undo restores what a bulk update replaced, and deletes what a bulk job created', async t => {
  imports.create('Va-')
  const {path, run} = await imports.finish(accountRows(rows, 'Va-'))
  t.is(here.crm.journal(jobs).length, 2)
  t.is(imports.list('Va-').length, rows)
  const begun = await ok(org.call('POST', `${path}/undo`, {}), 202)
  const undone = await untilEnded(org.call, `${importOf(path)}/runs/${begun.run.id}`)
  t.like(undone.undo, {restored: 10, deleted: 10, changedSince: 0})
  t.is(undone.undoOf, run.id)
  t.is(imports.list('Va-').length, 10)
  t.like(recordOf('Va-', 1), {Account_Name: 'Old 1', Billing_City: 'Old'})
})

test.serial('an undo deletes created records that a later bulk job of the run updated', async t => {
  const fields = flow.fields.filter(({field}) => field !== 'Billing_City')
  // A second passes between the jobs, because the CRM's times have whole seconds.
  here.crm.setSwitches({bulkSeconds: 1})
  const {path, run} = await imports.finish(accountRows(rows, 'Vn-'), {write: 'bulk'}, [{...flow, fields}, flow])
  t.like(run.counts.Accounts, {created: rows, updated: rows})
  t.is(here.crm.journal(jobs).length, 2)
  here.crm.update('example', 'Accounts', [{id: recordOf('Vn-', 4).id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  const begun = await ok(org.call('POST', `${path}/undo`, {}), 202)
  const undone = await untilEnded(org.call, `${importOf(path)}/runs/${begun.run.id}`)
  t.deepEqual(
    imports.list('Vn-').map(({Account_Number}) => Account_Number),
    ['Vn-4'],
  )
  t.is(undone.stop, null)
})

test.serial('a job that ended long before it was polled dates no update, because a person may have edited the records since', async t => {
  imports.create('Vp-', rows)
  here.crm.setSwitches({bulkHold: true})
  const {path, end} = await imports.begin(accountRows(rows, 'Vp-'))
  await until(
    () => here.crm.journal(jobs).length,
    count => count === 1,
  )
  await worker.stop()
  here.crm.setSwitches({bulkHold: false})
  await here.ahead('2 minutes')
  await worker.start()
  t.like((await end()).counts.Accounts, {updated: rows})
  const times = await here.db.anyFirst(sql.unsafe`
    select distinct written_at from chain_rows join runs on runs.run_no = chain_rows.run_no where runs.id = ${path.split('/').at(-1)!}`)
  t.deepEqual(times, [null])
})

test.serial('verification reads back what bulk jobs wrote, and finds the values that the CRM changed', async t => {
  imports.create('Vb-')
  const where = {field: 'Account_Number', values: ['Vb-3', 'Vb-15']}
  here.crm.setSwitches({rewrites: [{module: 'Accounts', where, how: 'store', field: 'Billing_City', value: 'Other'}]})
  const {run} = await imports.finish(accountRows(rows, 'Vb-'), {write: 'bulk', verify: 'all'})
  t.is(here.crm.journal(jobs).length, 2)
  t.like(run.verify, {mode: 'all', rows, missing: 0, unread: 0, unverified: 0})
  t.is(run.verify.changed + run.verify.coerced, 2)
})

test.serial('a value that a person edited before the file is written is kept by a bulk update', async t => {
  const keeping = {...flow, match: {...flow.match, onEdited: 'keep'}}
  await imports.finish(accountRows(rows, 'Vc-'), {write: 'bulk'}, keeping)
  here.crm.update('example', 'Accounts', [{id: recordOf('Vc-', 4).id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  const {run} = await imports.finish(
    accountRows(rows, 'Vc-').replaceAll('Town', 'City').replaceAll('Company', 'Firm'),
    {write: 'bulk'},
    keeping,
  )
  t.is(here.crm.journal(jobs).length, 2, 'the creates, then the updates')
  t.is(run.keptEdits, 1)
  t.like(recordOf('Vc-', 4), {Billing_City: 'Mine', Account_Name: 'Firm 4'})
  t.like(recordOf('Vc-', 5), {Billing_City: 'City 4', Account_Name: 'Firm 5'})
})

test.serial('a value that a person edited during a job that did not write its row is kept', async t => {
  const keeping = {...flow, match: {...flow.match, onEdited: 'keep'}}
  await imports.finish(accountRows(rows, 'Vk-'), {write: 'bulk'}, keeping)
  here.crm.clearJournal()
  here.crm.setSwitches({bulkHold: true})
  here.crm.faults.add({match: jobs, times: 1, action: {type: 'bulkUnprocessed', rows: 4}})
  const {end} = await imports.begin(accountRows(rows, 'Vk-').replaceAll('Town', 'City'), {write: 'bulk'}, keeping)
  await until(
    () => here.crm.journal(jobs).length,
    count => count === 1,
  )
  here.crm.update('example', 'Accounts', [{id: recordOf('Vk-', 18).id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  here.crm.setSwitches({bulkHold: false})
  const run = await end()
  t.like(
    [17, 18].map(n => recordOf('Vk-', n)),
    [{Billing_City: 'City 2'}, {Billing_City: 'Mine'}],
  )
  t.like(run, {keptEdits: 1, counts: {Accounts: {updated: rows - 1, skipped: 1}}})
})

test.serial('a value that a person edited during a job that failed is kept when its row is sent again', async t => {
  const keeping = {...flow, match: {...flow.match, onEdited: 'keep'}}
  await imports.finish(accountRows(rows, 'Vq-'), {write: 'bulk'}, keeping)
  here.crm.clearJournal()
  here.crm.setSwitches({bulkHold: true})
  here.crm.faults.add({match: jobs, times: 1, action: 'bulkFailure'})
  const {end} = await imports.begin(accountRows(rows, 'Vq-').replaceAll('Town', 'City'), {write: 'bulk'}, keeping)
  await until(
    () => here.crm.journal(jobs).length,
    count => count === 1,
  )
  here.crm.update('example', 'Accounts', [{id: recordOf('Vq-', 18).id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  here.crm.setSwitches({bulkHold: false})
  const run = await end()
  t.like(
    [17, 18].map(n => recordOf('Vq-', n)),
    [{Billing_City: 'City 2'}, {Billing_City: 'Mine'}],
  )
  t.like(run, {keptEdits: 1, counts: {Accounts: {unanswered: 0}}})
})

test.serial('each flow of an import writes its own bulk jobs', async t => {
  const leads = {
    module: 'Leads',
    automations: true,
    fields: [
      {field: 'Last_Name', mode: 'column', source: 'name'},
      {field: 'Company', mode: 'column', source: 'number'},
    ],
  }
  await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Leads`, {idempotencyField: 'Import_Key'}), 200)
  const {run, log} = await imports.finish(accountRows(rows, 'Vd-'), {write: 'bulk'}, [flow, leads])
  t.deepEqual(run.routes.map(({flowId, write}: any) => [flowId, write]).sort(), [
    ['f', 'bulk'],
    ['f2', 'bulk'],
  ])
  t.is(here.crm.journal(jobs).length, 2)
  t.like(run.counts, {Accounts: {created: rows}, Leads: {created: rows}})
  t.deepEqual(codesOf(log), ['created null'])
  const made = here.crm.records('example', 'Leads').filter(({Company}) => String(Company).startsWith('Vd-'))
  t.is(new Set(made.map(({Import_Key: key}) => key)).size, rows, 'each has its idempotency value')
})

test.serial('creates of a failed bulk job with an idempotency field are written once', async t => {
  const leads = {
    module: 'Leads',
    automations: true,
    fields: [
      {field: 'Last_Name', mode: 'column', source: 'name'},
      {field: 'Company', mode: 'column', source: 'number'},
    ],
  }
  await ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Leads`, {idempotencyField: 'Import_Key'}), 200)
  here.crm.faults.add({match: {path: '/v2/crm/**'}, times: 99, action: {type: 'bulkResult', change: 'gone'}})
  const {run, log} = await imports.finish(accountRows(rows, 'Ve-'), {write: 'bulk'}, leads)
  t.like(run.counts.Leads, {created: rows, unanswered: 0})
  t.true(codesOf(log).includes('created MADE_EARLIER'), 'the value of each row finds its record')
  t.is(here.crm.records('example', 'Leads').filter(({Company}) => String(Company).startsWith('Ve-')).length, rows)
})

test.serial('with `write: auto`, a large file is written by a bulk job, and a small one by record calls', async t => {
  const {run} = await imports.finish(accountRows(6_000, 'Vf-'), {write: 'auto'})
  t.like(run.routes, [{write: 'bulk'}])
  t.regex(run.routes[0].writeWhy, /costs less/)
  t.is(here.crm.journal(jobs).length, 1)
  t.is(run.counts.Accounts.created, 6_000)
  t.is(imports.list('Vf-').length, 6_000)
  const small = await imports.finish(accountRows(rows, 'Vg-'), {write: 'auto'})
  t.like(small.run.routes, [{write: 'records'}])
  const part = await imports.finish(accountRows(6_000, 'Vl-'), {write: 'auto', rows: {to: rows}})
  t.like(part.run.routes, [{write: 'records'}])
  t.is(here.crm.journal(jobs).length, 1)
})

test.serial('with `write: auto`, no bulk job is started for the few rows that the row limit leaves', async t => {
  const authorised = {connectorId: org.connector, declaredRows: 30}
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', authorised), 200)
  const {run} = await imports.finish(accountRows(6_000, 'Vm-'), {write: 'auto', runId})
  t.like(run, {rowsWritten: 30, routes: [{write: 'bulk'}], stop: {stopped: 'LIMIT_ROWS_PER_RUN'}})
  t.is(imports.list('Vm-').length, 30)
  t.is(here.crm.journal(jobs).length, 0)
})

test.serial('forged and replayed callbacks change nothing: a job must name our file', async t => {
  imports.create('Vh-')
  here.crm.setSwitches({bulkHold: true})
  here.crm.faults.add({match: jobs, times: 1, action: 'dropAfter'})
  const begun = await imports.begin(accountRows(rows, 'Vh-'))
  const secret = await until(
    () => here.crm.journal(jobs)[0]?.body.callback.url.split('/').at(-1) as string | undefined,
    found => found !== undefined,
  )
  const post = (to: string, body: object) => here.as('')('POST', `/bulk-callbacks/${to}`, body)
  await post('wrong-secret', {id: '7'})
  await post(secret!, {data: [{id: '7'}]})
  await until(
    async () => here.db.oneFirst(sql.unsafe`select hint from bulk_jobs where state = 'uploaded'`),
    hint => hint === '7',
  )
  here.crm.setSwitches({bulkHold: false})
  const {log} = await imports.check(t, 'Vh-', begun)
  t.deepEqual(codesOf(log), written)
  await post(secret!, {id: '8'})
  t.deepEqual(await here.db.anyFirst(sql.unsafe`select no from (select run_no as no from bulk_jobs where hint = '8') as late`), [])
  t.is((await readLog(org.call, begun.path)).length, log.length)
})

test.serial('rows that waited for a canary keep their edits and their marks when a bulk job writes them', async t => {
  const keeping = {...flow, match: {...flow.match, onEdited: 'keep'}}
  const start = {write: 'bulk', guard: {coerced: 0.05, canary: 5}}
  const csv = accountRows(rows, 'Vj-')
  here.crm.create(
    'example',
    'Accounts',
    Array.from({length: rows}, (_, n) => ({Account_Name: `Old ${n + 1}`, Account_Number: `Vj-${n + 1}`, Billing_City: `Town ${n % 7}`})),
    {as: 'ben@example.org'},
  )
  await imports.finish(csv, start, keeping)
  t.is(here.crm.journal(jobs).length, 1, 'the rows behind the canary')
  here.crm.update('example', 'Accounts', [{id: recordOf('Vj-', 15).id, Billing_City: 'Mine'}], {as: 'ben@example.org'})
  const {run, log} = await imports.finish(csv.replaceAll('Town', 'City').replaceAll('Company', 'Firm'), start, keeping)
  t.is(here.crm.journal(jobs).length, 2)
  t.like(recordOf('Vj-', 15), {Billing_City: 'Mine', Account_Name: 'Firm 15'}, 'the first run marked the city, which it did not write')
  t.is(run.keptEdits, 1)
  t.deepEqual(
    log.filter(({code}) => code === 'KEPT_EDIT').map(({rowNumber, phase, target}) => [rowNumber, phase, target]),
    [[15, 'edit', 'Billing_City']],
  )
})
