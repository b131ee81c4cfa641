import {once} from 'node:events'
import {createInterface} from 'node:readline'
import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded, untilRun} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {killAt, killAtRows, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

test.afterEach.always(() => here.crm.faults.clear())

const startWorker = openWorkers(() => here.config)

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
const rows = 700

const begin = async (prefix: string) => {
  const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return {path, runPath: `${path}/runs/${run.id}`}
}

/** Asserts that the run ends with every row created once and accounted for. */
const assertWhole = async (
  t: {deepEqual(a: unknown, b: unknown): void},
  prefix: string,
  {path, runPath}: {path: string; runPath: string},
) => {
  const run = await untilEnded(org.call, runPath)
  const {finals, outcomes, log} = await assertAccounted(here, {org, path, run, rows})
  t.deepEqual(outcomes, {created: rows})
  t.deepEqual({rowsWritten: run.rowsWritten, stop: run.stop}, {rowsWritten: rows, stop: null})
  assertOnce(here.crm, prefix, finals)
  return log
}

for (const point of ['after_intent:3', 'after_send:4', 'before_settle:2', 'in_close']) {
  test.serial(`a worker killed at ${point} is replaced, and every row is created once`, async t => {
    const prefix = `K${point}-`
    const begun = await begin(prefix)
    await killAt(startWorker, point)
    startWorker()
    await assertWhole(t, prefix, begun)
  })
}

test.serial('workers that are killed repeatedly lose no row and write none twice', async t => {
  const begun = await begin('M-')
  here.crm.faults.add({match: creates, times: 1_000, action: {type: 'slow', ms: 200, when: 'after'}})
  await killAtRows(startWorker, {call: org.call, runPath: begun.runPath, rows: [200, 400]})
  await assertWhole(t, 'M-', begun)
})

test.serial('a worker that sleeps past its lease finds its run taken over when it wakes, and changes nothing', async t => {
  const begun = await begin('Z-')
  here.crm.faults.add({match: {...creates, nth: 4}, times: 1, action: {type: 'hold', when: 'after'}})
  const sleeper = startWorker()
  await untilRun(org.call, begun.runPath, () => here.crm.held() > 0)
  sleeper.kill('SIGSTOP')
  startWorker()
  await until(
    () => fenceOf(begun),
    fence => fence === 2,
  )
  here.crm.release()
  sleeper.kill('SIGCONT')
  await assertWhole(t, 'Z-', begun)
  t.is(await fenceOf(begun), 2, 'taken twice: by the sleeper and by its successor')
})

const fenceOf = ({runPath}: {runPath: string}) =>
  here.db.oneFirst(sql.type(z.object({fence: z.number()}))`
    select fence from run_heads join runs using (run_no) where id = ${runPath.split('/').at(-1)!}`)

test.serial('a worker that gets SIGTERM settles its rows in flight and releases the run to another worker', async t => {
  const begun = await begin('E-')
  here.crm.faults.add({match: creates, times: 1_000, action: {type: 'slow', ms: 200, when: 'after'}})
  const leaver = startWorker()
  await untilRun(org.call, begun.runPath, run => run.progress.done >= 200)
  leaver.kill('SIGTERM')
  const [code] = await once(leaver, 'exit')
  t.is(code, 0)
  startWorker()
  const log = await assertWhole(t, 'E-', begun)
  t.is(log.length, rows, 'nothing was left unanswered')
})

test.serial('a second SIGTERM ends a worker at once', async t => {
  const begun = await begin('X-')
  here.crm.faults.add({match: creates, times: 1, action: {type: 'hold', when: 'after'}})
  const worker = startWorker({LOG_LEVEL: 'info'})
  await untilRun(org.call, begun.runPath, () => here.crm.held() > 0)
  worker.kill('SIGTERM')
  for await (const line of createInterface(worker.stdout!)) if (JSON.parse(line).msg === 'draining') break
  worker.kill('SIGTERM')
  const [code] = await once(worker, 'exit')
  t.is(code, 1)
  here.crm.release()
  startWorker()
  await assertWhole(t, 'X-', begun)
})

test.serial('a run loses no row when all database connections are terminated during it', async t => {
  const begun = await begin('B-')
  here.crm.faults.add({match: creates, times: 1_000, action: {type: 'slow', ms: 200, when: 'after'}})
  startWorker()
  for (const done of [200, 400]) {
    await untilRun(org.call, begun.runPath, run => run.progress.done >= done)
    await here.db.query(
      sql.unsafe`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
  }
  await assertWhole(t, 'B-', begun)
})
