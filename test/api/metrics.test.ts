import {randomUUID} from 'node:crypto'
import test from 'ava'
import {openDeploymentFigures} from '../../shared/telemetry/metrics/deployment.ts'
import {sql} from '../../sql/database.ts'
import {openCalls} from '../support/client.ts'
import {openCutOff} from '../support/cut-off.ts'
import {accountRows, accounts, openOrg, runImport} from '../support/importing.ts'
import {readSamples, sumOf} from '../support/metrics.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const METRICS_TOKEN = 'the-one-who-scrapes-the-test-world-and-nothing-else'

/** The deployment. All deployments of a process share its metrics, so the tests run serially. */
let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery', 'imports'], environment: {METRICS_TOKEN}})
})

const scrape = async () => readSamples((await house.as(METRICS_TOKEN)('GET', '/metrics')).text)

test.serial('metrics need METRICS_TOKEN or ADMIN_TOKEN, and METRICS_TOKEN opens nothing else', async t => {
  t.like(await house.as(null)('GET', '/metrics'), {status: 403, body: {code: 'ADMIN_REQUIRED'}})
  t.like(await house.as(`${METRICS_TOKEN}x`)('GET', '/metrics'), {status: 401, body: {code: 'AUTH_REQUIRED'}})
  t.is((await house.as((await house.makeStaff()).token)('GET', '/metrics')).status, 403)
  for (const bearer of [METRICS_TOKEN, house.adminToken]) {
    const {status, headers} = await house.as(bearer)('GET', '/metrics')
    t.is(status, 200)
    t.is(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  }
  for (const path of ['/staff/orgs', '/staff/people', '/auth/me', '/billing/admin/plans'])
    t.is((await house.as(METRICS_TOKEN)('GET', path)).status, 401, path)
})

test.serial('an import is counted in requests, jobs, CRM calls, batches and rows', async t => {
  const org = await openOrg(house)
  const before = await scrape()
  const {run} = await runImport(org, {csv: accountRows(250), flow: accounts})
  t.is(run.state, 'ended')
  const after = await until(scrape, samples => sumOf(samples, 'lading_runs_ended_total') > sumOf(before, 'lading_runs_ended_total'))
  const grown = (name: string, labels: Record<string, string> = {}) => sumOf(after, name, labels) - sumOf(before, name, labels)

  t.is(grown('lading_rows_settled_total'), 250)
  t.is(grown('lading_rows_settled_total', {outcome: 'created'}), 250)
  t.is(grown('lading_batches_total', {kind: 'create'}), 3)
  t.is(grown('lading_crm_calls_total', {operation: 'create', outcome: 'ok'}), 3)
  t.is(grown('lading_crm_call_seconds_count', {operation: 'create'}), 3)
  t.true(grown('lading_crm_calls_total', {operation: 'query', outcome: 'ok'}) >= 1)
  t.is(grown('lading_jobs_total', {job: 'import.run', outcome: 'done'}), 1)
  t.is(grown('lading_job_wait_seconds_count', {job: 'import.run'}), 1)
  t.is(grown('lading_runs_ended_total', {reason: 'done'}), 1)
  const started = {method: 'POST', route: '/orgs/:org/imports/:id/runs', status: '2xx', code: ''}
  t.is(grown('lading_http_requests_total', started), 1)
  t.is(grown('lading_http_request_seconds_count', {method: 'POST', route: started.route}), 1)
  t.is(sumOf(after, 'lading_crm_slots_in_use'), 0, 'every slot came back')
  t.is(sumOf(after, 'lading_jobs_running'), 0)
  t.is(sumOf(after, 'lading_http_requests_in_flight'), 1, 'the scrape itself')
  t.is(sumOf(after, 'lading_worker', {worker: 'imports'}), 1)
  for (const name of [
    'nodejs_eventloop_lag_p99_seconds',
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
    'lading_pool_waiters',
  ])
    t.true(
      after.some(sample => sample.name === name),
      name,
    )
})

test.serial('an event stream is a request without a duration, because it lasts as long as its client stays', async t => {
  const org = await openOrg(house)
  const {path, run} = await runImport(org, {csv: accountRows(1), flow: accounts})
  t.is((await org.call('GET', `${path}/runs/${run.id}/events`)).status, 200)
  const streamed = {method: 'GET', route: '/orgs/:org/imports/:id/runs/:run/events'}
  const after = await until(scrape, samples => sumOf(samples, 'lading_http_requests_total', streamed) > 0)
  t.is(sumOf(after, 'lading_http_request_seconds_count', streamed), 0)
})

test.serial('refusals are counted by code, and unknown paths under one label', async t => {
  const before = await scrape()
  await house.as(null)('GET', '/auth/me')
  for (let n = 0; n < 3; n++) await house.as(null)('GET', `/no/${randomUUID()}`)
  const after = await until(scrape, samples => sumOf(samples, 'lading_http_requests_total', {route: 'none'}) >= 3)
  const grown = (labels: Record<string, string>) =>
    sumOf(after, 'lading_http_requests_total', labels) - sumOf(before, 'lading_http_requests_total', labels)
  t.is(grown({route: '/auth/me', status: '4xx', code: 'AUTH_REQUIRED'}), 1)
  t.is(grown({route: 'none', status: '4xx', code: 'NOT_FOUND'}), 3)
})

test.serial('no label names a customer, a person, a module or an id', async t => {
  const {call, org, connector} = await openOrg(house)
  await call('GET', `/orgs/${org}/connectors/${connector}/records/Accounts/by-ids?ids=1`)
  const {text} = await house.as(METRICS_TOKEN)('GET', '/metrics')
  for (const word of [org, connector, 'Accounts', '@', 'ana', 'Example', 'Test Org']) t.false(text.includes(word), word)
  t.notRegex(text, /"[^"]*[a-z]{3}_[0-9A-Za-z]{16,}[^"]*"/, 'an id of ours')
})

test.serial('deployment metrics are read from Postgres', async t => {
  const {db} = house
  const {org} = await house.makeOrg()
  await db.query(sql.unsafe`
    insert into crm_allowances (dc, crm_org_id, spent_at, probe_at) values ('test', 'spent', lading_now() - interval '1 hour', lading_now()),
      ('test', 'nobody asks', lading_now() - interval '3 days', lading_now() - interval '2 days')`)
  await db.query(sql.unsafe`
    insert into payment_events (id, type, status, attempts, payload, created_at)
    values ('evt_metrics', 'x', 'failed', 40, '{}', lading_now() - interval '9 days'),
      ('evt_waits', 'x', 'failed', 5, '{}', lading_now() - interval '2 hours')`)
  await db.query(sql.unsafe`
    insert into webhook_endpoints (id, org_id, url, events, secret_sealed, failing_since)
    values ('whe_metrics', ${org}, 'https://x.example', '{}', 'x', lading_now() - interval '3 hours'),
      ('whe_quiet', ${org}, 'https://y.example', '{}', 'x', lading_now() - interval '30 days')`)
  await db.query(sql.unsafe`
    with notice as (insert into notices (id, org_id, kind, about, expanded_at) values ('ntc_metrics', ${org}, 'run.ended', '{}', lading_now()) returning notice_no)
    insert into deliveries (id, org_id, notice_no, endpoint_id, next_at)
      select 'dlv_metrics', ${org}, notice_no, 'whe_metrics', lading_now() + interval '1 hour' from notice`)
  await house.queue.send('org.erase', {org: 'org_nobody'}, {startAfter: 3600})
  await house.queue.send('import.check', {org: 'org_nobody', import: 'imp_nobody'})
  const samples = readSamples(await openDeploymentFigures(house.tools).text())
  const is = (name: string, labels: Record<string, string> = {}) => sumOf(samples, `lading_${name}`, labels)
  t.is(is('deployment_read'), 1)
  t.is(is('queue_jobs', {queue: 'import.check', state: 'waiting'}), 1, 'no worker of this world takes it')
  t.is(is('queue_jobs', {queue: 'org.erase', state: 'deferred'}), 1)
  t.is(is('queue_jobs', {state: 'failed'}), 0)
  const oldest = samples.filter(({name, labels}) => name === 'lading_queue_oldest_seconds' && labels.queue === 'import.run')
  t.deepEqual(
    oldest.map(({value}) => value),
    [0, 0, 0, 0],
    'autoscaling does not shrink on a missing value',
  )
  t.is(is('lease_seconds'), house.config.LEASE_SECONDS)
  t.true(is('queue_oldest_seconds', {queue: 'import.check', state: 'waiting'}) >= 0)
  t.is(is('crm_allowances_spent'), 1)
  t.true(Math.abs(is('crm_allowance_spent_seconds') - 3600) < 60)
  t.is(
    samples.filter(({name, labels}) => name === 'lading_connections' && labels.state === 'ended').length,
    1,
    'none is told too: an alert asks for growth',
  )
  t.is(is('payment_events', {status: 'failed'}), 2)
  t.true(Math.abs(is('payment_event_seconds') - 7200) < 60)
  t.is(is('endpoints_failing'), 1, 'nothing is sent to the other one')
  t.true(Math.abs(is('endpoint_failing_seconds') - 10_800) < 60)
  t.is(is('migrations_pending'), 0)
  t.true(is('database_connections', {state: 'used'}) > 0)
  t.true(is('storage_bytes', {state: 'free'}) > 0)
})

test.serial('failed jobs and rows with an unknown outcome leave their figures with time', async t => {
  const {hot} = house
  const figures = async () => {
    const samples = readSamples(await openDeploymentFigures(house.tools).text())
    return ['queue_failures', 'rows_unsettled'].map(name => sumOf(samples, `lading_${name}`))
  }
  t.deepEqual(await figures(), [0, 0])
  await house.queue.send('import.forecast', {org: 'org_nobody', import: 'imp_nobody'})
  const fail = (minutes: number) =>
    hot.query(`update pgboss.job set state = 'failed', completed_on = now() - make_interval(mins => $1) where name = 'import.forecast'`, [
      minutes,
    ])
  const {rows} = await hot.query(`select run_no from runs where state = 'ended' limit 1`)
  const run = rows[0].run_no
  const endRun = (minutes: number) =>
    hot.query('update runs set ended_at = lading_now() - make_interval(mins => $2) where run_no = $1', [run, minutes])
  await hot.query(
    `insert into unsettled (chain_no, module_no, row_key, run_no, flow_no, row_number, kind, witness, last_attempt, sent_at, deadline_at)
     values ($1, 1, 'k', $1, 1, 1, 0, false, 1, lading_now(), lading_now())`,
    [run],
  )
  await Promise.all([fail(14), endRun(59)])
  t.deepEqual(await figures(), [1, 1])
  await Promise.all([fail(16), endRun(61)])
  t.deepEqual(await figures(), [0, 0])
  await hot.query(`delete from pgboss.job where name = 'import.forecast'`)
})

test.serial('concurrent scrapes cause one read of Postgres', async t => {
  const {text} = openDeploymentFigures(house.tools)
  const texts = await Promise.all(Array.from({length: 20}, text))
  t.is(new Set(texts.map(one => sumOf(readSamples(one), 'lading_deployment_read_seconds'))).size, 1)
  const fresh = openDeploymentFigures(house.tools, {keepMs: 0})
  const each = [await fresh.text(), await fresh.text(), await fresh.text()]
  t.is(new Set(each.map(one => sumOf(readSamples(one), 'lading_deployment_read_seconds'))).size, 3, 'and again once they are old')
})

test.serial('metrics are refused to every caller during maintenance', async t => {
  const {api} = await openCutOff(t, {MAINTENANCE: '1', METRICS_TOKEN, ADMIN_TOKEN: house.adminToken})
  for (const bearer of [METRICS_TOKEN, house.adminToken, 'somebody', null])
    t.like(await openCalls(api.url)(bearer)('GET', '/metrics'), {status: 503, body: {code: 'MAINTENANCE'}})
})

test.serial('without Postgres only the metrics of the process are returned', async t => {
  const {api, proxy} = await openCutOff(t, {METRICS_TOKEN})
  const ask = openCalls(api.url)(METRICS_TOKEN)
  t.is((await ask('GET', '/auth/me')).status, 401)
  proxy.cut()
  const {status, text} = await ask('GET', '/metrics')
  t.is(status, 200)
  const samples = readSamples(text)
  t.is(sumOf(samples, 'lading_deployment_read'), 0)
  t.false(text.includes('lading_queue_jobs'), 'old figures would look like good ones')
  t.true(sumOf(samples, 'lading_http_requests_total') > 0)
})
