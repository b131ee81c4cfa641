import anyTest, {type TestFn} from 'ava'
import {expireImport} from '../../sql/expiry.ts'
import {doNight} from '../../workers/retention/night.ts'
import {accountRows, accounts, type Org, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {countRecords, fireStopped, importPath, makeHeldFile, refusedFiring as refused} from '../support/kept-files.ts'
import {openSchedules} from '../support/open-schedules.ts'
import {setWindow} from '../support/retention.ts'
import {type FileHost, fire, listFirings, makeSchedule, noticesOf, untilOver} from '../support/schedules.ts'
import {applyPlan, makePlan} from '../support/sealed-plans.ts'
import type {TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

const test = anyTest.serial as TestFn

let house: TestDeployment
let host: FileHost
let org: Org
/** The same org with an API token, because sessions expire when the clock moves. */
let lasting: Org

test.before(async t => {
  ;({house, host, org} = await openSchedules(t, {IMPORTS_PER_WORKER: '1'}))
  const {secret} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'lasting'}), 201)
  lasting = {...org, call: house.as(secret)}
})

const idOf = (path: string) => path.split('/').at(-1)!
const importOf = (firing: any, by: Org = org) => importPath(by, firing)
const fireRefused = (path: string, file: string) => fireStopped(house, org, {host, path, file})
const creates = {method: 'POST', path: '/crm/v8/Accounts'}
let unbegun = 0
/** Starts another run while the worker is busy, cancels it before it begins, and returns it after its end. */
const startUnbegun = async (runs: string, at: string, body: object) => {
  const busy = await prepareImport(org, {csv: accountRows(1, `Busy-${++unbegun}-`), flow: accounts})
  house.crm.faults.add({match: creates, times: 1, action: 'hold'})
  await ok(org.call('POST', `${busy.path}/runs`, {}), 202)
  await until(
    () => house.crm.held(),
    held => held === 1,
  )
  const {run} = await ok(org.call('POST', `${runs}${at}`, body), 202)
  await ok(org.call('POST', `${runs}/${run.id}/cancel`), 200)
  house.crm.release()
  return untilEnded(org.call, `${runs}/${run.id}`)
}
const makeHeld = (by: Org, prefix: string, rows = 1) => makeHeldFile(by, host, {prefix, rows})

test('a file that was run is unchanged, although the run of another file stopped before its first row', async t => {
  const {path} = await makeSchedule(org, host)
  host.serve(accountRows(2, 'Ka-'))
  t.like(await fire(org, path), {outcome: 'done'})
  t.like(await fireRefused(path, accountRows(2, 'Kb-')), refused)
  host.serve(accountRows(2, 'Ka-'))
  t.like(await fire(org, path), {outcome: 'unchanged', runId: null})
  t.is(countRecords(house, 'Kb-'), 0)
})

test('the rest of a file is run, although another file stopped later and a run of the import was authorised', async t => {
  const {path} = await makeSchedule(org, host, {declaredRows: 3})
  host.serve(accountRows(5, 'Kc-'))
  const first = await fire(org, path)
  t.like(first, {outcome: 'stopped', reason: {code: 'LIMIT_ROWS_PER_RUN'}, counts: {rowsWritten: 3}})
  t.like(await fireRefused(path, accountRows(2, 'Kd-')), refused)
  await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 1, importId: first.importId}), 200)
  host.serve(accountRows(5, 'Kc-'))
  t.like(await fire(org, path), {outcome: 'done', importId: first.importId, counts: {rowsWritten: 2}})
  t.deepEqual([countRecords(house, 'Kc-'), countRecords(house, 'Kd-')], [5, 0])
})

test('a file whose stopped run was undone is unchanged, and its rest is not run', async t => {
  const {path} = await makeSchedule(org, host, {declaredRows: 1})
  host.serve(accountRows(2, 'Kk-'))
  const first = await fire(org, path)
  t.like(first, {outcome: 'stopped', counts: {rowsWritten: 1}})
  const {run} = await ok(org.call('POST', `${importOf(first)}/runs/${first.runId}/undo`, {}), 202)
  await untilEnded(org.call, `${importOf(first)}/runs/${run.id}`)
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test('the rest of a file is run, although an undo was cancelled before it began', async t => {
  const {path} = await makeSchedule(org, host, {declaredRows: 3})
  host.serve(accountRows(5, 'Kn-'))
  const first = await fire(org, path)
  t.like(first, {outcome: 'stopped', counts: {rowsWritten: 3}})
  const undo = await startUnbegun(`${importOf(first)}/runs`, `/${first.runId}/undo`, {})
  t.like(undo, {stop: {stopped: 'CANCELLED'}, startedAt: null})
  t.like(await fire(org, path), {outcome: 'done', importId: first.importId, counts: {rowsWritten: 2}})
})

test('questions of a firing stay open if the retry was cancelled before it began, and close once a retry began', async t => {
  const {path, template} = await makeSchedule(org, host)
  const {name, description, connectorId, sources, flows} = (await ok(org.call('GET', template), 200)).template
  const match = {by: ['Account_Name'], onOne: 'update', onMany: 'ask', unchanged: 'skip'}
  await ok(org.call('PUT', template, {name, description, connectorId, sources, flows: [{...flows[0], match}]}), 200)
  house.crm.create('example', 'Accounts', [{Account_Name: 'Twin'}, {Account_Name: 'Twin'}])
  host.serve('name,number,city\nTwin,Ko-1,Lyon\n')
  const first = await fire(org, path)
  t.like(first, {outcome: 'done', openQuestions: 1})
  const runs = `${importOf(first)}/runs`
  const retry = await startUnbegun(runs, '', {retryOf: first.runId})
  t.is(retry.startedAt, null)
  t.is((await listFirings(org, path))[0].openQuestions, 1)
  const {run} = await ok(org.call('POST', runs, {retryOf: retry.id}), 202)
  await untilEnded(org.call, `${runs}/${run.id}`)
  t.is((await listFirings(org, path))[0].openQuestions, 0)
})

test('a file whose stopped run has expired fails, and again: true runs the whole file', async t => {
  const {path} = await makeSchedule(org, host, {declaredRows: 3})
  host.serve(accountRows(5, 'Kl-'))
  const first = await fire(org, path)
  t.like(first, {outcome: 'stopped', counts: {rowsWritten: 3}})
  const {rows} = await house.hot.query('select import_no as no from imports where id = $1', [first.importId])
  await house.db.transaction(tx => expireImport(tx, {no: rows[0].no, deleted: false}))
  t.like(await fire(org, path), {outcome: 'failed', runId: null, reason: {code: 'FILE_GONE'}})
  t.like(await fire(org, path, {again: true}), {outcome: 'stopped', counts: {rowsWritten: 3}})
})

test('a run that a person starts of a held file continues the firing, and the file is not run again', async t => {
  const {path, held} = await makeHeld(org, 'Ke-')
  house.crm.faults.add({match: creates, times: 1, action: 'hold'})
  const {run} = await ok(org.call('POST', `${importOf(held)}/runs`, {}), 202)
  t.like((await listFirings(org, path))[0], {state: 'running', runId: run.id, reason: null})
  await until(
    () => house.crm.held(),
    waiting => waiting === 1,
  )
  house.crm.release()
  const ended = await untilOver(org, path, held.id)
  t.like(ended, {outcome: 'done', runId: run.id, reason: null, counts: {rowsWritten: 1}, contract: {decision: 'accepted'}})
  t.like((await org.call('POST', `${path}/firings/${held.id}/discard`, {})).body, {code: 'FILE_NOT_HELD'})
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test('a run that a person starts of a drifted file continues the firing, but not while another firing is under way', async t => {
  const {path} = await makeSchedule(org, host)
  host.serve('name,number,town\nA,Kf-1,B\n')
  const drifted = await fire(org, path)
  t.like(drifted, {outcome: 'drifted', reason: {code: 'DRIFTED'}})
  const at = importOf(drifted)
  const sourceId = (await ok(org.call('GET', at), 200)).import.sources[0].id
  await ok(org.call('PUT', `${at}/flows`, [{id: 'f', sourceId, ...accounts, fields: accounts.fields.slice(0, 2)}]), 200)

  let end = () => {}
  host.answer(response => {
    end = () => void response.end('name,number,town\nA,Kf-1,B\n')
  })
  const asked = host.requests.length
  const {firing} = await ok(org.call('POST', `${path}/run`, {}), 202)
  await until(
    () => host.requests.length,
    count => count > asked,
  )
  t.like(await org.call('POST', `${at}/runs`, {}), {status: 409, body: {code: 'IMPORT_RUNNING', firing: firing.id}})
  end()
  t.like(await untilOver(org, path, firing.id), {outcome: 'drifted'})

  const {run} = await ok(org.call('POST', `${at}/runs`, {}), 202)
  t.like(await untilOver(org, path, drifted.id), {outcome: 'done', runId: run.id, contract: null})
  host.serve('name,number,town\nA,Kf-1,B\n')
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test('a held file that needs an approved plan is refused at its acceptance, and continues its firing by the plan', async t => {
  const other = await openOrg(house, 'zoe@other.example')
  await ok(other.call('PATCH', `/orgs/${other.org}/config/settings`, {approvalAbove: 1}), 200)
  const {path, held} = await makeHeld(other, 'Kg-', 2)
  const accepted = await other.call('POST', `${path}/firings/${held.id}/accept`, {})
  t.like(accepted, {status: 409, body: {code: 'APPROVAL_REQUIRED', approvalAbove: 1}})
  t.like((await listFirings(other, path))[0], {state: 'ended', contract: {decision: null}})
  const at = importOf(held, other)
  const {run, plan} = await makePlan(other, at)
  const admin = house.as((await house.makeOrg({org: other.org, role: 'admin'})).token)
  await ok(admin('POST', `${at}/runs/${run.id}/approve`, {digest: plan.digest}), 200)
  t.like(await applyPlan(other.call, at, run.id), {rowsWritten: 2})
  t.like(await untilOver(other, path, held.id), {outcome: 'done', contract: {decision: 'accepted'}})

  // A refused run leaves its import too, and the notice names it.
  const refusing = await makeSchedule(other, host)
  const failed = await fire(other, refusing.path)
  t.like(failed, {outcome: 'failed', reason: {code: 'APPROVAL_REQUIRED'}})
  t.truthy(failed.importId)
  t.like(await noticesOf(house, idOf(refusing.path)), [{kind: 'schedule.failed', about: {import: failed.importId}}])
})

test('a file that the flows or the cleaning cannot read drifts under `warn` too', async t => {
  const {path} = await makeSchedule(org, host, {onDrift: 'warn'})
  host.serve('name,number,town\nA,Kj-1,B\n')
  const firing = await fire(org, path)
  t.like(firing, {outcome: 'drifted', runId: null, reason: {code: 'DRIFTED'}})
  t.like(firing.drift[0], {kind: 'column_missing', column: 'city', stops: true})
  t.like(await noticesOf(house, idOf(path)), [{kind: 'schedule.drifted', about: {firing: firing.id, import: firing.importId}}])
})

/** Sets the clock `days` days ahead, and runs the nightly retention. */
const nightAfter = async (days: number) => {
  await house.ahead(`${days} days`)
  return doNight({...house.tools, drain: new AbortController().signal})
}

test('a held firing stays as long as its import, so that its file is not run twice', async t => {
  const {path, template, held} = await makeHeld(lasting, 'Kz-')
  await setWindow(house, org, 31)
  await house.ahead('20 days')
  await ok(lasting.call('PATCH', importOf(held), {name: 'Still needed'}), 200)
  t.true(await nightAfter(40))
  const {run} = await ok(lasting.call('POST', `${importOf(held)}/runs`, {}), 202)
  await untilEnded(lasting.call, `${importOf(held)}/runs/${run.id}`)
  await ok(lasting.call('PUT', `${template}/contract`, {sources: []}), 200)
  await until(async () => (await listFirings(lasting, path)).every(({state}) => state === 'ended'), Boolean)
  t.like(await fire(lasting, path), {outcome: 'unchanged'})
  t.is(countRecords(house, 'Kz-'), 1)
})

test('a file whose stopped run is older than the history window fails each night, until another file was run', async t => {
  const {path} = await makeSchedule(lasting, host, {declaredRows: 3})
  host.serve(accountRows(5, 'Km-'))
  const first = await fire(lasting, path)
  t.like(first, {outcome: 'stopped', counts: {rowsWritten: 3}})
  await setWindow(house, org, 30)
  for (const days of [80, 120, 160]) {
    t.true(await nightAfter(days))
    t.like(await fire(lasting, path), {outcome: 'failed', runId: null, reason: {code: 'FILE_GONE'}}, `${days} days`)
  }
  host.serve(accountRows(1, 'Kp-'))
  t.like(await fire(lasting, path), {outcome: 'done'})
  t.true(await nightAfter(200))
  t.is((await lasting.call('GET', importOf(first))).status, 404)
  t.false((await listFirings(lasting, path)).some(({id}) => id === first.id))
})
