import type {ChildProcess} from 'node:child_process'
import test from 'ava'
import {accountRows, type Org, ok, openOrg, untilEnded} from '../support/importing.ts'
import {type FileHost, fire, listFirings, makeSchedule, startFileHost} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker, untilExit} from '../support/worker-process.ts'

let house: TestDeployment
let host: FileHost
let org: Org
const started: ChildProcess[] = []

test.before(async t => {
  host = await startFileHost()
  house = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {PRIVATE_HOSTS: host.place, LEASE_SECONDS: '1'}})
  org = await openOrg(house)
})
test.after.always(() => host.stop())
test.afterEach.always(async () => void (await Promise.all(started.splice(0).map(endWorker))))

const start = (names: string[], environment: Record<string, string> = {}) => {
  const worker = startWorker(house.config, {PRIVATE_HOSTS: host.place, ...environment}, names)
  started.push(worker)
  return worker
}

const countObjects = async (importId: string) => {
  const {rows} = await house.hot.query('select file_key as key from sources s join imports i using (import_no) where i.id = $1', [importId])
  return (await Promise.all(rows.map(({key}: {key: string}) => house.storage.exists(key)))).filter(Boolean).length
}

const points = ['in_clock', 'after_fetch', 'after_import', 'after_source', 'after_start']

test.serial('a firing whose workers are killed at any step is continued into one import and one run', async t => {
  host.serve(accountRows(2, 'killed-'))
  const {path, schedule} = await makeSchedule(org, host)
  await house.hot.query(`update schedules set next_due_at = date_trunc('milliseconds', lading_now()) where id = $1`, [schedule.id])
  for (const point of points) {
    const victim = start(['clock', 'schedules'], {FAULT_POINT: point})
    await untilExit(victim)
    t.is(victim.signalCode, 'SIGKILL', point)
  }
  start(['clock'])
  const [firing, ...others] = await until(
    () => listFirings(org, path),
    ([one]) => one?.state === 'ended',
  )
  t.deepEqual(others, [])
  t.like(firing, {outcome: 'done', tries: 0, counts: {rowsWritten: 2, modules: {Accounts: {created: 2}}}})
  const {rows} = await house.hot.query('select count(*) from runs')
  t.is(rows[0].count, 1)
  const {imports} = await ok(org.call('GET', `/orgs/${org.org}/imports`), 200)
  t.deepEqual(
    imports.map(({id}: {id: string}) => id),
    [firing.importId],
  )
  t.is(await countObjects(firing.importId), 1)
  t.is(host.requests.length, points.length - 1)
})

test.serial('a worker that was frozen until another finished its firing does nothing more for it', async t => {
  host.serve(accountRows(2, 'frozen-'))
  const {path} = await makeSchedule(org, host)
  const frozen = start(['schedules'], {FAULT_POINT: 'after_source:1:SIGSTOP'})
  const {firing} = await ok(org.call('POST', `${path}/run`, {}), 202)
  const filled = 'select count(*) from sources join imports using (import_no) join firings using (import_no) where firings.id = $1'
  await until(
    () => house.hot.query(filled, [firing.id]),
    ({rows}) => rows[0].count === 1,
  )
  start(['clock', 'schedules'])
  const [done] = await until(
    () => listFirings(org, path),
    ([one]) => one?.state === 'ended',
  )
  frozen.kill('SIGCONT')
  const jobs = async () => house.queue.findJobs('schedule.fire', {key: firing.id})
  await until(jobs, all => all.every(({state}) => state === 'completed'))
  t.like(done, {outcome: 'done', counts: {modules: {Accounts: {created: 2}}}})
  t.deepEqual(await listFirings(org, path), [done])
  const {rows} = await house.hot.query(`select count(*) from runs where template_id = (select template_id from imports where id = $1)`, [
    done.importId,
  ])
  t.is(rows[0].count, 1)
})

test.serial('a person cannot run the import of a firing under way, so its file is run once', async t => {
  host.serve(accountRows(2, 'meanwhile-'))
  const {path} = await makeSchedule(org, host)
  start(['schedules'], {FAULT_POINT: 'after_source:1:SIGKILL'})
  const {firing} = await ok(org.call('POST', `${path}/run`, {}), 202)
  const made = `select i.id, s.id as source from sources s join imports i using (import_no) join firings using (import_no) where firings.id = $1`
  const {rows} = await until(
    () => house.hot.query(made, [firing.id]),
    ({rows: found}) => found.length === 1,
  )
  const [{id, source}] = rows
  const own = `/orgs/${org.org}/imports/${id}`
  await ok(org.call('PUT', `${own}/slots`, {companies: source}), 200)
  const refused = {status: 409, body: {code: 'IMPORT_RUNNING', firing: firing.id, runId: null}}
  t.like(await org.call('POST', `${own}/runs`, {}), refused)
  const {run} = await ok(org.call('POST', `${own}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${own}/runs/${run.id}`)
  start(['clock', 'schedules'])
  const [done] = await until(
    () => listFirings(org, path),
    ([one]) => one?.state === 'ended',
  )
  t.like(done, {outcome: 'done', counts: {modules: {Accounts: {created: 2}}}})
  t.not(done.importId, id)
  await ok(org.call('GET', own), 200)
  t.like(await fire(org, path), {outcome: 'unchanged'})
})

test.serial('a schedule that is removed while its import is created leaves no import and no file', async t => {
  host.serve(accountRows(2, 'removed-'))
  const {path} = await makeSchedule(org, host)
  const frozen = start(['schedules'], {FAULT_POINT: 'after_source:1:SIGSTOP'})
  const {firing} = await ok(org.call('POST', `${path}/run`, {}), 202)
  const made =
    'select i.id, s.file_key as key from sources s join imports i using (import_no) join firings using (import_no) where firings.id = $1'
  const {rows} = await until(
    () => house.hot.query(made, [firing.id]),
    ({rows: found}) => found.length === 1,
  )
  await ok(org.call('DELETE', path), 200)
  const gone = async () => {
    // The worker may reach its freeze point only now.
    frozen.kill('SIGCONT')
    return (await org.call('GET', `/orgs/${org.org}/imports/${rows[0].id}`)).status
  }
  await until(gone, status => status === 404)
  // The rows are deleted before the object, so that no run can start without a file.
  await until(
    () => house.storage.exists(rows[0].key),
    isThere => !isThere,
  )
  t.pass()
})

test.serial('a worker that is killed after it checked a data contract leaves one held file and no run', async t => {
  host.serve('name,number,city\nA,held-1,Oslo\n')
  const {path, template} = await makeSchedule(org, host)
  const expectations = {slot: 'companies', columns: [{name: 'city', values: ['Rome']}]}
  await ok(org.call('PUT', `${template}/contract`, {sources: [expectations]}), 200)
  const before = (await ok(org.call('GET', `/orgs/${org.org}/imports`), 200)).imports.length
  const victim = start(['schedules'], {FAULT_POINT: 'after_contract'})
  await ok(org.call('POST', `${path}/run`, {}), 202)
  await untilExit(victim)
  t.is(victim.signalCode, 'SIGKILL')
  start(['clock', 'schedules'])
  const [firing, ...others] = await until(
    () => listFirings(org, path),
    ([one]) => one?.state === 'ended',
  )
  t.deepEqual(others, [])
  t.like(firing, {outcome: 'drifted', runId: null, reason: {code: 'CONTRACT_BROKEN'}, contract: {total: 1, decision: null}})
  const {imports} = await ok(org.call('GET', `/orgs/${org.org}/imports`), 200)
  t.is(imports.length, before + 1)
  t.is(await countObjects(firing.importId), 1)
  const {rows} = await house.hot.query('select count(*) from notices where schedule_id = $1', [path.split('/').at(-1)])
  t.is(rows[0].count, 1)
})
