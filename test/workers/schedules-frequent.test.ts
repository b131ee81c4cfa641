import test from 'ava'
import {sql} from '../../sql/database.ts'
import {accountRows, ok, openOrg} from '../support/importing.ts'
import {fire, makeSchedule, makeTemplate, seldom, startFileHost} from '../support/schedules.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

test('a schedule may fire every minute only while the plan allows it', async t => {
  const host = await startFileHost()
  t.teardown(host.stop)
  const here = await startTestDeployment(t, {
    workers: ['imports', 'discovery', 'schedules', 'clock'],
    environment: {PRIVATE_HOSTS: host.place},
  })
  const org = await openOrg(here)
  const place = (plan: string) => here.db.query(sql.unsafe`update orgs set plan_version_id = ${plan} where id = ${org.org}`)
  await place('business.1')
  const often = {name: 'Often', cron: '0,1 0 29 2 *', timezone: 'UTC', source: host.source}
  const template = await makeTemplate(org)
  const refused = await org.call('POST', `${template}/schedules`, often)
  t.like(refused, {status: 403, body: {code: 'FEATURE_FREQUENT_SCHEDULES', lift: [{by: 'plan', planKey: 'enterprise'}]}})

  await place('enterprise.1')
  const {path} = await makeSchedule(org, host, {...often, enabled: false})
  host.serve(accountRows(1, 'often-'))
  await ok(org.call('PATCH', path, {enabled: true}), 200)
  t.like(await fire(org, path), {outcome: 'done'})

  await place('business.1')
  t.like(await fire(org, path), {outcome: 'failed', runId: null, reason: {code: 'FEATURE_FREQUENT_SCHEDULES'}})
  t.like((await ok(org.call('GET', path), 200)).schedule, {enabled: false, stopped: {code: 'FEATURE_FREQUENT_SCHEDULES'}})
  t.like(await org.call('PATCH', path, {enabled: true}), {status: 403, body: {code: 'FEATURE_FREQUENT_SCHEDULES'}})
  const {bearer: _, ...source} = host.source
  t.like(await org.call('PUT', path, {...often, source}), {status: 403, body: {code: 'FEATURE_FREQUENT_SCHEDULES'}})
  const {schedule} = await ok(org.call('PUT', path, {name: 'Rarely', ...seldom, source, enabled: true}), 200)
  t.like(schedule, {enabled: true, stopped: null})
})
