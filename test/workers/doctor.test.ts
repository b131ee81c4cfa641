import anyTest, {type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import type {Switches} from '../simulators/crm/switches.ts'
import {openHome} from '../support/cli-process.ts'
import {ok, openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

type Here = {
  world: TestDeployment
  org: string
  connector: string
  session: string
  call: Awaited<ReturnType<typeof openOrg>>['call']
  usual: Switches
}
/** The tests run serially, because they set the switches of one stand-in. */
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery']})
  Object.assign(t.context, {world: here, ...(await openOrg(here)), usual: here.crm.switches()})
})
test.beforeEach(async t => {
  const {crm, db, ahead} = t.context.world
  await ahead('0 seconds')
  await db.query(sql.unsafe`delete from crm_allowances`)
  await db.query(sql.unsafe`update connectors set capabilities = '{}'`)
  crm.clear()
  crm.setSwitches(t.context.usual)
  crm.create('example', 'Leads', [{Last_Name: 'Ono', Company: 'Acme'}])
})

type DoctorInput = {write?: boolean}
const run = async ({call, org, connector}: Here, body: DoctorInput = {}) =>
  (await call('POST', `/orgs/${org}/connectors/${connector}/doctor`, body, {prefer: 'wait=60'})).body.job
const read = async ({call, org, connector}: Here) => (await ok(call('GET', `/orgs/${org}/connectors/${connector}/doctor`), 200)).report
const runProbes = async (here: Here, body: DoctorInput = {}) => {
  const job = await run(here, body)
  if (job.state !== 'done') throw new Error(JSON.stringify(job))
  return read(here)
}
const probeOf = (report: any, id: string) => report.probes.find((probe: any) => probe.id === id)

test('a connection has no doctor report before the first run', async t => {
  t.is(await read(t.context), null)
})

test('against a CRM that behaves as expected, the doctor finds no difference, counts each call and writes nothing', async t => {
  const here = t.context
  here.world.crm.clearJournal()
  const report = await runProbes(here)
  t.deepEqual(
    report.probes.filter(({verdict}: any) => verdict === 'different').map(({id, seen}: any) => [id, seen]),
    [],
  )
  t.true(report.probes.length >= 25)
  const calls = here.world.crm.journal().filter(({path}) => path.startsWith('/crm/v8/'))
  t.is(calls.length, report.credits)
  t.true(report.credits <= 70, String(report.credits))
  t.deepEqual(
    calls.filter(({committed}) => committed),
    [],
  )
  t.is(here.world.crm.count('example', 'Leads'), 1)
  t.deepEqual(report.capabilities, {
    coqlInSize: 50,
    coqlInLists: 10,
    coqlColumns: 50,
    coqlLagSeconds: 0,
    coqlQuote: 'doubled',
    coqlWindow: 'between-offset',
    unmodifiedSince: null,
  })
})

const OUTCOMES: [id: string, switches: Partial<Switches>, verdict: string, capabilities?: object][] = [
  ['coql.inSize', {coqlInLimit: 100}, 'expected', {coqlInSize: 100}],
  ['coql.inSize', {coqlInLimit: 25}, 'different', {coqlInSize: 25}],
  ['coql.inLists', {coqlCriteria: 5}, 'different', {coqlInLists: 1}],
  ['coql.columns', {coqlColumns: 500}, 'expected', {coqlColumns: 125}],
  ['coql.quote', {coqlQuote: 'backslash'}, 'different', {coqlQuote: 'backslash'}],
  ['coql.quote', {coqlQuote: 'doubled'}, 'expected', {coqlQuote: 'doubled'}],
  ['coql.window', {coqlMoments: ['z']}, 'different', {coqlWindow: 'between-z'}],
  ['coql.window', {coqlRefusedOperators: ['between']}, 'different', {coqlWindow: 'pair-offset'}],
  ['coql.window', {coqlRefusedOperators: ['between'], coqlMoments: ['z']}, 'different', {coqlWindow: 'pair-z'}],
  ['coql.window', {coqlMoments: []}, 'different', {coqlWindow: 'between-offset'}],
  ['coql.createdBy', {coqlRefusedColumns: ['Created_By']}, 'different'],
  ['coql.case', {coqlCaseSensitive: true}, 'different'],
  ['coql.pairs', {coqlPairs: false}, 'different'],
  ['coql.where', {coqlNeedsWhere: false}, 'different'],
  ['access.sharing', {privateModules: ['Leads']}, 'different'],
  ['search.word', {searchLagSeconds: 600}, 'different'],
]

for (const [id, switches, verdict, capabilities] of OUTCOMES)
  test(`the doctor finds ${id} ${verdict} with ${JSON.stringify(switches)}, and the connection follows`, async t => {
    const here = t.context
    here.world.crm.clear()
    here.world.crm.setSwitches(switches)
    here.world.crm.create('example', 'Leads', [{Last_Name: 'Ono', Company: 'Acme'}])
    const report = await runProbes(here)
    const probe = probeOf(report, id)
    t.is(probe.verdict, verdict, JSON.stringify(probe))
    t.is(probe.consequence === 'None', verdict === 'expected')
    if (capabilities) t.like(report.capabilities, capabilities)
  })

const refused = (status: number, code: string) => ({
  type: 'answer' as const,
  status,
  body: {code, details: {}, message: 'no', status: 'error'},
})
const ANSWERS: [id: string, path: string, action: object, verdict: string][] = [
  ['access.administrator', '/crm/v8/users', {type: 'answer', status: 204}, 'different'],
  ['users.count', '/crm/v8/users/actions/count', {type: 'answer', status: 200, body: {count: 'many'}}, 'different'],
  ['access.sharing', '/crm/v8/settings/data_sharing', refused(403, 'NO_PERMISSION'), 'unknown'],
  ['access.profile', '/crm/v8/settings/profiles/*', refused(401, 'OAUTH_SCOPE_MISMATCH'), 'different'],
  ['search.oneCharacter', '/crm/v8/Leads/search', {type: 'answer', status: 204}, 'different'],
  ['search.word', '/crm/v8/Leads/search', {type: 'status5xxBefore', status: 500}, 'unknown'],
]

for (const [id, path, action, verdict] of ANSWERS)
  test(`a failing call affects its own probe only: ${id} is ${verdict} after ${JSON.stringify(action).slice(0, 60)}`, async t => {
    const here = t.context
    const nth = id === 'access.administrator' ? {nth: 2} : {}
    here.world.crm.faults.add({match: {path, ...nth}, times: 100, action} as never)
    const report = await runProbes(here)
    t.is(probeOf(report, id).verdict, verdict, JSON.stringify(probeOf(report, id)))
    t.is(probeOf(report, 'coql.pairs').verdict, 'expected', 'the other probes continue')
  })

test('the doctor command prints the facts, and exits with 8 if one is different', async t => {
  const {world, session} = t.context
  const home = openHome({LADING_URL: world.url, LADING_TOKEN: session})
  const fine = await home.run(['doctor', '--json'])
  t.is(fine.code, 0, fine.err)
  t.true(JSON.parse(fine.out).report.probes.length >= 25)
  world.crm.setSwitches({coqlPairs: false})
  const {code, out} = await home.run(['doctor'])
  t.is(code, 8)
  t.regex(out, /Three conditions without brackets are refused.*different.*None: conditions are always sent in brackets/)
  t.is((await home.run(['doctor', '--latest'])).code, 8)
})

test('in an empty CRM, facts that need a record are unknown', async t => {
  const here = t.context
  here.world.crm.clear()
  const report = await runProbes(here)
  t.is(probeOf(report, 'coql.window').verdict, 'unknown')
  t.is(probeOf(report, 'org.edition').verdict, 'expected')
})

test('a doctor job without CRM quota or API access is refused, and the earlier report stays', async t => {
  const here = t.context
  const before = await runProbes(here)
  here.world.crm.setCredits('example', {used: 1_000_000})
  t.like(await run(here), {state: 'refused'})
  here.world.crm.setCredits('example', {used: 0})
  await here.world.ahead('2 minutes')
  here.world.crm.addProfile('example', {name: 'Administrator', like: 'Administrator', without: ['Crm_Implied_Api_Access']})
  const {state, error} = await run(here)
  here.world.crm.addProfile('example', {name: 'Administrator', like: 'Administrator'})
  t.like({state, error}, {state: 'refused', error: {code: 'CRM_REFUSED'}})
  t.regex(error.error, /no API access.*Zoho CRM API Access/)
  t.deepEqual(await read(here), before)
})

test('the writing probes are refused in an org that is not a sandbox', async t => {
  t.like(await run(t.context, {write: true}), {state: 'refused', error: {code: 'NOT_A_SANDBOX'}})
  t.is(t.context.world.crm.count('example', 'Leads'), 1)
})
