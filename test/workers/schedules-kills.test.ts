import type {ChildProcess} from 'node:child_process'
import {once} from 'node:events'
import test from 'ava'
import {accountRows, type Org, ok, openOrg} from '../importing.ts'
import {type FileHost, listFirings, makeSchedule, startFileHost} from '../scheduling.ts'
import {until} from '../until.ts'
import {endWorker, startWorker} from '../worker-process.ts'
import {type World, world} from '../world.ts'

let house: World
let host: FileHost
let org: Org
const started: ChildProcess[] = []

test.before(async t => {
  host = await startFileHost()
  house = await world(t, {workers: ['imports', 'discovery'], environment: {PRIVATE_HOSTS: host.place, LEASE_SECONDS: '1'}})
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

test.serial('whoever takes a firing up and is killed, at whatever step, the next goes on: one run comes of it, and one import', async t => {
  host.serve(accountRows(2, 'killed-'))
  const {path, schedule} = await makeSchedule(org, host)
  await house.hot.query(`update schedules set next_due_at = date_trunc('milliseconds', lading_now()) where id = $1`, [schedule.id])
  for (const point of points) {
    const victim = start(['clock', 'schedules'], {FAULT_POINT: point})
    await once(victim, 'exit')
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

test.serial('a worker that was frozen until another had done its firing does nothing more of it', async t => {
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
