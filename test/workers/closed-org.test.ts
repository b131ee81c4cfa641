import test from 'ava'
import {listUnownedRuns} from '../../sql/unowned-runs.ts'
import {startWorkers} from '../../workers/start.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const rows = 1500

test('a run pauses when its org is closed, and resumes to its end when the org is reopened', async t => {
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '1', CRM_SLOTS: '1'}})
  const org = await openOrg(here)
  const operator = here.as(here.adminToken)
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 100, action: {type: 'slow', ms: 150, when: 'after'}})
  const {path} = await prepareImport(org, {csv: accountRows(rows, 'C-'), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const at = `${path}/runs/${run.id}`
  await until(
    async () => (await org.call('GET', at)).body.run.counts.Accounts?.created ?? 0,
    created => created > 0,
  )
  await operator('POST', `/staff/orgs/${org.org}/close`, {reason: 'unpaid'})
  const jobs = () => here.queue.findJobs('import.run', {})
  await until(jobs, found => found.every(({state}) => state === 'completed'))
  const made = here.crm.records('example', 'Accounts').length
  t.true(made > 0 && made < rows, `${made} were made before it lay down`)

  await here.ahead('1 minute')
  t.deepEqual(await listUnownedRuns(here.db, {limit: 100}), [], 'the sweep leaves it alone, however long it has been lying')
  t.is(here.crm.records('example', 'Accounts').length, made)

  await operator('POST', `/staff/orgs/${org.org}/reopen`)
  here.crm.faults.clear()
  const ended = await untilEnded(org.call, at)
  t.like(ended, {state: 'ended', stop: null})
  const {finals} = await assertAccounted(here, {org, path, run: ended, rows})
  assertOnce(here.crm, 'C-', finals)
})

test('a run that was queued before its org was closed is not started', async t => {
  const here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1'}})
  const org = await openOrg(here)
  const operator = here.as(here.adminToken)
  const {path} = await prepareImport(org, {csv: accountRows(5, 'Q-'), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await operator('POST', `/staff/orgs/${org.org}/close`, {reason: 'unpaid'})
  const {stop} = await startWorkers(['imports'], here.config)
  const [job] = await until(
    () => here.queue.findJobs('import.run', {}),
    found => found.every(({state}) => state === 'completed'),
  )
  t.deepEqual(job!.output, {answer: {state: 'released'}})
  t.is(here.crm.records('example', 'Accounts').length, 0)
  await operator('POST', `/staff/orgs/${org.org}/reopen`)
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {state: 'ended', stop: null})
  await stop()
})

test('a discovery that was requested before its org was closed is refused', async t => {
  const here = await startTestDeployment(t)
  const {org, token} = await here.makeOrg()
  const connectorId = await here.connect(token)
  const call = here.as(token)
  const operator = here.as(here.adminToken)
  const {job} = await ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId}), 202)
  await operator('POST', `/staff/orgs/${org}/close`, {reason: 'unpaid'})
  const {stop} = await startWorkers(['discovery'], here.config)
  await until(
    () => here.queue.findJobs('discovery.run', {id: job.id}),
    ([found]) => found?.state === 'completed',
  )
  await stop()
  await operator('POST', `/staff/orgs/${org}/reopen`)
  t.like((await call('GET', `/orgs/${org}/jobs/${job.id}`)).body, {state: 'refused', error: {code: 'ORG_CLOSED'}})
})
