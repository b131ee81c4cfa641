import test from 'ava'
import {accounts, openOrg, runImport} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3'}})
  org = await openOrg(here)
})

type Row = {name: string; number: string; city: string}
const row = (name: string, number: string, city: string): Row => ({name, number, city})
const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`
const csvOf = (rows: Row[]) =>
  `name,number,city\n${rows.map(({name, number, city}) => [name, number, city].map(quote).join(',')).join('\n')}\n`

/** Runs the rows through one flow over Accounts, asserts that every row is accounted for, and returns the outcome of each row. */
const importRows = async (rows: Row[], match: object | null = accounts.match, start: object = {}) => {
  const {run, path} = await runImport(org, {csv: csvOf(rows), flow: {...accounts, match: match ?? undefined}, start})
  const {finals, log, outcomes} = await assertAccounted(here, {org, path, run, rows: rows.length})
  const outcomeOf = (number: number) => finals.get(number)?.outcome
  return {run, path, log, outcomes, finals, outcomeOf, codes: log.map(({code}) => code)}
}

const found = (of: (record: any) => boolean) => here.crm.records('example', 'Accounts').filter(of)
const numbered = (number: string) => found(record => record.Account_Number === number)
const named = (name: string) => found(record => record.Account_Name === name)
const byNumber = (onOne: string, onMany = 'skip') => ({by: ['Account_Number'], onOne, onMany, unchanged: 'write'})
const byName = (onOne: string, onMany = 'skip') => ({by: ['Account_Name'], onOne, onMany, unchanged: 'write'})

/** Returns `count` rows with unique numbers, except that the last row repeats the first. */
const spread = (prefix: string, count: number) => [
  row('First', `${prefix}0`, 'Early'),
  ...Array.from({length: count - 2}, (_, n) => row(`Filler ${n}`, `${prefix}${n + 1}`, 'Town')),
  row('Last', `${prefix}0`, 'Late'),
]

for (const [where, count] of [
  ['next to each other', 2],
  ['150 rows apart', 151],
  ['in two chunks of the file', 620],
] as const) {
  test.serial(`a value that occurs twice in a file, ${where}: the first row creates the record and the last one updates it`, async t => {
    const prefix = `O${count}-`
    const {outcomes, outcomeOf, codes} = await importRows(spread(prefix, count))
    t.deepEqual(outcomes, {created: count - 1, updated: 1})
    t.deepEqual([outcomeOf(1), outcomeOf(count)], ['created', 'updated'])
    t.false(codes.includes('DUPLICATE_DATA'), "the CRM's uniqueness is never what finds it")
    t.like(numbered(`${prefix}0`), [{Account_Name: 'Last', Billing_City: 'Late'}])
    t.is(numbered(`${prefix}0`).length, 1)
  })
}

test.serial('a later row with the same value is skipped under onOne skip, and names the record of the first row', async t => {
  const {outcomes, finals} = await importRows(spread('S-', 151), byNumber('skip'))
  t.deepEqual(outcomes, {created: 150, skipped: 1})
  t.like(finals.get(151), {code: 'MATCH_ONE', recordId: finals.get(1).recordId, attempt: 0})
  t.like(numbered('S-0'), [{Account_Name: 'First'}])
})

test.serial('a later row with the same value is refused by the CRM under onOne create, as it would be alone', async t => {
  const {outcomes, finals} = await importRows(spread('C-', 151), byNumber('create'))
  t.deepEqual(outcomes, {created: 150, refused: 1})
  t.like(finals.get(151), {code: 'DUPLICATE_DATA', outcome: 'refused'})
})

test.serial('rows with the same unique value keep their order without matching', async t => {
  const {outcomes, outcomeOf} = await importRows(spread('N-', 151), null)
  t.deepEqual(outcomes, {created: 150, refused: 1})
  t.deepEqual([outcomeOf(1), outcomeOf(151)], ['created', 'refused'])
})

test.serial('equal rows create as many records without matching and without a unique field', async t => {
  const rows = Array.from({length: 120}, () => row('Twin', '', 'Town'))
  t.deepEqual((await importRows(rows, null)).outcomes, {created: 120})
  t.is(named('Twin').length, 120)
})

test.serial('two rows that match one existing record both update it, in file order', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'There', Account_Number: 'T-0'}])
  const {outcomes} = await importRows(spread('T-', 151))
  t.deepEqual(outcomes, {created: 149, updated: 2})
  t.like(numbered('T-0'), [{Account_Name: 'Last', Billing_City: 'Late'}])
})

test.serial('a later row is planned again and creates the record when the first row with its value is refused', async t => {
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 0}})
  const {outcomes, outcomeOf} = await importRows(spread('R-', 100))
  t.deepEqual(outcomes, {created: 99, refused: 1})
  t.deepEqual([outcomeOf(1), outcomeOf(100)], ['refused', 'created'])
})

test.serial('a later row waits for the outcome of an unanswered first row with its value', async t => {
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: 'dropAfter'})
  const {outcomes, outcomeOf, finals} = await importRows(spread('W-', 100))
  t.deepEqual(outcomes, {created: 99, updated: 1})
  t.deepEqual([outcomeOf(1), outcomeOf(100)], ['created', 'updated'])
  t.is(finals.get(100).recordId, finals.get(1).recordId)
  t.like(numbered('W-0'), [{Account_Name: 'Last'}])
})

test.serial('a waiting row is not overtaken by a later row that shares a key with it', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Kept', Account_Number: 'P-1'}])
  here.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: {type: 'refuse', index: 0}})
  // Row 2 waits for row 1's number. Row 3 shares only its name with row 2, and must be the last to write the record.
  const rows = [row('Other', 'P-2', 'One'), row('Kept', 'P-2', 'Two'), row('Kept', 'P-3', 'Three')]
  const {outcomes} = await importRows(rows, byName('update'))
  t.deepEqual(outcomes, {refused: 1, updated: 2})
  t.like(named('Kept'), [{Account_Number: 'P-3', Billing_City: 'Three'}])
})

test.serial('a hundred rows of one record are written one after another', async t => {
  const rows = Array.from({length: 100}, (_, n) => row('Only', 'H-1', `Town ${n}`))
  const {outcomes} = await importRows(rows)
  t.deepEqual(outcomes, {created: 1, updated: 99})
  t.like(numbered('H-1'), [{Billing_City: 'Town 99'}])
})

test.serial('spellings of one value match one record, in the file and in the CRM', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Acme Inc', Account_Number: 'Sp-1'}])
  const rows = [
    row('ACME INC', 'sp-1', 'One'),
    row(' Acme Inc', 'SP-1', 'Two'),
    row('acme inc  ', 'Sp-1 ', 'Three'),
    row('x', 'sp-2', 'a'),
    row('y', 'SP-2', 'b'),
  ]
  const {outcomes, codes} = await importRows(rows)
  t.deepEqual(outcomes, {created: 1, updated: 4})
  t.false(codes.includes('DUPLICATE_DATA'))
  t.is(found(({Account_Number}) => /^sp-/i.test(String(Account_Number).trim())).length, 2)
})

test.serial('a value with surrounding or repeated blanks still matches its record', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Blank Co'}])
  const {outcomes} = await importRows([row('  Blank   Co ', '', 'One')], byName('update'))
  t.deepEqual(outcomes, {updated: 1})
})

test.serial("a record is found by the CRM's duplicate refusal if the CRM's queries are case-sensitive", async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Case', Account_Number: 'Case-1'}])
  here.crm.setSwitches({coqlCaseSensitive: true})
  const {outcomes} = await importRows([row('Case', 'CASE-1', 'One'), row('Case', 'case-1', 'Two')])
  here.crm.setSwitches({coqlCaseSensitive: false})
  t.deepEqual(outcomes, {updated: 2})
  t.is(found(({Account_Number}) => /^case-1$/i.test(String(Account_Number))).length, 1)
})

test.serial('values with quotes, backslashes, percent signs and other scripts match exactly', async t => {
  const names = [`O'Brien & "Sons"`, 'C:\\new\\temp', "'' or 1=1", '100 % wool', 'Ünïcode 東京 🚀', 'ends in \\', "a\\'b"]
  const rows = names.map((name, n) => row(name, `Q-${n}`, 'Town'))
  t.deepEqual((await importRows(rows, byName('update'))).outcomes, {created: names.length})
  t.deepEqual((await importRows(rows, byName('update'))).outcomes, {updated: names.length})
  for (const name of names) t.is(named(name).length, 1, name)
})

test.serial('records are all found when a file has more distinct values than one query takes', async t => {
  const rows = Array.from({length: 130}, (_, n) => row(`Many ${n}`, `M-${n}`, 'Town'))
  here.crm.create(
    'example',
    'Accounts',
    rows.map(({name, number}) => ({Account_Name: name, Account_Number: number})),
  )
  t.deepEqual((await importRows(rows)).outcomes, {updated: 130})
})

for (const [onMany, outcomes] of [
  ['ask', {skipped: 1}],
  ['skip', {skipped: 1}],
  ['first', {updated: 1}],
] as const) {
  test.serial(`a row that matches several records is handled by the policy ${onMany}`, async t => {
    const name = `Several ${onMany}`
    here.crm.create('example', 'Accounts', [{Account_Name: name}, {Account_Name: name}, {Account_Name: name}])
    const {outcomes: seen, finals} = await importRows([row(name, '', 'Chosen')], byName('update', onMany))
    t.deepEqual(seen, outcomes)
    if (onMany !== 'first') t.like(finals.get(1), {code: 'MATCH_MANY', recordId: null})
    const chosen = named(name).filter(({Billing_City}) => Billing_City === 'Chosen')
    t.is(chosen.length, onMany === 'first' ? 1 : 0)
  })
}

test.serial('a file of one row is imported', async t => {
  t.deepEqual((await importRows([row('Single', 'One-1', 'Town')])).outcomes, {created: 1})
})

test.serial('the only update among many creates is sent long before the end of the file', async t => {
  here.crm.create('example', 'Accounts', [{Account_Name: 'Old', Account_Number: 'LATE-0'}], {as: 'ana@example.org'})
  here.crm.setSwitches({latencyMs: 100})
  t.teardown(() => here.crm.setSwitches({latencyMs: 0}))
  here.crm.clearJournal()
  const rows = [row('New', 'LATE-0', 'Town'), ...Array.from({length: 11_999}, (_, n) => row(`Filler ${n}`, `LATE-${n + 1}`, 'Town'))]
  const {outcomes} = await importRows(rows, byNumber('update'))
  t.deepEqual(outcomes, {created: 11_999, updated: 1})
  const writes = here.crm.journal().filter(({method, path}) => ['POST', 'PUT'].includes(method) && path.endsWith('/Accounts'))
  const update = writes.findIndex(({method}) => method === 'PUT')
  t.true(update >= 0 && update < 90, `the update is call ${update} of ${writes.length}`)
})
