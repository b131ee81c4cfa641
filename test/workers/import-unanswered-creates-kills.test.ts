import {once} from 'node:events'
import test from 'ava'
import {parse} from 'csv-parse/sync'
import {accountRows, accounts, ok, openOrg, prepareImport, readLog, untilEnded, untilRun} from '../support/importing.ts'
import {assertAccounted, countBy} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1', CRM_TIMEOUT_SECONDS: '0.6'}})
  org = await openOrg(here)
})

test.afterEach.always(() => {
  here.crm.release()
  here.crm.faults.clear()
})

const startWorker = openWorkers(() => here.config)

const creates = {method: 'POST', path: '/crm/v8/Accounts'}
/** A flow without a unique field. */
const flow = {module: 'Accounts', fields: [{field: 'Account_Name', mode: 'column', source: 'number'}]}

const begin = (csv: string, by = org) => beginFlow(csv, flow, by)

const beginFlow = async (csv: string, flow: object, by = org) => {
  const rows = csv.trim().split('\n').length - 1
  const {path} = await prepareImport(by, {csv, flow})
  const {run} = await ok(by.call('POST', `${path}/runs`, {}), 202)
  const end = async () => {
    const ended = await untilEnded(by.call, `${path}/runs/${run.id}`)
    return {run: ended, ...(await assertAccounted(here, {org: by, path, run: ended, rows}))}
  }
  return {path, runPath: `${path}/runs/${run.id}`, end}
}

const mine = (prefix: string, company = 'example') =>
  here.crm.records(company, 'Accounts').filter(record => String(record.Account_Name).startsWith(prefix))

// Three runs at once: each worker dies with the run it took, and one successor executes all of them.
test.serial('a successor finds the records of workers that died after a lost answer, during the search or in another batch', async t => {
  const users = {'ana@example.org': 'example', 'eva@example.org': 'example', 'zoe@other.example': 'other'}
  const ends = await Promise.all(
    Object.entries(users).map(async ([user, company], at) => {
      const by = user === 'ana@example.org' ? org : await openOrg(here, user)
      here.crm.faults.add({match: {...creates, user}, times: 1, action: 'dropAfter'})
      const {end} = await begin(accountRows(150, `K${at}-`), by)
      return {end, company, prefix: `K${at}-`}
    }),
  )
  const points = ['after_send:1', 'after_search:1', 'after_intent:2']
  const workers = points.map(point => startWorker({FAULT_POINT: point, IMPORTS_PER_WORKER: '1'}))
  for (const [, signal] of await Promise.all(workers.map(worker => once(worker, 'exit')))) t.is(signal, 'SIGKILL')
  startWorker()
  let all = 0
  for (const {end, company, prefix} of ends) {
    const {outcomes, log, run} = await end()
    t.deepEqual(outcomes, {created: 150})
    t.is(run.rowsWritten, 150)
    t.is(mine(prefix, company).length, 150)
    const lost = new Set(log.filter(({outcome}) => outcome === 'unanswered').map(({rowNumber}) => rowNumber)).size
    const found = log.filter(({code}) => code === 'MADE_EARLIER').map(({rowNumber}) => rowNumber)
    const sentAgain = log.filter(({outcome}) => outcome === 'made_after_no_answer').map(({rowNumber}) => rowNumber)
    t.true(lost > 0)
    // A row whose answer was lost twice is in both lists.
    t.is(new Set([...found, ...sentAgain]).size, lost)
    all += found.length
  }
  t.true(all >= 100)
})

test.serial("a successor waits for a dead worker's request that the CRM is still processing", async t => {
  here.crm.faults.add({match: creates, times: 1, action: {type: 'hold', when: 'before'}})
  const {end, runPath} = await begin(accountRows(20, 'O-'))
  // The timeout leaves a slow successor enough time to search before the request ends.
  const environment = {CRM_TIMEOUT_SECONDS: '2'}
  const worker = startWorker(environment)
  await until(here.crm.held, held => held > 0)
  await endWorker(worker)
  startWorker(environment)
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

test.serial('results report each row that may exist twice after repeated kills and lost answers, and no row is missing', async t => {
  const faults = ['dropBefore', 'dropAfter', {type: 'status5xxAfter', status: 502}, 'truncateAfter'] as const
  for (const [seed, action] of faults.entries())
    here.crm.faults.add({match: {...creates, share: 0.15, seed}, times: 3, action: action as never})
  here.crm.faults.add({match: creates, times: 1_000, action: {type: 'slow', ms: 100, when: 'after'}})
  // With a short time-out, answers that are only slow are lost too.
  const hasty = {CRM_TIMEOUT_SECONDS: '0.4'}
  const {runPath, path, end} = await begin(accountRows(200, 'J-'))
  for (let kill = 1; kill <= 2; kill++) {
    const worker = startWorker(hasty)
    await untilRun(org.call, runPath, run => run.state === 'ended' || run.progress.done >= kill * 75)
    if (kill === 1) {
      worker.kill('SIGTERM')
      t.deepEqual(await once(worker, 'exit'), [0, null], 'a worker that gets SIGTERM exits at once')
    } else await endWorker(worker)
  }
  startWorker(hasty)
  const {finals, log, run} = await end()
  const results = parse((await org.call('GET', `${path}/results.csv?run=${run.id}`)).text, {columns: true}) as Record<string, string>[]
  const made = countBy(mine('J-'), record => String(record.Account_Name))
  for (const [at, {number, Error: said}] of results.entries()) {
    const isSaid = /may exist twice/.test(said!)
    t.true(made[number!] === 1 || isSaid, `${made[number!]} records of row ${at + 1}, which says: ${said}`)
    if (finals.get(at + 1).outcome === 'created') t.true(made[number!]! >= 1)
  }
  t.true(log.some(({outcome}) => outcome === 'unanswered'))
  t.is(run.rowsWritten, 200)
})

test.serial("a dead worker's update that the CRM executes late does not overwrite a later row's update", async t => {
  const csv = 'name,number,city\nFirst,LU-1,Late\nSecond,LU-1,Latest\n'
  here.crm.create('example', 'Accounts', [{Account_Name: 'Before', Account_Number: 'LU-1'}])
  here.crm.faults.add({match: {method: 'PUT', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'hold', when: 'before'}})
  const {end, runPath} = await beginFlow(csv, accounts)
  const worker = startWorker()
  await until(here.crm.held, held => held > 0)
  await endWorker(worker)
  startWorker()
  await until(
    () => readLog(org.call, runPath),
    log => log.some(({outcome}) => outcome === 'updated'),
  )
  here.crm.release()
  await end()
  t.like(
    here.crm.records('example', 'Accounts').find(({Account_Number}) => Account_Number === 'LU-1'),
    {Account_Name: 'Second', Billing_City: 'Latest'},
  )
})
