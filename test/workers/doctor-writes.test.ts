import anyTest, {type TestFn} from 'ava'
import type {Switches} from '../simulators/crm/switches.ts'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

type Here = {world: TestDeployment; org: string; connector: string; call: Awaited<ReturnType<typeof openOrg>>['call']; usual: Switches}
/** The tests run serially, because they share one sandbox org. */
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery']})
  Object.assign(t.context, {world: here, ...(await openOrg(here, 'sam@sandbox.example')), usual: here.crm.switches()})
})
test.beforeEach(t => {
  const {crm} = t.context.world
  crm.clear()
  crm.setSwitches(t.context.usual)
})

const runProbes = async ({call, org, connector}: Here) => {
  const path = `/orgs/${org}/connectors/${connector}/doctor`
  const {job} = (await call('POST', path, {write: true}, {prefer: 'wait=60'})).body
  if (job.state !== 'done') throw new Error(JSON.stringify(job))
  return (await ok(call('GET', path), 200)).report
}
const probeOf = (report: any, id: string) => report.probes.find((probe: any) => probe.id === id)
const countLeft = ({world: {crm}}: Here) => ['Leads', 'Contacts', 'Accounts'].map(module => crm.count('sandbox', module))

const OUTCOMES: [id: string, switches: Partial<Switches>, verdict: string, capabilities?: object][] = [
  ['write.create', {}, 'expected'],
  ['write.readAtOnce', {}, 'expected'],
  ['write.delete', {}, 'expected'],
  ['write.restore', {}, 'expected'],
  ['write.restore', {restoreAtOnce: 0, restoreSeconds: 1}, 'different'],
  ['lag.coql', {coqlLagSeconds: 1}, 'expected', {coqlLagSeconds: 2}],
  // A shorter lag does not replace the longest one.
  ['lag.coql', {coqlLagSeconds: 0}, 'expected', {coqlLagSeconds: 2}],
  ['write.unknownKey', {strictFields: true}, 'different'],
  ['write.picklist', {strictPicklists: true}, 'different'],
  ['unmodifiedSince.single', {}, 'expected'],
  ['unmodifiedSince.single', {unmodifiedSince: 'ignored'}, 'different', {unmodifiedSince: 'ignored'}],
  ['unmodifiedSince.batch', {unmodifiedSince: 'record'}, 'expected', {unmodifiedSince: 'record'}],
  ['unmodifiedSince.batch', {unmodifiedSince: 'whole'}, 'expected', {unmodifiedSince: 'whole'}],
  ['unmodifiedSince.batch', {unmodifiedSince: 'ignored'}, 'different', {unmodifiedSince: 'ignored'}],
]

for (const [id, switches, verdict, capabilities] of OUTCOMES)
  test(`a writing probe finds ${id} ${verdict} with ${JSON.stringify(switches)}, and deletes its records`, async t => {
    const here = t.context
    here.world.crm.setSwitches(switches)
    const report = await runProbes(here)
    t.is(probeOf(report, id).verdict, verdict, JSON.stringify(probeOf(report, id)))
    if (capabilities) t.like(report.capabilities, capabilities)
    t.true(report.write)
    t.deepEqual(countLeft(here), [0, 0, 0])
    t.deepEqual(
      here.world.crm.automations('sandbox').filter(({ran}) => ran.length > 0),
      [],
      'no automation ran',
    )
  })

test('the doctor changes no record of the org, and deletes its own even if a probe fails', async t => {
  const here = t.context
  here.world.crm.create('sandbox', 'Leads', [{Last_Name: 'Theirs', Company: 'Acme'}])
  here.world.crm.faults.add({match: {path: '/crm/v8/Leads', method: 'PUT'}, times: 10, action: 'dropBefore'})
  const report = await runProbes(here)
  t.is(probeOf(report, 'unmodifiedSince.batch').verdict, 'unknown')
  t.deepEqual(
    here.world.crm.records('sandbox', 'Leads').map(({Last_Name}) => Last_Name),
    ['Theirs'],
  )
})

test('a writing doctor is refused on a connection with paused writes', async t => {
  const {call, org, connector} = t.context
  await ok(call('PATCH', `/orgs/${org}/config/writing?connector=${connector}`, {paused: true}), 200)
  const {status, body} = await call('POST', `/orgs/${org}/connectors/${connector}/doctor`, {write: true})
  await ok(call('PATCH', `/orgs/${org}/config/writing?connector=${connector}`, {paused: false}), 200)
  t.like({status, ...body}, {status: 409, code: 'WRITES_PAUSED'})
})

test('a pause during a writing doctor ends it before the next probe, and its records are deleted', async t => {
  const {call, org, connector, world} = t.context
  const pause = (paused: boolean) => ok(call('PATCH', `/orgs/${org}/config/writing?connector=${connector}`, {paused}), 200)
  world.crm.faults.add({match: {path: '/crm/v8/Leads', method: 'POST'}, times: 1, action: {type: 'hold', when: 'after'}})
  const asked = call('POST', `/orgs/${org}/connectors/${connector}/doctor`, {write: true}, {prefer: 'wait=60'})
  await until(
    async () => world.crm.count('sandbox', 'Leads'),
    count => count === 1,
  )
  await pause(true)
  world.crm.release()
  const {job} = (await asked).body
  await pause(false)
  t.like(job, {state: 'refused', error: {code: 'WRITES_PAUSED'}})
  t.is(world.crm.journal({path: '/crm/v8/Leads'}).filter(({method}: any) => method === 'POST').length, 1)
  t.deepEqual(countLeft(t.context), [0, 0, 0])
})

test('the doctor reports the status of a restored record that cannot be read for a minute', async t => {
  const {crm} = t.context.world
  crm.setSwitches({restoreAtOnce: 0, restoreSeconds: 3_600})
  const asked = runProbes(t.context)
  await until(
    async () => crm.journal({path: '/crm/v8/settings/recycle_bin/actions/restore'}).length,
    count => count === 1,
  )
  crm.faults.add({match: {method: 'GET', path: '/crm/v8/Leads/*'}, times: 1_000, action: {type: 'answer', status: 403}})
  await until(
    async () => crm.faults.list()[0]!.used,
    used => used > 0,
  )
  const now = performance.now.bind(performance)
  performance.now = () => now() + 60_000
  t.teardown(() => void (performance.now = now))
  t.like(probeOf(await asked, 'write.restore'), {seen: 'SCHEDULED, then HTTP 403', verdict: 'different'})
})
