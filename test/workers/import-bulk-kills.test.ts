import test from 'ava'
import {codesOf, flow, jobs, openBulkImports, rows, written} from '../support/bulk-imports.ts'
import {accountRows, type Org, openOrg, readLog} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {killAt, openWorkers} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org
let imports: ReturnType<typeof openBulkImports>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery'],
    environment: {LEASE_SECONDS: '2', CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'},
  })
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
  imports = openBulkImports(here, org)
})
test.beforeEach(() => here.crm.clearJournal())

const startWorker = openWorkers(() => here.config)
const start = (environment: Record<string, string> = {}) => startWorker({PUBLIC_URL: here.url, ...environment})

const points = ['bulk_intended', 'bulk_composed', 'bulk_uploaded', 'bulk_started', 'bulk_ended', 'before_settle']
for (const [at, point] of points.entries())
  test.serial(`a worker that dies at ${point} is followed by one that writes every row once`, async t => {
    const prefix = `F${at}-`
    imports.create(prefix)
    const begun = await imports.begin(accountRows(rows, prefix))
    await killAt(start, point)
    start()
    const {log} = await imports.check(t, prefix, begun)
    t.deepEqual(codesOf(log), written, 'no row counts as unanswered')
    t.is(here.crm.journal(jobs).length, 2, 'each job was requested once')
  })

test.serial('a worker that dies before it stores the id of a job is followed by one that the callback tells', async t => {
  imports.create('Fh-')
  const begun = await imports.begin(accountRows(rows, 'Fh-'))
  await killAt(start, 'bulk_answered')
  start()
  const {log} = await imports.check(t, 'Fh-', begun)
  t.deepEqual(codesOf(log), written)
})

test.serial(
  'a worker that takes over a job of updates reports its rows as updated and stores what was written, so that edits are kept',
  async t => {
    const keeping = {...flow, match: {...flow.match, onEdited: 'keep'}}
    imports.create('Fm-', rows)
    const {path, end} = await imports.begin(accountRows(rows, 'Fm-'), {write: 'bulk'}, keeping)
    await killAt(start, 'bulk_started')
    start()
    t.like(await end(), {stop: null, counts: {Accounts: {updated: rows, unanswered: 0}}})
    t.deepEqual(codesOf(await readLog(org.call, path)), ['updated null'])
    t.is(here.crm.journal(jobs).length, 1)
    const {id} = imports.list('Fm-').find(({Account_Number}) => Account_Number === 'Fm-4')!
    here.crm.update('example', 'Accounts', [{id: String(id), Billing_City: 'Mine'}], {as: 'ben@example.org'})
    const {run} = await imports.finish(accountRows(rows, 'Fm-').replaceAll('Town', 'City'), {write: 'records'}, keeping)
    t.like(run, {keptEdits: 1, counts: {Accounts: {updated: rows - 1}}})
  },
)

test.serial('a worker that takes over a run with a failed bulk job requests no further bulk job', async t => {
  imports.create('Fk-')
  here.crm.faults.add({match: jobs, times: 2, action: 'bulkFailure'})
  const begun = await imports.begin(accountRows(rows, 'Fk-'))
  await killAt(start, 'bulk_ended')
  start()
  const {run} = await imports.check(t, 'Fk-', begun)
  t.is(here.crm.journal(jobs).length, 1)
  t.like(run.routes[0], {write: 'records', writeWhy: 'The CRM reports a bulk job as failed: FAILED'})
  here.crm.faults.clear()
})
