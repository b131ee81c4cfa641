import {randomUUID} from 'node:crypto'
import {utimes} from 'node:fs/promises'
import {join} from 'node:path'
import {Readable} from 'node:stream'
import test from 'ava'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {claimNight} from '../../sql/retention.ts'
import {accountRows, accounts, ok, prepareImport, runImport} from '../support/importing.ts'
import {archived, countAll, keysOf, openLasting, openRetaining, setWindow} from '../support/retention.ts'

test('a storage failure is recorded, and the removal is tried again the next night', async t => {
  const {here, org, night, nights} = await openRetaining(t)
  await runImport(org, {csv: accountRows(20), flow: accounts})
  await archived(here)
  await here.ahead('31 days')
  const storage = {...here.storage, remove: () => Promise.reject(new Error(`EIO: ${org.org} cannot be written`))}
  t.true(await night({storage}))
  const [failed] = await nights()
  t.is(failed.failures, 3)
  t.like(failed.failed[0], {org: org.org, step: 'objects', message: 'EIO: org cannot be written'})
  t.truthy(failed.endedAt)
  t.deepEqual([(await keysOf(here)).length, await countAll(here)], [3, {loose_objects: 3}])
  await here.ahead('32 days')
  t.true(await night())
  t.like((await nights())[0], {failures: 0, counts: {objects: 3}})
  t.deepEqual([await keysOf(here), await countAll(here)], [[], {}])
})

test('a night is purged once however many processes try, and resumed if its process died', async t => {
  const {here, org, night, nights} = await openRetaining(t)
  // The hour of the night is twelve hours away, so that no night begins in the minutes that this test advances.
  here.config.RETENTION_HOUR_UTC = (new Date().getUTCHours() + 12) % 24
  await prepareImport(org, {csv: accountRows(2), flow: accounts})
  await here.ahead('31 days')
  const done = await Promise.all(Array.from({length: 6}, () => night()))
  t.is(done.filter(Boolean).length, 1)
  t.is((await nights()).length, 1)
  await here.ahead('32 days')
  const dead = await claimNight(here.db, {hour: here.config.RETENTION_HOUR_UTC, seconds: 300, mostTries: 20})
  t.like(dead, {tries: 1})
  t.false(await night())
  await here.ahead('32 days 6 minutes')
  const [, before] = await nights()
  t.like(before, {counts: {importsExpired: 1}})
  t.true(await night())
  t.like(
    (await nights()).find(({day}: any) => day === dead!.day),
    {tries: 2},
  )
})

test('a night is named by the day on which its hour begins', async t => {
  const {here} = await openRetaining(t)
  for (const hour of [0, 3, 12, 23]) {
    await here.db.query(sql.unsafe`delete from retention_nights`)
    const claim = await claimNight(here.db, {hour, seconds: 60, mostTries: 5})
    t.is(claim!.day, new Date(Date.now() - hour * 3_600_000).toISOString().slice(0, 10))
    t.is(await claimNight(here.db, {hour, seconds: 60, mostTries: 5}), null)
  }
})

test('orphaned objects are removed after a day, and foreign objects are counted and kept', async t => {
  const {here, org, night, nights} = await openRetaining(t)
  const {path} = await prepareImport(org, {csv: accountRows(2), flow: accounts})
  const importId = path.split('/').at(-1)!
  const put = async (key: string, days = 4) => {
    await here.storage.put(
      key,
      (async function* () {
        yield Buffer.from('left')
      })(),
    )
    const at = new Date(Date.now() - days * 86_400_000)
    await utimes(join(here.config.STORAGE_DIR, key), at, at)
  }
  const uuid = randomUUID()
  const segment = `${org.org}/runs/run_gone/0-1-${uuid}.ndjson.gz`
  const dead = [`${org.org}/${importId}/src_died`, `${org.org}/imp_gone/src_x`, segment, `${org.org}/test-fetches/sch_killed`]
  const newer = `${org.org}/runs/run_gone/sample-${uuid}.ndjson.gz`
  const left = ['org_of_another_house/imp_1/src_1', newer, `${org.org}/notes/mine.txt`, `${org.org}/${importId}/src_written_down`]
  for (const key of [...dead, ...left]) await put(key)
  await put(`${org.org}/${importId}/src_young`, 2.5)
  await here.db.query(sql.unsafe`insert into loose_objects (key) values (${left.at(-1)!})`)
  const before = await keysOf(here)
  await night()
  t.deepEqual((await keysOf(here)).toSorted(), before.filter(key => !dead.includes(key)).toSorted())
  t.like((await nights())[0].counts, {orphans: 4, orphanBytes: 16, foreignObjects: 1, objectsSeen: before.length})
})

test('orphans are kept if the build is old, the database is an old copy, or the clock is ahead', async t => {
  const {here, org, night, nights} = await openRetaining(t)
  const {path} = await prepareImport(org, {csv: accountRows(2), flow: accounts})
  const young = `${org.org}/${path.split('/').at(-1)}/src_young`
  const list = async function* () {
    yield* here.storage.list()
    for (let n = 0; n <= 1_000; n++) yield {key: `${org.org}/imp_x/src_${n}`, modifiedAt: new Date(0), bytes: 1}
  }
  const old = `${org.org}/imp_x/src_old`
  for (const key of [old, young]) await here.storage.put(key, Readable.from([Buffer.from('x')]))
  await utimes(join(here.config.STORAGE_DIR, old), new Date(0), new Date(0))
  const before = (await keysOf(here)).length
  await here.ahead('5 days')
  t.true(await night({storage: {...here.storage, list}}))
  t.like((await nights())[0], {failures: 1, counts: {orphans: undefined}})
  t.regex((await nights())[0].failed[0].message, /None was removed/)
  await here.hot.query(`insert into migrations (name, sha256) values ('9999_of_a_newer_build', '')`)
  await here.ahead('6 days')
  t.true(await night())
  t.like((await nights())[0], {failures: 0, counts: {objectsSeen: undefined}})
  t.is((await keysOf(here)).length, before)
  await here.hot.query(`delete from migrations where name = '9999_of_a_newer_build'`)
  await here.ahead('7 days')
  t.true(await night())
  t.like((await nights())[0].counts, {orphans: 1})
  t.false(await here.storage.exists(old))
  t.true(await here.storage.exists(young))
})

test('an org on a plan without a retention window keeps everything, and other orgs are still purged', async t => {
  const {here, org, night, nights} = await openRetaining(t)
  const other = await openLasting(here, 'zoe@other.example')
  await setWindow(here, other, 31)
  const [kept, gone] = [
    await prepareImport(org, {csv: accountRows(2), flow: accounts}),
    await prepareImport(other, {csv: accountRows(2), flow: accounts}),
  ]
  for (const [at, days] of [0, null, -5].entries()) {
    await here.hot.query(`update plan_versions set limits = limits || jsonb_build_object('historyDays', $1::int) where id = 'window.30'`, [
      days,
    ])
    await here.ahead(`${40 + at} days`)
    t.true(await night())
    t.is((await here.hot.query('select from imports where expired_at is not null and org_id = $1', [org.org])).rowCount, 0)
  }
  t.like((await nights())[2], {failures: 0, counts: {importsExpired: 1}})
  t.is((await ok(other.call('GET', gone.path), 200)).import.state, 'expired')
  await here.hot.query(`update plan_versions set limits = limits || '{"historyDays": 30}' where id = 'window.30'`)
  t.is((await ok(org.call('GET', kept.path), 200)).import.state, 'ready')
})

test('the nightly purge also deletes old firings, job owners, discoveries and slot budgets', async t => {
  const {here, org, night, nights} = await openRetaining(t)
  const {path} = await runImport(org, {csv: accountRows(2), flow: accounts})
  const discoveries = () => here.db.anyFirst(sql.type(z.object({id: z.string()}))`select id from discoveries order by id`)
  const [named] = await discoveries()
  const unnamed = ['dis_z1', 'dis_z2', 'dis_z3', 'dis_z4']
  for (const id of unnamed)
    await here.hot.query(
      `insert into discoveries (id, connector_id, diff) values ($1, $2, '{"since": null, "added": [], "removed": [], "changed": []}')`,
      [id, org.connector],
    )
  await here.hot.query(
    `with t as (insert into templates (id, org_id, name, sources, flows) values ('tpl_1', $1, 'T', '[]', '[]')),
      s as (insert into schedules (id, org_id, template_id, name, cron, timezone, source, on_drift, enabled)
        values ('sch_1', $1, 'tpl_1', 'S', '0 0 1 1 *', 'UTC', '{}', 'stop', false))
    insert into firings (id, schedule_id, org_id, due_at, by, state, outcome, ended_at)
    select 'fir_' || n, 'sch_1', $1, lading_now() + make_interval(days => n), 'clock', 'ended', 'done', lading_now() + make_interval(days => n)
    from generate_series(0, 9) n`,
    [org.org],
  )
  // A person left a file in an import, and a later firing ran the file.
  await here.hot.query(
    `insert into firings (id, schedule_id, org_id, due_at, by, state, outcome, ended_at, sha256, import_no)
    select 'fir_' || outcome, 'sch_1', $1, now, 'clock', 'ended', outcome, now, 'left'::bytea,
      case when outcome = 'drifted' then (select import_no from imports where id = $2) end
    from (values (1, 'drifted'), (2, 'done'), (3, 'unchanged')) v (n, outcome), lateral (select lading_now() - make_interval(mins => n) as now) t`,
    [org.org, path.split('/').at(-1)],
  )
  // A person discarded one file twice and another file once.
  await here.hot.query(
    `insert into firings (id, schedule_id, org_id, due_at, by, state, outcome, ended_at, decision, sha256)
    select 'fir_discarded_' || n, 'sch_1', $1, now, 'clock', 'ended', 'drifted', now, 'discarded', sha256
    from (values (1, 'one'::bytea), (2, 'one'), (3, 'other')) v (n, sha256), lateral (select lading_now() - make_interval(hours => n) as now) t`,
    [org.org],
  )
  await here.hot.query(
    `with j as (insert into jobs (id, org_id, queue) values (gen_random_uuid(), $1, 'run.import') returning id)
    insert into runs (id, org_id, declared_rows, state, job_id) select 'run_long', $1, 1, 'paused', id from j`,
    [org.org],
  )
  await here.ahead('29 days')
  await ok(org.call('POST', `${path}/sources?name=other.csv`, accountRows(2, 'other-'), {'content-type': 'text/csv'}), 201)
  await night()
  t.deepEqual(await discoveries(), [named!, ...unnamed.slice(2)].toSorted(), 'the newest two, and the one a run names')
  await here.hot.query(`insert into crm_budgets (dc, crm_org_id, total, cap) values ('eu', 'nobody', 5, 5)`)
  await here.ahead('34 days 12 hours')
  await night()
  t.deepEqual(await countAll(here, ['firings', 'jobs']), {firings: 9, jobs: 1}, 'the job of a run under way is asked for still')
  const kept = await here.hot.query('select id from firings where sha256 is not null order by id')
  t.deepEqual(
    kept.rows.map(({id}) => id),
    ['fir_discarded_2', 'fir_discarded_3', 'fir_done', 'fir_drifted'],
  )
  t.deepEqual(await discoveries(), unnamed.slice(2))
  t.false((await here.hot.query('select dc from crm_budgets')).rows.some(({dc}) => dc === 'eu'))
  t.like((await nights())[0].counts, {firings: 7})
})
