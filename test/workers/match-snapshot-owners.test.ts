import test from 'ava'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {killAt, openWorkers} from '../support/worker-process.ts'

let here: TestDeployment
let org: Org
let minutes = 0

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery'],
    environment: {LEASE_SECONDS: '2', CRM_TIMEOUT_SECONDS: '5', CRM_LAG_SECONDS: '1'},
  })
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
})
test.beforeEach(async () => {
  // Advances the clock, so that earlier runs no longer count as recent writes.
  await here.ahead(`${++minutes} minutes`)
  here.crm.clearJournal()
})
test.afterEach.always(() => here.crm.faults.clear())

const start = openWorkers(() => here.config)
const skipping = {...accounts, match: {...accounts.match, unchanged: 'skip'}}
const jobs = {method: 'POST', path: '/crm/bulk/v8/read'}
const matchQueries = () =>
  here.crm
    .journal({method: 'POST', path: '/crm/v8/coql'})
    .map(({body}) => String(body.select_query))
    .filter(query => query.includes(' in ('))
const create = (count: number, prefix: string) =>
  here.crm.create(
    'example',
    'Accounts',
    Array.from({length: count}, (_, n) => ({Account_Name: `Company ${n + 1}`, Account_Number: `${prefix}${n + 1}`, Billing_City: 'Old'})),
    {as: 'ben@example.org'},
  )
const begin = async (csv: string, body: object) => {
  const {path} = await prepareImport(org, {csv, flow: skipping})
  const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return () => untilEnded(org.call, `${path}/runs/${run.id}`)
}

test.serial('a worker that follows one whose export failed queries too, and does not export again', async t => {
  create(5, 'Oa-')
  here.crm.faults.add({match: jobs, times: 1, action: 'bulkFailure'})
  const end = await begin(accountRows(5, 'Oa-'), {match: 'snapshot'})
  await killAt(start, 'before_settle')
  start()
  t.like(await end(), {
    stop: null,
    routes: [{match: 'query', why: 'The export failed at the CRM'}],
    counts: {Accounts: {created: 0, updated: 5}},
  })
  t.is(here.crm.journal(jobs).length, 1)
})

test.serial('rows are queried until the index must hold all writes of a run that has ended', async t => {
  create(3, 'Ob-')
  start()
  await (await begin(accountRows(1, 'Oc-'), {}))()
  here.crm.clearJournal()
  await here.ahead(`${minutes} minutes 10 seconds`)
  const end = await begin(accountRows(3, 'Ob-'), {match: 'snapshot'})
  t.like(await end(), {routes: [{match: 'snapshot'}], counts: {Accounts: {created: 0, updated: 3}}})
  t.true(matchQueries().some(query => query.includes("'Ob-1'")))
})
