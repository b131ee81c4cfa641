import {type ChildProcess, spawnSync} from 'node:child_process'
import {once} from 'node:events'
import {createInterface} from 'node:readline'
import test from 'ava'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded} from '../support/importing.ts'
import {assertAccounted, assertOnce, countBy} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, openWorkers, startWorker} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})
test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
})

const start = openWorkers(() => here.config)

const creates = {method: 'POST', path: '/crm/v8/Accounts'}

const begin = async (prefix: string, rows: number, flow: object = accounts) => {
  const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return async () => {
    const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
    return {run: ended, ...(await assertAccounted(here, {org, path, run: ended, rows}))}
  }
}

const untilAsleep = ({pid}: ChildProcess) =>
  until(
    () => spawnSync('ps', ['-o', 'stat=', '-p', String(pid)]).stdout.toString(),
    state => state.startsWith('T'),
  )

const dies = async (worker: ChildProcess) => (await once(worker, 'exit'))[1]

test.serial('a row that is refused and planned again is counted once if its worker then dies', async t => {
  const record = {Account_Name: 'Theirs', Account_Number: 'Ag-1'}
  here.crm.faults.add({
    match: creates,
    times: 1,
    action: {type: 'foreignCreate', module: 'Accounts', record, user: 'ben@example.org', when: 'before'},
  })
  const end = await begin('Ag-', 100)
  t.is(await dies(start({FAULT_POINT: 'after_intent:2'})), 'SIGKILL')
  start()
  const {outcomes, log} = await end()
  t.deepEqual(outcomes, {created: 99, updated: 1})
  t.deepEqual(
    log.filter(({rowNumber}) => rowNumber === 1).map(({outcome, attempt}) => [outcome, attempt]),
    [
      ['refused', 1],
      ['unanswered', 2],
      ['updated', 3],
    ],
  )
})

test.serial('a create lost with its worker is not matched as an existing record: its row is created, not skipped', async t => {
  const end = await begin('Sk-', 100, {...accounts, match: {by: ['Account_Number'], onOne: 'skip', onMany: 'skip'}})
  t.is(await dies(start({FAULT_POINT: 'after_send:1'})), 'SIGKILL')
  start()
  const {outcomes, finals, log} = await end()
  t.deepEqual(outcomes, {created: 100})
  t.is(countBy(log, ({code}) => String(code)).MADE_EARLIER, 100)
  assertOnce(here.crm, 'Sk-', finals)
})

test.serial("a dead worker's request that the CRM processes after its successor's request creates no second record", async t => {
  here.crm.faults.add({match: {...creates, nth: 2}, times: 1, action: {type: 'hold', when: 'before'}})
  const end = await begin('Ol-', 300)
  const worker = start()
  await until(here.crm.held, held => held > 0)
  await endWorker(worker)
  start()
  const {outcomes, finals} = await end()
  t.deepEqual(outcomes, {created: 300})
  here.crm.release()
  await until(
    () => here.crm.inFlight('example'),
    calls => calls === 0,
  )
  assertOnce(here.crm, 'Ol-', finals)
})

test.serial('a worker that sleeps between intent and request sends nothing when it wakes', async t => {
  const end = await begin('Sl-', 100)
  const sleeper = start({FAULT_POINT: 'after_intent:1:SIGSTOP'})
  await untilAsleep(sleeper)
  start()
  const {outcomes, finals} = await end()
  t.deepEqual(outcomes, {created: 100})
  const sent = () => here.crm.journal({}).filter(({method, path}) => method === 'POST' && path === creates.path).length
  const before = sent()
  sleeper.kill('SIGCONT')
  sleeper.kill('SIGTERM')
  t.deepEqual(await once(sleeper, 'exit'), [0, null])
  t.is(sent(), before)
  assertOnce(here.crm, 'Sl-', finals)
})

test.serial('a worker that sleeps while closing a run finds the run closed when it wakes, and the job does not fail', async t => {
  const end = await begin('Cl-', 50)
  const sleeper = start({FAULT_POINT: 'in_close:1:SIGSTOP', LOG_LEVEL: 'warn'})
  const lines: string[] = []
  createInterface(sleeper.stdout!).on('line', line => lines.push(line))
  await untilAsleep(sleeper)
  start()
  t.deepEqual((await end()).outcomes, {created: 50})
  sleeper.kill('SIGCONT')
  await until(
    () => lines,
    lines => lines.some(line => /lease lost|job failed/.test(line)),
  )
  t.deepEqual(
    lines.filter(line => line.includes('job failed')),
    [],
  )
})

test.serial('a worker that hangs ends itself, and another worker continues its run', async t => {
  const end = await begin('Hu-', 100)
  const hung = startWorker(here.config, {FAULT_POINT: 'after_send:1:LOOP'}, ['imports', '--hung-after=5'])
  t.teardown(() => endWorker(hung))
  t.is(await dies(hung), 'SIGKILL')
  start()
  const {outcomes, finals} = await end()
  t.deepEqual(outcomes, {created: 100})
  assertOnce(here.crm, 'Hu-', finals)
})
