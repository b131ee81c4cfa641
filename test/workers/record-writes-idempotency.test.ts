import anyTest, {type TestFn} from 'ava'
import {ok} from '../support/importing.ts'
import {assertLedger, type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'

/** The tests run serially, because they share one CRM org. */
const test = anyTest.serial as TestFn<ExternalEngine>
const field = {name: 'Import_Key', type: 'text' as const, length: 40, unique: true}
const creates = {method: 'POST', path: '/crm/v8/Accounts'}

test.before(async t => {
  Object.assign(t.context, await openExternalEngine(t, {environment: {CRM_TIMEOUT_SECONDS: '2', LEASE_SECONDS: '1'}}))
  const {house} = t.context
  house.crm.addField('example', 'Accounts', field)
  await discover(t.context)
  await setIdempotencyField(t.context, field.name)
})
test.beforeEach(({context: {house}}) => house.crm.clear())

const setIdempotencyField = ({org}: ExternalEngine, idempotencyField: string | null) =>
  ok(org.call('PATCH', `/orgs/${org.org}/config/modules/Accounts`, {idempotencyField}), 200)

const discover = ({org}: ExternalEngine) =>
  ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: org.connector}, {prefer: 'wait=30'}), 200)

test('a create without an answer that is sent again returns the record that the first request created', async t => {
  const here = t.context
  const run = await here.authorise(10)
  const {faults} = here.house.crm
  faults.add({match: creates, times: 1, action: 'dropAfter' as never})
  const lost = await here.create(run, [row('a', null), row('b', null)])
  t.true(lost.body.results.every(({crm}: any) => crm.unanswered))
  const {results} = await ok(here.create(run, [row('a', null), row('b', null)]), 200)
  t.deepEqual(
    results.map(({ok, outcome, recordId}: any) => [ok, outcome, recordId]),
    here.held().map(({id}) => [true, 'created', id]),
  )
  t.is(here.held().length, 2)
  t.true(here.held().every(record => String(record[field.name]).length === 26))
  const {finals, run: seen, entries} = await assertLedger(here, run)
  t.like(finals.get('a'), {
    attempt: 2,
    outcome: 'created',
    code: 'MADE_EARLIER',
    message: 'Created by an earlier request that the CRM did not answer',
  })
  t.false(entries.some(({outcome}: any) => outcome === 'made_after_no_answer'))
  t.is(seen.rowsWritten, 2)
})

test('if an unanswered create had no idempotency value, the run reports that its record may exist twice', async t => {
  const here = t.context
  const run = await here.authorise(10)
  await setIdempotencyField(here, null)
  here.house.crm.faults.add({match: creates, times: 1, action: 'dropAfter' as never})
  await here.create(run, [row('a', null)])
  await setIdempotencyField(here, field.name)
  const {results} = await ok(here.create(run, [row('a', null)]), 200)
  t.like(results[0], {ok: true, outcome: 'created'})
  t.is(here.held().length, 2)
  const {entries, run: seen} = await assertLedger(here, run)
  t.like(entries[2], {outcome: 'made_after_no_answer', recordId: results[0].recordId})
  t.is(seen.mayExistTwice, 1)
})

test('another run writes other values, so its rows are other records', async t => {
  const here = t.context
  for (const _ of [1, 2])
    t.like((await ok(here.create(await here.authorise(1), [row('same', null)]), 200)).results[0], {outcome: 'created'})
  t.is(new Set(here.held().map(record => record[field.name])).size, 2)
})

test('an item that contains the field is refused, and an update does not send it', async t => {
  const here = t.context
  const run = await here.authorise(10)
  const payload = {Account_Name: 'A', [field.name]: 'mine'}
  t.like(await here.create(run, [{rowKey: 'a', payload}]), {status: 409, body: {code: 'FIELD_MAPPED'}})
  const [{recordId}] = (await ok(here.create(run, [row('a', null)]), 200)).results
  const [before] = here.held()
  await ok(here.update(run, [{rowKey: 'a', recordId, payload: {Billing_City: 'Bern'}}]), 200)
  t.like(here.held()[0], {Billing_City: 'Bern', [field.name]: before![field.name]})
})

test('no record is created once the field accepts duplicates', async t => {
  const here = t.context
  here.house.crm.addField('example', 'Accounts', {...field, unique: false})
  await discover(here)
  const {status, body} = await here.create(await here.authorise(1), [row('a', null)])
  t.is(here.held().length, 0)
  t.is(status, 200)
  t.like(body.results[0], {rowKey: 'a', ok: false, code: 'FIELD_NOT_UNIQUE', written: false})
})
