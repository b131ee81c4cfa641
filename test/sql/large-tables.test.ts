import test from 'ava'
import {z} from 'zod'
import {type Db, sql} from '../../sql/database.ts'
import {isWrittenRecently} from '../../sql/recent-writes.ts'
import {listRecheckable} from '../../sql/template-rechecks.ts'
import {listUnownedRuns} from '../../sql/unowned-runs.ts'
import {beginRun, expireLease, openLedger} from '../support/running.ts'

let here: Awaited<ReturnType<typeof openLedger>>
let open: Awaited<ReturnType<typeof beginRun>>
const many = 3_000
const org = sql.fragment`(select id from orgs)`

/** The org has one open run, and many ended runs and old imports. */
test.before(async () => {
  here = await openLedger('large-tables')
  open = await beginRun(here)
  await expireLease(here, open.run)
  await here.db.query(sql.unsafe`update runs set state = 'writing', engine = 'worker'`)
  await here.db.query(sql.unsafe`
    insert into connectors (id, org_id, name, dc, crm_org_id, api_domain, crm_user_id, crm_user_name, scopes)
    values ('con', ${org}, 'C', 'local', 'example', 'https://crm.test', '1', 'U', '{}')`)
  await here.db.query(sql.unsafe`
    insert into templates (id, org_id, connector_id, name, sources, flows, version) values ('tpl', ${org}, 'con', 'T', '[]', '[]', 2)`)
  await here.db.query(sql.unsafe`
    insert into imports (id, org_id, connector_id, name, template_id, template_version)
    select 'imp_' || n, ${org}, 'con', 'I', case when n % 30 = 0 then 'tpl' else 'tpl_' || n % 30 end, 1 from generate_series(1, ${many}::int) n`)
  const ended = await here.db.anyFirst(sql.type(z.object({no: z.number()}))`
    insert into runs (id, org_id, connector_id, declared_rows, engine, state, ended_at)
    select 'run_' || n, ${org}, 'con', 1, 'worker', 'ended', lading_now() - interval '1 day' from generate_series(1, ${many}::int) n returning run_no as no`)
  await here.db.query(sql.unsafe`
    insert into run_heads (run_no, rows_limit, limit_by) select no, 1, 'declaration' from unnest(${sql.array(ended, 'int8')}) no`)
  for (const table of ['runs', 'run_heads', 'imports']) await here.db.query(sql.unsafe`analyze ${sql.identifier([table])}`)
})
test.after.always(() => here?.close())

/** Returns the number of rows of the table that the query reads. The counts may include earlier transactions of the session. */
const rowsRead = (table: 'runs' | 'imports', query: (db: Db) => Promise<unknown>) =>
  here.db.transaction(async tx => {
    const count = () =>
      tx.oneFirst(sql.type(z.object({read: z.number()}))`
        select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_xact_user_tables where relname = ${table}`)
    const before = await count()
    await query(tx)
    return (await count()) - before
  })

test('the sweep for runs without an owner reads the open runs only', async t => {
  t.deepEqual(
    (await listUnownedRuns(here.db, {limit: 10})).map(({id}) => id),
    [open.id],
  )
  const read = await rowsRead('runs', db => listUnownedRuns(db, {limit: 10}))
  t.true(read < 100, `${read}`)
})

test('a batch that asks for recent writes does not read the runs that ended long ago', async t => {
  const recent = {dc: 'local', crmOrgId: 'example', run: open.run, seconds: 60}
  const read = await rowsRead('runs', db => isWrittenRecently(db, recent))
  t.true(read < 100, `${read}`)
})

test('re-checks of a template do not read the imports of its earlier versions', async t => {
  const {id} = await here.db.one(sql.type(z.object({id: z.string()}))`select id from orgs`)
  const read = await rowsRead('imports', db => listRecheckable(db, {org: id, connector: 'con', limit: 20}))
  t.true(read < 100, `${read}`)
})
