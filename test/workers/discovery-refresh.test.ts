import anyTest, {type TestFn} from 'ava'
import {openLog} from '../../shared/telemetry/log.ts'
import {takeStaleConnectors} from '../../sql/connectors.ts'
import {keepQuotaExhausted} from '../../sql/crm-quota.ts'
import {sql} from '../../sql/database.ts'
import {startWorkers} from '../../workers/start.ts'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

type Here = {world: TestDeployment}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  t.context.world = await startTestDeployment(t)
})
test.beforeEach(async t => {
  const {world} = t.context
  world.crm.clear()
  await world.ahead('0 hours')
})

type Environment = Partial<TestDeployment['config']>
/** Runs the discovery workers while `during` runs. The workers look for stale connections when they start. */
const withWorkers = async <R>({world}: Here, during: () => Promise<R>, more: Environment = {}): Promise<R> => {
  const {stop} = await startWorkers(['discovery'], {...world.config, ...more}, openLog('test', 'silent'))
  try {
    return await during()
  } finally {
    await stop()
  }
}
/** Opens an org with a discovery. Its calls use an API token, because a session would expire within a day. */
const openDiscovered = async (here: Here, user = 'ana@example.org') => {
  const org = await withWorkers(here, () => openOrg(here.world, user))
  const {secret} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'Refreshing'}), 201)
  return {...org, call: here.world.as(secret)}
}
const jobsOf = async ({world}: Here, connector: string) =>
  (await world.queue.findJobs<any>('discovery.run', {})).filter(({data}) => data.connector === connector && data.upkeep === true)
const untilDone = (here: Here, connector: string, count: number) =>
  until(
    () => jobsOf(here, connector),
    jobs => jobs.length === count && jobs.every(({state}) => state === 'completed'),
  )
const latest = async ({call, org}: Awaited<ReturnType<typeof openOrg>>) =>
  (await ok(call('GET', `/orgs/${org}/discovery/latest`), 200)).discovery
const countSnapshots = ({world}: Here, connector: string) =>
  world.db.oneFirst(sql.unsafe`select count(*)::int from discoveries where connector_id = ${connector}`)

test('a connection that was not read for a day is read again, and a snapshot is kept only if something changed', async t => {
  const {world} = t.context
  const org = await openDiscovered(t.context)
  const first = await latest(org)
  t.is(first.seenAt, first.createdAt)
  await world.ahead('23 hours')
  await withWorkers(t.context, async () => {
    const {job} = await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {}, {prefer: 'wait=30'}), 200)
    t.is(job.state, 'done')
  })
  t.deepEqual(await jobsOf(t.context, org.connector), [], 'too early')
  const asked = await latest(org)
  t.is(await countSnapshots(t.context, org.connector), 2, 'who asks is given a snapshot of his own')

  await world.ahead('48 hours')
  await withWorkers(t.context, () => untilDone(t.context, org.connector, 1))
  const seen = await latest(org)
  t.is(seen.id, asked.id)
  t.true(seen.seenAt > asked.seenAt)

  world.crm.addField('example', 'Leads', {name: 'Fresh', type: 'text', length: 20})
  await world.ahead('73 hours')
  await withWorkers(t.context, () => untilDone(t.context, org.connector, 2))
  const changed = await latest(org)
  t.not(changed.id, asked.id)
  t.like(changed.diff.changed, [{module: 'Leads', fields: {added: ['Fresh']}}])
})

test('a refresh spends no exhausted CRM quota, and is tried again an hour later', async t => {
  const {world} = t.context
  const org = await openDiscovered(t.context, 'zoe@other.example')
  const place = {dc: 'local', crmOrgId: String(await crmOrgOf(t.context, org.connector))}
  await world.ahead('25 hours')
  await keepQuotaExhausted(world.db, place)
  await world.ahead('26 hours')
  world.crm.clear()
  const [refused] = await withWorkers(t.context, () => untilDone(t.context, org.connector, 1))
  t.like(refused!.output, {refused: {code: 'DAILY_ALLOWANCE_SPENT'}})
  t.is(world.crm.journal({path: '/crm/**'}).length, 0, 'not even the one call a minute')

  await world.ahead('26.5 hours')
  t.deepEqual(await world.db.transaction(tx => takeStaleConnectors(tx, {hours: 24, againHours: 1, limit: 100})), [])
  await world.ahead('28 hours')
  await world.db.query(sql.unsafe`delete from crm_allowances`)
  await withWorkers(t.context, () => untilDone(t.context, org.connector, 2))
  t.true((await latest(org)).seenAt > new Date(Date.now() + 27 * 3_600_000).toISOString())
})

const crmOrgOf = ({world}: Here, connector: string) =>
  world.db.oneFirst(sql.unsafe`select crm_org_id from connectors where id = ${connector}`)

test('ended, closed or never read connections are not refreshed, and none is when refreshing is switched off', async t => {
  const {world} = t.context
  const [org, control] = [await openDiscovered(t.context), await openDiscovered(t.context, 'zoe@other.example')]
  const never = await world.connect((await world.makeOrg()).token)
  const count = async (id: string) => (await jobsOf(t.context, id)).length
  const [before, others] = [await count(org.connector), await count(control.connector)]
  const operator = world.as(world.adminToken)

  await world.ahead('400 hours')
  const asked = () => ok(control.call('POST', `/orgs/${control.org}/discovery/run`, {}, {prefer: 'wait=30'}), 200)
  await withWorkers(t.context, asked, {DISCOVERY_REFRESH_HOURS: 0})
  t.is(await count(org.connector), before)

  // The refresh of the control org proves that the workers have looked for stale connections.
  await operator('POST', `/staff/orgs/${org.org}/close`, {reason: 'unpaid'})
  await world.ahead('800 hours')
  await withWorkers(t.context, () => untilDone(t.context, control.connector, others + 1))
  t.is(await count(org.connector), before)

  await operator('POST', `/staff/orgs/${org.org}/reopen`)
  await ok(org.call('DELETE', `/orgs/${org.org}/connectors/${org.connector}`), 200)
  await world.ahead('1200 hours')
  await withWorkers(t.context, () => untilDone(t.context, control.connector, others + 2))
  t.is(await count(org.connector), before)
  t.is(await count(never), 0)
})

test('a refresh reads the edition of the CRM org, and keeps it if the CRM does not answer', async t => {
  const {world} = t.context
  const org = await openDiscovered(t.context)
  const readEdition = async () => (await ok(org.call('GET', `/orgs/${org.org}/connectors/${org.connector}/credits`), 200)).credits.edition
  t.is(await readEdition(), null)
  await world.ahead('900 hours')
  await withWorkers(t.context, () => until(readEdition, edition => edition === 'enterprise'))

  world.crm.faults.add({match: {path: '/crm/v8/org'}, times: 9, action: {type: 'status5xxBefore', status: 500}})
  await world.ahead('1000 hours')
  const seen = (await latest(org)).seenAt
  await withWorkers(t.context, () =>
    until(
      () => latest(org),
      ({seenAt}) => seenAt > seen,
    ),
  )
  t.true(world.crm.journal({path: '/crm/v8/org'}).some(({status}) => status === 500))
  t.is(await readEdition(), 'enterprise')
  world.crm.faults.clear()
})
