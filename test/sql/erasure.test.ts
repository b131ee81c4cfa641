import test from 'ava'
import {HOW} from '../../sql/chain-rows.ts'
import {sqlStateOf} from '../../sql/database.ts'
import {ofRuns} from '../../sql/erasure.ts'
import {admit, GATE_SHUT, settle} from '../../sql/ledger.ts'
import {beginRun, created, intent, openLedger, settlement} from '../support/running.ts'
import {until} from '../support/until.ts'

/**
 * Tables whose rows are not deleted with an org, each with the reason. Every other table, also one that is added later, must have a cascading
 * foreign key path to `orgs`.
 */
const nobodys: Record<string, string> = {
  orgs: 'the org itself',
  migrations: 'belongs to the schema',
  release_switches: 'belongs to the schema',
  clock_offset: 'belongs to the tests',
  maintenance_switch: 'one row for the whole deployment',
  plan_versions: 'belongs to the deployment',
  credit_packs: 'belongs to the deployment',
  people: 'people do not belong to an org',
  payment_events: 'the log of payment events, which loses its org and keeps only ids of the provider',
  staff_accounts: 'belongs to people',
  staff_addresses: 'belongs to people',
  staff_actions: 'actions of staff outlive orgs, with only the id of the org',
  used_sign_ins: 'only random ids, for an hour',
  sessions: 'belongs to people; a remaining session reports that the org was deleted',
  api_tokens: 'blanked, so that a token reports that the org was deleted',
  crm_budgets: 'belongs to a CRM org, deleted with its last connection',
  crm_shares: 'belongs to a CRM org, for seconds',
  crm_allowances: 'belongs to a CRM org, deleted with its last connection',
  run_snapshots: 'deleted with their runs (`deleteRuns`)',
  loose_objects: 'keys of objects: deleted when the org’s folder is (`deleteDoomedUnder`)',
  retention_nights: 'belongs to the deployment',
  oauth_clients: 'clients belong to no org; their grants are deleted with the member',
}

/** Tables with rows for each batch. They have no foreign keys: the trigger `leave_no_rows` deletes their rows with the run. */
const ofBatches = ['run_log', 'log_batches', 'admissions', 'admitted_blocks', 'sends', 'unsettled', 'chain_rows']

test('every table is deleted with its org, or is listed with its owner', async t => {
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
  const staying = tables.map(({name}) => name).filter(name => !ofBatches.includes(name) && (name === 'orgs' || !going.has(name)))
  t.deepEqual(staying.toSorted(), Object.keys(nobodys).toSorted(), 'a table that neither goes with its org nor is listed here')
  t.deepEqual(
    keys.filter(({child, parent}) => ofBatches.includes(child) && parent === 'runs'),
    [],
  )
  for (const name of ofBatches) t.true((ofRuns as string[]).includes(name), `${name} is deleted in pieces first`)
})

type Ledger = Awaited<ReturnType<typeof openLedger>>

const countHot = async (here: Ledger) => {
  const counted: Record<string, number> = {}
  for (const name of ofBatches) counted[name] = Number((await here.hot.query(`select count(*) as n from ${name}`)).rows[0].n)
  return counted
}

const intents = (run: Awaited<ReturnType<typeof beginRun>>) => [
  intent(run, 1, 1, 3),
  {...intent(run, 2, 4, 3), rows: intent(run, 2, 4, 3).rows.map(row => ({...row, isMetered: false}))},
]
const chained = {module: 1, key: 'f.1', recordId: '1', how: HOW.made, matchKey: null}
const question = {module: 1, key: 'f.2', flow: 1, number: 2, kind: 0, target: null, hasUniqueKey: false, attempt: 1}
const ends = (run: Awaited<ReturnType<typeof beginRun>>) => [
  settlement(run, 1, {batches: [], log: [created(1)], kept: [chained], opened: [question], counts: [1]}),
  settlement(run, 1, {
    batches: [2],
    released: [{module: 1, flow: 1, key: 'f.3', number: 3}],
    closed: [{module: 1, key: 'f.2'}],
    patched: [{module: 1, key: 'f.1', filled: [], isWhole: true}],
  }),
]

/** Begins a run with a row in every table that a batch writes. */
const beginHot = async (here: Ledger) => {
  const run = await beginRun(here)
  await admit(here.hot, intents(run)[0]!)
  await settle(here.hot, ends(run)[0]!)
  await here.hot.query('update run_heads set is_packed = false where run_no = $1', [run.run])
  await admit(here.hot, intent(run, 9, 20, 1))
  await settle(here.hot, settlement(run, 2, {log: [created(2)]}))
  return run
}

test('deleting a run by any path leaves no row of its batches, and later writes are refused', async t => {
  const here = await openLedger(t.title)
  t.teardown(here.close)
  for (const [path, deletion] of [
    ['the run', 'delete from runs where run_no = $1'],
    ['its org', 'delete from orgs where id = (select org_id from runs where run_no = $1)'],
    ['its import', `with r as (select * from runs where run_no = $1) delete from imports where import_no = (select import_no from r)`],
  ] as const) {
    const run = await beginHot(here)
    await here.hot.query(
      `with c as (
        insert into connectors (id, org_id, name, dc, crm_org_id, api_domain, crm_user_id, crm_user_name, scopes)
        select 'con_' || run_no, org_id, 'x', 'eu', id, 'x', 'x', 'x', '{}' from runs where run_no = $1
        returning id, org_id),
      i as (insert into imports (id, org_id, connector_id, name) select 'imp_' || id, org_id, id, 'x' from c returning import_no)
      update runs set import_no = i.import_no from i where run_no = $1`,
      [run.run],
    )
    for (const [name, count] of Object.entries(await countHot(here))) t.true(count > 0, name)
    await here.hot.query(deletion, [run.run])
    for (const late of [...intents(run).map(one => () => admit(here.hot, one)), ...ends(run).map(one => () => settle(here.hot, one))])
      t.is(await late().then(() => 'done', sqlStateOf), GATE_SHUT, path)
    t.deepEqual(await countHot(here), Object.fromEntries(ofBatches.map(name => [name, 0])), path)
  }
})

test('a batch that is committed while its run is deleted leaves nothing, whichever is first', async t => {
  const here = await openLedger(t.title)
  t.teardown(here.close)
  const nothing = Object.fromEntries(ofBatches.map(name => [name, 0]))
  const waiting = () =>
    until(
      async () =>
        (await here.hot.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).rowCount,
      count => count === 1,
    )
  for (const isBatchFirst of [true, false]) {
    const run = await beginHot(here)
    const held = await here.hot.connect()
    await held.query('begin')
    // The statement on `held` has written but not committed. The other statement waits for the run head.
    if (isBatchFirst) await admit(held as never, intent(run, 2, 10, 5))
    else await held.query('delete from runs where run_no = $1', [run.run])
    const other = isBatchFirst ? here.hot.query('delete from runs where run_no = $1', [run.run]) : admit(here.hot, intent(run, 2, 10, 5))
    const said = other.then(() => 'done', sqlStateOf)
    await waiting()
    await held.query('commit')
    held.release()
    t.is(await said, isBatchFirst ? 'done' : GATE_SHUT)
    t.deepEqual(await countHot(here), nothing)
  }
})

test('rows of a retry chain are kept until its last run is deleted', async t => {
  const here = await openLedger(t.title)
  t.teardown(here.close)
  const [first, second] = [await beginHot(here), await beginRun(here)]
  await here.hot.query('update runs set chain_no = $1 where run_no = $2', [first.run, second.run])
  await here.hot.query('delete from runs where run_no = $1', [first.run])
  t.like(await countHot(here), {run_log: 0, log_batches: 0, sends: 0, chain_rows: 1})
  await here.hot.query('delete from runs where run_no = $1', [second.run])
  t.like(await countHot(here), {chain_rows: 0})
})

test('tables that outlive an org have no column for it except the listed ones', async t => {
  const {hot, close} = await openLedger(t.title)
  t.teardown(close)
  const {rows} = await hot.query<{name: string; column: string}>(
    `select c.table_name as name, column_name as column from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' and column_name ~ '(^|_)org(_id)?$' and column_name !~ '^crm_' order by 1, 2`,
  )
  t.deepEqual(
    rows.filter(({name}) => name in nobodys).map(({name, column}) => `${name}.${column}`),
    ['api_tokens.org_id', 'payment_events.org_id', 'sessions.home_org_id', 'sessions.org_id', 'staff_actions.org_id'],
  )
})
