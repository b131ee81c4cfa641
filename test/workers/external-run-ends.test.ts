import anyTest, {type TestFn} from 'ava'
import {cancelRun} from '../../shared/runs/cancel.ts'
import {findRun, noteQuota} from '../../sql/runs.ts'
import {ok} from '../support/importing.ts'
import {assertLedger, callsOf, type ExternalEngine, openExternalEngine, row} from '../support/record-writes.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one CRM and one clock. */
const test = anyTest.serial as TestFn<ExternalEngine>

test.before(async t => {
  Object.assign(t.context, await openExternalEngine(t, {environment: {CRM_TIMEOUT_SECONDS: '2', LEASE_SECONDS: '1'}}))
})
test.beforeEach(async ({context: {house}}) => {
  house.crm.clear()
  await house.ahead('0 seconds')
})

const openOther = async ({house}: ExternalEngine) => {
  const {org, token: session} = await house.makeOrg()
  const connector = await house.connect(session, {user: 'ben@example.org'})
  const call = house.as(session)
  await ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'}), 200)
  return callsOf(house, {call, org, connector, session})
}

test('disconnecting a connection ends its external runs and releases their imports', async t => {
  const here = await openOther(t.context)
  const {path} = await here.makeImport()
  const run = await here.authorise(10, {importId: path.split('/').at(-1)!})
  await ok(here.create(run, [row('before')]), 200)
  await ok(here.org.call('DELETE', `/orgs/${here.org.org}/connectors/${here.org.connector}`), 200)
  t.like(await here.read(run), {state: 'ended', stop: {stopped: 'GRANT_ENDED'}})
  t.is((await ok(here.org.call('GET', path), 200)).import.state, 'done')
  t.like(await here.create(run, [row('after')]), {status: 409, body: {code: 'LEASE_LOST', written: false}})
  t.like(await assertLedger(here, run), {outcomes: {created: 1}})
})

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
/** Creates records by a write that is accepted at once, and returns the write with its results. */
const handInTo = async ({create, org: {call, org}}: ExternalEngine, run: string, items: object[]) => {
  const {write} = await ok(create(run, items, {}, {prefer: 'respond-async'}), 202)
  const look = async () => (await ok(call('GET', `/orgs/${org}/writes/${write.id}`), 200)) as any
  return until(look, ({write}) => write.state === 'done')
}
const spentDay = {type: 'rateLimit', credits: 0} as const

test('an exhausted quota is recorded until a write succeeds, and costs the run neither its lease nor its import', async t => {
  const here = t.context
  const {path} = await here.makeImport()
  const importId = path.split('/').at(-1)!
  const run = await here.authorise(10, {importId})
  await ok(here.create(run, [row('first')]), 200)
  here.house.crm.faults.add({match: creates, action: spentDay})
  t.like(await here.create(run, [row('second')]), {status: 429})
  t.is((await here.read(run)).stoppedBy, null, 'a read by ids marks the run, a write does not')
  const {
    org: {call, org, connector},
  } = here
  const read = await call('GET', `/orgs/${org}/connectors/${connector}/records/Accounts/by-ids?ids=1&run=${run}`)
  t.is(read.status, 429)
  t.is((await here.read(run)).stoppedBy, 'allowance')
  t.like(await here.create(run, [row('second')]), {status: 429, body: {code: 'DAILY_ALLOWANCE_SPENT'}})
  t.is((await here.read(run)).stoppedBy, 'allowance', 'a refused write clears nothing')

  await here.house.ahead('3 hours')
  const other = await here.authorise(10, {importId})
  t.like(await here.tell(other, 'lease'), {status: 409, body: {code: 'IMPORT_RUNNING'}})
  t.like((await ok(here.create(run, [row('second')]), 200)).results, [{ok: true}])
  t.is((await here.read(run)).stoppedBy, null)

  await here.house.ahead('3 hours 3 minutes')
  await ok(here.tell(other, 'lease'), 200)
  t.is((await here.read(run)).state, 'ended', 'a lease is two minutes again')
})

test('after a write succeeds again, a run whose write found the quota exhausted keeps its import for one lease only', async t => {
  const here = t.context
  await here.house.ahead('3 hours 10 minutes')
  const {path} = await here.makeImport()
  const importId = path.split('/').at(-1)!
  const run = await here.authorise(10, {importId})
  here.house.crm.faults.add({match: creates, action: spentDay})
  t.like(await here.create(run, [row('q1')]), {status: 429})
  await here.house.ahead('3 hours 20 minutes')
  t.like((await ok(here.create(run, [row('q1')]), 200)).results, [{ok: true}])
  await here.house.ahead('3 hours 23 minutes')
  await ok(here.tell(await here.authorise(10, {importId}), 'lease'), 200)
  t.is((await here.read(run)).state, 'ended')
})

test('a cancelled run with an exhausted quota releases its import after one lease', async t => {
  const here = t.context
  const {path} = await here.makeImport()
  const importId = path.split('/').at(-1)!
  const run = await here.authorise(10, {importId})
  here.house.crm.faults.add({match: creates, action: spentDay})
  t.like(await here.create(run, [row('c1')]), {status: 429})
  await ok(here.org.call('POST', `${path}/runs/${run}/cancel`), 200)
  await here.house.ahead('3 minutes')
  await ok(here.tell(await here.authorise(10, {importId}), 'lease'), 200)
  await until(
    () => here.read(run),
    ({state}) => state === 'ended',
  )
  t.is((await here.read(run)).stop.stopped, 'CANCELLED')
})

test('a cancel that read the run before its engine began it releases the import after one lease too', async t => {
  const {house, org, ...here} = t.context
  const {path} = await here.makeImport()
  const run = {org: org.org, id: await here.authorise(10, {importId: path.split('/').at(-1)!})}
  const unbegun = (await findRun(house.db, run))!
  await ok(here.tell(run.id, 'lease'), 200)
  await noteQuota(house.db, {...run, connector: org.connector})
  const device = {userAgent: null, address: null}
  await cancelRun(house.db, {org: org.org, via: 'session', person: unbegun.personId!, session: null, token: null, device}, unbegun)
  await house.ahead('3 minutes')
  t.like(await findRun(house.db, run), {state: 'writing', leaseLive: false, stop: {stopped: 'CANCELLED'}})
})

test('an accepted write that was refused is logged when its run is done, unless its row was sent later', async t => {
  const here = t.context
  const run = await here.authorise(10)
  const handIn = (items: object[]) => handInTo(here, run, items)
  await here.house.ahead('4 hours')
  await ok(here.create(run, [row('first')]), 200)
  here.house.crm.faults.add({match: creates, action: spentDay})
  t.like(await handIn([row('spender')]), {results: [{ok: false, crm: {quotaSpent: true}}]})
  for (const _ of ['once', 'twice'])
    t.like(await handIn([row('lost', 'lost', {rowNumber: 2}), row('again')]), {
      results: [
        {code: 'DAILY_ALLOWANCE_SPENT', written: false},
        {code: 'DAILY_ALLOWANCE_SPENT', written: false},
      ],
    })
  await here.house.ahead('7 hours')
  t.like(await handIn([row('again')]), {results: [{ok: true}]})
  await ok(here.tell(run, 'progress', {done: true}), 200)
  const {entries, outcomes} = await assertLedger(here, run)
  t.deepEqual(outcomes, {created: 2, refused: 1, failed: 1})
  t.like(entries.at(-1), {rowKey: 'lost', rowNumber: 2, outcome: 'failed', code: 'DAILY_ALLOWANCE_SPENT', attempt: 0})
  const {rows} = await here.house.hot.query(
    'select from writes where run_no = (select run_no from runs where id = $1) and request is not null',
    [run],
  )
  t.is(rows.length, 0, 'what was to be written is not kept')
})

test('an error of the CRM is reported for the whole write only if each sent item has it', async t => {
  const here = t.context
  const run = await here.authorise(10)
  const first = row('w1', 'w1', {writeId: 'w-1'})
  await ok(here.create(run, [first]), 200)
  const body = {code: 'NO_PERMISSION', message: 'permission denied', status: 'error'}
  here.house.crm.faults.add({match: creates, times: 2, action: {type: 'answer', status: 403, body}})
  const half = await handInTo(here, run, [first, row('w2')])
  t.like(half, {write: {crm: null}, results: [{ok: true}, {ok: false, crm: {code: 'NO_PERMISSION'}}]})
  t.like(await handInTo(here, run, [row('w3')]), {write: {crm: {code: 'NO_PERMISSION'}}, results: [{ok: false}]})
})

test('a cancelled run that has not begun ends at once, releases its reserved rows, and cannot be used', async t => {
  const here = t.context
  const {path} = await here.makeImport()
  const reserved = async () => (await ok(here.org.call('GET', '/entitlements/usage'), 200)).rows.reserved
  const before = await reserved()
  const run = await here.authorise(7, {importId: path.split('/').at(-1)!})
  t.is(await reserved(), before + 7)
  const {run: seen} = await ok(here.org.call('POST', `${path}/runs/${run}/cancel`), 200)
  t.like(seen, {state: 'ended', stop: {stopped: 'CANCELLED'}, rowsWritten: 0})
  t.is(await reserved(), before)
  t.like(await here.org.call('POST', `${path}/runs`, {runId: run}), {status: 409, body: {code: 'RUN_USED'}})
  const refused = await here.create(run, [row('C-3')])
  t.like(refused, {status: 403, body: {code: 'RUN_STOPPED', stop: {stopped: 'CANCELLED'}, written: false}})
})
