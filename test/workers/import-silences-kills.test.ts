import {once} from 'node:events'
import test from 'ava'
import {parse} from 'csv-parse/sync'
import {accountRows, ok, openOrg, prepareImport, readLog, untilEnded, untilRun} from '../importing.ts'
import {assertAccounted, countBy} from '../oracle.ts'
import {until} from '../until.ts'
import {endWorker, openWorkers} from '../worker-process.ts'
import {world} from '../world.ts'

let here: Awaited<ReturnType<typeof world>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await world(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '1'}})
  org = await openOrg(here)
})

test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
})

const startWorker = openWorkers(() => here.config)

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
/** Nothing of it is unique. */
const flow = {module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: 'number'}]}

const begin = async (csv: string) => {
  const rows = csv.trim().split('\n').length - 1
  const {path} = await prepareImport(org, {csv, flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const end = async () => {
    const ended = await untilEnded(org.call, `${path}/runs/${run.id}`)
    return {run: ended, ...(await assertAccounted(here, {org, path, run: ended, rows}))}
  }
  return {path, runPath: `${path}/runs/${run.id}`, end}
}

const mine = (prefix: string) => here.crm.records('example', 'Accounts').filter(record => String(record.Account_Name).startsWith(prefix))

for (const point of ['after_send:1', 'before_settle:1', 'after_search:1', 'after_intent:2']) {
  test.serial(`a worker killed at ${point}: its successor finds the lost records`, async t => {
    const prefix = `K${point}-`
    const isMade = point !== 'after_intent:2'
    here.crm.faults.add({match: creates, times: 1, action: isMade ? 'dropAfter' : 'dropBefore'})
    const {end} = await begin(accountRows(50, prefix))
    const [, signal] = await once(startWorker({FAULT_POINT: point}), 'exit')
    t.is(signal, 'SIGKILL')
    startWorker()
    const {outcomes, log, run} = await end()
    t.deepEqual(outcomes, {created: 50})
    t.is(run.rowsWritten, 50)
    t.is(mine(prefix).length, 50)
    t.is(countBy(log, ({code}) => String(code)).MADE_EARLIER ?? 0, isMade ? 50 : 0)
  })
}

test.serial("a dead worker's request that the CRM is still at work on is waited for", async t => {
  here.crm.faults.add({match: creates, times: 1, action: {type: 'hold', when: 'before'}})
  const {end, runPath} = await begin(accountRows(20, 'O-'))
  const worker = startWorker()
  await until(here.crm.held, held => held > 0)
  await endWorker(worker)
  startWorker()
  await until(
    () => readLog(org.call, runPath),
    log => log.length === 20,
  )
  here.crm.release()
  const {outcomes, log} = await end()
  t.deepEqual(outcomes, {created: 20})
  t.is(mine('O-').length, 20)
  t.is(countBy(log, ({code}) => String(code)).MADE_EARLIER, 20)
})

test.serial('workers killed again and again, answers lost before and after: what may be there twice, or not at all, is said', async t => {
  const faults = ['dropBefore', 'dropAfter', {type: 'status5xxAfter', status: 502}, 'truncateAfter'] as const
  for (const [seed, action] of faults.entries())
    here.crm.faults.add({match: {...creates, share: 0.15, seed}, times: 3, action: action as never})
  here.crm.faults.add({match: creates, times: 1_000, action: {type: 'slow', ms: 100, when: 'after'}})
  const {runPath, path, end} = await begin(accountRows(400, 'J-'))
  for (let kill = 1; kill <= 3; kill++) {
    const worker = startWorker()
    await untilRun(org.call, runPath, run => run.state === 'ended' || run.progress.done >= kill * 100)
    await endWorker(worker)
  }
  startWorker()
  const {finals, log, run} = await end()
  const results = parse((await org.call('GET', `${path}/results.csv?run=${run.id}`)).text, {columns: true}) as Record<string, string>[]
  const made = countBy(mine('J-'), record => String(record.Account_Name))
  for (const [at, {number, Error: said}] of results.entries()) {
    const isSaid = /may exist twice/.test(said!)
    t.true(made[number!] === 1 || isSaid, `${made[number!]} records of row ${at + 1}, which says: ${said}`)
    if (finals.get(at + 1).outcome === 'created') t.true(made[number!]! >= 1)
  }
  t.true(log.some(({outcome}) => outcome === 'unanswered'))
  t.is(run.rowsWritten, 400)
})
