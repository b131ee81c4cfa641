import anyTest, {type TestFn} from 'ava'
import {setWritesPaused} from '../../sql/connectors.ts'
import {sql} from '../../sql/database.ts'
import {ok, openOrg} from '../support/importing.ts'
import {assertLedger, callsOf, type ExternalEngine, nameless, openExternalEngine, row, rowsOf} from '../support/record-writes.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one CRM org. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  Object.assign(t.context, await openExternalEngine(t, {environment: {CRM_TIMEOUT_SECONDS: '2', LEASE_SECONDS: '1'}}))
})
test.beforeEach(async ({context: {house}}) => {
  house.crm.clear()
  await house.ahead('0 seconds')
  await house.db.query(sql.unsafe`delete from crm_allowances`)
})

test('created records are returned, metered and logged per row', async t => {
  const here = t.context
  const run = await here.authorise(10)
  const {status, body} = await here.create(run, [row('a', 'A-1', {rowNumber: 7}), row('b', 'A-2')], {flowId: 'flow one'})
  t.is(status, 200)
  const ids = here.held().map(({id}) => id)
  t.deepEqual(body, {
    results: [
      {rowKey: 'a', ok: true, recordId: ids[0], outcome: 'created'},
      {rowKey: 'b', ok: true, recordId: ids[1], outcome: 'created'},
    ],
  })
  const {entries, run: seen} = await assertLedger(here, run)
  t.like(entries[0], {seq: 1, rowKey: 'a', flowId: 'flow one', rowNumber: 7, module: 'Accounts', phase: 'write', attempt: 1})
  t.like(entries[0], {outcome: 'created', recordId: ids[0], code: null, target: ''})
  t.like(entries[1], {rowKey: 'b', rowNumber: null, recordId: ids[1]})
  t.like(seen, {state: 'writing', engine: 'outside', importId: null, connectorId: here.org.connector, rowsWritten: 2, progress: null})
})

test('a hundred records go out in one call, and their contents are not stored', async t => {
  const here = t.context
  const run = await here.authorise()
  const {results} = await ok(here.create(run, rowsOf(100, 'H-')), 200)
  t.true(results.every(({ok}: any) => ok))
  t.is(here.posts(), 1)
  t.is(here.held().length, 100)
  const kept = await here.house.hot.query<{request: unknown}>('select request from writes where request is not null')
  t.deepEqual(kept.rows, [])
  const jobs = await here.house.queue.findJobs('records.write')
  t.false(jobs.some(job => JSON.stringify(job).includes('Company')))
})

test('records are updated by id; a record that the CRM refuses affects only its row and is not counted', async t => {
  const here = t.context
  const run = await here.authorise()
  const {results} = await ok(here.create(run, rowsOf(2, 'U-')), 200)
  const change = (key: string, recordId: string) => ({rowKey: key, recordId, payload: {Billing_City: 'Bern'}})
  const updated = await ok(here.update(run, [change('U-1', results[0].recordId), change('new', '4400001999999999999')]), 200)
  t.deepEqual(updated.results[0], {rowKey: 'U-1', ok: true, recordId: results[0].recordId, outcome: 'updated'})
  t.like(updated.results[1], {rowKey: 'new', ok: false, crm: {code: 'INVALID_DATA', unanswered: false}})
  t.is(here.held()[0]!.Billing_City, 'Bern')
  const {finals, run: seen} = await assertLedger(here, run)
  t.like(finals.get('U-1'), {attempt: 1, outcome: 'created'})
  t.like(finals.get('new'), {attempt: 1, outcome: 'refused', code: 'INVALID_DATA', recordId: '4400001999999999999'})
  t.is(seen.rowsWritten, 2)
})

test('automations run only when requested', async t => {
  const here = t.context
  const run = await here.authorise()
  await ok(here.create(run, [row('quiet')]), 200)
  await ok(here.create(run, [row('loud')], {automations: true}), 200)
  const bodies = here.house.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).map(({body}: any) => body)
  t.deepEqual(
    bodies.map(body => body.trigger),
    [[], undefined],
  )
})

test('a row is counted once however often it is sent, and a refused row is not counted until it succeeds', async t => {
  const here = t.context
  const run = await here.authorise(2)
  const first = await ok(here.create(run, [nameless('R-1'), row('R-2')]), 200)
  t.like(first.results[0], {ok: false, crm: {code: 'MANDATORY_NOT_FOUND', status: 207, unanswered: false}})
  t.is((await here.read(run)).rowsWritten, 1)
  t.like((await ok(here.create(run, [row('R-1')]), 200)).results[0], {ok: true, outcome: 'created'})
  const {finals, run: seen} = await assertLedger(here, run)
  t.like(finals.get('R-1'), {attempt: 2, outcome: 'created'})
  t.like(seen, {rowsWritten: 2, stop: null})
})

test('a row that made its record is not sent again and inherits its create', async t => {
  const here = t.context
  const run = await here.authorise(1)
  const made = await ok(here.create(run, [row('I-1')]), 200)
  const again = await ok(here.create(run, [row('I-1')]), 200)
  t.deepEqual(again.results, [{rowKey: 'I-1', ok: true, recordId: made.results[0].recordId, outcome: 'inherited'}])
  t.is(here.posts(), 1)
  t.is((await assertLedger(here, run)).entries.length, 1)
})

test('a duplicate value is refused with the id of the record that has it', async t => {
  const here = t.context
  const [holder] = here.house.crm.create('example', 'Accounts', [{Account_Name: 'Holder', Account_Number: 'D-1'}])
  const run = await here.authorise()
  const {results} = await ok(here.create(run, [row('D-1')]), 200)
  t.like(results[0], {ok: false, duplicateOf: holder!.details.id, crm: {code: 'DUPLICATE_DATA'}})
})

const refusals: [
  what: string,
  ask: (here: ExternalEngine, run: string) => ReturnType<ExternalEngine['create']>,
  status: number,
  code: string,
][] = [
  ['no items', (here, run) => here.create(run, []), 400, 'BATCH_SIZE'],
  ['more than a hundred records', (here, run) => here.create(run, rowsOf(101, 'x')), 400, 'BATCH_SIZE'],
  ['a row key twice', (here, run) => here.create(run, [row('x'), row('x', 'y')]), 400, 'ROW_KEY_REPEATED'],
  ['no run', here => here.org.call('POST', here.path, {items: [row('x')]}), 400, 'INVALID'],
  ['no row key', (here, run) => here.create(run, [{payload: {}}]), 400, 'INVALID'],
  ['no payload', (here, run) => here.create(run, [{rowKey: 'x'}]), 400, 'INVALID'],
  ['a record id to create', (here, run) => here.create(run, [row('x', 'x', {recordId: '1'})]), 400, 'INVALID'],
  ['no record id to update', (here, run) => here.update(run, [row('x')]), 400, 'INVALID'],
  [
    'a record twice',
    (here, run) =>
      here.update(
        run,
        ['x', 'y'].map(key => row(key, key, {recordId: '1'})),
      ),
    400,
    'RECORD_REPEATED',
  ],
  [
    'a writeId twice',
    (here, run) =>
      here.create(
        run,
        ['x', 'y'].map(key => row(key, key, {writeId: 'w'})),
      ),
    400,
    'INVALID',
  ],
  ['an unknown run', here => here.create('run_nobody', [row('x')]), 404, 'RUN_NOT_FOUND'],
]

for (const [what, ask, status, code] of refusals) {
  test(`a request with ${what} is refused with ${status} ${code}, and the run does not start`, async t => {
    const here = t.context
    const run = await here.authorise()
    const answer = await ask(here, run)
    t.like(answer, {status, body: {code}})
    t.is(here.posts(), 0)
    t.is((await here.read(run)).state, 'authorised')
  })
}

test('a subform module, an unknown module and an unknown connection are refused before the run is checked', async t => {
  const {org, posts} = t.context
  const at = (connector: string, module: string) =>
    org.call('POST', `/orgs/${org.org}/connectors/${connector}/records/${module}`, {runId: 'run_nobody', items: [row('x')]})
  t.like(await at(org.connector, 'Order_Lines'), {status: 400, body: {code: 'SUBFORM_NOT_WRITABLE', written: false}})
  t.like(await at(org.connector, 'Nothing'), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
  t.like(await at('con_nobody', 'Accounts'), {status: 404, body: {code: 'NOT_FOUND'}})
  t.is(posts(), 0)
})

test('a run can be used by its person and by admins, on its connection, and not if a worker executes it', async t => {
  const here = t.context
  const {house, org} = here
  const operator = await house.makeOrg({org: org.org, role: 'operator'})
  const run = await here.authorise()
  const theirs = {...org, call: house.as(operator.token)}
  t.like(await callsOf(house, theirs).create(run, [row('x')]), {status: 403, body: {code: 'NOT_YOUR_RUN'}})
  const own = await callsOf(house, theirs).authorise()
  t.is((await here.create(own, [row('by an admin')])).status, 200)

  const connector = await house.connect(await house.signIn(), {user: 'eva@example.org', name: 'Eva’s'})
  const elsewhere = await here.authorise(1, {connectorId: connector})
  t.like(await here.create(elsewhere, [row('x')]), {status: 409, body: {code: 'RUN_CONNECTOR_MISMATCH', written: false}})
  const unnamed = await here.authorise(1, {})
  t.is((await here.create(unnamed, [row('fixes it')])).status, 200)
  t.is((await here.read(unnamed)).connectorId, org.connector)

  const {path} = await here.makeImport()
  const {run: workers} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.like(await here.create(workers.id, [row('x')]), {status: 409, body: {code: 'RUN_USED', written: false}})
})

test('a run of another org looks like an unknown one', async t => {
  const here = t.context
  const other = callsOf(here.house, await openOrg(here.house, 'zoe@other.example'))
  const run = await other.authorise()
  const [foreign, unknown] = [await here.create(run, [row('x')]), await here.create('run_nobody', [row('x')])]
  t.deepEqual([foreign.status, foreign.body], [unknown.status, unknown.body])
  const write = await other.create(run, [row('x')], {}, {prefer: 'respond-async'})
  t.is(write.status, 202)
  t.is((await here.org.call('GET', `/orgs/${here.org.org}/writes/${write.body.write.id}`)).status, 404)
  await untilDone(other, write.body.write.id)
})

test('an ended run cannot write; a repeated writeId still gets its stored result', async t => {
  const here = t.context
  const run = await here.authorise()
  const items = [row('E-1', 'E-1', {writeId: 'w1'})]
  const first = await ok(here.create(run, items), 200)
  await ok(here.tell(run, 'progress', {done: true}), 200)
  t.like(await here.create(run, [row('E-2')]), {status: 409, body: {code: 'RUN_ENDED', written: false}})
  t.deepEqual(await ok(here.create(run, items), 200), first)
  t.is(here.posts(), 1)
})

test('a writeId sent again gets its stored result, and with another body is refused', async t => {
  const here = t.context
  const run = await here.authorise()
  const item = {...row('W-1', 'W-1', {writeId: 'w1'}), rowNumber: 3}
  const first = await ok(here.create(run, [item]), 200)
  t.is(first.results[0].writeId, 'w1')
  const reordered = {payload: Object.fromEntries(Object.entries(item.payload).reverse()), writeId: 'w1', rowNumber: 3, rowKey: 'W-1'}
  const both = await ok(here.create(run, [row('W-2'), reordered]), 200)
  t.deepEqual(both.results[1], first.results[0])
  t.like(both.results[0], {rowKey: 'W-2', ok: true, outcome: 'created'})
  t.is(here.held().length, 2)
  for (const other of [
    {...item, rowKey: 'W-3'},
    {...item, payload: {...item.payload, Account_Name: 'Other'}},
  ]) {
    t.like(await here.create(run, [other]), {status: 409, body: {code: 'WRITE_ID_REUSED', writeId: 'w1', written: false}})
  }
  const asUpdate = {...item, recordId: first.results[0].recordId}
  t.like(await here.update(run, [asUpdate]), {status: 409, body: {code: 'WRITE_ID_REUSED'}})
  t.is(
    (await here.create(await here.authorise(), [{...item, rowKey: 'W-4', payload: {Account_Name: 'x'}}])).status,
    200,
    'a run’s own names',
  )
})

test('a writeId that is still being processed is refused with Retry-After', async t => {
  const here = t.context
  const run = await here.authorise()
  here.house.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: {type: 'hold', when: 'before'}})
  const first = here.create(run, [row('T-1', 'T-1', {writeId: 'w1'})])
  await until(
    () => here.house.crm.held(),
    held => held === 1,
  )
  const second = await here.create(run, [row('T-1', 'T-1', {writeId: 'w1'})])
  t.like(second, {status: 409, body: {code: 'WRITE_UNDER_WAY'}})
  t.is(second.headers.get('retry-after'), '2')
  const third = await ok(here.create(run, [row('T-1', 'T-1', {writeId: 'w2'}), row('T-2')]), 200)
  t.like(third.results, [
    {rowKey: 'T-1', ok: false, code: 'WRITE_UNDER_WAY', written: false},
    {rowKey: 'T-2', ok: true},
  ])
  here.house.crm.release()
  t.true((await ok(first, 200)).results[0].ok)
  await assertLedger(here, run)
})

const untilDone = ({org}: ExternalEngine, write: string) =>
  until(
    async () => (await org.call('GET', `/orgs/${org.org}/writes/${write}`)).body,
    ({write}) => write.state === 'done',
  )

test('an asynchronous write returns the location of its job', async t => {
  const here = t.context
  const run = await here.authorise()
  const {status, body, headers} = await here.create(run, [row('P-1', 'P-1', {writeId: 'w1'})], {}, {prefer: 'respond-async'})
  t.is(status, 202)
  t.is(headers.get('preference-applied'), 'respond-async')
  t.is(headers.get('location'), `/orgs/${here.org.org}/jobs/${body.job.id}`)
  t.like(body.write, {runId: run, kind: 'create'})
  const seen = await untilDone(here, body.write.id)
  t.like(seen.results[0], {rowKey: 'P-1', writeId: 'w1', ok: true, outcome: 'created'})
  t.deepEqual(Object.keys(seen.write), ['id', 'runId', 'kind', 'state', 'crm', 'createdAt'])
  const waited = await here.create(run, [row('P-2')], {}, {prefer: 'wait=20'})
  t.is(waited.status, 200)
  t.is(waited.headers.get('preference-applied'), 'wait=20')
  t.like(waited.body.results[0], {ok: true})
  const unwaited = await here.create(run, [row('P-3')], {}, {prefer: 'wait=0'})
  t.is(unwaited.status, 202)
  t.is(unwaited.headers.get('preference-applied'), 'wait=0')
  await untilDone(here, unwaited.body.write.id)
})

test('a write to a paused connection is refused before the run starts', async t => {
  const here = t.context
  const {db} = here.house
  const {org, connector} = here.org
  const run = await here.authorise()
  await db.transaction(tx => setWritesPaused(tx, {org, id: connector, paused: true}))
  t.like(await here.create(run, [row('x')]), {status: 409, body: {code: 'WRITES_PAUSED', written: false}})
  t.is((await here.read(run)).state, 'authorised')
  await db.transaction(tx => setWritesPaused(tx, {org, id: connector, paused: false}))
  t.is((await here.create(run, [row('after')])).status, 200)
})
