import test from 'ava'
import {ids, openCrm} from './crm-caller.ts'

const names = (reply: any): string[] => reply.body.data.map((record: any) => record.Account_Name)
const accounts = (count: number) => Array.from({length: count}, (_, index) => ({Account_Name: `Account ${index}`}))

test('a read by ids omits absent records and returns the others once, newest first', async t => {
  const {crm, call} = await openCrm(t)
  const made = ids(await call('POST', 'Accounts', {data: accounts(3)}))
  crm.remove('example', 'Accounts', [made[1]!])
  const {body} = await call('GET', `Accounts?fields=Account_Name&ids=${made[0]},${made[2]},${made[1]},${made[0]},12345`)
  t.deepEqual(
    body.data.map((record: any) => record.id),
    [made[2], made[0]],
  )
  t.like(body.info, {count: 2, more_records: false, page: 1})
  t.is((await call('GET', 'Accounts?fields=Account_Name&ids=12345')).status, 204)
})

test('ids are strings of nineteen digits', async t => {
  const {call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Accounts', {data: accounts(1)}))
  t.regex(id!, /^\d{19}$/)
  t.true(Number(id) > Number.MAX_SAFE_INTEGER)
})

test('a list needs up to fifty fields, and takes up to a hundred ids', async t => {
  const {call} = await openCrm(t)
  const many = (count: number, of = 'Answer_') => Array.from({length: count}, (_, index) => `${of}${index + 1}`).join(',')
  t.deepEqual((await call('GET', 'Accounts')).body, {
    code: 'REQUIRED_PARAM_MISSING',
    details: {param_name: 'fields'},
    message: 'One of the expected parameter is missing',
    status: 'error',
  })
  t.like(await call('GET', `Surveys?fields=${many(51)}`), {
    status: 400,
    body: {code: 'LIMIT_EXCEEDED', details: {limit: 50, param_name: 'fields'}},
  })
  t.is((await call('GET', `Surveys?fields=${many(50)}`)).status, 204)
  t.like(await call('GET', `Accounts?fields=Phone&ids=${many(101, '1')}`), {
    status: 400,
    body: {code: 'LIMIT_EXCEEDED', details: {limit: 100, param_name: 'ids'}},
  })
  t.is((await call('GET', `Accounts?fields=Phone&ids=${many(100, '1')}`)).status, 204)
  t.like(await call('GET', 'Accounts?fields=Phone&ids=12,x'), {status: 400, body: {code: 'INVALID_DATA', details: {param_name: 'ids'}}})
})

test('a list is paged to two thousand records, then continued by token', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Accounts', accounts(2100))
  const first = await call('GET', 'Accounts?fields=Account_Name&per_page=200')
  t.like(first.body.info, {count: 200, page: 1, more_records: true, sort_by: 'id', sort_order: 'desc'})
  t.is(names(first)[0], 'Account 2099')
  const tenth = await call('GET', 'Accounts?fields=Account_Name&per_page=200&page=10')
  t.is(names(tenth).at(-1), 'Account 100')
  t.like(await call('GET', 'Accounts?fields=Account_Name&per_page=200&page=11'), {
    status: 400,
    body: {code: 'DISCRETE_PAGINATION_LIMIT_EXCEEDED', details: {limit: 2000}},
  })
  const last = await call('GET', `Accounts?fields=Account_Name&per_page=200&page_token=${tenth.body.info.next_page_token}`)
  t.is(names(last).length, 100)
  t.is(names(last)[0], 'Account 99')
  t.like(last.body.info, {more_records: false, next_page_token: null})
})

test('a page token is bound to its request, expires after a day and excludes a page number', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Accounts', accounts(5))
  const token = (await call('GET', 'Accounts?fields=Account_Name&per_page=2')).body.info.next_page_token
  const code = async (query: string) => (await call('GET', query)).body.code
  t.is(await code(`Accounts?fields=Phone&per_page=2&page_token=${token}`), 'TOKEN_BOUND_DATA_MISMATCH')
  t.is(await code(`Accounts?fields=Account_Name&page=2&page_token=${token}`), 'AMBIGUITY_DURING_PROCESSING')
  t.is(await code('Accounts?fields=Account_Name&cvid=1&sort_by=Created_Time'), 'AMBIGUITY_DURING_PROCESSING')
  t.is(await code('Accounts?fields=Account_Name&page_token=rubbish'), 'INVALID_DATA')
  const {accessToken} = crm.grant({email: 'ana@example.org'})
  crm.clock.advance(3_599_000)
  t.is((await call('GET', `Accounts?fields=Account_Name&per_page=2&page_token=${token}`)).status, 200)
  crm.clock.advance(24 * 3600_000)
  const late = crm.grant({email: 'ana@example.org'}).accessToken
  t.not(accessToken, late)
  const reply = await fetch(`${crm.url}/crm/v8/Accounts?fields=Account_Name&per_page=2&page_token=${token}`, {
    headers: {authorization: `Bearer ${late}`},
  })
  t.like(await reply.json(), {code: 'EXPIRED_VALUE'})
})

test('a list can be sorted by time in both directions', async t => {
  const {crm, call} = await openCrm(t)
  const made = ids(await call('POST', 'Accounts', {data: accounts(3)}))
  crm.clock.advance(5000)
  await call('PUT', 'Accounts', {data: [{id: made[1], Phone: '1'}]})
  t.is(names(await call('GET', 'Accounts?fields=Account_Name&sort_by=Modified_Time'))[0], 'Account 1')
  t.deepEqual(names(await call('GET', 'Accounts?fields=Account_Name&sort_by=id&sort_order=asc')), ['Account 0', 'Account 1', 'Account 2'])
  t.is((await call('GET', 'Accounts?fields=Account_Name&sort_by=Phone')).status, 400)
})

test('one record is returned whole, and an absent one is 204', async t => {
  const {crm, call} = await openCrm(t)
  const [account] = ids(await call('POST', 'Accounts', {data: [{Account_Name: 'Acme'}]}))
  const [id] = ids(await call('POST', 'Orders', {data: [{Name: 'First', Account: {id: account}, Quantity: 2, Amount: 2.5}]}))
  const {status, body} = await call('GET', `Orders/${id}`)
  t.is(status, 200)
  t.like(body.data[0], {
    id,
    Name: 'First',
    Account: {name: 'Acme', id: account},
    Number: 'ORD-1000',
    Total: 5,
    Paid: false,
    Code: null,
    Order_Lines: [],
    $has_more: {Order_Lines: false},
    $approval_state: 'approved',
    Created_Time: '2026-03-02T09:15:40+01:00',
    Owner: {name: 'Ana Ruiz', email: 'ana@example.org'},
  })
  t.false('Secret' in body.data[0])
  t.false('info' in body)
  crm.remove('example', 'Orders', [id!])
  t.is((await call('GET', `Orders/${id}`)).status, 204)
  t.is((await call('GET', 'Orders/abc')).status, 400)
  t.like(await call('GET', 'Nothing/1'), {status: 400, body: {code: 'INVALID_MODULE', details: {resource_path_index: 0}}})
  t.is((await call('GET', 'Visits?fields=Name')).body.code, 'INVALID_MODULE')
})

test('lists omit subform rows and multi-select lookups, and cut rich text to 500 characters', async t => {
  const {call} = await openCrm(t)
  const [product] = ids(await call('POST', 'Products', {data: [{Product_Name: 'Bolt'}]}))
  const order = {
    Name: 'First',
    Notes: 'x'.repeat(900),
    Order_Lines: [{Product: 'Nut'}],
    Related_Products: [{Related_Product: {id: product}}],
  }
  const [id] = ids(await call('POST', 'Orders', {data: [order]}))
  const [listed] = (await call('GET', `Orders?fields=Name,Notes,Order_Lines,Related_Products&ids=${id}`)).body.data
  t.like(listed, {Order_Lines: null, Related_Products: null})
  t.is(listed.Notes.length, 500)
  const [whole] = (await call('GET', `Orders/${id}`)).body.data
  t.is(whole.Notes.length, 900)
  t.is(whole.Order_Lines[0].Product, 'Nut')
  t.like(whole.Related_Products[0].Related_Product, {name: 'Bolt', id: product})
})

test('converted leads are listed only on request', async t => {
  const {crm, call} = await openCrm(t)
  const [lead, other] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'Ono'}, {Last_Name: 'Lee'}]}))
  crm.mark('example', 'Leads', [lead!], {converted: true})
  const found = async (query: string) => ((await call('GET', `Leads?fields=Last_Name&${query}`)).body?.data ?? []).map((one: any) => one.id)
  t.deepEqual(await found(''), [other])
  t.deepEqual(await found('converted=true'), [lead])
  t.deepEqual(await found(`converted=both&ids=${lead},${other}`), [other, lead])
  t.deepEqual(await found(`ids=${lead}`), [])
})

test('times are in the time zone of the reading user', async t => {
  const {crm, call} = await openCrm(t)
  crm.addUser('example', {
    email: 'ana@example.org',
    firstName: 'Ana',
    lastName: 'Ruiz',
    profile: 'Administrator',
    timeZone: 'America/New_York',
  })
  const [id] = ids(await call('POST', 'Orders', {data: [{Name: 'First', Due_At: '2026-07-01T12:00:00+02:00'}]}))
  t.like((await call('GET', `Orders/${id}`)).body.data[0], {Created_Time: '2026-03-02T03:15:40-05:00', Due_At: '2026-07-01T06:00:00-04:00'})
})

test('If-Modified-Since gives 304, or only newer records', async t => {
  const {crm, call} = await openCrm(t)
  const [first, second] = ids(await call('POST', 'Accounts', {data: accounts(2)}))
  crm.clock.advance(10_000)
  await call('PUT', `Accounts/${second}`, {data: [{Phone: '1'}]})
  const since = {'if-modified-since': '2026-03-02T08:15:45Z'}
  t.is((await call('GET', `Accounts/${first}`, undefined, since)).status, 304)
  t.is((await call('GET', `Accounts/${second}`, undefined, since)).status, 200)
  t.deepEqual(names(await call('GET', 'Accounts?fields=Account_Name', undefined, since)), ['Account 1'])
  const later = {'if-modified-since': '2026-03-03T08:15:45Z'}
  t.is((await call('GET', 'Accounts?fields=Account_Name', undefined, later)).status, 304)
})

test('deleted records are listed, as permanently deleted after sixty days', async t => {
  const {crm, call} = await openCrm(t)
  t.is((await call('GET', 'Accounts/deleted')).status, 204)
  crm.remove('example', 'Accounts', ids(await call('POST', 'Accounts', {data: accounts(1)})))
  const {body} = await call('GET', 'Accounts/deleted?type=recycle')
  t.like(body.data[0], {display_name: 'Account 0', type: 'recycle', deleted_by: {name: 'Ana Ruiz'}})
  const since = (time: string) => call('GET', 'Accounts/deleted', undefined, {'if-modified-since': time})
  t.is((await since('2026-03-02T08:15:39+00:00')).body.data.length, 1)
  t.is((await since('2026-03-02T08:15:40+00:00')).status, 204, 'nothing was deleted later')
  crm.clock.advance(61 * 24 * 3600_000)
  const {accessToken} = crm.grant({email: 'ana@example.org'})
  const reply = await fetch(`${crm.url}/crm/v8/Accounts/deleted?type=permanent`, {headers: {authorization: `Bearer ${accessToken}`}})
  t.is(((await reply.json()) as any).data[0].type, 'permanent')
})

test('the count of a module is a number', async t => {
  const {call} = await openCrm(t)
  await call('POST', 'Accounts', {data: accounts(7)})
  t.deepEqual((await call('GET', 'Accounts/actions/count')).body, {count: 7})
})

test('each org sees only its own records', async t => {
  const {crm, call} = await openCrm(t)
  await call('POST', 'Accounts', {data: accounts(1)})
  t.is(crm.count('example', 'Accounts'), 1)
  t.is(crm.count('other', 'Accounts'), 0)
})
