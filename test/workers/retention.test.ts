import {randomUUID} from 'node:crypto'
import test, {type ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import {ours} from '../../workers/retention/objects.ts'
import {accountRows, accounts, type Org, ok, prepareImport, readLog, runImport, untilEnded} from '../support/importing.ts'
import {archived, countAll, keysOf, openLasting, openRetaining, refusal, setWindow} from '../support/retention.ts'
import {applyPlan, makePlan} from '../support/sealed-plans.ts'

/** Asserts that every request for the content of an expired import or its runs is refused with 410. */
const assertGone = async (
  t: ExecutionContext,
  org: Org,
  {path, run, dry, source}: Record<'run' | 'dry' | 'source', {id: string}> & {path: string},
) => {
  const gone = [410, 'FILE_GONE']
  for (const [method, place, body] of [
    ['GET', `runs/${run.id}/records`],
    ['GET', `results.csv?run=${run.id}`],
    ['GET', `failed.csv?run=${run.id}`],
    ['GET', `plan.csv?run=${dry.id}`],
    ['GET', `runs/${run.id}/questions`],
    ['POST', `runs/${run.id}/questions`, {rules: [{flowId: 'f', choice: 'skip'}]}],
    ['GET', `sources/${source.id}`],
    ['GET', `sources/${source.id}/rows`],
    ['POST', 'sources', 'name\nx\n'],
    ['PUT', 'flows', [{id: 'f', sourceId: source.id, ...accounts}]],
    ['POST', 'checks', {}],
    ['POST', 'runs', {}],
    ['POST', 'runs', {retryOf: run.id}],
  ] as const)
    t.deepEqual(await refusal(org.call(method, `${path}/${place}`, body)), gone, `${method} ${place}`)
  const importId = path.split('/').at(-1)
  t.deepEqual(await refusal(org.call('GET', `/orgs/${org.org}/runs/${run.id}/records`)), gone)
  t.deepEqual(await refusal(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 1, importId})), gone)
  t.deepEqual(await refusal(org.call('POST', `/orgs/${org.org}/templates`, {name: 'x', fromImport: importId})), gone)
}

test('an expired import keeps only its bare record, which is deleted a window later', async t => {
  const {here, org, night, nights} = await openRetaining(t)
  const {path, run, source} = await runImport(org, {csv: accountRows(120), flow: accounts})
  const {run: dry} = await ok(org.call('POST', `${path}/runs`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${dry.id}`)
  await ok(org.call('POST', `${path}/checks`, {}, {prefer: 'wait=30'}), 200)
  const draft = await prepareImport(org, {csv: accountRows(3, 'never-run-'), flow: accounts})
  await archived(here)
  const told = (await ok(org.call('GET', `${path}/runs/${run.id}`), 200)).run
  await here.ahead('29 days')
  t.true(await night())
  t.like((await nights())[0].counts, {objectsSeen: (await keysOf(here)).length, orphans: undefined})
  t.is((await ok(org.call('GET', path), 200)).import.state, 'done')
  t.is((await readLog(org.call, `${path}/runs/${run.id}`)).length, 120)

  const keys = await keysOf(here)
  const objects = keys.length
  for (const key of keys) t.regex(key, ours)
  t.regex(`org_1/runs/run_1/verify-${randomUUID()}.ndjson.gz.sealed`, ours)
  t.true(keys.some(key => key.includes('/plan-')))
  await here.ahead('31 days')
  t.true(await night())
  t.false(await night(), 'once a day')
  const [newest] = await nights()
  t.like(newest, {tries: 1, failures: 0, failed: []})
  t.like(newest.counts, {importsExpired: 2, runsExpired: 2, objects, spools: 0})
  t.true(newest.counts.bytes > 1_000 && newest.counts.rows > 120 && newest.endedAt !== null)
  t.deepEqual([await countAll(here), await keysOf(here)], [{}, []])

  const bare = (await ok(org.call('GET', path), 200)).import
  t.like(bare, {state: 'expired', name: 'Test', flows: [], slots: [], sources: []})
  t.truthy(bare.expiredAt)
  const listed = (await ok(org.call('GET', `/orgs/${org.org}/imports`), 200)).imports
  t.deepEqual(
    listed.map(({state}: any) => state),
    ['expired', 'expired'],
  )
  const kept = (await ok(org.call('GET', `${path}/runs/${run.id}`), 200)).run
  t.like(kept, {state: 'ended', counts: told.counts, rowsWritten: 120, endedAt: told.endedAt, rows: null, progress: null})
  t.is(kept.counts.Accounts.created, 120)
  await assertGone(t, org, {path, run, dry, source})

  await here.ahead('62 days')
  t.true(await night())
  t.like((await nights())[0].counts, {importsDeleted: 2, runsDeleted: 2})
  t.deepEqual(await refusal(org.call('GET', path)), [404, 'IMPORT_NOT_FOUND'])
  t.deepEqual(await refusal(org.call('GET', draft.path)), [404, 'IMPORT_NOT_FOUND'])
  t.deepEqual(await countAll(here, ['imports', 'runs', 'run_heads', 'run_names']), {})
})

test('an import in use loses the records of its old runs, and no row is written twice', async t => {
  const {here, org, night} = await openRetaining(t)
  const {path, run: first} = await runImport(org, {csv: accountRows(60), flow: {...accounts, match: undefined}, start: {rows: {to: 40}}})
  await archived(here)
  const runAgain = async (start: object) => {
    const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
    return untilEnded(org.call, `${path}/runs/${run.id}`)
  }
  const made = () => here.crm.journal({method: 'POST', path: '/crm/v8/Accounts'}).length
  await here.ahead('20 days')
  const second = await runAgain({retryOf: first.id, rows: {to: 50}})
  t.like(second.counts.Accounts, {inherited: 40, created: 10})
  await here.ahead('40 days')
  await night()
  const records = (id: string) => org.call('GET', `${path}/runs/${id}/records`)
  t.deepEqual(await refusal(records(first.id)), [410, 'FILE_GONE'])
  t.is((await ok(org.call('GET', `${path}/runs/${first.id}`), 200)).run.counts.Accounts.created, 40)
  t.is((await ok(records(second.id), 200)).records.length, 50)
  t.is((await org.call('GET', `${path}/results.csv?run=${second.id}`)).status, 200)
  t.like(await countAll(here), {chain_rows: 50, sources: 1, run_snapshots: 1})

  const calls = made()
  const third = await runAgain({retryOf: second.id})
  t.like(third.counts.Accounts, {inherited: 50, created: 10})
  t.is(made(), calls + 1)
  await archived(here)

  // Another file keeps the import. All runs of the chain and their file are past the history window.
  await here.ahead('75 days')
  await ok(org.call('POST', `${path}/sources?name=other.csv`, accountRows(2, 'other-'), {'content-type': 'text/csv'}), 201)
  await night()
  t.is((await ok(org.call('GET', path), 200)).import.state, 'done')
  const left = await countAll(here)
  t.deepEqual(left, {sources: 2})
  t.deepEqual(await refusal(org.call('POST', `${path}/runs`, {retryOf: third.id})), [410, 'FILE_GONE'])
  const fourth = await runAgain({rows: {to: 1}})
  t.is(fourth.state, 'ended')
  t.is((await keysOf(here)).filter(key => key.includes('/imp_')).length, 2)
})

test('a dry run that expired or that only a newer build can read confirms no deletes', async t => {
  const {here, org, night} = await openRetaining(t)
  await runImport(org, {csv: accountRows(3), flow: accounts})
  const fields = accounts.fields.filter(({field}) => field === 'Account_Number')
  const deletion = {module: 'Accounts', action: 'delete', match: {by: ['Account_Number']}, fields}
  const {path} = await prepareImport(org, {csv: accountRows(3), flow: deletion})
  const tryFirstRow = async () => {
    const {run} = await ok(org.call('POST', `${path}/runs`, {dryRun: true, rows: {to: 1}}), 202)
    return untilEnded(org.call, `${path}/runs/${run.id}`)
  }
  const assertUnconfirmed = async () =>
    t.like(await org.call('POST', `${path}/runs`, {confirmDeletes: 1}), {status: 409, body: {code: 'DELETES_UNCONFIRMED', deletes: null}})
  const old = await tryFirstRow()
  t.like(old, {stale: false, deletes: true, deleted: 1, rows: {to: 1}})
  await archived(here)
  await here.ahead('20 days')
  await ok(org.call('PATCH', path, {name: 'Still needed'}), 200)
  await here.ahead('31 days')
  await night()
  t.is((await ok(org.call('GET', path), 200)).import.state, 'ready')
  const {run: expired} = await ok(org.call('GET', `${path}/runs/${old.id}`), 200)
  t.truthy(expired.expiredAt)
  t.like(expired, {stale: true, deletes: true, deleted: 1, rows: null})
  await assertUnconfirmed()

  const {id} = await tryFirstRow()
  await here.db.query(sql.unsafe`
    with newer as (
      insert into run_snapshots (format, document) select 99, document from run_snapshots join runs using (snapshot_no) where id = ${id}
      returning snapshot_no)
    update runs set snapshot_no = newer.snapshot_no from newer where id = ${id}`)
  await assertUnconfirmed()
})

test("a file that only an expired run uses is deleted with that run's records", async t => {
  const {here, org, night} = await openRetaining(t)
  const {path, source} = await runImport(org, {csv: accountRows(5), flow: accounts})
  const {source: other} = await ok(org.call('POST', `${path}/sources?name=b.csv`, accountRows(5), {'content-type': 'text/csv'}), 201)
  await ok(org.call('DELETE', `${path}/sources/${source.id}`), 200)
  t.is((await keysOf(here)).filter(key => key.endsWith(source.id)).length, 1, 'its results are made from it')
  await here.ahead('31 days')
  await ok(org.call('POST', `${path}/sources?name=c.csv`, accountRows(5), {'content-type': 'text/csv'}), 201)
  await night()
  const files = (await keysOf(here)).map(key => key.split('/').at(-1))
  t.false(files.includes(source.id))
  t.true(files.includes(other.id))
})

test('any change of an import restarts its retention window', async t => {
  const {here, org, night} = await openRetaining(t)
  const acts: Record<string, (path: string, source: string) => Promise<unknown>> = {
    flows: (path, sourceId) => ok(org.call('PUT', `${path}/flows`, [{id: 'f', sourceId, ...accounts}]), 200),
    name: path => ok(org.call('PATCH', path, {name: 'Still needed'}), 200),
    label: (path, id) => ok(org.call('PATCH', `${path}/sources/${id}`, {label: 'Still needed'}), 200),
    check: path => ok(org.call('POST', `${path}/checks`, {}, {prefer: 'wait=30'}), 200),
  }
  const made: ({name: string} & Awaited<ReturnType<typeof prepareImport>>)[] = []
  for (const name of [...Object.keys(acts), 'nothing'])
    made.push({name, ...(await prepareImport(org, {csv: accountRows(2), flow: accounts}))})
  await here.ahead('20 days')
  for (const {name, path, source} of made) await acts[name]?.(path, source.id)
  const states = async () => {
    const states: Record<string, string> = {}
    for (const {name, path} of made) states[name] = (await ok(org.call('GET', path), 200)).import.state
    return states
  }
  await here.ahead('31 days')
  await night()
  t.deepEqual(await states(), {flows: 'ready', name: 'ready', label: 'ready', check: 'ready', nothing: 'expired'})
  await here.ahead('51 days')
  await night()
  t.deepEqual(new Set(Object.values(await states())), new Set(['expired']))
})

test('a run that has not ended keeps its import, however long it takes', async t => {
  const {here, org, night} = await openRetaining(t)
  const {path, run} = await runImport(org, {csv: accountRows(5), flow: accounts})
  await here.hot.query(`update runs set state = 'paused', ended_at = null where id = $1`, [run.id])
  await here.ahead('90 days')
  await night()
  t.is((await ok(org.call('GET', path), 200)).import.state, 'done')
  t.is((await countAll(here)).run_snapshots, 1)

  await here.hot.query(`update runs set state = 'ended', ended_at = lading_now() where id = $1`, [run.id])
  const {run: dry} = await ok(org.call('POST', `${path}/runs`, {dryRun: true, retryOf: run.id}), 202)
  await untilEnded(org.call, `${path}/runs/${dry.id}`)
  await here.hot.query(`update runs set state = 'paused', ended_at = null where id = $1`, [dry.id])
  await here.ahead('180 days')
  await night()
  t.is((await countAll(here)).chain_rows, 5, 'a dry run reads what became of them')
})

test('a run keeps its records while a run that undoes it or applies its plan is in progress', async t => {
  const {here, org, night} = await openRetaining(t)
  const {path, run} = await runImport(org, {csv: accountRows(5), flow: accounts})
  const {run: undo} = await ok(org.call('POST', `${path}/runs/${run.id}/undo`, {dryRun: true}), 202)
  await untilEnded(org.call, `${path}/runs/${undo.id}`)
  const {run: dry} = await makePlan(org, path)
  const {id: applied} = await applyPlan(org.call, path, dry.id)
  await archived(here)
  await here.hot.query(`update runs set state = 'paused', ended_at = null where id = any($1)`, [[undo.id, applied]])
  const readStatuses = async () => {
    const answers = [run, dry].map(({id}) => org.call('GET', `${path}/runs/${id}/records`))
    return (await Promise.all(answers)).map(({status}) => status)
  }
  await here.ahead('40 days')
  await night()
  t.deepEqual(await readStatuses(), [200, 200])
  await here.hot.query(`update runs set state = 'ended', ended_at = lading_now() where state = 'paused'`)
  await here.ahead('41 days')
  await night()
  t.deepEqual(await readStatuses(), [410, 410])
})

test('each org is purged by the retention window of its own plan', async t => {
  const {here, org, night} = await openRetaining(t)
  const patient = await openLasting(here, 'zoe@other.example')
  await setWindow(here, patient, 365)
  const [short, long] = [
    await prepareImport(org, {csv: accountRows(2), flow: accounts}),
    await prepareImport(patient, {csv: accountRows(2), flow: accounts}),
  ]
  await here.ahead('100 days')
  await night()
  t.is((await ok(org.call('GET', short.path), 200)).import.state, 'expired')
  t.is((await ok(patient.call('GET', long.path), 200)).import.state, 'ready')

  // After a change to a smaller plan, nothing is deleted for two weeks.
  await setWindow(here, patient, 60)
  for (const [ahead, state] of [
    ['113 days', 'ready'],
    ['115 days', 'expired'],
  ] as const) {
    await here.ahead(ahead)
    await night()
    t.is((await ok(patient.call('GET', long.path), 200)).import.state, state, ahead)
  }
})

test('a sandbox whose production org was deleted keeps its data for two weeks', async t => {
  const {here, org, night} = await openRetaining(t)
  const production = await openLasting(here, 'zoe@other.example')
  await setWindow(here, production, 365)
  await here.hot.query('update orgs set sandbox = true, sandbox_of = $2 where id = $1', [org.org, production.org])
  const {path} = await prepareImport(org, {csv: accountRows(2), flow: accounts})
  const state = async () => (await ok(org.call('GET', path), 200)).import.state
  await here.ahead('100 days')
  await night()
  t.is(await state(), 'ready')
  await here.hot.query('delete from orgs where id = $1', [production.org])
  await here.ahead('113 days')
  await night()
  t.is(await state(), 'ready')
  await here.ahead('115 days')
  await night()
  t.is(await state(), 'expired')
})
