import test from 'ava'
import {accountRows, type Org, ok, openOrg, untilEnded} from '../support/importing.ts'
import {type FileHost, fire, makeSchedule, makeTemplate, startFileHost, untilOver} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
let host: FileHost
let org: Org

test.before(async t => {
  host = await startFileHost()
  const workers = ['imports', 'discovery', 'schedules', 'clock']
  house = await startTestDeployment(t, {workers, environment: {PRIVATE_HOSTS: host.place, LEASE_SECONDS: '2', VERIFY_AFTER_SECONDS: '1'}})
  org = await openOrg(house)
})
test.afterEach.always(() => house.crm.setSwitches({rewrites: []}))
test.after.always(() => host.stop())

const cut = (number: string) => ({
  module: 'Accounts',
  where: {field: 'Account_Number', values: [number]},
  how: 'cut' as const,
  field: 'Account_Name',
  length: 3,
})
const readVerify = async (path: string) => (await untilEnded(org.call, path)).verify
const verifyOf = ({importId, runId}: {importId: string; runId: string}) => readVerify(`/orgs/${org.org}/imports/${importId}/runs/${runId}`)
const setVerify = (template: string, verify: string) => ok(org.call('PATCH', template, {verify}), 200)
const readTemplate = async (template: string) => (await ok(org.call('GET', template), 200)).template

test.serial('a scheduled run reads back what its template says, and the schedule may say otherwise', async t => {
  const {template, body, path} = await makeSchedule(org, host)
  t.is((await ok(org.call('GET', path), 200)).schedule.verify, null)
  host.serve(accountRows(4, 'Va-'))
  t.like(await verifyOf(await fire(org, path)), {mode: 'off', rows: 0})

  await setVerify(template, 'all')
  t.is((await fire(org, path)).outcome, 'unchanged', 'the last file stays known')
  house.crm.setSwitches({rewrites: [cut('Vb-2')]})
  host.serve(accountRows(4, 'Vb-'))
  t.like(await verifyOf(await fire(org, path)), {mode: 'all', rows: 4, coerced: 1, missing: 0})

  const replace = (change: object) => ok(org.call('PUT', path, {...body, ...change}), 200)
  t.is((await replace({verify: 'off'})).schedule.verify, 'off')
  t.is((await replace({name: 'Renamed'})).schedule.verify, 'off', 'a body without verify leaves it unchanged')
  host.serve(accountRows(4, 'Vc-'))
  t.like(await verifyOf(await fire(org, path)), {mode: 'off', rows: 0})

  t.is((await replace({verify: null})).schedule.verify, null)
  host.serve(accountRows(4, 'Vd-'))
  t.like(await verifyOf(await fire(org, path)), {mode: 'all', rows: 4})
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?limit=50`), 200)
  const told = (changes as any[])
    .filter(({subject}) => subject === 'schedule.changed')
    .map(({before, after}) => [before.verify, after.verify])
  t.deepEqual(told, [
    ['off', null],
    ['off', 'off'],
    [null, 'off'],
  ])
})

test.serial('the run of a held file that a person accepts reads back what the schedule says', async t => {
  const {template, path} = await makeSchedule(org, host, {verify: 'all'})
  await ok(org.call('PUT', `${template}/contract`, {sources: [{slot: 'companies', columns: [{name: 'city', values: ['Rome']}]}]}), 200)
  host.serve('name,number,city\nA,Vh-1,Oslo\n')
  const held = await fire(org, path)
  t.is(held.reason.code, 'CONTRACT_BROKEN')
  await ok(org.call('POST', `${path}/firings/${held.id}/accept`, {}), 200)
  t.like(await verifyOf(await untilOver(org, path, held.id, ({runId, state}) => runId !== null && state === 'ended')), {
    mode: 'all',
    rows: 1,
  })
})

test.serial('a run of an import reads back what the template says, unless its start says otherwise', async t => {
  const template = await makeTemplate(org, {verify: 'all'})
  const id = template.split('/').at(-1)
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'Of a template', templateId: id}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  await ok(org.call('POST', `${path}/sources?name=a.csv&slot=companies`, accountRows(3, 'Vi-'), {'content-type': 'text/csv'}), 201)
  const start = async (body: object) => {
    const {run} = await ok(org.call('POST', `${path}/runs`, body), 202)
    return readVerify(`${path}/runs/${run.id}`)
  }
  t.is((await start({dryRun: true})).mode, 'off')
  t.like(await start({}), {mode: 'all', rows: 3})
  t.like(await start({verify: 'off'}), {mode: 'off', rows: 0})
  t.like(await start({verify: 'sample'}), {mode: 'sample', rows: 3})
  await ok(org.call('DELETE', template), 200)
  t.like(await start({}), {mode: 'off', rows: 0}, 'the template is deleted')
})

test.serial('setting what the runs read back is recorded, and keeps the version of the template', async t => {
  const template = await makeTemplate(org)
  const {name, description, connectorId, sources, flows, ...made} = await readTemplate(template)
  t.like(made, {verify: 'off', version: 1})
  await setVerify(template, 'sample')
  await setVerify(template, 'sample')
  const document = {name, description, connectorId, sources, flows}
  await ok(org.call('PUT', template, document), 200)
  t.like(await readTemplate(template), {verify: 'sample', version: 1}, 'a document without verify leaves it unchanged')
  const {headers} = await org.call('GET', template)
  t.is(headers.get('etag'), '"1"')
  await ok(org.call('PUT', template, {...document, name: 'Renamed', verify: 'all'}), 200)
  t.like(await readTemplate(template), {verify: 'all', version: 2})
  const {changes} = await ok(org.call('GET', `/orgs/${org.org}/config/changes?limit=50`), 200)
  const told = (changes as any[]).filter(({subject, target}) => subject === 'template.verify' && target === template.split('/').at(-1))
  t.deepEqual(
    told.map(({before, after}) => [before, after]),
    [
      ['sample', 'all'],
      ['off', 'sample'],
    ],
  )
  t.is((await org.call('PATCH', template, {verify: 'some'})).status, 400)
  const other = house.as((await house.makeOrg({org: org.org, role: 'builder'})).token)
  await ok(org.call('POST', `${template}/share`, {}), 200)
  t.is((await other('PATCH', template, {verify: 'off'})).status, 403, 'a builder edits only own templates')
})
