import anyTest, {type TestFn} from 'ava'
import {accountRows, type Org, ok, untilEnded} from '../support/importing.ts'
import {
  countRecords,
  fireStopped,
  importPath,
  makeHeldFile,
  onlyRome,
  refuseCreates,
  refusedFiring as refused,
} from '../support/kept-files.ts'
import {openSchedules} from '../support/open-schedules.ts'
import {type FileHost, fire, makeSchedule, makeTemplate, seldom, untilOver} from '../support/schedules.ts'
import type {TestDeployment} from '../support/test-deployment.ts'

const test = anyTest.serial as TestFn

let house: TestDeployment
let host: FileHost
let org: Org

test.before(async t => {
  ;({house, host, org} = await openSchedules(t))
})

const importOf = (firing: any) => importPath(org, firing)
const fireRefused = (path: string, file: string) => fireStopped(house, org, {host, path, file})
const makeHeld = (prefix: string) => makeHeldFile(org, host, {prefix})

test('if a person retried only some rows of a stopped run, the next firing runs the rest of the file', async t => {
  const {path} = await makeSchedule(org, host, {declaredRows: 3})
  host.serve(accountRows(5, 'Kq-'))
  const first = await fire(org, path)
  t.like(first, {outcome: 'stopped', counts: {rowsWritten: 3}})
  const {run} = await ok(org.call('POST', `${importOf(first)}/runs`, {retryOf: first.runId, rows: {from: 4, to: 4}}), 202)
  t.like(await untilEnded(org.call, `${importOf(first)}/runs/${run.id}`), {stop: null, rowsWritten: 1})
  t.like(await fire(org, path), {outcome: 'done', importId: first.importId, counts: {rowsWritten: 1}})
  t.is(countRecords(house, 'Kq-'), 5)
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test('an undo of a run that a person retried after its schedule stops the schedules of the template', async t => {
  const {path, template, body} = await makeSchedule(org, host, {declaredRows: 3})
  const {schedule: other} = await ok(org.call('POST', `${template}/schedules`, {...body, name: 'Other'}), 201)
  host.serve(accountRows(5, 'Ku-'))
  const first = await fire(org, path)
  const runs = `${importOf(first)}/runs`
  const {run} = await ok(org.call('POST', runs, {retryOf: first.runId}), 202)
  t.like(await untilEnded(org.call, `${runs}/${run.id}`), {stop: null, rowsWritten: 2})
  await ok(org.call('POST', `${runs}/${run.id}/undo`, {}), 202)
  for (const one of [path, `${template}/schedules/${other.id}`])
    t.like((await ok(org.call('GET', one), 200)).schedule, {enabled: false, stopped: {code: 'RUN_UNDONE'}})
})

test('if a run stopped before its first row and a person then ran only some rows, the next firing runs the rest of the file', async t => {
  const {path} = await makeSchedule(org, host)
  const first = await fireRefused(path, accountRows(3, 'Kx-'))
  t.like(first, refused)
  const {run} = await ok(org.call('POST', `${importOf(first)}/runs`, {rows: {from: 1, to: 1}}), 202)
  t.like(await untilEnded(org.call, `${importOf(first)}/runs/${run.id}`), {stop: null, rowsWritten: 1})
  t.like(await untilOver(org, path, first.id), {outcome: 'done'})
  t.like(await fire(org, path), {outcome: 'done', importId: first.importId, counts: {rowsWritten: 2}})
  t.is(countRecords(house, 'Kx-'), 3)
})

test('an older file is refused after a later firing ran it, although another file was run since', async t => {
  const {path, held} = await makeHeld('Kr-')
  const stopped = await fireRefused(path, 'name,number,city\nA,Ks-1,Rome\n')
  t.like(stopped, refused)
  host.serve('name,number,city\nA,Ks-1,Rome\n')
  t.like(await fire(org, path), {outcome: 'done'})
  host.serve(accountRows(1, 'Kr-'))
  const second = await fire(org, path)
  await ok(org.call('POST', `${path}/firings/${second.id}/accept`, {}), 200)
  t.like(await untilOver(org, path, second.id), {outcome: 'done'})
  host.serve('name,number,city\nA,Kt-1,Rome\n')
  t.like(await fire(org, path), {outcome: 'done'})
  const notHeld = {status: 409, body: {code: 'FILE_NOT_HELD'}}
  t.like(await org.call('POST', `${path}/firings/${held.id}/accept`, {}), notHeld)
  t.like(await org.call('POST', `${importOf(held)}/runs`, {}), notHeld)
  t.like(await org.call('POST', `${importOf(stopped)}/runs`, {retryOf: stopped.runId}), notHeld)
})

test('a file whose run stopped before its first row is not run again once a person has run it', async t => {
  for (const kind of ['retry', 'new run']) {
    const {path} = await makeSchedule(org, host)
    const first = await fireRefused(path, accountRows(2, `Ku-${kind}-`))
    t.like(first, refused)
    const {run} = await ok(org.call('POST', `${importOf(first)}/runs`, kind === 'retry' ? {retryOf: first.runId} : {}), 202)
    t.like(await untilOver(org, path, first.id), {outcome: 'done', runId: run.id, counts: {rowsWritten: 2}}, kind)
    t.like(await fire(org, path), {outcome: 'unchanged'}, kind)
  }
  const {path, held} = await makeHeld('Kv-')
  refuseCreates(house)
  const {runId} = await ok(org.call('POST', `${path}/firings/${held.id}/accept`, {}), 200)
  await untilEnded(org.call, `${importOf(held)}/runs/${runId}`)
  house.crm.faults.clear()
  // The clock may not have ended the firing yet.
  const {run: retry} = await ok(org.call('POST', `${importOf(held)}/runs`, {retryOf: runId}), 202)
  t.like(await untilOver(org, path, held.id), {outcome: 'done', runId: retry.id, contract: {decision: 'accepted'}})
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test('an accepted file is unchanged, although a later run of it stopped before its first row', async t => {
  const {path, template, held} = await makeHeld('Kw-')
  await ok(org.call('PUT', `${template}/contract`, {sources: []}), 200)
  t.like(await fireRefused(path, accountRows(1, 'Kw-')), refused)
  await ok(org.call('POST', `${path}/firings/${held.id}/accept`, {}), 200)
  t.like(await untilOver(org, path, held.id), {outcome: 'done'})
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test('a file that was held twice is run once, unless a firing is asked to run it again', async t => {
  const {path, held} = await makeHeld('W-')
  const second = await fire(org, path)
  t.like(second, {outcome: 'drifted', contract: {decision: null}})
  const decide = (firing: {id: string}, decision: string) => org.call('POST', `${path}/firings/${firing.id}/${decision}`, {})
  await ok(decide(second, 'accept'), 200)
  t.like(await untilOver(org, path, second.id), {outcome: 'done'})
  t.like(await decide(held, 'accept'), {status: 409, body: {code: 'FILE_NOT_HELD'}})
  t.like(await org.call('POST', `${importOf(held)}/runs`, {}), {status: 409, body: {code: 'FILE_NOT_HELD'}})
  t.is(countRecords(house, 'W-'), 1)
  await ok(decide(held, 'discard'), 200)
  const again = await fire(org, path, {again: true})
  await ok(decide(again, 'accept'), 200)
  t.like(await untilOver(org, path, again.id), {outcome: 'done'})
})

test('an accepted file is the last file, although a later file stopped before its first row', async t => {
  const {path, held} = await makeHeld('Kh-')
  t.like(await fireRefused(path, 'name,number,city\nA,Ki-1,Rome\n'), refused)
  await ok(org.call('POST', `${path}/firings/${held.id}/accept`, {}), 200)
  t.like(await untilOver(org, path, held.id), {outcome: 'done'})
  host.serve(accountRows(1, 'Kh-'))
  t.like(await fire(org, path), {outcome: 'unchanged', reason: {code: 'UNCHANGED'}})
})

test('a held file can be run, although its schedule has run the file at another connection since', async t => {
  const template = await makeTemplate(org, {connectorId: null})
  const body = {name: 'Nightly', ...seldom, source: host.source}
  const {schedule} = await ok(org.call('POST', `${template}/schedules`, {...body, connectorId: org.connector}), 201)
  const path = `${template}/schedules/${schedule.id}`
  await ok(org.call('PUT', `${template}/contract`, onlyRome), 200)
  host.serve(accountRows(1, 'Ky-'))
  const held = await fire(org, path)
  t.is(held.outcome, 'drifted')
  const other = await house.connect(await house.signIn(), {user: 'zoe@other.example'})
  await ok(org.call('POST', `/orgs/${org.org}/discovery/run`, {connectorId: other}, {prefer: 'wait=30'}), 200)
  await ok(org.call('PUT', path, {...body, connectorId: other}), 200)
  await ok(org.call('PUT', `${template}/contract`, {sources: []}), 200)
  t.like(await fire(org, path), {outcome: 'done', counts: {rowsWritten: 1}})
  t.is(countRecords(house, 'Ky-'), 0)
  const {run} = await ok(org.call('POST', `${importOf(held)}/runs`, {}), 202)
  t.like(await untilOver(org, path, held.id), {outcome: 'done', runId: run.id})
  t.is(countRecords(house, 'Ky-'), 1)
  t.like(await fire(org, path), {outcome: 'unchanged'})
})
