import anyTest, {type TestFn} from 'ava'
import type {FaultAction} from '../simulators/crm/faults.ts'
import {type Org, ok, openOrg, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, countBy} from '../support/oracle.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

type TestSetup = {here: TestDeployment; org: Org}
/** The tests share one CRM org, so they run serially. */
const test = anyTest.serial as TestFn<TestSetup>

const name = 'Import_Key'
const unique = {name, type: 'text' as const, length: 26, unique: true}

/** A flow of leads without a unique field. */
const flow = {
  module: 'Leads',
  fields: [
    {field: 'Last_Name', mode: 'column', source: 'name'},
    {field: 'Company', mode: 'column', source: 'company'},
  ],
}
const byCompany = {...flow, match: {by: ['Company'], onOne: 'update', onMany: 'skip', unchanged: 'skip'}}
const rowsOf = (count: number, company = 'Acme') =>
  `name,company\n${Array.from({length: count}, (_, n) => `Ruiz,${company} ${n + 1}`).join('\n')}\n`
const creates = {method: 'POST', path: '/crm/v8/Leads'}

test.before(async t => {
  const here = await startTestDeployment(t, {
    workers: ['checks', 'discovery', 'imports'],
    environment: {LEASE_SECONDS: '3', CRM_TIMEOUT_SECONDS: '0.6', CRM_LAG_SECONDS: '1'},
  })
  here.crm.addField('example', 'Leads', unique)
  Object.assign(t.context, {here, org: await openOrg(here)})
})
test.beforeEach(async ({context}) => {
  context.here.crm.clear()
  await ok(setField(context, name), 200)
})

const setField = ({org}: TestSetup, idempotencyField: string | null) =>
  org.call('PATCH', `/orgs/${org.org}/config/modules/Leads`, {idempotencyField})
const discover = ({org}: TestSetup) =>
  ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)
const leads = ({here}: TestSetup) => here.crm.records('example', 'Leads')
const valuesOf = (place: TestSetup) => leads(place).map(record => record[name] as string)
const lose = ({here}: TestSetup, action: FaultAction | 'dropAfter' | 'dropBefore', {nth = 1, times = 1} = {}) =>
  here.crm.faults.add({match: {...creates, nth}, times, action: action as FaultAction})

const importRows = async (place: TestSetup, csv: string, more: object = flow) => {
  const {path, run} = await runImport(place.org, {csv, flow: more})
  return {
    path,
    run,
    ...(await assertAccounted(place.here, {org: place.org, path, run, rows: csv.trim().split('\n').length - 1, module: 'Leads'})),
  }
}
const retry = async ({org}: TestSetup, path: string, retryOf: string) => {
  const {run} = await ok(org.call('POST', `${path}/runs`, {retryOf}), 202)
  const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
  return {run: ended, log: await readLog(org.call, `${path}/runs/${run.id}`)}
}

test('creates without answers are found again by their idempotency values, though nothing else is unique', async t => {
  const place = t.context
  for (const [nth, action] of (['dropAfter', 'dropBefore', {type: 'nonJson'}] as const).entries()) lose(place, action, {nth: nth + 1})
  const {outcomes, log, run} = await importRows(place, rowsOf(250))
  t.deepEqual(outcomes, {created: 250})
  t.is(leads(place).length, 250)
  t.is(run.rowsWritten, 250)
  t.is(run.mayExistTwice, 0)
  t.is(new Set(valuesOf(place)).size, 250)
  t.true(valuesOf(place).every(value => /^[0-9a-hjkmnp-tv-z]{26}$/.test(value)))
  const codes = countBy(log, ({code}) => String(code))
  t.true(codes.RESEND_SAFE! >= 100 && codes.MADE_EARLIER! >= 100)
  t.is(codes.MAYBE_MADE, undefined)
  t.is(countBy(log, ({outcome}) => outcome).made_after_no_answer, undefined)
})

test('a create that the network delivers twice makes one record, which is counted once', async t => {
  const place = t.context
  lose(place, {type: 'twice', answer: 'second'})
  const {outcomes, run, log} = await importRows(place, rowsOf(20))
  t.deepEqual(outcomes, {created: 20})
  t.is(countBy(log, ({code}) => String(code)).MADE_EARLIER, 20)
  t.is(leads(place).length, 20)
  t.is(run.rowsWritten, 20)
})

test('a retry repeats the values of its chain, and a new import has values of its own', async t => {
  const place = t.context
  const fault = lose(place, 'dropBefore', {times: 1_000})
  const first = await importRows(place, rowsOf(5))
  t.deepEqual(first.outcomes, {unanswered: 5})
  const sent = () => place.here.crm.journal(creates).map(({body}) => body.data.map((record: any) => record[name]))
  const [values, ...resent] = sent()
  t.true(resent.length > 0)
  for (const one of resent) t.deepEqual(one, values)
  place.here.crm.faults.remove(fault)
  const {run} = await retry(place, first.path, first.run.id)
  t.like(run.counts.Leads, {created: 5})
  t.deepEqual(valuesOf(place).toSorted(), values.toSorted())
  await importRows(place, rowsOf(5))
  t.is(new Set(valuesOf(place)).size, 10)
})

test('a retry claims the records of the creates that the earlier run lost', async t => {
  const place = t.context
  // The CRM executes the first request. No later request of the run is executed or answered.
  lose(place, 'dropAfter')
  const fault = lose(place, 'dropBefore', {times: 1_000})
  const first = await importRows(place, rowsOf(5))
  t.deepEqual(first.outcomes, {unanswered: 5})
  place.here.crm.faults.remove(fault)
  const {run, log} = await retry(place, first.path, first.run.id)
  t.like(run.counts.Leads, {created: 5})
  t.is(countBy(log, ({code}) => String(code)).MADE_EARLIER, 5)
  t.is(leads(place).length, 5)
})

test('updates do not send the field, and an unchanged row is recognised without it', async t => {
  const place = t.context
  await importRows(place, rowsOf(3), byCompany)
  const values = valuesOf(place)
  const again = await importRows(place, rowsOf(3), byCompany)
  t.deepEqual(again.outcomes, {skipped: 3})
  const changed = await importRows(place, rowsOf(3).replaceAll('Ruiz', 'Lind'), byCompany)
  t.deepEqual(changed.outcomes, {updated: 3})
  const [{body}] = place.here.crm.journal({...creates, method: 'PUT'}) as [any]
  t.true(body.data.every((record: object) => !(name in record)))
  t.deepEqual(valuesOf(place), values)
})

test('creates that were lost before the field was set are still searched for', async t => {
  const place = t.context
  await ok(setField(place, null), 200)
  lose(place, 'dropAfter')
  const coql = place.here.crm.faults.add({match: {path: '/crm/v8/coql'}, times: 1_000, action: {type: 'emptyBody', status: 204}})
  const later = lose(place, 'dropBefore', {times: 1_000})
  const first = await importRows(place, rowsOf(3))
  t.deepEqual(first.outcomes, {unanswered: 3})
  place.here.crm.faults.remove(coql)
  place.here.crm.faults.remove(later)
  await ok(setField(place, name), 200)
  const {run, log} = await retry(place, first.path, first.run.id)
  t.like(run.counts.Leads, {created: 3})
  t.true(log.some(({code}) => code === 'MADE_EARLIER'))
  t.is(leads(place).length, 3)
})

test('a check reports, and a run does not start, while the field is missing or no longer refuses duplicates', async t => {
  const place = t.context
  const {path} = await prepareImport(place.org, {csv: rowsOf(3), flow})
  place.here.crm.addField('example', 'Leads', {...unique, unique: false})
  await discover(place)
  const start = (body = {}) => place.org.call('POST', `${path}/runs`, body)
  const check = async () => {
    await ok(place.org.call('POST', `${path}/checks`, undefined, {prefer: 'wait=30'}), 200)
    return (await ok(place.org.call('GET', `${path}/checks`), 200)).problems.map(({severity, kind}: any) => `${severity} ${kind}`)
  }
  t.deepEqual(await check(), ['error flow'])
  t.like(await start(), {status: 409, body: {code: 'FIELD_NOT_UNIQUE'}})
  place.here.crm.dropField('example', 'Leads', name)
  await discover(place)
  const refused = await start({dryRun: true})
  t.like(refused, {status: 409, body: {code: 'FIELD_NOT_UNIQUE'}})
  t.regex(refused.body.error, /^Leads\.Import_Key cannot be the idempotency field: the CRM does not have it/)
  await ok(setField(place, null), 200)
  t.deepEqual(await check(), [])
  await ok(start({dryRun: true}), 202)
})
