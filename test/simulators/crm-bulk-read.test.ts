import test, {type ExecutionContext} from 'ava'
import {readZip} from './crm/zip-file.ts'
import {type Call, callAs, openCrm, type Reply} from './crm-caller.ts'

const path = '/crm/bulk/v8/read'
const json = {'content-type': 'application/json'}

// The facts are from the vendor's OpenAPI of bulk reads (2026) and its pages of bulk read limits.

const openBulk = async (t: ExecutionContext) => {
  const opened = await openCrm(t, {switches: {accessTokenSeconds: 200_000}})
  const {crm, call} = opened
  const {accessToken} = crm.grant({email: 'ana@example.org'})
  const start = (query: object, by: Call = call) => by('POST', path, {query}, json)
  const state = async (id: string) => (await call('GET', `${path}/${id}`)).body.data[0]
  const download = async (id: string) => {
    const answer = await fetch(`${crm.url}${path}/${id}/result`, {headers: {authorization: `Zoho-oauthtoken ${accessToken}`}})
    return {status: answer.status, bytes: Buffer.from(await answer.arrayBuffer())}
  }
  return {...opened, start, state, download}
}
const idOf = ({body}: Reply): string => body.data[0].details.id
const csvIn = (zip: Buffer) => readZip(zip)!.map(({name, bytes}) => ({name, lines: bytes.toString().trimEnd().split('\r\n')}))

test('a bulk read is executed on the clock, and its file has the records as they are at the end', async t => {
  const {crm, start, state, download} = await openBulk(t)
  const [account] = crm.create('example', 'Accounts', [{Account_Name: 'Acme, "Ltd"'}])
  const order = {Name: 'One', Channels: ['Web', 'Shop'], Due_At: '2026-03-05T10:00:00+01:00', Account: account!.details.id}
  const [made] = crm.create('example', 'Orders', [order])
  const created = await start({
    module: {api_name: 'Orders'},
    fields: ['Name', 'Channels', 'Due_At', 'Paid', 'Account', 'Account.Account_Name'],
  })
  t.like(created, {status: 201, body: {data: [{code: 'ADDED_SUCCESSFULLY', details: {operation: 'read', state: 'ADDED'}}]}})
  const id = idOf(created)
  t.is((await state(id)).state, 'ADDED')
  t.is((await download(id)).status, 404)
  crm.clock.advance(50_000)
  t.is((await state(id)).state, 'IN PROGRESS')
  crm.update('example', 'Orders', [{id: made!.details.id, Name: 'Two'}])
  crm.clock.advance(11_000)
  const {result, ...done} = await state(id)
  t.like(done, {state: 'COMPLETED', file_type: 'csv', query: {module: {api_name: 'Orders'}}})
  t.deepEqual(result, {
    page: 1,
    per_page: 200_000,
    count: 1,
    more_records: false,
    next_page_token: null,
    download_url: `${path}/${id}/result`,
  })
  const [file, ...others] = csvIn((await download(id)).bytes)
  t.deepEqual([file!.name, others], [`${id}.csv`, []])
  t.deepEqual(file!.lines, [
    'id,Name,Channels,Due_At,Paid,Account,Account.Account_Name',
    `${made!.details.id},Two,Web;Shop,2026-03-05T10:00:00+01:00,false,${account!.details.id},"Acme, ""Ltd"""`,
  ])
})

test('pages follow one another by the token, which belongs to its user for a day', async t => {
  const {crm, start, state, download} = await openBulk(t)
  crm.setSwitches({bulkReadPage: 2, bulkSeconds: 0, bulkRowMs: 0})
  const leads = crm.create('example', 'Leads', [{Last_Name: 'A'}, {Last_Name: 'B'}, {Last_Name: 'C'}])
  const first = idOf(await start({module: {api_name: 'Leads'}, fields: ['Last_Name']}))
  const {more_records, next_page_token} = (await state(first)).result
  t.true(more_records)
  crm.remove('example', 'Leads', [String(leads[0]!.details.id)])
  const second = idOf(await start({page_token: next_page_token}))
  t.like((await state(second)).result, {count: 1, more_records: false})
  t.deepEqual(csvIn((await download(second)).bytes)[0]!.lines.slice(1), [`${leads[2]!.details.id},C`])
  t.is((await start({page_token: next_page_token}, callAs(crm, 'ben@example.org'))).body.code, 'INVALID_REQUEST')
  crm.clock.advance(25 * 3600_000)
  t.is((await start({page_token: next_page_token})).body.code, 'INVALID_REQUEST')
  t.is((await download(second)).status, 404, 'a file is kept for a day')
})

test('criteria select records, and wrong ones are refused', async t => {
  const {crm, start, state, download} = await openBulk(t)
  crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  crm.create('example', 'Orders', [{Name: 'One', Code: 'a', Quantity: 3}, {Name: 'Two', Code: 'b', Quantity: 5}, {Name: 'Three'}])
  const named = async (criteria: object) => {
    const id = idOf(await start({module: {api_name: 'Orders'}, fields: ['Name'], criteria}))
    await state(id)
    return csvIn((await download(id)).bytes)[0]!
      .lines.slice(1)
      .map(line => line.split(',')[1])
  }
  const is = (api_name: string, comparator: string, value: unknown) => ({field: {api_name}, comparator, value})
  t.deepEqual(await named(is('Code', 'in', ['A', 'b'])), ['One', 'Two'])
  t.deepEqual(await named(is('Code', 'equal', `\${EMPTY}`)), ['Three'])
  t.deepEqual(await named({group_operator: 'and', group: [is('Quantity', 'greater_than', 3), is('Name', 'not_contains', 'e')]}), ['Two'])
  const code = async (criteria: object, fields = ['Name']) => (await start({module: {api_name: 'Orders'}, fields, criteria})).body.code
  t.is(await code(is('Paid', 'contains', 't')), 'FIELD_COMPARATOR_IN_CRITERIA_NOT_SUPPORTED')
  t.is(await code(is('Name', 'in', Array(21).fill('x'))), 'VALUE_LIMIT_EXCEEDED_IN_CRITERIA')
  t.is(await code({group_operator: 'or', group: Array(26).fill(is('Name', 'equal', 'x'))}), 'CRITERIA_LIMIT_EXCEEDED')
  t.is(await code(is('Name', 'equal', 'x'), ['Nothing']), 'FIELD_NOT_AVAILABLE')
})

test('a job costs 50 credits, needs its scope and a JSON type, and only ten results are answered a minute', async t => {
  const {crm, call, start, state, download} = await openBulk(t)
  crm.setSwitches({bulkSeconds: 0, bulkRowMs: 0})
  const used = () => crm.credits('example').used
  const before = used()
  const id = idOf(await start({module: {api_name: 'Leads'}, fields: ['Last_Name']}))
  t.is(used() - before, 50)
  await state(id)
  t.is(used() - before, 51)
  const statuses = await Array.fromAsync({length: 11}, async () => (await download(id)).status)
  t.deepEqual(statuses, [...Array(10).fill(200), 429])
  crm.clock.advance(61_000)
  t.is((await download(id)).status, 200)
  t.is((await call('POST', path, {query: {module: {api_name: 'Leads'}}})).status, 415)
  const asReader = callAs(crm, 'ana@example.org', ['ZohoCRM.modules.ALL'])
  t.is((await start({module: {api_name: 'Leads'}}, asReader)).body.code, 'OAUTH_SCOPE_MISMATCH')
  t.like(await call('GET', `${path}/4400001000000000009`), {status: 404, body: {code: 'RESOURCE_NOT_FOUND'}})
  t.is((await start({module: {api_name: 'Nothing'}})).body.code, 'MODULE_NOT_AVAILABLE')
})

test('on request a job fails, never ends, or has an unreadable file', async t => {
  const {crm, start, state, download} = await openBulk(t)
  const query = {module: {api_name: 'Leads'}, fields: ['Last_Name']}
  const fail = (type: 'bulkFailure' | 'bulkStuck') => crm.faults.add({match: {path, method: 'POST'}, action: type})
  fail('bulkFailure')
  const failed = idOf(await start(query))
  fail('bulkStuck')
  const stuck = idOf(await start(query))
  const sound = idOf(await start(query))
  crm.clock.advance(70_000)
  t.like(await state(failed), {state: 'FAILURE', result: {error_message: {code: 'INTERNAL_SERVER_ERROR'}}})
  t.is((await state(stuck)).state, 'IN PROGRESS')
  await state(sound)
  const {bytes} = await download(sound)
  crm.faults.add({match: {path: `${path}/*/result`}, action: 'brokenZip'})
  t.true((await download(sound)).bytes.length < bytes.length)
})
