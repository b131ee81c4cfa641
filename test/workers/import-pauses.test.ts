import test from 'ava'
import {sql} from '../../sql/database.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, untilEnded, untilRun} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, openWorkers} from '../support/worker-process.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['discovery'], environment: {LEASE_SECONDS: '1.5', CRM_TIMEOUT_SECONDS: '5'}})
  org = await openOrg(here)
})

const startWorker = openWorkers(() => here.config)

const rows = 20

const begin = async (prefix: string, flow: object = accounts) => {
  const {path} = await prepareImport(org, {csv: accountRows(rows, prefix), flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  return {id: run.id as string, path, runPath: `${path}/runs/${run.id as string}`}
}

const assertWritten = async (t: {deepEqual(a: unknown, b: unknown): void}, {path, runPath}: {path: string; runPath: string}) => {
  const run = await untilEnded(org.call, runPath)
  const {outcomes} = await assertAccounted(here, {org, path, run, rows})
  t.deepEqual(outcomes, {created: rows})
}

/** Replaces the run's snapshot by one in another build's format. */
const refreeze = async (id: string, format: number, document: ReturnType<typeof sql.fragment>) => {
  await here.db.query(sql.unsafe`
    with frozen as (
      insert into run_snapshots (format, document)
      select ${format}, ${document} from run_snapshots s join runs using (snapshot_no) where runs.id = ${id} returning snapshot_no)
    update runs set snapshot_no = frozen.snapshot_no from frozen where id = ${id}`)
}

test.serial('a worker that can start no sandbox thread pauses the run, and another worker resumes it', async t => {
  const fields = [...accounts.fields, {field: 'Description', mode: 'expression', transform: 'row.name + "!"'}]
  const begun = await begin('Sb-', {...accounts, fields})
  // Under --permission, Node lets the process start no threads.
  const threadless = startWorker({NODE_OPTIONS: '--permission --allow-fs-read=* --allow-fs-write=*', NODE_NO_WARNINGS: '1'})
  const {pause, rowsWritten} = await untilRun(org.call, begun.runPath, ({state}) => state === 'paused')
  t.like(pause, {code: 'SANDBOX_UNAVAILABLE'})
  t.is(rowsWritten, 0)
  await endWorker(threadless)
  await here.ahead('31 seconds')
  startWorker()
  await assertWritten(t, begun)
})

test.serial("a run that a newer build started is left to that build's workers, and shown as far as it can be read", async t => {
  const begun = await begin('Ne-')
  await refreeze(begun.id, 99, sql.fragment`document`)
  const older = startWorker()
  const paused = await untilRun(org.call, begun.runPath, ({state}) => state === 'paused')
  t.like(paused, {pause: {code: 'FROM_FUTURE'}, progress: null, counts: {Accounts: {created: 0}}})
  const {runs} = await ok(org.call('GET', `${begun.path}/runs`), 200)
  t.like(runs, [{id: begun.id, state: 'paused'}])
  await endWorker(older)
  await refreeze(begun.id, 2, sql.fragment`document`)
  await here.ahead('62 seconds')
  startWorker()
  await assertWritten(t, begun)
})

test.serial('a run that the first build started is executed by the current one', async t => {
  const begun = await begin('Ol-')
  await refreeze(
    begun.id,
    1,
    sql.fragment`jsonb_set(document - '{lineage,rows,decidedUpTo,lookups,libraries,context}'::text[], '{flows}',
      (select jsonb_agg(flow - 'searches') from jsonb_array_elements(document->'flows') flow))`,
  )
  startWorker()
  await assertWritten(t, begun)
})

test.serial("a client's read that finds the quota exhausted marks a run only until the run ends", async t => {
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'hold', when: 'before'}})
  const {id, runPath} = await begin('Qm-')
  startWorker()
  await until(here.crm.held, held => held === 1)
  here.crm.faults.add({match: {method: 'GET', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'rateLimit', credits: 0}})
  const records = `/orgs/${org.org}/connectors/${org.connector}/records/Accounts`
  await ok(org.call('GET', `${records}/by-ids?ids=4400001000000999999&fields=Account_Name&run=${id}`), 429)
  t.is((await ok(org.call('GET', runPath), 200)).run.stoppedBy, 'allowance')
  await here.db.query(sql.unsafe`delete from crm_allowances`)
  here.crm.release()
  t.like(await untilEnded(org.call, runPath), {stop: null, stoppedBy: null, rowsWritten: rows})
})
