import {spawnSync} from 'node:child_process'
import {once} from 'node:events'
import test, {type ExecutionContext} from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertOnce} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})
test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
})

const start = openWorkers(() => here.config)

/** Starts a run of 100 rows. */
const begin = async (prefix: string, flow: object = accounts) => {
  const {path} = await prepareImport(org, {csv: accountRows(100, prefix), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const end = async () => {
    const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
    return {run: ended, ...(await assertAccounted(here, {org, path, run: ended, rows: 100}))}
  }
  return {id: run.id as string, end}
}

const Head = z.object({owner: z.string().nullable(), fence: z.number(), takeovers: z.number(), crashes: z.number(), ended: z.boolean()})
const headOf = (id: string) =>
  here.db.one(sql.type(Head)`
    select owner, fence, takeovers, crashes, state = 'ended' as ended from run_heads join runs using (run_no) where id = ${id}`)

const untilFence = (id: string, least: number) =>
  until(
    () => headOf(id),
    ({fence, ended}) => fence >= least || ended,
  )

const holdQueries = () => here.crm.faults.add({match: {path: '/crm/v8/coql'}, times: 1_000, action: {type: 'hold', when: 'before'}})

const releaseQueries = () => {
  here.crm.faults.clear()
  here.crm.release()
}

/** Kills `kills` workers, each after it has taken the run. Returns one more worker. */
const killWorkers = async (id: string, kills: number) => {
  let worker = start()
  for (let fence = 1; fence <= kills; fence++) {
    await untilFence(id, fence)
    await endWorker(worker)
    worker = start()
  }
  return worker
}

/** Starts a run that executes in a child process, because its two previous workers were killed. */
const beginIsolated = async (prefix: string) => {
  holdQueries()
  const begun = await begin(prefix)
  const worker = await killWorkers(begun.id, 2)
  const heldBefore = here.crm.held()
  const {owner} = await untilFence(begun.id, 3)
  // The child process takes the run before its first query. So the test also waits for a query.
  await until(here.crm.held, held => held > heldBefore)
  const child = Number(owner!.split(':').at(-1))
  return {...begun, worker, child}
}

const untilGone = (pid: number) =>
  until(
    () =>
      spawnSync('ps', ['-o', 'stat=', '-p', String(pid)])
        .stdout.toString()
        .trim(),
    // A process whose parent has not collected its exit code yet is a zombie.
    state => state === '' || state.startsWith('Z'),
    5,
  )

const assertDone = async (t: ExecutionContext, prefix: string, end: Awaited<ReturnType<typeof begin>>['end']) => {
  const {run, outcomes, finals} = await end()
  t.deepEqual([run.stop, outcomes], [null, {created: 100}])
  assertOnce(here.crm, prefix, finals)
}

test.serial('a run whose workers are killed eight times before they settle a row completes in an undisturbed worker', async t => {
  holdQueries()
  const {id, end} = await begin('Ki-')
  await killWorkers(id, 8)
  releaseQueries()
  await assertDone(t, 'Ki-', end)
})

test.serial('a child process ends with its killed worker, and no crash is counted', async t => {
  const {id, end, worker, child} = await beginIsolated('Pa-')
  t.not(child, worker.pid)
  await endWorker(worker)
  await untilGone(child)
  t.like(await headOf(id), {takeovers: 3, crashes: 0})
  start()
  await untilFence(id, 4)
  releaseQueries()
  await assertDone(t, 'Pa-', end)
})

test.serial('a worker that gets SIGTERM lets its child process release the run, and no crash is counted', async t => {
  const {id, end, worker, child} = await beginIsolated('Dr-')
  worker.kill('SIGTERM')
  const exited = once(worker, 'exit')
  releaseQueries()
  t.deepEqual(await exited, [0, null])
  await untilGone(child)
  t.like(await headOf(id), {owner: null, crashes: 0})
  start()
  await assertDone(t, 'Dr-', end)
})

test.serial('a killed child process counts as one crash, and its worker executes the run in another child process', async t => {
  const {id, end, worker, child} = await beginIsolated('Ch-')
  process.kill(child, 'SIGKILL')
  t.like(await untilFence(id, 4), {takeovers: 4, crashes: 1})
  t.deepEqual([worker.exitCode, worker.signalCode], [null, null])
  releaseQueries()
  await assertDone(t, 'Ch-', end)
})

test.serial('a worker frozen with its child process counts no crash, and neither continues a run that was taken over', async t => {
  const {id, end, worker, child} = await beginIsolated('Fr-')
  const signalBoth = (signal: NodeJS.Signals) => [worker.pid!, child].map(pid => process.kill(pid, signal))
  signalBoth('SIGSTOP')
  start()
  await untilFence(id, 4)
  signalBoth('SIGCONT')
  await untilGone(child)
  t.like(await headOf(id), {fence: 4, crashes: 0, ended: false})
  t.deepEqual([worker.exitCode, worker.signalCode], [null, null])
  releaseQueries()
  await assertDone(t, 'Fr-', end)
})

for (const [name, point] of [
  ['kills', 'after_intent:1'],
  ['aborts', 'after_intent:1:SIGABRT'],
] as const)
  test.serial(`a run that ${name} each of its processes is stopped after two workers and three child processes`, async t => {
    const {id, end} = await begin(`Po-${name}-`)
    let [deaths, over] = [0, false]
    const replace = () => {
      const worker = start({FAULT_POINT: point})
      void once(worker, 'exit').then(() => {
        if (over) return
        deaths++
        replace()
      })
    }
    replace()
    const {run, outcomes} = await end()
    over = true
    t.is(run.stop?.stopped, 'ENGINE_FAILED')
    t.deepEqual(outcomes, {unanswered: 100})
    t.is(deaths, 2)
    t.like(await headOf(id), {fence: 6, crashes: 3})
  })
