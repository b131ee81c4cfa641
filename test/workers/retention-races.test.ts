import {Readable} from 'node:stream'
import test from 'ava'
import {sql} from '../../sql/database.ts'
import {lockImport} from '../../sql/imports.ts'
import {insertHead} from '../../sql/run-heads.ts'
import {insertRun} from '../../sql/runs.ts'
import {archiveAll, maintainSegments} from '../../workers/archive.ts'
import {deleteRunsOfNone, emptyRuns} from '../../workers/retention/empty.ts'
import {openLogged} from '../../workers/retention/tally.ts'
import {removeDeleted} from '../../workers/retention.ts'
import {endNextRunning} from '../../workers/schedules/end-running.ts'
import {discard} from '../../workers/schedules/make-import.ts'
import {accountRows, accounts, ok, prepareImport, readLog, runImport} from '../support/importing.ts'
import {meanwhile} from '../support/meanwhile.ts'
import {archived, countAll, keysOf, openLasting, openRetaining} from '../support/retention.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const drain = new AbortController().signal

test('a run that is being started is not deleted as an unused authorisation', async t => {
  const {here, org} = await openRetaining(t)
  const authorise = async () => (await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 5}), 200)).runId
  const [begun, never] = [await authorise(), await authorise()]
  await here.ahead('61 days')
  await here.hot.query(`update runs set state = 'authorised', ended_at = null`)
  const retaining = {...here.tools, drain, tally: openLogged(here.tools)}
  await meanwhile(
    here,
    tx => tx.query(sql.unsafe`update runs set state = 'writing', engine = 'outside' where id = ${begun}`),
    () => deleteRunsOfNone(retaining, {id: org.org, days: 30}),
  )
  t.deepEqual((await here.hot.query('select id from runs')).rows, [{id: begun}], never)
})

test('an import that a run is about to use is not discarded, and neither is its file', async t => {
  const {here, org} = await openRetaining(t)
  const {path} = await prepareImport(org, {csv: accountRows(2), flow: accounts})
  const place = {org: org.org, importId: path.split('/').at(-1)!}
  await meanwhile(
    here,
    async tx => {
      const {no} = (await lockImport(tx, {org: place.org, id: place.importId}))!
      const run = await insertRun(tx, {id: 'run_meanwhile', org: org.org, person: null, connector: null, importNo: no, declaredRows: 2})
      await insertHead(tx, {run, rowsLimit: 2, limitBy: 'declaration'})
    },
    () => discard(here.tools, place),
  )
  t.is((await ok(org.call('GET', path), 200)).import.sources.length, 1)
  t.is((await keysOf(here)).length, 1)
  await here.hot.query('delete from runs')
  await discard(here.tools, place)
  t.deepEqual([(await here.hot.query('select from imports')).rowCount, await keysOf(here)], [0, []])
})

test("deleting an import deletes no expired import, even if the plan's window became shorter", async t => {
  const {here, org} = await openRetaining(t)
  const [bare, gone] = [
    await prepareImport(org, {csv: accountRows(2), flow: accounts}),
    await prepareImport(org, {csv: accountRows(2), flow: accounts}),
  ]
  await here.hot.query(
    `update imports set state = 'expired', expired_at = lading_now() - interval '40 days', emptied = true where id = $1`,
    [bare.path.split('/').at(-1)],
  )
  await here.hot.query('update orgs set plan_anchor = lading_now()')
  await ok(org.call('DELETE', gone.path), 200)
  await removeDeleted({...here.tools, drain})
  t.is((await ok(org.call('GET', bare.path), 200)).import.state, 'expired', 'its plan has just become smaller')
  t.is((await here.hot.query('select from imports')).rowCount, 1)
})

test('a deleted import stays until its firing has ended, so that the firing keeps its file as the last one', async t => {
  const {here, org} = await openRetaining(t)
  const {path, run} = await runImport(org, {csv: accountRows(2), flow: accounts})
  await archived(here)
  await here.hot.query(
    `with t as (insert into templates (id, org_id, name, sources, flows) values ('tpl_1', $1, 'T', '[]', '[]')),
      s as (insert into schedules (id, org_id, template_id, name, cron, timezone, source, on_drift, enabled)
        values ('sch_1', $1, 'tpl_1', 'S', '0 0 1 1 *', 'UTC', '{}', 'stop', false))
    insert into firings (id, schedule_id, org_id, due_at, by, state, import_no, run_no, sha256, template_version)
    select 'fir_1', 'sch_1', $1, lading_now(), 'clock', 'running', import_no, run_no, 'file'::bytea, 1 from runs where id = $2`,
    [org.org, run.id],
  )
  await ok(org.call('DELETE', path), 200)
  await removeDeleted({...here.tools, drain})
  t.deepEqual(await countAll(here, ['imports', 'runs']), {imports: 1, runs: 1})
  t.true(await here.db.transaction(endNextRunning))
  t.like((await here.hot.query('select outcome, reason, counts from firings')).rows[0], {
    outcome: 'done',
    reason: null,
    counts: {rowsWritten: 2},
  })
  t.truthy((await here.hot.query('select last_sha256 from schedules')).rows[0].last_sha256)
  await removeDeleted({...here.tools, drain})
  t.deepEqual(await countAll(here, ['imports', 'runs']), {})
})

test('a run whose rows another process is deleting is not marked as purged before the rows are gone', async t => {
  const {here, org} = await openRetaining(t)
  const {run} = await runImport(org, {csv: accountRows(2), flow: accounts})
  await archived(here)
  await here.hot.query(
    `insert into run_log (run_no, seq, row_key, module_no, phase, attempt, outcome) select run_no, n, n, 1, 0, 1, 0 from runs, generate_series(1, 10050) n`,
  )
  await here.hot.query('update runs set expired_at = lading_now()')
  const retaining = {...here.tools, drain, tally: openLogged(here.tools)}
  await meanwhile(
    here,
    tx => tx.query(sql.unsafe`delete from run_log where ctid = any(array(select ctid from run_log limit 10000))`),
    () => emptyRuns(retaining, {id: org.org}),
  )
  const left = async () =>
    (await here.hot.query('select emptied, (select count(*) from run_log) as rows from runs where id = $1', [run.id])).rows[0]
  t.like(await left(), {emptied: false, rows: 50})
  await emptyRuns(retaining, {id: org.org})
  t.like(await left(), {emptied: true, rows: 0})
})

test('records whose stored object was swept during archiving are archived again', async t => {
  const here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '1'}})
  const org = await openLasting(here)
  const {path, run} = await runImport(org, {csv: accountRows(20), flow: accounts})
  const before = await readLog(org.call, `${path}/runs/${run.id}`)
  // Storage has read the object back. Before the object is recorded, the clock jumps and makes it two days old.
  const read: typeof here.storage.read = async key => {
    const bytes = await (await here.storage.read(key)).toArray()
    await here.ahead('2 days')
    await maintainSegments({...here.tools, drain})
    return Readable.from(bytes)
  }
  await archiveAll({...here.tools, drain, storage: {...here.storage, read}})
  t.deepEqual(await countAll(here, ['segments']), {})
  await here.hot.query('update runs set archive_after = null')
  await archiveAll({...here.tools, drain})
  await archived(here)
  await here.ahead('4 days')
  await maintainSegments({...here.tools, drain})
  t.deepEqual(await readLog(org.call, `${path}/runs/${run.id}`), before)
})
