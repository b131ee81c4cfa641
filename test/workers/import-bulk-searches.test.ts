import test from 'ava'
import {jobs, openBulkImports} from '../support/bulk-imports.ts'
import {accountRows, type Org, openOrg, readLog} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let here: TestDeployment
let org: Org
let imports: ReturnType<typeof openBulkImports>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery', 'imports'],
    environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '1', CRM_LAG_SECONDS: '1'},
  })
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
  imports = openBulkImports(here, org)
})
test.beforeEach(() => here.crm.clearJournal())
test.afterEach.always(() => {
  here.crm.faults.clear()
  here.crm.setSwitches({bulkHold: false, bulkSeconds: 0})
})

/** Returns a file that fills one bulk job, and one row without a number, which a record call writes. */
const csvOf = (prefix: string) => `${accountRows(10_000, prefix)}Loose ${prefix},,Town\n`
const lose = (action: 'dropAfter' | 'dropBefore') =>
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action})

test.serial('a record whose create was not answered is found while the CRM executes a job of updates', async t => {
  imports.create('Sa-', 10_000)
  await here.ahead('10 minutes')
  here.crm.setSwitches({bulkHold: true})
  lose('dropAfter')
  const started = await imports.begin(csvOf('Sa-'))
  const looseEnds = async () => (await readLog(org.call, started.path)).filter(({rowNumber}) => rowNumber === 10_001)
  const ends = await until(looseEnds, found => found.length >= 2, 60)
  t.deepEqual(
    ends.map(({outcome}) => outcome),
    ['unanswered', 'created'],
  )
  t.is(here.crm.journal(jobs).length, 1)
  here.crm.setSwitches({bulkHold: false})
  t.like((await started.end()).counts.Accounts, {created: 1, updated: 10_000, unanswered: 0})
})

test.serial('a create that was not answered is searched for again after a job of creates that takes long', async t => {
  here.crm.setSwitches({bulkSeconds: 20})
  lose('dropBefore')
  const {run} = await imports.finish(csvOf('Sb-'))
  t.is(here.crm.journal(jobs).length, 1)
  t.like(run.counts.Accounts, {created: 10_001, unanswered: 0})
})
