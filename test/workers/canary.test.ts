import test from 'ava'
import {accountRows, ok, openOrg, prepareImport, runImport, untilEnded, untilRun, accounts as writing} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const slots = 4

let here: TestDeployment
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {
    workers: ['discovery', 'imports'],
    environment: {CRM_SLOTS: String(slots), LEASE_SECONDS: '2', VERIFY_AFTER_SECONDS: '1'},
  })
  org = await openOrg(here)
})
test.beforeEach(() => here.crm.clearJournal())
test.afterEach.always(() => {
  here.crm.faults.clear()
  here.crm.setSwitches({latencyMs: 0, rewrites: []})
})

const begin = async (csv: string, start: object, flow: object = writing) => {
  const {path} = await prepareImport(org, {csv, flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
  return {path, runPath: `${path}/runs/${run.id}`}
}
const untilHeld = (runPath: string) => untilRun(org.call, runPath, ({state, held}) => state === 'paused' && held !== null)
const sentRows = (method: 'POST' | 'PUT') =>
  here.crm.journal({method, path: '/crm/v8/Accounts'}).reduce((sum, {body}) => sum + body.data.length, 0)
const countOf = (prefix: string) =>
  here.crm.records('example', 'Accounts').filter(({Account_Number: no}) => String(no).startsWith(prefix)).length

test.serial('a canary of 200 stops a file of 100,000 rows with a shifted column after 200 rows, and one undo removes them', async t => {
  // The rows have a street before the city, which the header lacks. The CRM cuts cities to 20 characters.
  here.crm.setSwitches({rewrites: [{module: 'Accounts', how: 'cut', field: 'Billing_City', length: 20}]})
  const lines = Array.from({length: 100_000}, (_, n) => `Company ${n},X-${n},Long Street of the Town ${n % 50},Town ${n % 50}`)
  const shifted = `name,number,city,country\n${lines.join('\n')}\n`
  const {path, runPath} = await begin(shifted, {guard: {refused: 0.05, coerced: 0.05, canary: 200}})
  const held = await untilHeld(runPath)
  t.like(held, {pause: {code: 'GUARD'}, held: {outcome: 'coerced', limit: 0.05}, stop: null})
  t.regex(held.pause.message, /hold values that the CRM cut or stored in another form.*The guard of this run allows 5 %/)
  t.is(countOf('X-'), 200)
  t.is(sentRows('POST'), 200)
  t.like(held.verify, {mode: 'off', rows: 200, coerced: 200})
  await ok(org.call('POST', `${runPath}/cancel`), 200)
  const ended = await untilEnded(org.call, runPath)
  t.like(ended, {stop: {stopped: 'CANCELLED'}, counts: {Accounts: {created: 200}}})
  const {run} = await ok(org.call('POST', `${runPath}/undo`, {}), 202)
  t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {undo: {deleted: 200, restored: 0}, stop: null})
  t.is(countOf('X-'), 0)
})

test.serial('creates and updates have a canary each, which is read back before others of the kind are sent', async t => {
  const half = accountRows(600, 'B-')
  await runImport(org, {csv: half, flow: writing})
  here.crm.clearJournal()
  const csv = accountRows(1_200, 'B-').replaceAll('Town', 'City')
  const {path, runPath} = await begin(csv, {guard: {coerced: 0.05, canary: 150}})
  const ended = await untilEnded(org.call, runPath)
  t.like(ended, {stop: null, verify: {rows: 300, coerced: 0, changed: 0}, counts: {Accounts: {created: 600, updated: 600}}})
  await assertAccounted(here, {org, path, run: ended, rows: 1_200})
  const firstRead = Math.min(
    ...here.crm
      .journal({method: 'GET', path: '/crm/v8/Accounts'})
      .filter(({query}) => query.ids)
      .map(({seq}) => seq),
  )
  for (const method of ['POST', 'PUT'] as const) {
    const before = here.crm.journal({method, path: '/crm/v8/Accounts'}).filter(({seq}) => seq < firstRead)
    t.true(before.reduce((sum, {body}) => sum + body.data.length, 0) <= 150, method)
  }
})

test.serial('a fault after the canary holds the run within what is in flight, and resuming ends with correct totals', async t => {
  const index = Array.from({length: 10}, (_, n) => n * 10)
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts', nth: 11}, times: 1_000, action: {type: 'refuse', index}})
  // An answer takes longer than a settlement, so that no batch is sent between an answer and its settlement.
  here.crm.setSwitches({latencyMs: 500})
  const {path, runPath} = await begin(accountRows(5_000, 'F-'), {guard: {refused: 0.03, canary: 200}})
  const held = await untilHeld(runPath)
  t.is(held.held.outcome, 'refused')
  // Five bad batches of ten exceed the share. By then each slot has its next batch, and five more batches have stored their intents.
  t.true(sentRows('POST') <= 1_000 + 500 + (2 * slots + 5) * 100, `${sentRows('POST')} rows`)
  here.crm.faults.clear()
  here.crm.setSwitches({latencyMs: 0})
  await ok(org.call('POST', `${runPath}/resume`), 200)
  const ended = await untilEnded(org.call, runPath)
  const {finals} = await assertAccounted(here, {org, path, run: ended, rows: 5_000})
  const {created, refused} = ended.counts.Accounts
  t.deepEqual([created + refused, refused], [5_000, held.counts.Accounts.refused])
  assertOnce(here.crm, 'F-', new Map([...finals].filter(([, {outcome}]) => outcome === 'created')))
})

test.serial('a canary smaller than fifty rows is enough for its guard', async t => {
  const index = [0, 1]
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1_000, action: {type: 'refuse', index}})
  const {runPath} = await begin(accountRows(1_000, 'M-'), {guard: {refused: 0.05, canary: 20}})
  t.like((await untilHeld(runPath)).held, {outcome: 'refused', rows: 2, settled: 20})
  t.is(sentRows('POST'), 20)
  await ok(org.call('POST', `${runPath}/cancel`), 200)
  await untilEnded(org.call, runPath)
})

test.serial('a file with fewer rows than the canary does not wait for it', async t => {
  const {runPath} = await begin(accountRows(120, 'S-'), {guard: {coerced: 0.05, canary: 200}})
  t.like(await untilEnded(org.call, runPath), {verify: {rows: 0, unverified: 0}, counts: {Accounts: {created: 120}}})
  t.deepEqual(
    here.crm.journal({method: 'GET', path: '/crm/v8/Accounts'}).filter(({query}) => query.ids),
    [],
  )
})

test.serial('rows that wait for an answer do not keep the canary from ending', async t => {
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts', nth: 2}, times: 1, action: 'status5xxBefore'})
  const flow = {...writing, fields: writing.fields}
  const {path, runPath} = await begin(accountRows(800, 'U-'), {guard: {coerced: 0.05, canary: 200}}, flow)
  const ended = await untilEnded(org.call, runPath)
  t.like(ended, {stop: null, counts: {Accounts: {created: 800}}, verify: {coerced: 0}})
  t.true(ended.verify.rows >= 200)
  await assertAccounted(here, {org, path, run: ended, rows: 800})
})

for (const [onEdited, prefix] of [
  ['keep', 'K-'],
  ['overwrite', 'O-'],
] as const)
  test.serial(`an edit made while an update waits for the canary is compared again (${onEdited})`, async t => {
    const flow = {...writing, match: {...writing.match, unchanged: 'skip', onEdited}}
    await runImport(org, {csv: accountRows(300, prefix), flow})
    // The queries of the next run are certain to show the first run's writes.
    await here.ahead('10 minutes')
    here.crm.clearJournal()
    const {path, runPath} = await begin(accountRows(300, prefix).replaceAll('Town', 'City'), {guard: {canary: 100}}, flow)
    await until(
      () => sentRows('PUT'),
      rows => rows > 0,
    )
    const last = () => here.crm.records('example', 'Accounts').find(({Account_Number: number}) => number === `${prefix}300`)!
    here.crm.update('example', 'Accounts', [{id: String(last().id), Billing_City: 'Ben'}], {as: 'ben@example.org'})
    t.is(sentRows('PUT'), 100, 'the other rows still wait')
    const ended = await untilEnded(org.call, runPath)
    const isKept = onEdited === 'keep'
    t.like(ended, {stop: null, keptRows: isKept ? 1 : 0, counts: {Accounts: {updated: isKept ? 299 : 300}}})
    await assertAccounted(here, {org, path, run: ended, rows: 300})
    const {run} = await ok(org.call('POST', `${runPath}/undo`, {}), 202)
    t.like(await untilEnded(org.call, `${path}/runs/${run.id}`), {undo: {restored: isKept ? 299 : 300}, stop: null})
    t.is(last().Billing_City, 'Ben', 'the undo restores the edit')
  })
