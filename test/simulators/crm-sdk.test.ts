import {readdirSync, rmSync} from 'node:fs'
import test from 'ava'
import {readCsv} from './crm/csv-text.ts'
import {seedOrgs} from './crm/seed.ts'
import {readZip, writeZip, type ZipEntry} from './crm/zip-file.ts'
import {type CrmSimulator, startCrm} from './crm.ts'
import {choice, openSdk, record} from './vendor-sdk.ts'
import {sdkBulk} from './vendor-sdk-bulk.ts'

/** The vendor's SDK keeps process-wide state. So this file has one simulator, and its tests run serially. */
let crm: CrmSimulator
type Sdk = Awaited<ReturnType<typeof openSdk>>
let sdk: Sdk
const opened: Sdk[] = []
const signIn = async (email: string) => {
  const signedIn = await openSdk(crm, email)
  opened.push(signedIn)
  return signedIn
}

test.before(async () => {
  crm = await startCrm()
  sdk = await signIn('ana@example.org')
})
test.after.always(async () => {
  await crm.stop()
  for (const {folder} of opened) rmSync(folder, {recursive: true})
})

const codes = ({entries}: {entries: {code: string}[]}) => entries.map(({code}) => code)

test.serial('the SDK creates records with display values, subform rows and links, and reads them back', async t => {
  const [account] = crm.create('example', 'Accounts', [{Account_Name: 'Acme'}])
  const {status, entries} = await sdk.operations('Orders').create([
    {
      Name: 'First',
      Code: 'C-1',
      Status: choice('Fresh'),
      Channels: [choice('Web'), choice('Shop')],
      Quantity: 3,
      Amount: 2.5,
      Order_Date: new Date('2026-03-02T00:00:00Z'),
      Paid: true,
      Account: record({id: account!.details.id}),
      Order_Lines: [record({Product: 'Bolt', Quantity: 10}), record({Product: 'Nut'})],
    },
    {Name: 'Second', Code: 'C-2'},
  ])
  t.is(status, 201)
  t.deepEqual(codes({entries}), ['SUCCESS', 'SUCCESS'])
  t.like(crm.record('example', 'Orders', entries[0]!.id!)!, {Status: 'Fresh', Channels: ['Web', 'Shop'], Quantity: 3})
  const [read] = (await sdk.operations('Orders').read(entries[0]!.id!)).records
  t.is((read!.Status as any).getValue(), 'Fresh')
  t.is(String((read!.Account as any).getId()), String(account!.details.id))
  const lines = read!.Order_Lines as any[]
  t.deepEqual(
    lines.map(line => line.getKeyValue('Product')),
    ['Bolt', 'Nut'],
  )
})

test.serial('the SDK itself refuses the actual value of a picklist, so nothing is sent', async t => {
  crm.clearJournal()
  const error = await t.throwsAsync(sdk.operations('Orders').create([{Name: 'Third', Status: choice('New')}]))
  t.regex(String((error as any).code), /UNACCEPTED/)
  t.deepEqual(crm.journal({method: 'POST', path: '/crm/v8/Orders'}), [])
})

test.serial('the SDK reads mixed answers: a duplicate, a missing field and a success', async t => {
  const mixed = await sdk.operations('Orders').create([{Name: 'Copy', Code: 'C-1'}, {Code: 'C-3'}, {Name: 'Fourth', Code: 'C-4'}])
  t.is(mixed.status, 207)
  t.deepEqual(codes(mixed), ['DUPLICATE_DATA', 'MANDATORY_NOT_FOUND', 'SUCCESS'])
  const refused = await sdk.operations('Orders').create([{Name: 'Copy', Code: 'C-1'}])
  t.is(refused.status, 400)
  t.deepEqual(codes(refused), ['DUPLICATE_DATA'])
})

test.serial('the SDK updates, upserts and deletes', async t => {
  const orders = sdk.operations('Orders')
  const [id] = crm.records('example', 'Orders').map(one => one.id)
  t.like(await orders.update([{id, Name: 'Renamed', Status: choice('Shipped')}]), {status: 200, entries: [{code: 'SUCCESS', id}]})
  t.is(crm.record('example', 'Orders', id!)!.Name, 'Renamed')
  const upserted = await orders.upsert(
    [
      {Name: 'Again', Code: 'C-2'},
      {Name: 'Fifth', Code: 'C-5'},
    ],
    ['Code'],
  )
  t.is(upserted.status, 200)
  t.deepEqual(
    upserted.entries.map(({action}) => action),
    ['update', 'insert'],
  )
  const gone = upserted.entries[1]!.id!
  t.like(await orders.remove([gone]), {status: 200, entries: [{code: 'SUCCESS', id: gone}]})
  t.is(crm.record('example', 'Orders', gone), null)
})

test.serial('the SDK replaces subform rows: one changed, one removed, one added', async t => {
  const [order] = crm.records('example', 'Orders').filter(one => one.Code === 'C-1')
  const read = async () => (await sdk.operations('Orders').read(order!.id)).records[0]!.Order_Lines as any[]
  const [bolt, nut] = await read()
  const Order_Lines = [record({id: bolt.getId(), Quantity: 4}), record({id: nut.getId(), _delete: null}), record({Product: 'Pin'})]
  t.is((await sdk.operations('Orders').update([{id: order!.id, Order_Lines}])).status, 200)
  t.deepEqual(
    (await read()).map(line => [line.getKeyValue('Product'), line.getKeyValue('Quantity')]),
    [
      ['Bolt', 4],
      ['Pin', null],
    ],
  )
})

test.serial('the SDK can search and query; lookups in query results have no name', async t => {
  const found = await sdk.operations('Orders').search('(Code:equals:C-1)')
  t.deepEqual(
    found.records.map(({Code}) => Code),
    ['C-1'],
  )
  const {status, records} = await sdk.query(
    "select Code, Status, Account, Account.Account_Name from Orders where Status = 'Shipped' limit 0, 10",
  )
  t.is(status, 200)
  t.like(records[0]!, {Code: 'C-1', 'Account.Account_Name': 'Acme'})
  t.deepEqual([...(records[0]!.Account as Map<string, unknown>).keys()], ['id'])
  t.is((await sdk.query("select Code from Orders where Status = 'New' limit 0, 10")).status, 204)
})

test.serial('the SDK reads and writes in bulk', async t => {
  crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0, bulkResultUrl: 'relative'})
  const read = await sdkBulk.startRead('Orders', ['Name', 'Code'])
  t.deepEqual(await sdkBulk.checkRead(read), {state: 'COMPLETED', count: crm.count('example', 'Orders')})
  const [{name, bytes}] = readZip(await sdkBulk.downloadRead(read)) as [ZipEntry]
  t.is(name, `${read}.csv`)
  t.deepEqual(readCsv(bytes.toString())[0], ['id', 'Name', 'Code'])

  const fileId = await uploadRows('Code,Name\nS-1,One\nC-1,Again')
  const write = await sdkBulk.startWrite('Orders', {fileId, findBy: 'Code', fields: ['Code', 'Name']})
  const {url, ...ended} = await sdkBulk.checkWrite(write)
  t.deepEqual(ended, {status: 'COMPLETED', added: 1})
  const [result] = readZip(await sdkBulk.downloadWrite(url)) as [ZipEntry]
  t.deepEqual(
    readCsv(result.bytes.toString()).map(row => row[2]),
    ['STATUS', 'ADDED', 'SKIPPED'],
  )
})

const uploadRows = async (csv: string): Promise<string> => {
  const {accessToken} = crm.grant({email: 'ana@example.org'})
  const body = new FormData()
  body.append('file', new Blob([new Uint8Array(writeZip([{name: 'rows.csv', bytes: Buffer.from(csv)}]))]), 'rows.zip')
  const headers = {authorization: `Zoho-oauthtoken ${accessToken}`, feature: 'bulk-write', 'X-CRM-ORG': seedOrgs[0]!.zgid}
  const answer = await fetch(`${crm.url}/content/crm/v8/upload`, {method: 'POST', headers, body})
  return ((await answer.json()) as any).details.file_id
}

const mints = () => crm.journal().filter(({path}) => path === '/oauth/v2/token').length
const writes = {Accounts: {Account_Name: 'One'}, Leads: {Last_Name: 'Two'}, Contacts: {Last_Name: 'Three'}}

test.serial('one access token of the SDK serves every module', async t => {
  crm.clearJournal()
  for (const [module, values] of Object.entries(writes))
    t.deepEqual(codes(await sdk.operations(module).create([values])), ['SUCCESS'], module)
  t.is(mints(), 0)
})

test.serial('the SDK renews its access token before it expires, between modules', async t => {
  // The SDK renews a token with at most five seconds left.
  crm.setSwitches({accessTokenSeconds: 5, mintsPerTenMinutes: 100})
  const again = await signIn('eva@example.org')
  crm.clearJournal()
  for (const [module, values] of Object.entries(writes))
    t.deepEqual(codes(await again.operations(module).create([values])), ['SUCCESS'], module)
  t.true(mints() >= Object.keys(writes).length, String(mints()))
})

test.serial('the SDK caches fields in its own folder', t => {
  t.true(readdirSync(sdk.folder).includes('resources'))
})
