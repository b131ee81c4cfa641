import test from 'ava'
import {jobs} from '../support/bulk-imports.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {type FileHost, fire, seldom, startFileHost} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let here: TestDeployment
let host: FileHost
let org: Org
let minutes = 0

test.before(async t => {
  host = await startFileHost()
  const workers = ['imports', 'discovery', 'schedules', 'clock']
  here = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: host.place, CRM_LAG_SECONDS: '1'}})
  here.crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  org = await openOrg(here)
})
test.after.always(() => host.stop())
// Advances the clock, so that earlier runs no longer count as recent writes.
test.beforeEach(() => here.ahead(`${++minutes} minutes`))

const routed = {...accounts, automations: true, matchBy: 'snapshot', writeBy: 'bulk'}

const runFlow = async (csv: string, flow: object, body: object) => {
  const {path} = await prepareImport(org, {csv, flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
  return untilEnded(org.call, `${path}/runs/${run.id}`)
}

test.serial('a run that is started without routes takes those of its flow, and one that is started with routes takes these', async t => {
  const ofFlow = await runFlow(accountRows(20, 'Ra-'), routed, {})
  t.like(ofFlow.routes, [
    {match: 'snapshot', why: 'The flow matches against an export', write: 'bulk', writeWhy: 'The flow writes by bulk jobs'},
  ])
  t.like(ofFlow.counts.Accounts, {created: 20, updated: 0})
  await here.ahead(`${++minutes} minutes`)
  const ofStart = await runFlow(accountRows(20, 'Ra-'), routed, {match: 'query', write: 'records'})
  t.like(ofStart.routes, [{match: 'query', why: 'The run was started with queries', write: 'records'}])
  t.like(ofStart.counts.Accounts, {created: 0, updated: 20})
})

test.serial('flows of one import take their own routes', async t => {
  const other = {...accounts, module: 'Leads', match: undefined, fields: [{field: 'Last_Name', mode: 'column', source: 'name'}]}
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Rb-'), flow: [{...routed, writeBy: undefined}, other]})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {
    routes: [
      {flowId: 'f', match: 'snapshot', write: 'records'},
      {flowId: 'f2', match: 'query', write: 'records'},
    ],
  })
})

test.serial('a run of a schedule takes the routes that its template names', async t => {
  const {template} = await ok(
    org.call('POST', `/orgs/${org.org}/templates`, {
      name: 'Companies of the night',
      connectorId: org.connector,
      sources: [{slot: 'companies', label: 'Companies', columns: ['name', 'number', 'city']}],
      flows: [{id: 'f', sourceId: 'companies', ...routed}],
    }),
    201,
  )
  const schedules = `/orgs/${org.org}/templates/${template.id}/schedules`
  const {schedule} = await ok(org.call('POST', schedules, {name: 'Nightly', ...seldom, source: host.source}), 201)
  // The first 200 rows are verified before the others are sent.
  host.serve(accountRows(250, 'Rc-'))
  here.crm.clearJournal()
  const {importId, runId} = await fire(org, `${schedules}/${schedule.id}`)
  t.like((await ok(org.call('GET', `/orgs/${org.org}/imports/${importId}/runs/${runId}`), 200)).run, {
    routes: [{match: 'snapshot', write: 'bulk'}],
    counts: {Accounts: {created: 250}},
  })
  t.is(here.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).length, 2, 'the first rows are written by record calls')
  t.is(here.crm.journal(jobs).length, 1)
})

test.serial('a flow that writes by bulk jobs must accept automations', async t => {
  const {path, source} = await prepareImport(org, {csv: accountRows(3, 'Rd-'), flow: accounts})
  for (const writeBy of ['bulk', 'auto']) {
    const refused = await org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...accounts, writeBy}])
    t.like(refused, {status: 400, body: {code: 'INVALID'}}, refused.text)
  }
  await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...accounts, writeBy: 'records'}]), 200)
})
