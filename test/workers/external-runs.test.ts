import anyTest, {type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import {ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {assertLedger, callsOf, type ExternalEngine, nameless, openExternalEngine, row, rowsOf} from '../support/record-writes.ts'

/** The tests run serially, because they share one clock. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  const workers = ['discovery', 'imports', 'writes']
  Object.assign(t.context, await openExternalEngine(t, {workers, environment: {CRM_TIMEOUT_SECONDS: '2', LEASE_SECONDS: '30'}}))
})
test.beforeEach(async ({context: {house}}) => {
  house.crm.clear()
  await house.ahead('0 seconds')
})

const idOf = (path: string) => path.split('/').at(-1)!
const begin = async (here: ExternalEngine, declaredRows = 100) => {
  const {path} = await here.makeImport()
  const run = await here.authorise(declaredRows, {importId: idOf(path)})
  await ok(here.tell(run, 'lease'), 200)
  return {path, run}
}
const stateOf = async ({org}: ExternalEngine, path: string) => (await ok(org.call('GET', path), 200)).import.state

test('taking the lease starts the run and locks its import; writes and progress renew the lease', async t => {
  const here = t.context
  const {path} = await here.makeImport()
  const run = await here.authorise(10, {importId: idOf(path)})
  t.is(await stateOf(here, path), 'ready')
  const {runId, leaseUntil, leaseSeconds} = await ok(here.tell(run, 'lease'), 200)
  t.deepEqual({runId, leaseSeconds}, {runId: run, leaseSeconds: 120})
  t.true(Math.abs(Date.parse(leaseUntil) - Date.now() - 120_000) < 5_000)
  t.like(await here.read(run), {state: 'writing', engine: 'outside', importId: idOf(path)})
  t.is(await stateOf(here, path), 'running')
  for (const [at, ask] of [
    ['100 seconds', () => here.create(run, [row('L-1')])],
    ['200 seconds', () => here.tell(run, 'progress')],
    ['300 seconds', () => here.tell(run, 'entries', {entries: [{rowKey: 'x', module: 'Accounts', outcome: 'failed'}]})],
    ['400 seconds', () => here.tell(run, 'lease')],
    ['500 seconds', () => here.create(run, [row('L-2')])],
    ['600 seconds', () => here.create(run, [row('L-2')])],
    ['700 seconds', () => here.create(run, [row('L-3')])],
  ] as const) {
    await here.house.ahead(at)
    t.is((await ask()).status, 200, at)
  }
})

test('a run with an expired lease cannot write until it takes the lease again', async t => {
  const here = t.context
  const {run} = await begin(here)
  await here.house.ahead('121 seconds')
  t.like(await here.create(run, [row('x')]), {status: 409, body: {code: 'LEASE_LOST', written: false}})
  t.like(await here.tell(run, 'progress', {rowsWritten: 1}), {status: 409, body: {code: 'LEASE_LOST'}})
  t.like(await here.tell(run, 'entries', {entries: [{rowKey: 'x', module: 'Accounts', outcome: 'failed'}]}), {body: {code: 'LEASE_LOST'}})
  t.is(here.posts(), 0)
  await ok(here.tell(run, 'lease'), 200)
  t.true((await ok(here.create(run, [row('again')]), 200)).results[0].ok)
  await assertLedger(here, run)
})

test('a run without an import has no lease and can write after any pause', async t => {
  const here = t.context
  const run = await here.authorise()
  await ok(here.create(run, [row('Q-1')]), 200)
  await here.house.ahead('1 hour')
  t.true((await ok(here.create(run, [row('Q-2')]), 200)).results[0].ok)
})

test('another run can take an import only once the lease of its holder has expired, which ends that run', async t => {
  const here = t.context
  const {path, run} = await begin(here)
  const other = await here.authorise(10, {importId: idOf(path)})
  t.like(await here.tell(other, 'lease'), {status: 409, body: {code: 'IMPORT_RUNNING'}})
  t.like(await here.create(other, [row('x')]), {status: 409, body: {code: 'IMPORT_RUNNING'}})
  t.is((await here.read(other)).state, 'authorised')
  await here.house.ahead('121 seconds')
  await ok(here.tell(other, 'lease'), 200)
  t.is((await here.read(run)).state, 'ended')
  t.like(await here.tell(run, 'lease'), {status: 409, body: {code: 'LEASE_LOST'}})
  t.like(await here.create(run, [row('x')]), {status: 409, body: {code: 'LEASE_LOST', written: false}})
  t.is(await stateOf(here, path), 'running')
})

test('our own engine can take an import after the lease expired', async t => {
  const here = t.context
  const {path, run} = await begin(here)
  t.like(await here.org.call('POST', `${path}/runs`, {}), {status: 409, body: {code: 'IMPORT_RUNNING'}})
  await here.house.ahead('121 seconds')
  const {run: own} = await ok(here.org.call('POST', `${path}/runs`, {}), 202)
  t.is((await here.read(run)).state, 'ended')
  await untilEnded(here.org.call, `${path}/runs/${own.id}`)
  t.is(await stateOf(here, path), 'done')
})

test('of concurrent runs for one import one gets it, and the others are refused at once', async t => {
  const here = t.context
  const {path, run} = await begin(here)
  await here.house.ahead('121 seconds')
  const others = await Promise.all(Array.from({length: 6}, () => here.authorise(10, {importId: idOf(path)})))
  const answers = await Promise.all([
    ...others.map(other => here.tell(other, 'lease')),
    here.tell(run, 'progress', {done: true}),
    here.org.call('POST', `${path}/runs`, {}),
    here.org.call('POST', `${path}/runs/${run}/cancel`),
  ])
  const leases = answers.slice(0, 6).map(({status}) => status)
  const own = answers.at(-2)!
  t.is(leases.filter(status => status === 200).length + (own.status === 202 ? 1 : 0), 1)
  for (const {status, body} of answers) if (status >= 400) t.is(body.code, 'IMPORT_RUNNING')
})

test('rows settled by the engine itself are logged at attempt 0 and counted, but not metered', async t => {
  const here = t.context
  const run = await here.authorise(1)
  const at = {module: 'Accounts', flowId: 'f'}
  const entries = [
    {...at, rowKey: 'bad', rowNumber: 1, outcome: 'failed', code: 'EXPRESSION', message: 'Line 1: no'},
    {...at, rowKey: 'same', rowNumber: 2, outcome: 'skipped', recordId: '77'},
    {...at, rowKey: 'many', outcome: 'would_ask', code: '3'},
    {...at, rowKey: 'none', outcome: 'lookup', target: 'Parent_Account', code: '0'},
    {...at, rowKey: 'twice', outcome: 'made_after_no_answer', recordId: '78'},
  ]
  t.deepEqual(await ok(here.tell(run, 'entries', {entries}), 200), {logged: 5})
  const {entries: log, outcomes, run: seen} = await assertLedger(here, run)
  t.deepEqual(
    log.map(({phase, attempt}) => `${phase} ${attempt}`),
    ['write 0', 'write 0', 'match 0', 'lookup 0', 'write 0'],
  )
  t.like(log[0], {...entries[0], target: '', recordId: null})
  t.like(log[3], {target: 'Parent_Account', code: '0', outcome: 'lookup'})
  t.deepEqual(outcomes, {failed: 1, skipped: 1})
  t.like(seen, {rowsWritten: 0, mayExistTwice: 1})
  const matched = await here.house.hot.query<{record_id: string; how: number}>(
    'select record_id, how from chain_rows join runs using (run_no) where id = $1',
    [run],
  )
  t.deepEqual(matched.rows, [{record_id: '77', how: 4}])

  await ok(here.tell(run, 'entries', {entries: [{...at, rowKey: 'bad', outcome: 'skipped'}]}), 200)
  t.true((await ok(here.create(run, [row('bad')]), 200)).results[0].ok)
  await ok(here.tell(run, 'entries', {entries: [{...at, rowKey: 'bad', outcome: 'failed'}]}), 200)
  t.deepEqual((await assertLedger(here, run)).outcomes, {created: 1, skipped: 1}, 'a row that was sent is what it came to')
})

test('log entries are stored once per writeId, and a set with a wrong entry is refused whole', async t => {
  const here = t.context
  const run = await here.authorise()
  const entry = {rowKey: 'x', module: 'Accounts', outcome: 'failed'}
  const tell = (body: object) => here.tell(run, 'entries', body)
  for (let n = 0; n < 2; n++) t.deepEqual(await ok(tell({writeId: 'e1', entries: [entry]}), 200), {logged: 1})
  t.like(await tell({writeId: 'e1', entries: [{...entry, rowKey: 'y'}]}), {status: 409, body: {code: 'WRITE_ID_REUSED'}})
  t.like(await tell({entries: []}), {status: 400, body: {code: 'BATCH_SIZE'}})
  t.like(await tell({entries: Array(1_001).fill(entry)}), {status: 400, body: {code: 'BATCH_SIZE'}})
  t.like(await tell({entries: [entry, {...entry, module: 'Nothing'}]}), {status: 404, body: {code: 'MODULE_NOT_FOUND'}})
  t.like(await tell({entries: [{...entry, outcome: 'created'}]}), {status: 400, body: {code: 'INVALID'}})
  const nowhere = await here.authorise(1, {})
  t.like(await here.tell(nowhere, 'entries', {entries: [entry]}), {status: 400, body: {code: 'CONNECTION_REQUIRED'}})
  t.is((await assertLedger(here, run)).entries.length, 1)
  const full = Array.from({length: 1_000}, (_, n) => ({...entry, rowKey: `k${n}`}))
  t.deepEqual(await ok(tell({entries: full}), 200), {logged: 1_000})
  t.deepEqual((await assertLedger(here, run)).outcomes, {failed: 1_001})
})

test('a run that writes nothing through the API is metered by its progress, up to its limit', async t => {
  const here = t.context
  const run = await here.authorise(50)
  const told = async (rowsWritten: number) => (await ok(here.tell(run, 'progress', {rowsWritten}), 200)).run
  t.like(await told(20), {rowsWritten: 20, stop: null, state: 'writing'})
  t.like(await told(10), {rowsWritten: 20}, 'what is told is cumulative')
  t.like(await told(50), {rowsWritten: 50, stop: null})
  const past = await told(51)
  t.like(past, {rowsWritten: 50})
  t.like(past.stop, {stopped: 'LIMIT_ROWS_PER_RUN', rowsPerRun: 50, stoppedBy: 'declaration', rowsWrittenTotal: 50})
  t.like(await here.create(run, [row('x')]), {status: 403, body: {code: 'RUN_STOPPED', written: false, stop: past.stop}})
})

test('a run that writes through the API is metered by those writes alone', async t => {
  const here = t.context
  const run = await here.authorise(2)
  await ok(here.create(run, [row('M-1')]), 200)
  t.like((await ok(here.tell(run, 'progress', {rowsWritten: 50}), 200)).run, {rowsWritten: 1, stop: null})
  await ok(here.create(run, [nameless('M-2')]), 200)
  t.like((await ok(here.tell(run, 'progress', {rowsWritten: 50}), 200)).run, {rowsWritten: 1, stop: null})
})

test('done ends the run and frees its import, also after the lease expired, and is idempotent', async t => {
  const here = t.context
  const {path, run} = await begin(here)
  await ok(here.create(run, rowsOf(3, 'Z-')), 200)
  await here.house.ahead('10 minutes')
  const {run: closed} = await ok(here.tell(run, 'progress', {done: true, outcome: 'all well'}), 200)
  t.like(closed, {state: 'ended', outcome: 'all well', rowsWritten: 3, counts: {Accounts: {created: 3}}})
  t.is(await stateOf(here, path), 'done')
  t.deepEqual((await ok(here.tell(run, 'progress', {done: true, outcome: 'other', rowsWritten: 9}), 200)).run, closed)
  t.like(await here.tell(run, 'progress', {rowsWritten: 4}), {status: 409, body: {code: 'LEASE_LOST'}})
  const late = await here.create(run, [row('Z-4')])
  t.like(late, {status: 409, body: {code: 'LEASE_LOST', written: false}})
  t.regex(late.body.error, /run has ended/)
  await assertLedger(here, run)
})

test('a run at its row limit refuses further rows and gives the reason', async t => {
  const here = t.context
  const run = await here.authorise(3)
  const first = await ok(here.create(run, rowsOf(5, 'G-')), 200)
  t.deepEqual(
    first.results.map(({ok, code}: any) => code ?? ok),
    [true, true, true, 'RUN_STOPPED', 'RUN_STOPPED'],
  )
  t.like(first.results[3], {written: false, stop: {stopped: 'LIMIT_ROWS_PER_RUN', rowsWrittenTotal: 3}})
  t.like(await here.create(run, [row('G-4')]), {status: 403, body: {code: 'RUN_STOPPED', written: false}})
  const full = await here.authorise(1)
  await ok(here.create(full, [row('F-1')]), 200)
  const none = await here.create(full, [row('F-2'), row('F-3')])
  t.like(none, {status: 403, body: {code: 'RUN_STOPPED', written: false, stop: {rowsPerRun: 1}}})
  t.deepEqual(
    none.body.results.map(({code}: any) => code),
    ['RUN_STOPPED', 'RUN_STOPPED'],
  )
  t.like((await assertLedger(here, run)).run, {rowsWritten: 3, stop: {stoppedBy: 'declaration'}})
})

test('a cancelled run cannot write, and can still report progress and be closed', async t => {
  const here = t.context
  const {path, run} = await begin(here)
  await ok(here.create(run, [row('C-1')]), 200)
  const {run: stopped} = await ok(here.org.call('POST', `${path}/runs/${run}/cancel`), 200)
  t.like(stopped, {state: 'writing', stop: {stopped: 'CANCELLED'}})
  t.like(await here.create(run, [row('C-2')]), {status: 403, body: {code: 'RUN_STOPPED', stop: {stopped: 'CANCELLED'}, written: false}})
  await ok(here.tell(run, 'entries', {entries: [{rowKey: 'x', module: 'Accounts', outcome: 'failed'}]}), 200)
  t.is((await ok(here.tell(run, 'progress', {done: true}), 200)).run.state, 'ended')
  t.like(await here.create(run, [row('C-2')]), {status: 409, body: {code: 'LEASE_LOST', written: false}})
  t.is(await stateOf(here, path), 'done')
})

test('cancelling a run with an expired lease frees its import at once', async t => {
  const here = t.context
  const {path, run} = await begin(here)
  await here.house.ahead('121 seconds')
  t.is((await ok(here.org.call('POST', `${path}/runs/${run}/cancel`), 200)).run.state, 'ended')
  t.is(await stateOf(here, path), 'done')
})

test('an import shows its external runs with list and log, but without results', async t => {
  const here = t.context
  const {path, run} = await begin(here)
  await ok(here.create(run, rowsOf(3, 'S-'), {flowId: 'f'}), 200)
  const {run: seen} = await ok(here.org.call('GET', `${path}/runs/${run}`), 200)
  t.like(seen, {id: run, engine: 'outside', importId: idOf(path), counts: {Accounts: {created: 3, refused: 0}}})
  t.deepEqual((await ok(here.org.call('GET', `${path}/runs`), 200)).runs, [seen])
  const pages = await readLog(here.org.call, `${path}/runs/${run}`, 2)
  t.deepEqual(pages, await here.log(run))
  t.is(pages[0].flowId, 'f')
  t.like(await here.org.call('GET', `${path}/results.csv?run=${run}`), {status: 409, body: {code: 'NO_FILE'}})
  t.like(await here.org.call('GET', `/orgs/${here.org.org}/runs/${run}/records?cursor=x`), {status: 400, body: {code: 'INVALID_CURSOR'}})
})

test('a run of another org is not found, and a run of a colleague is refused', async t => {
  const here = t.context
  const other = callsOf(here.house, await openOrg(here.house, 'zoe@other.example'))
  const run = await other.authorise()
  const operator = await here.house.makeOrg({org: here.org.org, role: 'operator'})
  const mine = await here.authorise()
  const colleague = callsOf(here.house, {...here.org, call: here.house.as(operator.token)})
  const entries = [{rowKey: 'x', module: 'Accounts', outcome: 'failed'}]
  for (const [what, body] of [['lease'], ['progress'], ['entries', {entries}]] as const) {
    t.like(await here.tell(run, what, body), {status: 404, body: {code: 'RUN_NOT_FOUND'}})
    t.like(await colleague.tell(mine, what, body), {status: 403, body: {code: 'NOT_YOUR_RUN'}})
  }
  t.is((await here.org.call('GET', `/orgs/${here.org.org}/runs/${run}`)).status, 404)
  const {path} = await here.makeImport()
  const {run: workers} = await ok(here.org.call('POST', `${path}/runs`, {}), 202)
  t.like(await here.tell(workers.id, 'progress', {done: true}), {status: 409, body: {code: 'RUN_USED'}})
  await untilEnded(here.org.call, `${path}/runs/${workers.id}`)
})

test('an import without flows stays not ready for our engine after an external run', async t => {
  const here = t.context
  const {import: made} = await ok(
    here.org.call('POST', `/orgs/${here.org.org}/imports`, {name: 'Bare', connectorId: here.org.connector}),
    201,
  )
  const run = await here.authorise(5, {importId: made.id})
  await ok(here.create(run, [row('B-1')]), 200)
  await ok(here.tell(run, 'progress', {done: true}), 200)
  const path = `/orgs/${here.org.org}/imports/${made.id}`
  t.like(await here.org.call('POST', `${path}/runs`, {}), {status: 409, body: {code: 'NOT_READY'}})
  const names = await here.house.db.any(sql.unsafe`select name from run_names join runs using (run_no) where id = ${run}`)
  t.deepEqual(names, [{name: 'Accounts'}] as never)
})
