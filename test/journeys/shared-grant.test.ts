import type {ChildProcess} from 'node:child_process'
import test from 'ava'
import {z} from 'zod'
import {runImport} from '../../shared/jobs.ts'
import {enqueue} from '../../shared/queue.ts'
import {sql} from '../../sql/database.ts'
import {lockGrant} from '../../sql/grants.ts'
import {listUnownedRuns} from '../../sql/unowned-runs.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

/**
 * A deployment whose two workers and API share one grant with short-lived access tokens. The stand-in allows 1,000 tokens in ten minutes, so
 * only Lading's own ledger limits the renewals.
 */
let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>
const workers: ChildProcess[] = []
const rows = 300
const stepSeconds = 6
const steps = (22 * 60) / stepSeconds
/** Ten minutes less one second, because the ledger records a renewal a moment before the CRM does. */
const windowMs = 600_000 - 1_000

test.before(async t => {
  const crm = {
    journal: {limit: 100_000, bodies: false},
    switches: {mintsPerTenMinutes: 1_000, accessTokenSeconds: 60, concurrency: false, latencyMs: 10},
  }
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '120'}, crm})
  org = await openOrg(here)
})
test.afterEach.always(() => Promise.all(workers.splice(0).map(endWorker)))

/** Advances the clocks of Postgres and the CRM together under the grant's lock, so that no renewal is in progress. */
const pass = (seconds: number) =>
  here.db.transaction(async tx => {
    await lockGrant(tx, {connector: org.connector, waitSeconds: 10})
    await tx.query(sql.unsafe`
      insert into clock_offset (ahead) values (make_interval(secs => ${seconds}))
      on conflict (only_row) do update set ahead = clock_offset.ahead + excluded.ahead`)
    here.crm.clock.advance(seconds * 1000)
  })

/** Queues runs without an owner as the sweep does, by the advanced clock. */
const wakePaused = () =>
  here.db.transaction(async tx => {
    for (const {id, org} of await listUnownedRuns(tx, {limit: 100}))
      await enqueue(here.queue, runImport, {org, run: id}, {tx, track: false})
  })

const begin = async (n: number) => {
  const prefix = `G${n}-`
  const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return {prefix, path, runPath: `${path}/runs/${run.id as string}`}
}

const read = async () => {
  const {status, body, headers} = await org.call(
    'GET',
    `/orgs/${org.org}/connectors/${org.connector}/records/Accounts/by-ids?ids=1&fields=Account_Name`,
  )
  return {code: status === 200 ? 'OK' : (body.code as string), retryAfter: Number(headers.get('retry-after'))}
}

/** Returns the times of token requests by the stand-in's clock. */
const mints = () => here.crm.journal({path: '/oauth/v2/token'}).map(({at}) => Date.parse(at))
const mostInWindow = (times: number[]) => Math.max(...times.map(end => times.filter(at => at > end - windowMs && at <= end).length))

const Kept = z.object({state: z.string(), ended: z.boolean()})
const readConnection = () =>
  here.db.one(sql.type(Kept)`
    select state, ended_at is not null as ended from connectors join grants on connector_id = id where id = ${org.connector}`)

test('a grant shared by three processes is not renewed too often, is never lost, and recovers from every throttling', async t => {
  here.crm.clearJournal()
  for (let n = 0; n < 2; n++) workers.push(startWorker(here.config))
  const runs: Awaited<ReturnType<typeof begin>>[] = []
  const answers: Awaited<ReturnType<typeof read>>[] = []
  for (let step = 0; step < steps; step++) {
    // In the first half, tokens count as expired at every call. In the second half, they live for minutes, and one is revoked every half minute.
    here.crm.setSwitches({accessTokenSeconds: step < steps / 2 ? 60 : 420})
    if (step % 5 === 0 && step >= steps / 2) here.crm.faults.add({match: {module: 'Accounts'}, times: 1, action: 'expireToken'})
    if (step % 40 === 0) runs.push(await begin(step))
    if (step % 10 === 5) await wakePaused()
    answers.push(await read())
    // A fault that met no call would later expire a new token, which no CRM does.
    here.crm.faults.clear()
    await pass(stepSeconds)
  }
  t.deepEqual(await readConnection(), {state: 'connected', ended: false})
  here.crm.setSwitches({accessTokenSeconds: 3_600})
  await pass(601)
  await wakePaused()
  t.is((await read()).code, 'OK')
  for (const {prefix, path, runPath} of runs) {
    const run = await untilEnded(org.call, runPath)
    const {outcomes, finals} = await assertAccounted(here, {org, path, run, rows})
    t.deepEqual([outcomes, run.stop], [{created: rows}, null])
    assertOnce(here.crm, prefix, finals)
  }

  const times = mints()
  t.true(times.length > 10, `${times.length} tokens`)
  t.is(mostInWindow(times), 10)
  const codes = answers.map(({code}) => code)
  t.deepEqual([...new Set(codes)].toSorted(), ['CONNECTION_THROTTLED', 'CRM_REFUSED', 'OK'])
  t.true(answers.every(({code, retryAfter}) => code !== 'CONNECTION_THROTTLED' || (retryAfter >= 1 && retryAfter <= 600)))
  const recoveries = codes.filter((code, at) => code === 'OK' && at > 0 && codes[at - 1] !== 'OK')
  t.true(recoveries.length >= 2, `${recoveries.length} recoveries`)
  t.log({tokens: times.length, ...Object.fromEntries([...Map.groupBy(codes, code => code)].map(([code, list]) => [code, list.length]))})
})
