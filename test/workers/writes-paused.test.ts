import anyTest, {type TestFn} from 'ava'
import {setWritesPaused} from '../../sql/connectors.ts'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, untilEnded, untilRun} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

type Here = {world: TestDeployment; org: Org}
/** The tests run serially, because faults of the stand-in apply to every run. */
const test = anyTest.serial as TestFn<Here>
const rows = 1_200

test.before(async t => {
  // The lease is long, so that only the check before a batch notices a pause.
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '9', CRM_SLOTS: '2'}})
  Object.assign(t.context, {world: here, org: await openOrg(here)})
})
test.beforeEach(t => t.context.world.crm.clear())
test.afterEach.always(t => pause(t.context, false))

const pause = ({world, org}: Here, paused: boolean) =>
  world.db.transaction(tx => setWritesPaused(tx, {org: org.org, id: org.connector, paused}))
const writes = ({world}: Here) => world.crm.journal({path: '/crm/v8/Accounts', method: 'POST'}).length
const inFlight = ({world}: Here) => world.db.oneFirst(sql.unsafe`select count(*)::int from sends`) as Promise<number>
const slow = ({world}: Here, ms = 150) =>
  world.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 100, action: {type: 'slow', ms, when: 'after'}})

const begin = async ({org}: Here, prefix: string) => {
  const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return {path, at: `${path}/runs/${run.id}`}
}
const untilCreated = ({org}: Here, at: string) => untilRun(org.call, at, run => (run.counts.Accounts?.created ?? 0) > 0)
const untilLying = ({org}: Here, at: string) => untilRun(org.call, at, run => run.state === 'paused')
const outcomeOf = ({status, body}: {status: number; body: any}) => [status, body.code, body.written]

test('a run pauses before its next batch, and resumes by itself when writes are allowed again', async t => {
  const {world, org} = t.context
  slow(t.context)
  const {path, at} = await begin(t.context, 'P-')
  await untilCreated(t.context, at)
  await pause(t.context, true)
  const most = (await inFlight(t.context)) + writes(t.context)
  const lying = await untilLying(t.context, at)
  t.like(lying, {pause: {code: 'WRITES_PAUSED'}, stop: null})
  t.true(lying.progress.done > 0 && lying.progress.done < rows)
  t.is(lying.progress.etaSeconds, null)
  t.true(writes(t.context) <= most, `${writes(t.context)} batches of at most ${most}`)
  t.is(await inFlight(t.context), 0)

  await until(
    () => world.queue.findJobs('import.run', {}),
    jobs => jobs.every(({state}) => state === 'completed'),
  )
  await world.ahead('10 minutes')
  const sent = writes(t.context)
  const jobs = await world.queue.findJobs('import.run', {})
  t.true(jobs.every(({state}) => state === 'completed'))
  t.is((await org.call('GET', at)).body.run.state, 'paused')

  world.crm.faults.clear()
  await pause(t.context, false)
  const ended = await untilEnded(org.call, at)
  t.like(ended, {state: 'ended', stop: null, pause: null})
  t.true(writes(t.context) > sent)
  const {finals} = await assertAccounted(world, {org, path, run: ended, rows})
  assertOnce(world.crm, 'P-', finals)
})

test('no run can be started or authorised on a connection with paused writes', async t => {
  const {org} = t.context
  const {path} = await prepareImport(org, {csv: accountRows(5, 'N-'), flow: accounts})
  const authorised = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, connectorId: org.connector}), 200)
  await pause(t.context, true)
  const refused = [409, 'WRITES_PAUSED', false]
  t.deepEqual(outcomeOf(await org.call('POST', `${path}/runs`, {})), refused)
  t.deepEqual(outcomeOf(await org.call('POST', `${path}/runs`, {runId: authorised.runId})), refused)
  t.deepEqual(outcomeOf(await org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, connectorId: org.connector})), refused)
  t.deepEqual(
    outcomeOf(await org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5, importId: path.split('/').at(-1)})),
    refused,
  )
  t.is((await org.call('GET', path)).body.import.state, 'ready')
  await pause(t.context, false)
  const {run} = await ok(org.call('POST', `${path}/runs`, {runId: authorised.runId}), 202)
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {counts: {Accounts: {created: 5}}})
})

test('a rate-limited batch is not sent again while writes are paused', async t => {
  const {world, org} = t.context
  world.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1_000, action: {type: 'rateLimit', retryAfter: 2}})
  const {path, at} = await begin(t.context, 'W-')
  await until(
    () => writes(t.context),
    sent => sent > 0,
  )
  await pause(t.context, true)
  const most = (await inFlight(t.context)) + writes(t.context)
  t.like(await untilLying(t.context, at), {pause: {code: 'WRITES_PAUSED'}})
  t.true(writes(t.context) <= most)
  t.is(world.crm.records('example', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith('W-')).length, 0)
  world.crm.faults.clear()
  await pause(t.context, false)
  const ended = await untilEnded(org.call, at)
  const {finals} = await assertAccounted(world, {org, path, run: ended, rows})
  assertOnce(world.crm, 'W-', finals)
})

test('a run under paused writes can be cancelled', async t => {
  const {org} = t.context
  slow(t.context)
  const {at} = await begin(t.context, 'C-')
  await untilCreated(t.context, at)
  await pause(t.context, true)
  await untilLying(t.context, at)
  await ok(org.call('POST', `${at}/cancel`), 200)
  t.like(await untilEnded(org.call, at), {state: 'ended', stop: {stopped: 'CANCELLED'}})
})

test('a run whose connection is disconnected ends, and sends nothing more', async t => {
  const {world} = t.context
  const org = await openOrg(world, 'zoe@other.example')
  const here = {world, org}
  slow(here)
  world.crm.faults.add({match: {path: '/oauth/v2/token/revoke'}, action: 'dropBefore'})
  const {path, at} = await begin(here, 'D-')
  await untilCreated(here, at)
  await ok(org.call('DELETE', `/orgs/${org.org}/connectors/${org.connector}`), 200)
  const most = (await inFlight(here)) + writes(here)
  const ended = await untilEnded(org.call, at)
  t.like(ended.stop, {stopped: 'GRANT_ENDED'})
  t.regex(ended.stop.message, /disconnected\. Connect it again/)
  t.true(writes(here) <= most, 'the access token would still have been honoured')
  const made = world.crm.records('other', 'Accounts').filter(({Account_Number}) => String(Account_Number).startsWith('D-')).length
  t.true(made < rows)
  t.is(ended.counts.Accounts.created + (ended.counts.Accounts.unanswered ?? 0), made)
  t.is((await ok(org.call('GET', `${path}/runs`), 200)).runs.length, 1)
})
