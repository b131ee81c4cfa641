import anyTest, {type TestFn} from 'ava'
import type {GenericSimulator} from '../simulators/generic.ts'
import {column, contactsPath, describeContacts, match, openContacts, startContacts} from '../support/described.ts'
import {type Org, ok, prepareImport, readLog, runImport, undoRun, untilRun} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

type Here = {world: TestDeployment; there: GenericSimulator; org: Org}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const there = await startContacts()
  const world = await startTestDeployment(t, {
    workers: ['checks', 'imports', 'discovery'],
    environment: {GENERIC_ORIGINS: there.url, LEASE_SECONDS: '1'},
  })
  const org = await openContacts(world, describeContacts(there, {renewal: 'daily at 00:00 UTC'}))
  Object.assign(t.context, {world, there, org})
})
test.beforeEach(t => t.context.there.clear())
test.after.always(t => t.context.there?.stop())

const flow = {
  module: 'Contacts',
  fields: [column('name'), column('email'), {field: 'stage', mode: 'static', staticValue: 'lead'}],
}
const contacts = (count: number, prefix: string) =>
  `name,email\n${Array.from({length: count}, (_, n) => `${prefix} ${n + 1},${prefix.toLowerCase()}${n + 1}@example.org`).join('\n')}\n`

test('a file is imported into a described destination, with every row accounted for', async t => {
  const {there, org} = t.context
  const error = {code: 'BLOCKED', message: 'This address is blocked', details: {api_name: 'email'}}
  there.fail({action: {type: 'answer', status: 429, headers: {'retry-after': '0'}}})
  there.fail({times: 9, action: {type: 'refuse', field: 'email', value: 'ana7@example.org', error}})
  const {path, run} = await runImport(org, {csv: contacts(250, 'Ana'), flow})
  t.like(run, {state: 'ended', stop: null, counts: {Contacts: {created: 249, refused: 1}}, rowsWritten: 249})
  t.is(there.records(contactsPath).length, 249)
  t.true(there.journal('POST').every(({body}) => body.length <= 100))
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.like(
    log.find(({rowNumber}) => rowNumber === 7),
    {outcome: 'refused', code: 'BLOCKED'},
  )

  const made = log.filter(({outcome}) => outcome === 'created').slice(0, 100)
  const ids = made.map(({recordId}) => recordId)
  const read = await ok(
    org.call('GET', `/orgs/${org.org}/connectors/${org.connector}/records/Contacts/by-ids?ids=${ids.join(',')}&fields=name,nothing`),
    200,
  )
  t.deepEqual(read.dropped, ['nothing'])
  t.deepEqual(
    read.records.map(({id, $display_name}: any) => [id, $display_name]),
    made.map(({recordId, rowNumber}) => [recordId, `Ana ${rowNumber}`]),
  )
})

test('rows that match a unique field of a described destination update its records', async t => {
  const {there, org} = t.context
  await runImport(org, {csv: contacts(5, 'Bo'), flow})
  const before = there.records(contactsPath).length
  const {run} = await runImport(org, {csv: contacts(8, 'Bo'), flow: {...flow, match}})
  t.like(run.counts.Contacts, {created: 3, updated: 5})
  t.is(run.creditsSaved, null, 'the destination counts no credits')
  t.is(run.cost.byKind.query, 0, 'a search is a query, as in the forecast')
  t.is(there.records(contactsPath).length, before + 3)
})

test('an unanswered create is sent again, and does not claim a record whose creator the destination does not show', async t => {
  const {there, org} = t.context
  there.fail({method: 'POST', action: {type: 'drop', when: 'after'}})
  const {path, run} = await runImport(org, {csv: contacts(3, 'Cy'), flow})
  t.like(run.counts.Contacts, {refused: 3, created: 0})
  const last = (await readLog(org.call, `${path}/runs/${run.id}`)).filter(({outcome}) => outcome === 'refused')
  t.true(last.every(({code, message}) => code === 'DUPLICATE_DATA' && message.includes('does not show who created it')))
  t.is(there.records(contactsPath).filter(({name}) => String(name).startsWith('Cy')).length, 3, 'and none is there twice')
})

test('a forecast counts one query for each value to match', async t => {
  const {org} = t.context
  const forecastOf = async (csv: string) => {
    const {path} = await prepareImport(org, {csv, flow: {...flow, match}})
    return (await ok(org.call('POST', `${path}/forecast`, undefined, {prefer: 'wait=60'}), 200)).job.result.seconds
  }
  const [few, many] = [await forecastOf(contacts(100, 'Fi')), await forecastOf(contacts(2_000, 'Fi'))]
  t.true(many.p95 > 5 * few.p95, `${many.p95} s for 2,000 values, ${few.p95} s for 100`)
})

test('an undo keeps created records of a destination that cannot delete, and says why', async t => {
  const {there, org} = t.context
  const {path, run} = await runImport(org, {csv: contacts(3, 'Ed'), flow})
  const before = there.records(contactsPath)
  for (const body of [{force: 'created', dryRun: true}, {force: 'created'}]) {
    const {run: undone, log} = await undoRun(org, {path, run}, body)
    t.like(undone, {stop: null, counts: {Contacts: {skipped: 3}}}, JSON.stringify(body))
    t.deepEqual(
      log.map(({code}) => code),
      Array(3).fill('UNDO_UNKNOWN'),
    )
  }
  t.deepEqual(there.records(contactsPath), before)
})

test('a refused secret stops the run, because only a person can correct it', async t => {
  const {there, org} = t.context
  there.fail({times: 50, action: {type: 'answer', status: 401, body: {code: 'UNAUTHORISED'}}})
  const {path} = await prepareImport(org, {csv: contacts(3, 'Gi'), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const ended = await untilRun(org.call, `${path}/runs/${run.id}`, ({state}) => state === 'ended' || state === 'paused')
  t.like(ended, {state: 'ended', stop: {stopped: 'CRM_REFUSED'}})
  t.regex(ended.stop.message, /refuses the secret of this connection/)
})

test('a run on a destination with an exhausted daily quota pauses until the quota is renewed', async t => {
  const {world, there, org} = t.context
  there.fail({method: 'POST', action: {type: 'answer', status: 429, headers: {'retry-after': '7200'}}})
  const {import: made} = await ok(org.call('POST', `/orgs/${org.org}/imports`, {name: 'T', connectorId: org.connector}), 201)
  const path = `/orgs/${org.org}/imports/${made.id}`
  const {source} = await ok(org.call('POST', `${path}/sources?name=t.csv`, contacts(4, 'Di'), {'content-type': 'text/csv'}), 201)
  await ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId: source.id, ...flow}]), 200)
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const at = `${path}/runs/${run.id}`
  const {pause} = await untilRun(org.call, at, ({state}) => state === 'paused')
  t.is(pause.code, 'DAILY_ALLOWANCE_SPENT')
  t.regex(pause.message, /after it renews/)
  await world.ahead('90 seconds')
  await untilRun(org.call, at, ({state, pause}) => state === 'paused' && /after it renews/.test(pause.message))
  t.is(there.journal('POST').length, 1)
  await world.ahead('121 minutes')
  t.like(await untilRun(org.call, at, ({state}) => state === 'ended'), {stop: null, counts: {Contacts: {created: 4}}})
  await world.ahead('0 minutes')
})
