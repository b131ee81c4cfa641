import test from 'ava'
import {type Call, ids, openCrm} from './crm-caller.ts'

const people = [
  {Last_Name: 'Ono', First_Name: 'Yuki', Email: 'yuki.ono@example.org', Phone: '+34 600 111 222', Annual_Revenue: 10},
  {Last_Name: 'Onomura', Company: 'Acme (Spain), Ltd', Email: 'a-b@example.org', Phone: '600-333', Annual_Revenue: 20},
  {Last_Name: 'Lee', Company: 'Beta', Email: 'lee@beta.example', Annual_Revenue: 30},
]

const search = async (call: Call, query: string): Promise<string[]> => {
  const {status, body} = await call('GET', `Leads/search?${query}`)
  return status === 204 ? [] : body.data.map((record: any) => record.Last_Name).sort()
}
const criteria = (text: string) => `criteria=${encodeURIComponent(text)}`

test('a word search finds the word anywhere in any text, ignoring case', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Leads', people)
  t.deepEqual(await search(call, 'word=ONO'), ['Ono', 'Onomura'])
  t.deepEqual(await search(call, 'word=acme'), ['Onomura'])
  t.deepEqual(await search(call, 'word=nobody'), [])
})

test('email and phone searches match parts, ignoring punctuation', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Leads', people)
  t.deepEqual(await search(call, 'email=ono@example'), ['Ono'])
  t.deepEqual(await search(call, 'email=a_b@example.org'), ['Onomura'])
  t.deepEqual(await search(call, 'phone=600333'), ['Onomura'])
  t.deepEqual(await search(call, 'phone=600'), ['Ono', 'Onomura'])
})

test('of several search parameters criteria come first, then email, phone and word', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Leads', people)
  t.deepEqual(await search(call, `word=ono&email=lee@&${criteria('(Last_Name:equals:Onomura)')}`), ['Onomura'])
  t.deepEqual(await search(call, 'word=ono&email=lee@'), ['Lee'])
})

test('criteria: equals means contains, and conditions can be joined', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Leads', people)
  t.deepEqual(await search(call, criteria('(Last_Name:equals:ono)')), ['Ono', 'Onomura'])
  t.deepEqual(await search(call, criteria('((Last_Name:starts_with:Ono)and(Annual_Revenue:greater_than:10))')), ['Onomura'])
  t.deepEqual(await search(call, criteria('((Last_Name:equals:Lee)or(Annual_Revenue:between:5,15))')), ['Lee', 'Ono'])
  t.deepEqual(await search(call, criteria('(Last_Name:in:Lee,Ono)')), ['Lee', 'Ono', 'Onomura'])
  t.deepEqual(await search(call, criteria('(Annual_Revenue:not_equal:20)')), ['Lee', 'Ono'])
})

test('criteria: brackets, commas and backslashes have to be escaped', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Leads', [...people, {Last_Name: 'Slash', Company: 'C:\\'}])
  t.deepEqual(await search(call, criteria('(Company:equals:Acme \\(Spain\\)\\, Ltd)')), ['Onomura'])
  t.deepEqual(await search(call, criteria('(Company:equals:C:\\\\)')), ['Slash'])
})

test('invalid criteria are INVALID_QUERY', async t => {
  const {call} = await openCrm(t)
  const refused = async (text: string) => {
    const {status, body} = await call('GET', `Leads/search?${criteria(text)}`)
    return [status, body.code]
  }
  for (const text of [
    '(Nothing:equals:a)',
    '(Last_Name:greater_than:a)',
    '(Annual_Revenue:equals:many)',
    'Last_Name=a',
    '(Last_Name:equals:a',
  ]) {
    t.deepEqual(await refused(text), [400, 'INVALID_QUERY'], text)
  }
  const many = Array.from({length: 16}, () => '(Last_Name:equals:a)').join('and')
  t.deepEqual(await refused(`(${many})`), [400, 'CRITERIA_LIMIT_EXCEEDED'])
  const values = Array.from({length: 101}, (_, index) => `v${index}`).join(',')
  t.deepEqual(await refused(`(Last_Name:in:${values})`), [400, 'INVALID_QUERY'])
})

test('a search without a term or with too short a one is refused', async t => {
  const {call} = await openCrm(t)
  t.like(await call('GET', 'Leads/search'), {status: 400, body: {code: 'EXPECTED_PARAM_MISSING'}})
  t.like(await call('GET', 'Leads/search?word=a'), {status: 400, body: {code: 'INVALID_DATA', details: {param_name: 'word'}}})
  t.is((await call('GET', 'Leads/search?word=**')).status, 400)
  t.is((await call('GET', 'Leads/search?phone=12')).status, 400)
})

test('a search is paged to two thousand records and has no page tokens', async t => {
  const {crm, call} = await openCrm(t)
  crm.create(
    'example',
    'Leads',
    Array.from({length: 250}, (_, index) => ({Last_Name: `Ono ${index}`})),
  )
  const {body} = await call('GET', 'Leads/search?word=ono&fields=Last_Name&per_page=200')
  t.deepEqual(body.info, {per_page: 200, count: 200, sort_by: 'id', page: 1, sort_order: 'desc', more_records: true})
  t.deepEqual(Object.keys(body.data[0]), ['Last_Name', 'id'])
  t.is((await call('GET', 'Leads/search?word=ono&page=2')).body.data.length, 50)
  t.like(await call('GET', 'Leads/search?word=ono&page=11'), {status: 400, body: {code: 'LIMIT_REACHED'}})
})

test('search can lag behind writes, while reads and COQL do not', async t => {
  const {crm, call} = await openCrm(t)
  crm.setSwitches({searchLagSeconds: 30})
  const [id] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'Ono'}]}))
  t.deepEqual(await search(call, 'word=ono'), [])
  t.is((await call('GET', `Leads/${id}`)).status, 200)
  t.is((await call('POST', 'coql', {select_query: "select id from Leads where Last_Name = 'Ono'"})).status, 200)
  crm.clock.advance(30_000)
  t.deepEqual(await search(call, 'word=ono'), ['Ono'])
  await call('PUT', 'Leads', {data: [{id, Last_Name: 'Lee'}]})
  t.deepEqual(await search(call, 'word=ono'), ['Lee'])
  t.deepEqual(await search(call, 'word=lee'), [])
  crm.clock.advance(30_000)
  t.deepEqual(await search(call, 'word=ono'), [])
  t.deepEqual(await search(call, 'word=lee'), ['Lee'])
})

test('converted leads are found only on request', async t => {
  const {crm, call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'Ono'}]}))
  crm.mark('example', 'Leads', [id!], {converted: true})
  t.deepEqual(await search(call, 'word=ono'), [])
  t.deepEqual(await search(call, 'word=ono&converted=both'), ['Ono'])
})
