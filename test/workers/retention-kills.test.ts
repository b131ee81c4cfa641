import test from 'ava'
import {doNight} from '../../workers/retention/night.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, runImport, untilEnded} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

/** Tables that hold an org's content. They must end empty, and no stored object may remain. */
const tables = ['log_batches', 'chain_rows', 'run_snapshots', 'segments', 'sources', 'decisions', 'checks', 'run_cursors', 'loose_objects']

test('a nightly purge that is killed at one step after another completes without losing track of an object', async t => {
  t.timeout(400_000)
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery', 'archive'], environment: {LEASE_SECONDS: '1'}})
  const org = await openOrg(here)
  const {secret} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'lasting'}), 201)
  const {path, run} = await runImport(org, {csv: accountRows(30), flow: accounts})
  const {run: again} = await ok(org.call('POST', `${path}/runs`, {retryOf: run.id}), 202)
  await untilEnded(org.call, `${path}/runs/${again.id}`)
  await prepareImport(org, {csv: accountRows(3), flow: accounts})
  await until(
    async () => (await here.hot.query(`select from runs where state = 'ended' and not archived`)).rowCount,
    left => left === 0,
  )
  await here.hot.query(`update plan_versions set limits = limits || '{"historyDays": 30}'`)
  await here.ahead('31 days')

  let kills = 0
  for (let isKilled = true; isKilled && kills < 10; ) {
    const killed = startWorker(here.config, {FAULT_POINT: `in_retention:${2 ** kills}`}, ['retention'])
    await until(
      async () => killed.signalCode ?? (await here.hot.query('select from retention_nights where ended_at is not null')).rowCount === 1,
      Boolean,
    )
    isKilled = killed.signalCode === 'SIGKILL'
    if (isKilled) kills++
    await endWorker(killed)
    await here.hot.query(`update retention_nights set lease_until = '-infinity' where ended_at is null`)
  }
  t.true(kills > 3, `killed ${kills} times`)
  t.log(`killed ${kills} times`)
  const {rows: nights} = await here.hot.query('select tries, counts, ended_at is not null as ended from retention_nights')
  t.like(nights, [{tries: kills + 1, ended: true}])
  t.true(nights[0].counts.importsExpired <= 2 && nights[0].counts.orphans === undefined)
  const counted = Object.fromEntries(
    await Promise.all(tables.map(async name => [name, Number((await here.hot.query(`select count(*) as n from ${name}`)).rows[0].n)])),
  )
  t.deepEqual(counted, Object.fromEntries(tables.map(name => [name, 0])))
  for await (const {key} of here.storage.list()) t.fail(key)
  const kept = (await ok(here.as(secret)('GET', `${path}/runs/${run.id}`), 200)).run
  t.like(kept.counts.Accounts, {created: 30})

  await here.ahead('62 days')
  t.true(await doNight({...here.tools, drain: new AbortController().signal}))
  t.is((await here.hot.query('select from imports')).rowCount, 0)
})
