import test from 'ava'
import {readMigration, readMigrations} from '../../sql/migration-files.ts'
import {judgeMigration} from './migration-rules.ts'

/** The last migration that is not judged. Migrations up to this one were applied to databases without users. */
const lastUnjudged = '0044_uploads'

test('new migrations block no other process and break no running build', async t => {
  const all = await readMigrations()
  const says = all.flatMap((migration, at) =>
    migration.name > lastUnjudged ? judgeMigration(migration, all.slice(0, at)).map(say => `${migration.name}: ${say}`) : [],
  )
  t.deepEqual(says, [])
})

const judge = (text: string, before: string[] = []) =>
  judgeMigration(
    readMigration('0099_new', text),
    before.map((earlier, at) => readMigration(`009${at}_earlier`, earlier)),
  )

const allowed = [
  'create table t (id text primary key references orgs on delete cascade, n int not null check (n > 0)); create index on t (n)',
  'alter table runs add column a text, add column b int not null default 0, add c timestamptz not null default lading_now()',
  "alter table runs add column kind text not null default 'a;b, c'; -- drop table runs",
  'alter table runs add column t text references t',
  '-- concurrently\ncreate index concurrently if not exists runs_a on runs (a);',
  '-- In words.\n-- concurrently\ncreate unique index concurrently if not exists runs_a on runs (a) where b is null;',
  "alter table runs drop constraint runs_check, add constraint runs_check check (kind in ('a', 'b')) not valid",
  'alter table runs validate constraint runs_check',
  'alter table runs add constraint runs_t foreign key (t) references t not valid',
  'alter table runs add constraint runs_a unique using index runs_a',
  'create or replace function f() returns trigger language plpgsql as $$ begin drop table runs; update runs set a = 1; end $$; create trigger x after insert on runs for each row execute function f()',
  '-- in pieces\nupdate runs set a = 1 where run_no in (select run_no from runs where a is null limit 1000)',
  "insert into plan_versions (id, name) values ('x', 'y')",
  '-- contract: 0.3 reads `b` instead\nalter table runs drop column a',
  '-- contract: 0.3 reads none of it\ndrop table runs',
  '-- concurrently\n-- contract: 0.3 asks by b\ndrop index concurrently if exists runs_a',
]
for (const text of allowed) test(`allowed: ${text}`, t => t.deepEqual(judge(text), []))

const refused = [
  'alter table runs drop column a',
  'drop table runs',
  'drop function f()',
  'alter table runs rename column a to b',
  '-- contract: nobody reads it\nalter table runs rename to walks',
  '-- contract: nobody reads it\nalter table runs alter column a type bigint',
  'alter table runs alter column a set not null',
  '-- contract: nobody writes null\nalter table runs alter column a set not null',
  'alter table runs add column a uuid default gen_random_uuid()',
  'alter table runs add column a text default (random()::text)',
  'alter table runs add column a bigint generated always as identity',
  'alter table runs add column a bigserial',
  'alter table runs add column a text not null',
  'alter table runs add column a text unique',
  'alter table runs add column a int check (a > 0)',
  "alter table runs add column t text default 'x' references t",
  'create index runs_a on runs (a)',
  'create index concurrently if not exists runs_a on runs (a)',
  '-- concurrently\ncreate index concurrently runs_a on runs (a)',
  '-- concurrently\ncreate index concurrently if not exists runs_a on runs (a); alter table runs add b int',
  'drop index runs_a',
  'alter table runs add constraint c check (a > 0)',
  'alter table runs add foreign key (a) references t',
  'alter table runs add constraint c unique (a)',
  'alter table runs add constraint c check (a > 0) not valid; alter table runs validate constraint c',
  'alter table runs add column a int; alter table imports add column a int',
  'alter table runs add column a int; create trigger x before update on imports for each row execute function f()',
  'alter table runs disable trigger all',
  'alter table runs set unlogged',
  'lock table runs',
  'truncate runs',
  'update runs set a = 1',
  "with x as (select 1) delete from runs where a = 'x'",
  'vacuum full runs',
]
for (const text of refused) test(`refused: ${text}`, t => t.not(judge(text).length, 0))

test('a column is set not null only after a validated check and once no build writes nulls', t => {
  const before = ['alter table runs add constraint a_there check (a is not null) not valid', 'alter table runs validate constraint a_there']
  const text = '-- contract: 0.3 writes it always\nalter table runs alter column a set not null'
  t.deepEqual(judge(text, before), [])
  t.is(judge(text, before.slice(0, 1)).length, 1)
  t.is(judge(text.replace(/^.*\n/, ''), before).length, 1)
})
