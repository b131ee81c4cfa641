import test from 'ava'
import {type Call, ids, openCrm, type Reply} from './crm-caller.ts'

const query = (call: Call, select_query: string): Promise<Reply> => call('POST', 'coql', {select_query})
const names = ({body}: Reply): string[] => body?.data.map((row: any) => row.Account_Name) ?? []

const accounts = [
  {Account_Name: 'Acme', Account_Number: 'A-1', Employees: 10, Industry: 'Retail', Billing_City: "L'Hospitalet"},
  {Account_Name: 'Beta', Account_Number: 'B-1', Employees: 20, Industry: 'Energy', Billing_City: 'Bilbao'},
  {Account_Name: 'Gamma', Account_Number: 'G-1', Employees: 30, Industry: 'Retail'},
]

test('a query returns the requested columns and always the id', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Accounts', accounts)
  const {status, body} = await query(call, "select Account_Name, Employees from Accounts where Account_Number = 'A-1' limit 0, 200")
  t.is(status, 200)
  t.deepEqual(body, {data: [{Account_Name: 'Acme', Employees: 10, id: '4400001000000900001'}], info: {count: 1, more_records: false}})
  t.is((await query(call, "select id from Accounts where Account_Number = 'none'")).status, 204)
})

for (const [where, expected] of [
  ["Account_Number = 'a-1'", ['Acme']],
  ["Account_Number in ('A-1', 'g-1', 'x')", ['Acme', 'Gamma']],
  ["Account_Name in ('acme')", ['Acme']],
  ["Account_Name not in ('acme', 'beta')", ['Gamma']],
  ["Account_Name != 'Acme'", ['Beta', 'Gamma']],
  ["Account_Name like 'a%'", ['Acme']],
  ["Account_Name like '%m%'", ['Acme', 'Gamma']],
  ["Account_Name not like '%m%'", ['Beta']],
  ['Employees > 10', ['Beta', 'Gamma']],
  ['Employees >= 10 and Employees < 30', ['Acme', 'Beta']],
  ['Employees between 15 and 25', ['Beta']],
  ['Employees not between 15 and 25', ['Acme', 'Gamma']],
  ['Employees = 30', ['Gamma']],
  ['Billing_City is null', ['Gamma']],
  ['Billing_City is not null', ['Acme', 'Beta']],
  ["Billing_City = 'L\\'Hospitalet'", ['Acme']],
  ["Billing_City = 'L''Hospitalet'", ['Acme']],
  ["((Industry = 'Retail' and Employees > 10) or Account_Name = 'Beta')", ['Beta', 'Gamma']],
  ["(Industry = 'Retail') and (Employees > 10)", ['Gamma']],
  ["Created_Time >= '2026-03-02T08:15:40+00:00'", ['Acme', 'Beta', 'Gamma']],
  ["Created_Time > '2026-03-02T09:15:40+01:00'", []],
  ["id = '4400001000000900002'", ['Beta']],
  ['id in (4400001000000900001, 4400001000000900003)', ['Acme', 'Gamma']],
  ["Created_By = '4400001000000201001'", ['Acme', 'Beta', 'Gamma']],
  ["Owner.id = '4400001000000201002'", []],
] as const) {
  test(`a query returns the records where ${where}`, async t => {
    const {crm, call} = await openCrm(t)
    crm.create('example', 'Accounts', [...accounts])
    const reply = await query(call, `select Account_Name from Accounts where ${where}`)
    t.true([200, 204].includes(reply.status), JSON.stringify(reply.body))
    t.deepEqual(names(reply), [...expected])
  })
}

test('query results follow updates and deletes at once, also with an index', async t => {
  const {crm, call} = await openCrm(t)
  const [id, other] = ids(
    await call('POST', 'Accounts', {
      data: [
        {Account_Name: 'Acme', Phone: '1'},
        {Account_Name: 'acme', Phone: '2'},
      ],
    }),
  )
  const find = async (name: string) => names(await query(call, `select Account_Name from Accounts where Account_Name = '${name}'`))
  t.is((await find('ACME')).length, 2)
  await call('PUT', 'Accounts', {data: [{id, Account_Name: 'Beta'}]})
  t.deepEqual(await find('acme'), ['acme'])
  t.deepEqual(await find('beta'), ['Beta'])
  crm.remove('example', 'Accounts', [other!])
  t.deepEqual(await find('acme'), [])
  await call('POST', 'Accounts', {data: [{Account_Name: 'ACME'}]})
  t.deepEqual(await find('acme'), ['ACME'])
})

test('text is compared ignoring case, or with case by a switch', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Accounts', accounts)
  crm.setSwitches({coqlCaseSensitive: true})
  t.is((await query(call, "select id from Accounts where Account_Number = 'a-1'")).status, 204)
  t.is((await query(call, "select id from Accounts where Account_Number = 'A-1'")).status, 200)
  t.is((await query(call, "select id from Accounts where Account_Name in ('acme')")).status, 204)
  t.is((await query(call, "select id from Accounts where Account_Name like 'a%'")).status, 204)
})

test('query results are sorted by id or the given order, and cut to a window', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Accounts', accounts)
  const all = 'select Account_Name from Accounts where id is not null'
  t.deepEqual(names(await query(call, all)), ['Acme', 'Beta', 'Gamma'])
  t.deepEqual(names(await query(call, `${all} order by Industry asc, Account_Name desc`)), ['Beta', 'Gamma', 'Acme'])
  t.deepEqual(names(await query(call, `${all} order by Billing_City`)), ['Gamma', 'Beta', 'Acme'])
  const window = await query(call, `${all} limit 1, 1`)
  t.deepEqual([names(window), window.body.info], [['Beta'], {count: 1, more_records: true}])
  t.deepEqual(names(await query(call, `${all} limit 2 offset 2`)), ['Gamma'])
  t.is((await query(call, `${all} limit 3, 10`)).status, 204)
})

test('the default window of a query is two hundred rows', async t => {
  const {crm, call} = await openCrm(t)
  crm.create(
    'example',
    'Accounts',
    Array.from({length: 201}, (_, index) => ({Account_Name: `A${index}`})),
  )
  const {body} = await query(call, 'select id from Accounts where id is not null')
  t.deepEqual(body.info, {count: 200, more_records: true})
  t.is((await query(call, 'select id from Accounts where id is not null limit 2000')).body.info.count, 201)
})

test('query columns can go through lookups and have aliases', async t => {
  const {crm, call} = await openCrm(t)
  const [account] = ids(await call('POST', 'Accounts', {data: [{Account_Name: 'Acme', Billing_City: 'Bilbao'}]}))
  crm.create('example', 'Contacts', [{Last_Name: 'Ono', Account_Name: {id: account}}, {Last_Name: 'Lee'}])
  const {body} = await query(
    call,
    "select Last_Name as who, Account_Name, Account_Name.Billing_City from Contacts where Account_Name.Account_Name = 'acme'",
  )
  const {id: _, ...row} = body.data[0]
  t.deepEqual(row, {who: 'Ono', Account_Name: {id: account}, 'Account_Name.Billing_City': 'Bilbao'}, 'a link without its name')
  t.is(body.data.length, 1)
  t.is((await query(call, `select id from Contacts where Account_Name = '${account}'`)).body.info.count, 1)
  t.is((await query(call, `select id from Contacts where Account_Name.id = '${account}'`)).body.info.count, 1)
})

test('aggregates count and sum all matches', async t => {
  const {crm, call} = await openCrm(t)
  crm.create('example', 'Accounts', accounts)
  const {body} = await query(call, "select COUNT(id), sum(Employees) as heads from Accounts where Industry = 'Retail'")
  t.deepEqual(body.data, [{'COUNT(id)': 2, heads: 40}])
})

for (const [what, text, code, details] of [
  ['no select', 'update Accounts', 'SYNTAX_ERROR', {line: 1, column: 1}],
  ['no from', 'select id', 'SYNTAX_ERROR', {clause: 'from'}],
  ['no where', 'select id from Accounts', 'SYNTAX_ERROR', {clause: 'where'}],
  ['an open text', "select id from Accounts where Account_Name = 'a", 'SYNTAX_ERROR', {near: "'a"}],
  ['an open bracket', "select id from Accounts where (Account_Name = 'a'", 'SYNTAX_ERROR', {near: ''}],
  [
    'a third condition without brackets',
    "select id from Accounts where Phone = '1' and Phone = '2' and Phone = '3'",
    'SYNTAX_ERROR',
    {near: "and Phone = '3'"},
  ],
  ['and beside or', "select id from Accounts where Phone = '1' and Phone = '2' or Phone = '3'", 'SYNTAX_ERROR', {near: "or Phone = '3'"}],
  ['text after the end', 'select id from Accounts where id is not null; drop', 'SYNTAX_ERROR', {near: '; drop'}],
  ['an unknown column', 'select Nothing from Accounts where id is not null', 'INVALID_QUERY', {column_name: 'Nothing'}],
  ['an unknown column in where', "select id from Accounts where Nothing = 'a'", 'INVALID_QUERY', {column_name: 'Nothing'}],
  ['a subform column', 'select Order_Lines from Orders where id is not null', 'INVALID_QUERY', {column_name: 'Order_Lines'}],
  ['an unknown module', 'select id from Nothing where id is not null', 'INVALID_MODULE', {}],
  ['a column twice', 'select Phone, Phone from Accounts where id is not null', 'DUPLICATE_DATA', {column_name: 'Phone'}],
  ['an order twice', 'select id from Accounts where id is not null order by Phone, Phone', 'DUPLICATE_DATA', {column_name: 'Phone'}],
  ['like on a number', "select id from Accounts where Employees like '1%'", 'INVALID_QUERY', {column_name: 'Employees', operator: 'like'}],
  ['an order of booleans', 'select id from Orders where Paid > true', 'INVALID_QUERY', {operator: '>'}],
  ['a text for a number', "select id from Accounts where Employees = 'many'", 'INVALID_QUERY', {column_name: 'Employees', operator: '='}],
  ['a condition on a long text', "select id from Accounts where Description = 'a'", 'INVALID_QUERY', {column_name: 'Description'}],
  ['a limit of nought', 'select id from Accounts where id is not null limit 0', 'INVALID_DATA', {}],
  ['too great a limit', 'select id from Accounts where id is not null limit 2001', 'LIMIT_EXCEEDED', {limit: 2000}],
  ['too great an offset', 'select id from Accounts where id is not null limit 100001, 10', 'LIMIT_EXCEEDED', {limit: 100_000}],
] as const) {
  test(`a query with ${what} is refused with ${code}`, async t => {
    const {call} = await openCrm(t)
    const {status, body} = await query(call, text)
    t.is(status, 400)
    t.like(body, {code, details})
  })
}

test('a query has at most fifty values in a list and twenty-five conditions', async t => {
  const {crm, call} = await openCrm(t)
  const values = (count: number) => Array.from({length: count}, (_, index) => `'v${index}'`).join(', ')
  t.is((await query(call, `select id from Accounts where Phone in (${values(50)})`)).status, 204)
  t.like(await query(call, `select id from Accounts where Phone in (${values(51)})`), {status: 400, body: {code: 'LIMIT_EXCEEDED'}})
  crm.setSwitches({coqlInLimit: 100})
  t.is((await query(call, `select id from Accounts where Phone in (${values(51)})`)).status, 204)
  const nested = (count: number) =>
    Array.from({length: count - 1}, () => "Phone = '2')").reduce(text => `(${text} or Phone = '2')`, "Phone = '1'")
  t.is((await query(call, `select id from Accounts where ${nested(25)}`)).status, 204)
  t.like(await query(call, `select id from Accounts where ${nested(26)}`), {status: 400, body: {code: 'LIMIT_EXCEEDED'}})
})

test('unverified rules can be switched off, and columns can be refused', async t => {
  const {crm, call} = await openCrm(t)
  crm.setSwitches({coqlPairs: false, coqlNeedsWhere: false, coqlRefusedColumns: ['Created_By']})
  t.is((await query(call, 'select id from Accounts')).status, 204)
  t.is((await query(call, "select id from Accounts where Phone = '1' and Phone = '2' and Phone = '3'")).status, 204)
  const refused = await query(call, "select id from Accounts where Created_By = '1'")
  t.like(refused, {status: 400, body: {code: 'INVALID_QUERY', details: {column_name: 'Created_By', operator: '='}}})
})

test('a body without a query is refused', async t => {
  const {call} = await openCrm(t)
  t.like(await call('POST', 'coql', {}), {status: 400, body: {code: 'MANDATORY_NOT_FOUND', details: {api_name: 'select_query'}}})
  t.like(await call('POST', 'coql', {select_query: 5}), {status: 400, body: {code: 'INVALID_DATA'}})
  t.like(await call('POST', 'coql', 'nonsense'), {status: 400, body: {code: 'INVALID_DATA'}})
})
