import {once} from 'node:events'
import test from 'ava'
import {z} from 'zod'
import {openCrm} from '../../shared/crm/crm.ts'
import {openBudget} from '../../shared/crm/limits/budget.ts'
import {sql} from '../../sql/database.ts'
import {listLog, OUTCOMES} from '../../sql/run-log.ts'
import {findRun} from '../../sql/runs.ts'
import {mostCrashes} from '../../workers/engine/recover/crash-isolation.ts'
import {executeRun, type RunState} from '../../workers/engine/run.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, readLog} from '../support/importing.ts'
import {countBy} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {startWorker} from '../support/worker-process.ts'

/** A deployment without a worker for imports, because only the tests execute runs. */
let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

/** Starts a run of a hundred rows whose worker died with all of them in flight. */
const beginDying = async (prefix: string) => {
  const {path} = await prepareImport(org, {csv: accountRows(100, prefix), flow: {...accounts, match: undefined}})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const worker = startWorker(here.config, {FAULT_POINT: 'after_intent:1'})
  await once(worker, 'exit')
  await here.db.query(
    sql.unsafe`update run_heads set lease_until = '-infinity' where run_no = (select run_no from runs where id = ${run.id})`,
  )
  return {id: run.id as string, path: `${path}/runs/${run.id as string}`}
}

/** Opens a function that executes a run as a worker does, in the process of the test. */
const openCarrying = () => {
  const drain = new AbortController().signal
  const budget = openBudget(here.tools)
  const tools = {...here.tools, crm: openCrm({...here.tools, budget}), budget, drain}
  return {
    carry: (id: string): Promise<RunState | 'failed'> =>
      executeRun(tools, {org: org.org, id}, {signal: drain, log: here.tools.log}).catch(() => 'failed'),
    async close() {
      await tools.crm.close()
      await budget.close()
    },
  }
}

/** Executes the run until it ends, at most twenty times. Returns the result of each execution. */
const carryOn = async (id: string) => {
  const {carry, close} = openCarrying()
  const tries: (RunState | 'failed')[] = []
  while (tries.at(-1) !== 'ended' && tries.length < 20) tries.push(await carry(id))
  await close()
  return tries
}

const openSends = (id: string) =>
  here.db.anyFirst(sql.type(z.object({keys: z.array(z.string())}))`
    select row_keys as keys from sends join runs using (run_no) where id = ${id}`)

const failures = (count: number) => Array<RunState | 'failed'>(count).fill('failed')

test.serial('a run whose snapshot cannot be read stops after four attempts, and its rows in flight end as unanswered', async t => {
  const {id, path} = await beginDying('Sn-')
  await here.hot.query('alter table run_snapshots disable trigger run_snapshots_are_immutable')
  await here.hot.query(
    `update run_snapshots set document = '{"flows": 7}' where snapshot_no = (select snapshot_no from runs where id = $1)`,
    [id],
  )
  await here.hot.query('alter table run_snapshots enable trigger run_snapshots_are_immutable')
  t.deepEqual(await carryOn(id), [...failures(3), 'ended'])
  const {no, state, stop} = (await findRun(here.db, {org: org.org, id}))!
  t.like({state, stop}, {state: 'ended', stop: {stopped: 'ENGINE_FAILED'}})
  const log = await listLog(here.db, {run: no, after: 0, limit: 1_000})
  t.deepEqual(
    countBy([...log], ({outcome}) => OUTCOMES[outcome]!),
    {unanswered: 100},
  )
  t.deepEqual(await openSends(id), [])
  const runs = path.slice(0, path.lastIndexOf('/'))
  t.like(await ok(org.call('GET', path), 200), {run: {id, counts: {}, stop: {stopped: 'ENGINE_FAILED'}}})
  t.like(await ok(org.call('GET', runs), 200), {runs: [{id, state: 'ended'}]})
  t.is((await readLog(org.call, path)).length, 100)
  t.like(await ok(org.call('GET', `${path.slice(0, path.indexOf('/runs'))}/results.csv?run=${id}`), 422), {code: 'UNREADABLE'})
  t.like(await ok(org.call('POST', runs, {retryOf: id}), 422), {code: 'UNREADABLE'})
})

test.serial("a run that fails each worker at the settlement stops, because settling an earlier worker's rows is no progress", async t => {
  const {id, path} = await beginDying('An-')
  await here.hot.query(`
    create function no_answer() returns trigger language plpgsql as $$ begin raise exception 'no answer is kept'; end $$`)
  await here.hot.query(`
    create trigger no_answer before insert on log_batches for each row when (not new.outcomes <@ '{${OUTCOMES.indexOf('unanswered')}}') execute function no_answer()`)
  t.deepEqual(await carryOn(id), [...failures(3), 'ended'])
  await here.hot.query('drop trigger no_answer on log_batches')
  const {run} = await ok(org.call('GET', path), 200)
  t.like(run, {state: 'ended', stop: {stopped: 'ENGINE_FAILED'}, rowsWritten: 100})
  const log = await readLog(org.call, path)
  t.deepEqual(
    countBy(log, ({outcome, attempt}) => `${outcome} ${attempt}`),
    {'unanswered 1': 100, 'unanswered 2': 100, 'unanswered 3': 100, 'unanswered 4': 100},
  )
  t.deepEqual(await openSends(id), [])
})

test.serial('a run with a row that cannot be settled stops too, and settles all its other rows in flight', async t => {
  const {id, path} = await beginDying('Po-')
  await here.hot.query(`
    create function no_seventh() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$`)
  await here.hot.query(
    `create trigger no_seventh before insert on log_batches for each row when ('f.7' = any(new.row_keys)) execute function no_seventh()`,
  )
  t.deepEqual(await carryOn(id), [...failures(3), 'ended'])
  await here.hot.query('drop trigger no_seventh on log_batches')
  const {run} = await ok(org.call('GET', path), 200)
  t.like(run, {state: 'ended', stop: {stopped: 'ENGINE_FAILED'}})
  const log = await readLog(org.call, path)
  t.deepEqual(
    countBy(log, ({outcome}) => outcome),
    {unanswered: 99},
  )
  t.false(log.some(({rowNumber}) => rowNumber === 7))
  t.is((await openSends(id)).length, 1, 'the ledger still has what could not be told')
})

/** Starts runs and sets their heads as if two workers had lost each run. */
const beginLost = async (csvs: string[]) => {
  const ids: string[] = []
  for (const csv of csvs) {
    const {path} = await prepareImport(org, {csv, flow: {...accounts, match: undefined}})
    const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
    ids.push(run.id)
  }
  await here.db.query(
    sql.unsafe`update run_heads set takeovers = 2 where run_no in (select run_no from runs where id = any(${sql.array(ids, 'text')}))`,
  )
  return ids as [string, string]
}

const untilHeld = (count: number) =>
  until(
    () => here.crm.held(),
    held => held === count,
  )

const stopOf = async (id: string) => (await findRun(here.db, {org: org.org, id}))!.stop

test.serial('a process executes one run at a time of those that lost two workers, in a child process', async t => {
  const [one, other] = await beginLost([accountRows(3, 'Su-'), accountRows(3, 'Sv-')])
  const {carry, close} = openCarrying()
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, action: 'hold'})
  const first = carry(one)
  await untilHeld(1)
  t.deepEqual([await carry(other), await carry(one)], ['held', 'held'])
  const Owner = sql.type(z.object({owner: z.string()}))
  const owner = await here.db.oneFirst(Owner`select owner from run_heads join runs using (run_no) where id = ${one}`)
  t.not(owner.split(':').at(-1), String(process.pid))
  here.crm.release()
  t.is(await first, 'ended')
  t.is(await carry(other), 'ended')
  t.deepEqual([await stopOf(one), await stopOf(other)], [null, null])
  await close()
})

test.serial('a run that settled a row releases the child process to a waiting run', async t => {
  const [one, other] = await beginLost([accountRows(1_000, 'Sw-'), accountRows(3, 'Sx-')])
  const {carry, close} = openCarrying()
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts', nth: 2}, action: 'hold'})
  const first = carry(one)
  await untilHeld(1)
  const Takeovers = sql.type(z.object({takeovers: z.number()}))
  await until(
    () => here.db.oneFirst(Takeovers`select takeovers from run_heads join runs using (run_no) where id = ${one}`),
    takeovers => takeovers === 0,
  )
  t.is(await carry(other), 'held')
  here.crm.release()
  t.is(await first, 'released')
  here.crm.faults.clear()
  t.deepEqual([await carry(other), await carry(one)], ['ended', 'ended'])
  t.deepEqual([await stopOf(one), await stopOf(other)], [null, null])
  await close()
})

test.serial('a run that pauses before its first call leaves no timer', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(1, 'Tm-'), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const {carry, close} = openCarrying()
  await here.db.query(sql.unsafe`update connectors set kind = 'unknown' where id = ${org.connector}`)
  const before = timers()
  for (let n = 0; n < 40; n++) t.is(await carry(run.id), 'released')
  t.true(timers() < before + 30)
  await here.db.query(sql.unsafe`update connectors set kind = 'zoho' where id = ${org.connector}`)
  t.like((await ok(org.call('GET', `${path}/runs/${run.id}`), 200)).run, {state: 'paused', pause: {code: 'CONNECTION_UNAVAILABLE'}})
  await close()
})

test.serial('an undo that crashes too often says to undo the run again, because the API refuses to retry an undo', async t => {
  const {path} = await prepareImport(org, {csv: accountRows(1, 'Un-'), flow: {...accounts, match: undefined}})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  t.is((await carryOn(run.id)).at(-1), 'ended')
  const {run: undo} = await ok(org.call('POST', `${path}/runs/${run.id}/undo`, {}), 202)
  await here.hot.query('update run_heads set takeovers = 1, crashes = $2 where run_no = (select run_no from runs where id = $1)', [
    undo.id,
    mostCrashes,
  ])
  t.is((await carryOn(undo.id)).at(-1), 'ended')
  const {stop} = (await findRun(here.db, {org: org.org, id: undo.id}))!
  t.is(stop?.stopped, 'ENGINE_FAILED')
  t.regex(stop!.message, /\. Undo the run again to continue$/)
})
