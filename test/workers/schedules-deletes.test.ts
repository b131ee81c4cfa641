import test from 'ava'
import {accountRows, accounts, ok, openOrg} from '../support/importing.ts'
import {fire, makeSchedule, startFileHost, template} from '../support/schedules.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('a firing whose template deletes records by now starts no run, and deletes nothing', async t => {
  const host = await startFileHost()
  t.teardown(() => host.stop())
  const workers = ['imports', 'discovery', 'schedules', 'clock']
  const here = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: host.place, CRM_LAG_SECONDS: '1'}})
  const org = await openOrg(here)
  const {template: path, path: schedule} = await makeSchedule(org, host)
  host.serve(accountRows(2, 'D-'))
  t.like(await fire(org, schedule), {outcome: 'done', counts: {rowsWritten: 2}})
  const match = {by: ['Account_Number']}
  const flows = [{id: 'f', sourceId: 'companies', module: 'Accounts', action: 'delete', match, fields: [accounts.fields[1]]}]
  await ok(org.call('PUT', path, template(org.connector, {flows})), 200)
  const firing = await fire(org, schedule)
  t.like(firing, {outcome: 'failed', runId: null, reason: {code: 'DELETES_UNCONFIRMED'}})
  t.like((await ok(org.call('GET', schedule), 200)).schedule, {enabled: false, stopped: {code: 'DELETES_UNCONFIRMED'}})
  t.is(here.crm.count('example', 'Accounts'), 2)
  t.deepEqual(here.crm.journal({method: 'DELETE', path: '/crm/v8/Accounts'}), [])
})

test('a schedule whose template was changed to take several files starts no run, and cannot be turned on', async t => {
  const host = await startFileHost()
  t.teardown(() => host.stop())
  const here = await startTestDeployment(t, {workers: ['discovery', 'schedules', 'clock'], environment: {PRIVATE_HOSTS: host.place}})
  const org = await openOrg(here)
  const {template: path, path: schedule} = await makeSchedule(org, host)
  const [first, second] = ['companies', 'people'].map(name => ({slot: name, label: name, columns: ['name', 'number', 'city', name]}))
  await ok(org.call('PUT', path, template(org.connector, {sources: [first, second]})), 200)
  host.serve('name,number,city,companies,people\nA,T-1,B,C,D\n')
  t.like(await fire(org, schedule), {outcome: 'failed', importId: null, reason: {code: 'TEMPLATE_NEEDS_FILES'}})
  t.like((await ok(org.call('GET', schedule), 200)).schedule, {enabled: false, stopped: {code: 'TEMPLATE_NEEDS_FILES'}})
  t.like(await org.call('PATCH', schedule, {enabled: true}), {status: 409, body: {code: 'TEMPLATE_NEEDS_FILES'}})
})
