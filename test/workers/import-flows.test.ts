import test from 'ava'
import {openOrg, readLog, runImport} from '../support/importing.ts'
import {assertAccounted} from '../support/oracle.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let org: Awaited<ReturnType<typeof openOrg>>

test.before(async t => {
  here = await startTestDeployment(t, {workers: ['imports', 'discovery'], environment: {LEASE_SECONDS: '3'}})
  org = await openOrg(here)
})

const column = (field: string, source: string, more: object = {}) => ({field, mode: 'column', source, ...more})
const resultsOf = async (path: string, run: {id: string}) => {
  const answer = await org.call('GET', `${path}/results.csv?run=${run.id}`)
  return answer.text.trim().split('\r\n')
}

const accountsBy = (name: string, by: string, source: string, more: object[] = []) => ({
  module: 'Accounts',
  match: {by: [by], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [column('Account_Name', name), ...(by === 'Account_Name' ? [] : [column(by, source)]), ...more],
})

test.serial('two flows that write one module from one row write two plan rows, and the results show both records', async t => {
  const flow = (name: string) => ({module: 'Accounts', fields: [column('Account_Name', name)]})
  const csv = 'one,two\nTwo A,Two B\nTwo C,Two D\n'
  const {path, run} = await runImport(org, {csv, flow: [flow('one'), flow('two')]})
  t.like(run, {rowsWritten: 4, declaredRows: 4, progress: {done: 4, total: 4}})
  t.is(run.counts.Accounts.created, 4)
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  t.deepEqual(
    log.map(({flowId, rowKey}) => [flowId, rowKey]),
    [
      ['f', 'f.1'],
      ['f', 'f.2'],
      ['f2', 'f2.1'],
      ['f2', 'f2.2'],
    ],
  )
  const ids = (number: number) => log.filter(({rowNumber}) => rowNumber === number).map(({recordId}) => recordId)
  const lines = await resultsOf(path, run)
  t.deepEqual(lines, [
    'one,two,Result,Accounts record,Error',
    `Two A,Two B,Written,${ids(1).join('; ')},`,
    `Two C,Two D,Written,${ids(2).join('; ')},`,
  ])
})

test.serial('a later flow matches the record that an earlier flow created from the same row', async t => {
  const csv = 'name,number,city\nMeet,Me-1,Old Town\n'
  const flow = (city: object) => accountsBy('name', 'Account_Number', 'number', [{field: 'Billing_City', ...city}])
  const {run} = await runImport(org, {csv, flow: [flow({mode: 'column', source: 'city'}), flow({mode: 'static', staticValue: 'New Town'})]})
  t.like(run.counts.Accounts, {created: 1, updated: 1})
  const made = here.crm.records('example', 'Accounts').filter(({Account_Number}) => Account_Number === 'Me-1')
  t.like(made, [{Billing_City: 'New Town'}])
  t.is(made.length, 1)
})

test.serial("flows that match one module by different fields do not match each other's keys", async t => {
  // Row 1 creates an account numbered 7001; the second flow looks for one named 7001.
  const csv = 'name,number,other\nFirst,7001,7001\n'
  const {run} = await runImport(org, {
    csv,
    flow: [accountsBy('name', 'Account_Number', 'number'), accountsBy('other', 'Account_Name', 'other')],
  })
  t.like(run.counts.Accounts, {created: 2, updated: 0})
  const of = (name: string) => here.crm.records('example', 'Accounts').filter(({Account_Name}) => Account_Name === name)
  t.deepEqual([of('First').length, of('7001').length], [1, 1])
})

test.serial('flows over two modules run in their order, each with its own record column in the results', async t => {
  const csv = 'name,mail\nAcme,a@example.org\nBolt,b@example.org\n'
  const contacts = {module: 'Contacts', match: {by: ['Email']}, fields: [column('Last_Name', 'name'), column('Email', 'mail')]}
  const {path, run} = await runImport(org, {csv, flow: [contacts, {module: 'Leads', fields: [column('Last_Name', 'name')]}]})
  t.like(run.counts, {Contacts: {created: 2}, Leads: {created: 2}})
  const [header, first] = await resultsOf(path, run)
  t.is(header, 'name,mail,Result,Contacts record,Leads record,Error')
  t.regex(first!, /^Acme,a@example.org,Written,\d+,\d+,$/)
})

const orders = {
  module: 'Orders',
  match: {by: ['Code'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [
    column('Name', 'name'),
    column('Code', 'code'),
    column('Status', 'status'),
    column('Quantity', 'quantity', {empty: 'clear'}),
    column('Order_Date', 'date'),
    column('Short', 'short'),
    column('Notes', 'notes'),
  ],
}
const ordersCsv = (lines: string[]) => `name,code,status,quantity,date,short,notes\n${lines.join('\n')}\n`

test.serial('rows that cannot be sent fail alone, each with its reason and field, and are not counted', async t => {
  const csv = ordersCsv([
    'Good,V-1,Fresh,3,2026-01-31,short,',
    'Quantity,V-2,Fresh,three,2026-01-31,,',
    'Date,V-3,Fresh,3,31.01.2026,,',
    'Long,V-4,Fresh,3,,longer than ten,',
    'Listed,V-5,Unknown,3,,,',
    'Ragged,V-6,Fresh,3',
    'Ragged,V-7,Fresh,3,,,,,more',
    ',,,,,,',
    'Again,V-1,shipped,4,2026-02-01,,',
  ])
  const {path, run} = await runImport(org, {csv, flow: orders})
  t.like(run.counts.Orders, {created: 1, updated: 1, failed: 7})
  t.is(run.rowsWritten, 2)
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  const failed = log.filter(({outcome}) => outcome === 'failed').sort((a, b) => a.rowNumber - b.rowNumber)
  t.deepEqual(
    failed.map(({rowNumber, code, target, attempt}) => [rowNumber, code, target, attempt]),
    [
      [2, 'INVALID_VALUE', 'Quantity', 0],
      [3, 'INVALID_VALUE', 'Order_Date', 0],
      [4, 'TOO_LONG', 'Short', 0],
      [5, 'NOT_IN_PICKLIST', 'Status', 0],
      [6, 'ROW_RAGGED', '', 0],
      [7, 'ROW_RAGGED', '', 0],
      [8, 'ROW_EMPTY', '', 0],
    ],
  )
  const lines = await resultsOf(path, run)
  t.deepEqual(
    lines.slice(1).map(line => /,(Written|Failed),/.exec(line)?.[1]),
    ['Written', 'Failed', 'Failed', 'Failed', 'Failed', 'Failed', 'Failed', 'Failed', 'Written'],
  )
  t.like(
    here.crm.records('example', 'Orders').filter(({Code}) => Code === 'V-1'),
    [{Name: 'Again', Status: 'Shipped', Quantity: 4, Order_Date: '2026-02-01'}],
  )
})

test.serial('the clear token clears a field; an empty cell leaves it unchanged, or clears it where the flow says so', async t => {
  const before = ordersCsv(['Full,C-1,Fresh,3,2026-01-31,short,note'])
  await runImport(org, {csv: before, flow: orders})
  const {run} = await runImport(org, {csv: ordersCsv(['Full,C-1,\\N,,,\\N,']), flow: orders})
  t.is(run.counts.Orders.updated, 1)
  const [order] = here.crm.records('example', 'Orders').filter(({Code}) => Code === 'C-1')
  t.like(order, {Status: null, Quantity: null, Order_Date: '2026-01-31', Short: null, Notes: 'note'})
})

test.serial('line N of the results is row N of the file, regardless of the outcome of the row', async t => {
  const csv = ordersCsv(Array.from({length: 1_200}, (_, n) => (n % 3 ? `Row,L-${n},Fresh,${n},,,` : `Row,L-${n},Fresh,many,,,`)))
  const {path, run} = await runImport(org, {csv, flow: orders})
  const lines = await resultsOf(path, run)
  t.is(lines.length, 1_201)
  t.true(lines.slice(1).every((line, n) => line.startsWith(`Row,L-${n},`) && line.includes(n % 3 ? ',Written,' : ',Failed,')))
})

test.serial('a run whose rows all fail accounts for every row', async t => {
  const {path, run} = await runImport(org, {
    csv: `name,number,city\nx,${'n'.repeat(300)},y\n`,
    flow: accountsBy('name', 'Account_Number', 'number'),
  })
  t.deepEqual((await assertAccounted(here, {org, path, run, rows: 1})).outcomes, {failed: 1})
})

test.serial('a lookup whose value only a row without a record has names this row and its end', async t => {
  const accounts = {module: 'Accounts', guard: 'false', fields: [column('Account_Name', 'company')]}
  const contacts = {module: 'Contacts', fields: [column('Last_Name', 'name'), {field: 'Account_Name', mode: 'search', source: 'company'}]}
  const {path, run} = await runImport(org, {csv: 'name,company\nLone,Guarded\n', flow: [accounts, contacts]})
  t.like(run.counts, {Accounts: {skipped: 1}, Contacts: {failed: 1}})
  const failed = (await readLog(org.call, `${path}/runs/${run.id}`)).find(({outcome}) => outcome === 'failed')
  t.is(failed!.code, 'PARENT_FAILED')
  t.regex(failed!.message, /^Row 1 of flow f has this Account_Name\. It was skipped \(GUARDED\) and has no record/)
})
