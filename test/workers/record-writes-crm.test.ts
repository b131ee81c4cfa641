import anyTest, {type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import type {FaultSpec} from '../simulators/crm/faults.ts'
import {ok} from '../support/importing.ts'
import {assertLedger, callsOf, type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'

/** The tests run serially, because they share one CRM org. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  Object.assign(t.context, await openExternalEngine(t, {environment: {CRM_TIMEOUT_SECONDS: '1', LEASE_SECONDS: '1'}}))
})
test.beforeEach(async ({context: {house}}) => {
  house.crm.clear()
  await house.ahead('0 seconds')
  await house.db.query(sql.unsafe`delete from crm_allowances`)
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const fail = ({house}: ExternalEngine, action: FaultSpec['action'], more: Partial<FaultSpec> = {}) =>
  house.crm.faults.add({match: creates, action, ...more})
const two = () => [row('a', 'A', {writeId: 'wa'}), row('b', 'B', {writeId: 'wb'})]

test('a CRM rate limit gives 502 with its wait, all rows are settled, and the names are free again', async t => {
  const here = t.context
  const run = await here.authorise()
  fail(here, {type: 'rateLimit', retryAfter: 7})
  const answer = await here.create(run, two())
  t.is(answer.status, 502)
  t.is(answer.headers.get('retry-after'), '7')
  t.like(answer.body, {
    code: 'CRM_REFUSED',
    crm: {status: 429, rateLimited: true, unanswered: false, quotaSpent: false, retryAfterMs: 7_000},
  })
  t.like(answer.body.results, [
    {rowKey: 'a', writeId: 'wa', ok: false, crm: {rateLimited: true}},
    {rowKey: 'b', writeId: 'wb', ok: false, crm: {rateLimited: true}},
  ])
  t.is((await here.read(run)).rowsWritten, 0)
  t.true((await ok(here.create(run, two()), 200)).results.every(({ok}: any) => ok))
  const {finals} = await assertLedger(here, run)
  t.like(finals.get('a'), {attempt: 2, outcome: 'created'})
})

test('an exhausted CRM quota gives 429 without a time, and the next request is refused before it is sent', async t => {
  const here = t.context
  const run = await here.authorise()
  fail(here, {type: 'rateLimit', credits: 0})
  const answer = await here.create(run, two())
  t.is(answer.status, 429)
  t.is(answer.headers.get('retry-after'), null)
  t.like(answer.body.crm, {quotaSpent: true, rateLimited: true, retryable: false})
  // While the quota is exhausted, one call a minute is permitted. The next create is this call, and the CRM refuses it.
  fail(here, {type: 'rateLimit', credits: 0})
  await here.create(run, two())
  const before = here.posts()
  const {entries} = await assertLedger(here, run)
  const refused = await here.create(run, two())
  t.is(refused.status, 429)
  t.is(refused.headers.get('retry-after'), null)
  t.like(refused.body, {code: 'DAILY_ALLOWANCE_SPENT', written: false, crm: undefined})
  t.like(refused.body.results, [{rowKey: 'a', ok: false, written: false}, {rowKey: 'b'}])
  t.is(here.posts(), before)
  const after = await assertLedger(here, run)
  t.is(after.entries.length, entries.length, 'nothing is logged')
  t.is(after.run.rowsWritten, 0)
})

const silences: [what: string, action: FaultSpec['action'], status: number | null][] = [
  ['the connection drops before anything is done', 'dropBefore', null],
  ['the connection drops after it is done', 'dropAfter', null],
  ['the answer breaks off', 'truncateAfter', null],
  ['a 500', {type: 'status5xxAfter', status: 500}, 500],
  ['a 503 page', {type: 'status5xxBefore', status: 503, html: true}, 503],
  ['an answer that is no JSON', {type: 'nonJson', status: 200}, 200],
  // This case must be last: the stand-in journals the call after its answer, when the test has ended.
  ['no answer in time', {type: 'slow', ms: 3_000, when: 'after'}, null],
]
for (const [what, action, status] of silences) {
  test(`${what}: the create is 502 and unanswered, is counted, and is not sent again under its name`, async t => {
    const here = t.context
    const run = await here.authorise()
    fail(here, action)
    const answer = await here.create(run, two())
    t.is(answer.status, 502, answer.text)
    t.like(answer.body, {code: 'CRM_REFUSED', crm: {unanswered: true, retryable: true, quotaSpent: false}})
    if (status !== null) t.is(answer.body.crm.status, status)
    t.deepEqual(
      answer.body.results.map((one: any) => one.crm.unanswered),
      [true, true],
    )
    const {run: seen, outcomes} = await assertLedger(here, run)
    t.is(seen.rowsWritten, 2)
    t.deepEqual(outcomes, {unanswered: 2})
    const again = await ok(here.create(run, two()), 200)
    t.deepEqual(again.results, answer.body.results)
    t.true(here.posts() <= 1 && here.held().length <= 2)
  })
}

test('a call that the CRM refuses as a whole refuses every row, and counts none', async t => {
  const here = t.context
  const run = await here.authorise()
  fail(here, {type: 'answer', status: 403, body: {code: 'NO_PERMISSION', status: 'error', message: 'permission denied', details: {}}})
  const answer = await here.create(run, two())
  t.is(answer.status, 502)
  t.like(answer.body, {code: 'CRM_REFUSED', crm: {code: 'NO_PERMISSION', status: 403, unanswered: false}})
  const {outcomes, run: seen} = await assertLedger(here, run)
  t.deepEqual(outcomes, {refused: 2})
  t.is(seen.rowsWritten, 0)
})

test('a record without an outcome is unanswered, beside settled ones', async t => {
  const here = t.context
  const run = await here.authorise()
  fail(here, {type: 'successNoId', index: 1})
  const {results} = await ok(here.create(run, two()), 200)
  t.like(results, [
    {rowKey: 'a', ok: true},
    {rowKey: 'b', ok: false, crm: {code: 'SUCCESS', unanswered: true}},
  ])
  const {finals} = await assertLedger(here, run)
  t.like(finals.get('b'), {outcome: 'unanswered', recordId: null, code: 'SUCCESS'})
})

test('a lost create that is sent again is refused as a duplicate of the record it made, and stays counted', async t => {
  const here = t.context
  const run = await here.authorise()
  fail(here, 'dropAfter')
  await here.create(run, [row('S')])
  const [made] = here.held()
  const {results} = await ok(here.create(run, [row('S')]), 200)
  t.like(results[0], {ok: false, duplicateOf: made!.id, crm: {code: 'DUPLICATE_DATA'}})
  const {entries, run: seen} = await assertLedger(here, run)
  t.like(entries, [
    {attempt: 1, outcome: 'unanswered'},
    {attempt: 2, outcome: 'refused', code: 'DUPLICATE_DATA'},
  ])
  t.is(seen.rowsWritten, 1)
})

test('a lost create without a unique value may make two records when sent again, and the log shows both', async t => {
  const here = t.context
  const run = await here.authorise()
  fail(here, 'dropAfter')
  await here.create(run, [row('N', null)])
  const {results} = await ok(here.create(run, [row('N', null)]), 200)
  t.like(results[0], {ok: true, outcome: 'created'})
  t.is(here.held().length, 2)
  const {entries, outcomes, run: seen} = await assertLedger(here, run)
  t.like(entries, [
    {attempt: 1, outcome: 'unanswered'},
    {attempt: 2, outcome: 'created'},
    {attempt: 0, outcome: 'made_after_no_answer', recordId: results[0].recordId},
  ])
  t.deepEqual(outcomes, {created: 1})
  t.like(seen, {rowsWritten: 1, mayExistTwice: 1})
  const entry = {module: 'Accounts', outcome: 'made_after_no_answer'}
  const told = ['N', 'other', 'other'].map(rowKey => ({...entry, rowKey}))
  for (const rowNumber of [undefined, 7]) await ok(here.tell(run, 'entries', {entries: told.map(one => ({...one, rowNumber}))}), 200)
  t.is((await here.read(run)).mayExistTwice, 2, 'a row counts once')
})

test('a lost create that is sent again with another unique value may make two records, and the log shows both', async t => {
  const here = t.context
  const run = await here.authorise()
  fail(here, 'dropAfter')
  await here.create(run, [row('W', 'W-1')])
  fail(here, 'dropBefore')
  await here.create(run, [row('W', 'W-2')])
  const {results} = await ok(here.create(run, [row('W', 'W-2')]), 200)
  t.is(here.held().length, 2)
  const {entries, run: seen} = await assertLedger(here, run)
  t.like(entries.at(-1), {outcome: 'made_after_no_answer', recordId: results[0].recordId})
  t.is(seen.mayExistTwice, 1)
})

test('an update between two creates of a row does not change whether the run reports a possible second record', async t => {
  const here = t.context
  const [other] = here.house.crm.create('example', 'Accounts', [{Account_Name: 'Other'}])
  const update = (run: string, key: string, payload: object = {Billing_City: 'Bern'}) =>
    here.update(run, [{rowKey: key, recordId: String(other!.details.id), payload}])
  const run = await here.authorise()
  fail(here, 'dropAfter')
  await here.create(run, [row('lost', null)])
  fail(here, 'dropAfter', {match: {...creates, method: 'PUT'}, times: 2})
  for (const key of ['lost', 'updated']) await update(run, key)
  t.false((await update(run, 'updated', {Account_Name: null})).body.results[0].ok)
  const {results} = await ok(here.create(run, [row('lost', null), row('updated', null)]), 200)
  t.true(results.every(({outcome}: any) => outcome === 'created'))
  const {entries, run: seen} = await assertLedger(here, run)
  t.deepEqual(
    entries.filter(({outcome}) => outcome === 'made_after_no_answer').map(({rowKey}) => rowKey),
    ['lost'],
  )
  t.is(seen.mayExistTwice, 1)
})

test('a lost create that never reached the CRM is made once by the next request', async t => {
  const here = t.context
  const run = await here.authorise()
  fail(here, 'dropBefore')
  await here.create(run, [row('O')])
  t.like((await ok(here.create(run, [row('O')]), 200)).results[0], {ok: true, outcome: 'created'})
  t.is(here.held().length, 1)
  const {entries, outcomes} = await assertLedger(here, run)
  t.is(entries.length, 2)
  t.deepEqual(outcomes, {created: 1})
})

test('an unanswered update is sent again and is one update of one row', async t => {
  const here = t.context
  const run = await here.authorise()
  const [made] = here.house.crm.create('example', 'Accounts', [{Account_Name: 'One'}])
  const change = {rowKey: 'V', recordId: made!.details.id, payload: {Billing_City: 'Bern'}}
  here.house.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, action: 'dropAfter'})
  t.is((await here.update(run, [change])).status, 502)
  t.like((await ok(here.update(run, [change]), 200)).results[0], {ok: true, outcome: 'updated'})
  const {entries, run: seen} = await assertLedger(here, run)
  t.like(entries, [
    {attempt: 1, outcome: 'unanswered', recordId: change.recordId},
    {attempt: 2, outcome: 'updated'},
  ])
  t.is(seen.rowsWritten, 1)
})

test('a throttled token renewal and a revoked grant have their own answers', async t => {
  const here = t.context
  const {house, org} = here
  const connector = await house.connect(await house.signIn(), {user: 'eva@example.org', name: 'Eva’s'})
  await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'}), 200)
  const eva = callsOf(house, {...org, connector})
  const run = await eva.authorise()
  const forget = () => house.crm.faults.add({match: creates, action: 'expireToken'})
  forget()
  house.crm.faults.add({match: {path: '/oauth/v2/token'}, action: 'tokenThrottle', times: 10})
  const throttled = await eva.create(run, two())
  t.is(throttled.status, 502)
  t.like(throttled.body.crm, {rateLimited: true, status: 401, code: 'INVALID_TOKEN', retryAfterMs: null})
  t.true(Number(throttled.headers.get('retry-after')) > 590)
  await house.ahead('2 hours')
  const next = await eva.create(run, two())
  t.is(next.status, 429)
  t.true(Number(next.headers.get('retry-after')) > 0)
  t.like(next.body, {code: 'CONNECTION_THROTTLED', written: false})
  t.like(next.body.results, [{rowKey: 'a', written: false}, {rowKey: 'b'}])

  await house.db.query(sql.unsafe`update connectors set state = 'ended' where id = ${connector}`)
  const ended = await eva.create(run, two())
  t.is(ended.status, 502)
  t.like(ended.body, {code: 'CONNECTION_UNAVAILABLE', written: false})
  const {run: seen} = await assertLedger(eva, run)
  t.is(seen.rowsWritten, 0)
})
