import {createHash} from 'node:crypto'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test from 'ava'
import pg from 'pg'
import {type AppliedMigration, migrate} from '../../sql/migrate.ts'
import {createDatabase, type Database} from '../support/database.ts'
import {until} from '../support/until.ts'

let database: Database
let db: pg.Client

test.before(async () => {
  database = await createDatabase('migrate')
  db = await open('migrate-test')
  await db.query('create table cargo (no int primary key, name text)')
})

test.after.always(async () => {
  await db?.end()
  await database?.drop()
})

const open = async (application_name: string) => {
  const client = new pg.Client({connectionString: database.url, application_name, lock_timeout: 20_000})
  client.on('error', () => {})
  await client.connect()
  return client
}

type Release = {files: Record<string, string>; seconds?: number}

const release = async ({files, seconds = 60}: Release): Promise<AppliedMigration[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'lading-migrations-'))
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.sql`), text)
    return await migrate(database.url, {folder, patience: {seconds}})
  } finally {
    await rm(folder, {recursive: true})
  }
}

const one = async <T>(text: string): Promise<T> => Object.values((await db.query(text)).rows[0])[0] as T

/** Opens a session that reads the table and does not commit. */
const openReader = async () => {
  const reader = await open('a long report')
  await reader.query('begin')
  await reader.query('select * from cargo')
  return reader
}

test.serial('a migration that waits for a table does not block others', async t => {
  const reader = await openReader()
  const releasing = release({files: {a1: 'alter table cargo add column a1 text'}})
  for (let seen = 0, since: string | null = null; seen < 3; seen++) {
    // Each try waits once, so a new wait is a new try.
    since = await until(
      () =>
        one<string | null>(
          `select max(waitstart)::text from pg_locks join pg_stat_activity using (pid) where application_name = 'lading-release' and not granted`,
        ),
      at => at !== null && at !== since,
    )
    // This insert queues behind the migration's lock; it would otherwise wait for the reader's whole transaction.
    await db.query('insert into cargo (no) values ($1)', [seen])
  }
  await reader.query('commit')
  await reader.end()
  const [applied] = await releasing
  t.true(applied!.tries >= 2, `${applied!.tries} tries`)
  t.is(await one('select count(a1)::int from cargo'), 0)
})

test.serial('a migration without a lock names the blocking session, leaves nothing, and can be retried', async t => {
  const reader = await openReader()
  const files = {b1: 'create table b1 (no int); alter table cargo add column b1 text'}
  const error = await t.throwsAsync(release({files, seconds: 0.5}), {message: 'Migration b1 failed'})
  t.regex(
    String((error!.cause as Error).message),
    /No lock within 0\.5 s, in \d+ tries\. Open longest: a long report \(pid \d+, idle in transaction/,
  )
  t.is(await one(`select to_regclass('b1')`), null)
  await reader.end()
  t.deepEqual(
    (await release({files})).map(({name}) => name),
    ['b1'],
  )
  t.deepEqual(await release({files}), [])
})

test.serial('two concurrent releases apply each migration once, also concurrent index builds', async t => {
  const files = {
    c1: 'alter table cargo add column c1 int',
    c2: '-- concurrently\ncreate index concurrently if not exists cargo_c1 on cargo (c1);\n',
    c3: '-- concurrently\ndrop index concurrently if exists cargo_c1;\n',
    c4: '-- concurrently\ncreate index concurrently if not exists cargo_c4 on cargo (c1);\n',
  }
  const both = await Promise.all([release({files}), release({files})])
  t.deepEqual(both.map(applied => applied.length).sort(), [0, 4])
  t.true(await one(`select indisvalid from pg_index where indexrelid = 'cargo_c4'::regclass`))
})

test.serial('an index that could not be built is removed, and built by the next release', async t => {
  await db.query(`create table twins as select 1 as no from generate_series(1, 2)`)
  const files = {d1: '-- concurrently\ncreate unique index concurrently if not exists twins_no on twins (no);\n'}
  await t.throwsAsync(release({files}), {message: 'Migration d1 failed'})
  t.is(await one(`select to_regclass('twins_no')`), null)
  // This statement leaves an invalid index, as a killed process would.
  await t.throwsAsync(db.query('create unique index concurrently twins_no on twins (no)'), {message: /could not create unique index/})
  await db.query('delete from twins where ctid = (select min(ctid) from twins)')
  t.like(await release({files}), [{name: 'd1'}])
  t.true(await one(`select indisvalid from pg_index where indexrelid = 'twins_no'::regclass`))
})

test.serial('a migration in pieces changes its rows in several transactions', async t => {
  await db.query('create table pieces as select no, false as done, 0::bigint as by from generate_series(1, 250) no')
  const text = `-- in pieces
    update pieces set done = true, by = pg_current_xact_id()::text::bigint where no in (select no from pieces where not done limit 100)`
  t.like(await release({files: {e1: text}}), [{name: 'e1', tries: 4}])
  t.is(await one('select count(*)::int from pieces where done'), 250)
  t.is(await one('select count(distinct by)::int from pieces'), 3)
})

test.serial('a failing migration leaves nothing, and an applied migration that was changed is refused', async t => {
  const files = {f1: 'create table f1 (no int)', f2: 'create table f2 (no int); select 1 / 0'}
  const error = await t.throwsAsync(release({files}), {message: 'Migration f2 failed'})
  t.like(error!.cause, {code: '22012'})
  t.not(await one(`select to_regclass('f1')`), null)
  t.is(await one(`select to_regclass('f2')`), null)
  await t.throwsAsync(release({files: {...files, f1: 'create table f1 (no bigint)'}}), {message: /f1 was changed after it was applied/})
  const formerly = createHash('sha256').update(files.f1).digest('hex')
  t.deepEqual(await release({files: {f1: `-- formerly: ${formerly}\ncreate table f1 (no integer)`}}), [])
})
