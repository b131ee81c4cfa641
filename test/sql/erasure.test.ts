import test from 'ava'
import {openLedger} from '../running.ts'

/**
 * Whatever an org has goes with its row: a table that is made tomorrow is found by itself. Every table leads to `orgs` by foreign keys that
 * cascade, unless it is listed here with whose it is.
 */
const nobodys: Record<string, string> = {
  orgs: 'the org itself',
  migrations: 'the schema’s',
  clock_offset: 'the tests’',
  plan_versions: 'the house’s',
  credit_packs: 'the house’s',
  people: 'people are not an org’s',
  staff_addresses: 'people’s',
  staff_actions: 'what staff did outlives orgs; nothing of the org is in it but its id',
  sessions: 'people’s; whoever still has one is told that the org is gone',
  api_tokens: 'blanked, to tell their bearers that the org is gone',
  crm_budgets: 'a CRM org’s: forgotten with the last connection to it',
  crm_shares: 'a CRM org’s, for seconds',
  crm_allowances: 'a CRM org’s: forgotten with the last connection to it',
  run_snapshots: 'deleted with their runs (`deleteRuns`)',
  loose_objects: 'keys of objects: deleted when the org’s folder is (`deleteDoomedUnder`)',
  retention_nights: 'the house’s',
}

test('every table goes with its org, or says whose it is', async t => {
  const {hot, close} = await openLedger(t.title)
  t.teardown(close)
  const {rows: tables} = await hot.query<{name: string}>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const {rows: keys} = await hot.query<{child: string; parent: string}>(
    `select conrelid::regclass::text as child, confrelid::regclass::text as parent
    from pg_constraint where contype = 'f' and confdeltype = 'c' and connamespace = 'public'::regnamespace`,
  )
  const going = new Set(['orgs'])
  for (let before = 0; before < going.size; ) {
    before = going.size
    for (const {child, parent} of keys) if (going.has(parent)) going.add(child)
  }
  const staying = tables.map(({name}) => name).filter(name => name === 'orgs' || !going.has(name))
  t.deepEqual(staying.toSorted(), Object.keys(nobodys).toSorted(), 'a table that neither goes with its org nor is listed here')
})

test('nothing that stays has a column for an org but those that are listed', async t => {
  const {hot, close} = await openLedger(t.title)
  t.teardown(close)
  const {rows} = await hot.query<{name: string; column: string}>(
    `select c.table_name as name, column_name as column from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' and column_name ~ '(^|_)org(_id)?$' and column_name !~ '^crm_' order by 1`,
  )
  t.deepEqual(
    rows.filter(({name}) => name in nobodys).map(({name, column}) => `${name}.${column}`),
    ['api_tokens.org_id', 'sessions.org_id', 'staff_actions.org_id'],
  )
})
