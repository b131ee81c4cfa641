import {globSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import * as is from 'typescript/unstable/ast/is'
import {z} from 'zod'
import {newId} from '../../shared/ids.ts'
import {type Hot, sql, sqlStateOf} from '../../sql/database.ts'
import {keepOrg} from '../../sql/orgs.ts'
import {insertRun} from '../../sql/runs.ts'
import {parse} from '../boundary-rules.ts'
import {openLedger} from '../support/running.ts'

const SPAN = 2 ** 32
/** The code with which Postgres refuses a unique key without the column of the partitions. */
const FEATURE_NOT_SUPPORTED = '0A000'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('org-numbers')
})
test.after.always(() => here?.close())

const makeOrg = async () => {
  const {id} = await here.db.transaction(tx => keepOrg(tx, {id: newId('org'), name: 'Test', dc: 'test', crmOrgId: newId('org')}))
  return id
}

const makeRun = (org: string) =>
  here.db.transaction(tx => insertRun(tx, {id: newId('run'), org, person: null, connector: null, importNo: null, declaredRows: 1}))

test('the run numbers of an org are one range, also if its first runs start at the same time', async t => {
  const orgs = [await makeOrg(), await makeOrg(), await makeOrg()]
  const made = await Promise.all([...orgs, ...orgs, ...orgs].map(async org => ({org, no: await makeRun(org)})))
  const numbers = orgs.map(org => [...new Set(made.filter(run => run.org === org).map(({no}) => Math.floor(no / SPAN)))])
  t.true(numbers.every(list => list.length === 1))
  t.is(new Set(numbers.flat()).size, orgs.length)
  t.true(numbers.flat().every(no => no >= 1))
})

test('a chain has the number of its first run, also for a process that does not know the numbers of orgs', async t => {
  const no = await makeRun(await makeOrg())
  t.is(await here.db.oneFirst(sql.type(z.object({chain: z.number()}))`select chain_no as chain from runs where run_no = ${no}`), no)
})

const insertAs = (hot: Pick<Hot, 'query'>, {no, id, org}: {no: number; id: string; org: string}) =>
  hot.query(
    `insert into runs (run_no, id, org_id, declared_rows, chain_no) overriding system value values ($1, $2, $3, 1, $1)
     returning run_no::float8 as no, chain_no::float8 as chain`,
    [no, id, org],
  )

test('a run that a restore inserts keeps its number, whether its org has a number yet or not', async t => {
  const [org, other] = [await makeOrg(), await makeOrg()]
  await makeRun(other)
  for (const [at, no] of [2 ** 31, 1_000_000 * SPAN + 7].entries())
    for (const one of [org, other]) {
      const {rows} = await insertAs(here.hot, {no: no + Number(one === other), id: `run_${at}${one}`, org: one})
      t.deepEqual(rows, [{no: no + Number(one === other), chain: no + Number(one === other)}])
    }
  t.is((await here.hot.query('select from org_numbers where org_id = $1', [org])).rowCount, 0, 'the table is restored later')
})

test('a run keeps its number without a search path too, which pg_dump empties', async t => {
  const org = await makeOrg()
  const no = await here.db.transaction(async tx => {
    await tx.query(sql.unsafe`select set_config('search_path', '', true)`)
    return tx.oneFirst(sql.type(z.object({no: z.number()}))`
      insert into public.runs (run_no, id, org_id, declared_rows, authorised_at) overriding system value
      values (${2_000_000 * SPAN}, 'run_dumped', ${org}, 1, now()) returning run_no as no`)
  })
  t.is(no, 2_000_000 * SPAN)
})

test('the largest run number is counted exactly, and a number beyond it is refused', async t => {
  const [org, other] = [await makeOrg(), await makeOrg()]
  await here.hot.query('insert into org_numbers (org_id, org_no) overriding system value values ($1, $2)', [org, 2 ** 21 - 1])
  t.true(Number.isSafeInteger(await makeRun(org)))
  await t.throwsAsync(
    here.hot.query('insert into org_numbers (org_id, org_no) overriding system value values ($1, $2)', [other, 2 ** 21]),
    {message: /org_no_check/},
  )
  await here.db
    .transaction(async tx => {
      await tx.query(sql.unsafe`alter sequence runs_run_no_seq restart with 4294967296`)
      await t.throwsAsync(tx.query(sql.unsafe`insert into runs (id, org_id, declared_rows) values ('run_x', ${other}, 1)`), {
        message: /no run numbers are left/,
      })
      throw new Error('rolled back')
    })
    .catch(({message}: Error) => t.is(message, 'rolled back'))
})

/** Tables that name a run but are keyed otherwise, each with the reason. */
const otherwise: Record<string, string> = {
  runs: 'the runs themselves; also found by id, import, org and connection',
  writes: 'found by the public id of a write, which belongs to one org',
  write_items: 'found by the public id of a write, which belongs to one org',
  firings: 'found by org and schedule',
  crm_shares: 'slots of a CRM org, which orgs of Lading share',
  record_claims: 'claims on records of a CRM org, which orgs of Lading share',
  replacements: 'claims on records of a CRM org, which orgs of Lading share',
}

const listKeyed = async () => {
  const {rows} = await here.hot.query<{name: string; column: string}>(`
    select distinct on (t.oid) t.relname as name, coalesce(c.attname, '') as column
    from pg_class t
    join pg_attribute a on a.attrelid = t.oid and a.attname in ('run_no', 'chain_no') and not a.attisdropped
    left join pg_index i on i.indrelid = t.oid and i.indisprimary
    left join pg_attribute c on c.attrelid = t.oid and c.attnum = i.indkey[0]
    where t.relnamespace = 'public'::regnamespace and t.relkind = 'r'`)
  return rows
}

test('the key of each table of the engine begins with the number of a run or chain, so with the org', async t => {
  const others = (await listKeyed()).filter(({column}) => !['run_no', 'chain_no'].includes(column)).map(({name}) => name)
  t.deepEqual(
    others.toSorted(),
    Object.keys(otherwise)
      .filter(name => name !== 'runs')
      .toSorted(),
  )
})

test('each such table can be partitioned by ranges of orgs with all its unique keys, unless a name finds its rows', async t => {
  const tables = (await listKeyed()).filter(({name}) => !(name in otherwise))
  const refused: string[] = []
  for (const {name, column} of tables)
    await here.hot.query(`create table parts_of_${name} (like ${name} including all) partition by range (${column})`).catch(error => {
      if (sqlStateOf(error) !== FEATURE_NOT_SUPPORTED) throw error
      refused.push(name)
    })
  // An object of storage is found by its key, a bulk job by the secret of its callback.
  t.deepEqual(refused.toSorted(), ['bulk_jobs', 'segments'])
})

/** Statements that do not name a run or chain for each such table, each by a part of its text, with the reason. */
const unnamed: Record<string, string> = {
  'update bulk_jobs set hint': 'the callback of the CRM names a job by its secret only',
  'select key from loose_objects': 'deletes objects of storage that no row names',
  "select key, exists (select from orgs where id = split_part(key, '/', 1)": 'looks for objects of storage that no row names',
}

test('each statement names the run or chain of each such table that it reads or changes', async t => {
  const tables = (await listKeyed()).map(({name}) => name).filter(name => !(name in otherwise))
  t.true(tables.length > 25)
  const touches = new RegExp(String.raw`\b(?:from|into|update|join|using) (?:only )?(?:${[...tables, 'log_entries'].join('|')})\b`)
  const statements = listStatements().filter(({text}) => touches.test(text))
  t.true(statements.length > 150)
  const wrong = statements.filter(({text}) => !NAMES.test(text))
  const [listed, left] = [Object.keys(unnamed), wrong.map(({text}) => text)]
  t.deepEqual(
    left.filter(text => !listed.some(part => text.includes(part))),
    [],
  )
  t.deepEqual(
    listed.filter(part => !left.some(text => text.includes(part))),
    [],
    'listed, but no such statement exists',
  )
})

/** A condition on the number of a run or chain, or an insert that begins with it. */
const NAMES = /\b(?:run_no|chain_no)\)? *(?:=|in|>=|between) *(?:\$|any\(|\w+\.\w+|\()|using \(run_no|into \w+ \((?:run_no|chain_no)\b/

/** Lists the texts of template literals in `sql`, with single blanks. */
const listStatements = () => {
  const root = fileURLToPath(new URL('../../sql', import.meta.url))
  const sources = parse(globSync('*.ts', {cwd: root}).map(path => [path, readFileSync(`${root}/${path}`, 'utf8')]))
  return sources.flatMap(({path, nodes}) =>
    nodes.filter(node => is.isTemplateLiteral(node)).map(node => ({path, text: node.getText().replace(/\s+/g, ' ')})),
  )
}
