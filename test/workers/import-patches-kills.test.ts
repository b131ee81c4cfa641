import {once} from 'node:events'
import test from 'ava'
import {sql} from '../../sql/database.ts'
import {ok, openOrg, readLog, untilEnded} from '../support/importing.ts'
import {assertLinked, column, companies, prepareFiles} from '../support/lookups.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, killAt, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

test.afterEach.always(() => here.crm.faults.clear())

const startWorker = openWorkers(() => here.config)

const rows = 600
const puts = {method: 'PUT', path: '/crm/v8/Orders'}

/** Returns a flow of orders, and after it one of their accounts. One field of the orders is patched under the given overwrite rule. */
const flows = (overwrite: string) => [
  {
    id: 'orders',
    source: 'orders',
    module: 'Orders',
    match: {by: ['Code'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
    fields: [column('Name', 'name'), column('Code', 'code'), column('Short', 'short', {patch: {overwrite}})],
    parent: {field: 'Account', flow: 'companies', key: {parentColumn: 'number', childColumn: 'company'}},
  },
  companies(),
]

const begin = async (mark: string, overwrite: string) => {
  const lines = (of: (n: number) => string) => Array.from({length: rows}, (_, n) => of(n + 1)).join('\n')
  const files = {
    orders: `name,code,company,short\n${lines(n => `Order,${mark}${n},${mark}${rows + 1 - n},s${n}`)}\n`,
    companies: `name,number\n${lines(n => `Company ${n},${mark}${n}`)}\n`,
  }
  const {path} = await prepareFiles(org, files, flows(overwrite))
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return `${path}/runs/${run.id}`
}

type T = {deepEqual(a: unknown, b: unknown, message?: string): void; is(a: unknown, b: unknown, message?: string): void}

/** Asserts that every order has its account and short text, no record exists twice, and patches are not counted as rows. */
const assertPatched = async (t: T, mark: string, runPath: string) => {
  const run = await untilEnded(org.call, runPath)
  const log = await readLog(org.call, runPath)
  await assertLinked(here, {run, log, rows: {orders: rows, companies: rows}})
  t.deepEqual([run.counts.Orders.created, run.counts.Accounts.created, run.rowsWritten], [rows, rows, 2 * rows])
  const mine = (module: string, field: string): any[] =>
    here.crm.records('example', module).filter(record => String(record[field]).startsWith(mark))
  const accounts = new Map(mine('Accounts', 'Account_Number').map(({id, Account_Number}) => [Account_Number, id]))
  const made = mine('Orders', 'Code')
  t.deepEqual([made.length, accounts.size], [rows, rows])
  for (const {Code, Account, Short} of made) {
    const number = Number(Code.slice(mark.length))
    t.deepEqual([Account?.id, Short], [accounts.get(`${mark}${rows + 1 - number}`), `s${number}`], Code)
  }
  return log.filter(({phase}) => phase === 'patch')
}

/** Kills a worker when the CRM has executed `count` patches and answered none of them. */
const killWithPatchesInFlight = async (count: number) => {
  here.crm.faults.add({match: puts, times: count, action: {type: 'hold', when: 'after'}})
  const worker = startWorker()
  await until(here.crm.held, held => held === count)
  worker.kill('SIGKILL')
  await once(worker, 'exit')
  here.crm.release()
}

test.serial('patches resume at the low-water mark when a worker is killed in every pass, and each row is patched', async t => {
  const mark = 'Pk-'
  const runPath = await begin(mark, 'always')
  await killAt(startWorker, 'after_send:3')
  await killWithPatchesInFlight(4)
  for (const point of ['after_intent:2', 'after_send:2', 'before_settle:2']) await killAt(startWorker, point)
  startWorker()
  const patches = await assertPatched(t, mark, runPath)
  t.true(patches.some(({outcome}) => outcome === 'unanswered'))
  t.true(patches.filter(({outcome}) => outcome === 'updated').length === rows, 'none is patched twice that was answered')
})

test.serial('a patch that fills only absent fields leaves its own values unchanged after its worker was killed', async t => {
  const mark = 'Pa-'
  const runPath = await begin(mark, 'if-absent')
  here.crm.faults.add({match: {...puts, nth: 2}, times: 1, action: {type: 'hold', when: 'after'}})
  const worker = startWorker()
  await until(
    async () => here.crm.held(),
    held => held > 0,
  )
  await endWorker(worker)
  here.crm.release()
  startWorker()
  const patches = await assertPatched(t, mark, runPath)
  t.true(patches.some(({outcome}) => outcome === 'unanswered'))
  t.true(
    patches.every(({outcome}) => ['unanswered', 'updated'].includes(outcome)),
    'the link is written in any case',
  )
})

test.serial('rows are patched completely when all database connections are terminated', async t => {
  const mark = 'Pb-'
  const runPath = await begin(mark, 'always')
  here.crm.faults.add({match: puts, times: 1_000, action: {type: 'slow', ms: 200, when: 'after'}})
  const before = here.crm.journal(puts).length
  startWorker()
  await until(
    () => here.crm.journal(puts).length,
    count => count > before,
  )
  await here.db.query(
    sql.unsafe`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
  await assertPatched(t, mark, runPath)
})

test.serial('a worker that takes over and finds the field filled ends the unanswered patch as skipped', async t => {
  const csv = `name,code,short\n${Array.from({length: 250}, (_, n) => `Order,Pp-${n + 1},s${n + 1}`).join('\n')}\n`
  const {parent: _, ...alone} = flows('if-absent')[0] as Record<string, unknown> & {source: string}
  const {path} = await prepareFiles(org, {orders: csv}, [alone])
  const {run: begun} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const runPath = `${path}/runs/${begun.id}`
  here.crm.faults.add({match: puts, times: 1, action: {type: 'hold', when: 'after'}})
  const worker = startWorker()
  await until(
    () => here.crm.held(),
    held => held > 0,
  )
  await endWorker(worker)
  here.crm.release()
  startWorker()
  const run = await untilEnded(org.call, runPath)
  const log = await readLog(org.call, runPath)
  await assertLinked(here, {run, log, rows: {orders: 250}})
  const present = log.filter(({code}) => code === 'PATCH_PRESENT')
  t.true(present.length > 0)
  t.true(present.every(({phase, attempt, outcome}) => phase === 'patch' && attempt === 1 && outcome === 'skipped'))
  const made: any[] = here.crm.records('example', 'Orders').filter(({Code}) => String(Code).startsWith('Pp-'))
  t.deepEqual([made.length, made.every(({Code, Short}) => Short === `s${Code.slice(3)}`)], [250, true])
})
