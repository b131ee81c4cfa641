import test from 'ava'
import {callAs, codes, ids, openCrm} from './crm-caller.ts'

test('a create answers 201 with id, times and users', async t => {
  const {call} = await openCrm(t)
  const {status, body, headers} = await call('POST', 'Accounts', {data: [{Account_Name: 'Acme'}]})
  t.is(status, 201)
  t.is(headers.get('content-type'), 'application/json;charset=UTF-8')
  const by = {name: 'Ana Ruiz', id: '4400001000000201001'}
  t.deepEqual(body.data, [
    {
      code: 'SUCCESS',
      details: {
        id: '4400001000000900001',
        Created_Time: '2026-03-02T09:15:40+01:00',
        Modified_Time: '2026-03-02T09:15:40+01:00',
        Created_By: by,
        Modified_By: by,
        $approval_state: 'approved',
      },
      message: 'record added',
      status: 'success',
    },
  ])
})

test('a partly refused call is 207 in request order, a wholly refused one 400', async t => {
  const {crm, call} = await openCrm(t)
  const mixed = await call('POST', 'Accounts', {data: [{Phone: '1'}, {Account_Name: 'Acme'}, {Account_Name: 'Beta', Employees: 1.5}]})
  t.is(mixed.status, 207)
  t.deepEqual(codes(mixed), ['MANDATORY_NOT_FOUND', 'SUCCESS', 'INVALID_DATA'])
  t.is((await call('POST', 'Accounts', {data: [{Phone: '1'}]})).status, 400)
  crm.setSwitches({legacy202: true})
  t.is((await call('POST', 'Accounts', {data: [{Phone: '1'}]})).status, 202)
  t.is((await call('POST', 'Accounts', {data: [{Account_Name: 'Gamma'}]})).status, 201)
})

for (const [what, field, value, details] of [
  ['a text', 'Short', 5, {expected_data_type: 'text'}],
  ['a text too long', 'Short', '12345678901', {maximum_length: 10}],
  ['an integer', 'Quantity', '42', {expected_data_type: 'integer'}],
  ['an integer with a fraction', 'Quantity', 4.5, {expected_data_type: 'integer'}],
  ['an integer too long', 'Quantity', 1_000_000_000, {maximum_length: 9}],
  ['a currency', 'Amount', '1,000.00', {expected_data_type: 'double'}],
  ['a boolean', 'Paid', 'true', {expected_data_type: 'boolean'}],
  ['a date', 'Order_Date', '2026-02-30', {expected_data_type: 'date'}],
  ['a date-time without an offset', 'Due_At', '2026-02-03T10:00:00', {expected_data_type: 'datetime'}],
  ['an e-mail', 'Contact_Email', 'nobody', {expected_data_type: 'email'}],
  ['a multi-select picklist', 'Channels', 'Web', {expected_data_type: 'jsonarray'}],
  ['a picklist', 'Status', 7, {expected_data_type: 'picklist'}],
  ['a bigint', 'Serial', 'x1', {expected_data_type: 'bigint'}],
  ['a lookup', 'Account', 7, {expected_data_type: 'jsonobject'}],
] as const) {
  test(`${what} with a wrong value is INVALID_DATA with the name of the field`, async t => {
    const {call} = await openCrm(t)
    const reply = await call('POST', 'Orders', {data: [{Name: 'Fine'}, {Name: 'Wrong', [field]: value}]})
    t.is(reply.status, 207)
    t.deepEqual(reply.body.data[1], {
      code: 'INVALID_DATA',
      details: {...details, api_name: field, json_path: `$.data[1].${field}`},
      message: 'invalid data',
      status: 'error',
    })
  })
}

test('a lookup of an absent record is an invalid id, and a bare id is accepted', async t => {
  const {crm, call} = await openCrm(t)
  const {body} = await call('POST', 'Orders', {data: [{Name: 'Wrong', Account: {id: '4400001000000999999'}}]})
  t.like(body.data[0], {code: 'INVALID_DATA', message: 'the id given seems to be invalid', details: {api_name: 'Account'}})
  const [id] = ids(await call('POST', 'Accounts', {data: [{Account_Name: 'Acme'}]}))
  t.is((await call('POST', 'Orders', {data: [{Name: 'Fine', Account: id}]})).status, 201)
  crm.remove('example', 'Accounts', [id!])
  t.is(crm.records('example', 'Orders')[0]!.Account, null)
})

test('valid values are stored and read back', async t => {
  const {call} = await openCrm(t)
  const order = {
    Name: 'First',
    Status: 'Not in the list',
    Channels: ['Web', 'Shop'],
    Quantity: 3,
    Amount: 2.499,
    Weight: 1.23456,
    Serial: '900000000123456789',
    Order_Date: '2026-02-28',
    Due_At: '2026-02-28T10:00:00Z',
    Paid: true,
    Short: '',
  }
  const [id] = ids(await call('POST', 'Orders', {data: [order]}))
  t.like((await call('GET', `Orders/${id}`)).body.data[0], {
    ...order,
    Amount: 2.5,
    Weight: 1.235,
    Due_At: '2026-02-28T11:00:00+01:00',
    Short: null,
  })
})

test('several errors of one record are nested', async t => {
  const {call} = await openCrm(t)
  const {status, body} = await call('POST', 'Orders', {data: [{Quantity: 'x', Short: '12345678901'}]})
  t.is(status, 400)
  t.like(body.data[0], {code: 'MULTIPLE_OR_MULTI_ERRORS', status: 'error'})
  t.deepEqual(
    body.data[0].details.errors.map((error: any) => [error.code, error.details.api_name]),
    [
      ['INVALID_DATA', 'Quantity'],
      ['INVALID_DATA', 'Short'],
      ['MANDATORY_NOT_FOUND', 'Name'],
    ],
  )
})

test('unknown, read-only, formula and autonumber keys are ignored with SUCCESS, or refused by a switch', async t => {
  const {crm, call} = await openCrm(t)
  const record = {Name: 'First', Nonsense: 1, Created_Time: '2020-01-01T00:00:00Z', Total: 99, Number: 'X-1'}
  t.is((await call('POST', 'Orders', {data: [{...record}]})).status, 201)
  t.like(crm.records('example', 'Orders')[0], {Created_Time: '2026-03-02T09:15:40+01:00', Total: null, Number: 'ORD-1000'})
  t.false('Nonsense' in crm.records('example', 'Orders')[0]!)
  crm.setSwitches({strictFields: true})
  const {layouts} = (await call('GET', 'settings/layouts?module=Orders')).body
  const {body} = await call('POST', 'Orders', {data: [{...record, $state: 1, Layout: {id: layouts[0].id}}]})
  t.deepEqual(
    body.data[0].details.errors.map((error: any) => error.details.api_name),
    ['Nonsense', 'Created_Time', 'Total', 'Number'],
  )
})

test('a picklist value outside the list is stored, or refused by a switch', async t => {
  const {crm, call} = await openCrm(t)
  t.is((await call('POST', 'Orders', {data: [{Name: 'First', Status: 'Strange'}]})).status, 201)
  crm.setSwitches({strictPicklists: true})
  t.is((await call('POST', 'Orders', {data: [{Name: 'First', Status: 'Strange'}]})).status, 400)
  t.is((await call('POST', 'Orders', {data: [{Name: 'First', Status: 'Fresh', Channels: ['Web']}]})).status, 201)
})

test('the mandatory fields of a layout apply only if the record names the layout', async t => {
  const {call} = await openCrm(t)
  const deal = {Deal_Name: 'Big', Stage: 'Proposal'}
  t.is((await call('POST', 'Deals', {data: [deal]})).status, 201)
  const {layouts} = (await call('GET', 'settings/layouts?module=Deals')).body
  const {body} = await call('POST', 'Deals', {data: [{...deal, Layout: {id: layouts[0].id}}]})
  t.like(body.data[0], {code: 'MANDATORY_NOT_FOUND', details: {api_name: 'Closing_Date', json_path: '$.data[0].Closing_Date'}})
})

test('a call without records, with too many, or without JSON is refused whole', async t => {
  const {crm, call} = await openCrm(t)
  const refused = async (body: unknown) => {
    const reply = await call('POST', 'Accounts', body)
    return [reply.status, reply.body.code, reply.body.details]
  }
  t.deepEqual(await refused('{"data":['), [400, 'INVALID_DATA', {expected_data_type: 'jsonobject'}])
  t.deepEqual(await refused({}), [400, 'MANDATORY_NOT_FOUND', {api_name: 'data', json_path: '$.data'}])
  t.deepEqual(await refused({data: {}}), [400, 'INVALID_DATA', {expected_data_type: 'jsonarray', api_name: 'data', json_path: '$.data'}])
  const tooMany = Array.from({length: 101}, (_, index) => ({Account_Name: `A${index}`}))
  t.deepEqual(await refused({data: tooMany}), [400, 'INVALID_DATA', {maximum_length: 100, api_name: 'data', json_path: '$.data'}])
  t.is((await call('POST', 'Nothing', {data: [{}]})).body.code, 'INVALID_MODULE')
  t.is((await call('POST', 'Visits', {data: [{}]})).body.code, 'INVALID_MODULE')
  t.is(crm.count('example', 'Accounts'), 0)
  t.like((await call('POST', 'Accounts', {data: ['text']})).body.data[0], {
    code: 'INVALID_DATA',
    details: {expected_data_type: 'jsonobject'},
  })
})

test('an update changes the sent fields, clears with null and keeps the others', async t => {
  const {crm, call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Accounts', {data: [{Account_Name: 'Acme', Phone: '1', Website: 'acme.example'}]}))
  crm.clock.advance(60_000)
  const {status, body} = await callAs(crm, 'ben@example.org')('PUT', 'Accounts', {data: [{id, Phone: '2', Website: null}]})
  t.is(status, 200)
  t.like(body.data[0], {
    message: 'record updated',
    details: {id, Created_Time: '2026-03-02T09:15:40+01:00', Modified_Time: '2026-03-02T09:16:40+01:00'},
  })
  t.like(crm.records('example', 'Accounts')[0], {
    Account_Name: 'Acme',
    Phone: '2',
    Website: null,
    Created_By: {name: 'Ana Ruiz'},
    Modified_By: {name: 'Ben Okoye'},
  })
  t.is((await call('PUT', `Accounts/${id}`, {data: [{Phone: '3'}]})).status, 200)
  t.is(crm.records('example', 'Accounts')[0]!.Phone, '3')
})

test('an update without id, with an unknown id, or that clears a mandatory field is refused', async t => {
  const {call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Accounts', {data: [{Account_Name: 'Acme'}]}))
  const {status, body} = await call('PUT', 'Accounts', {
    data: [{Phone: '1'}, {id: '4400001000000999999'}, {id, Account_Name: null}, {id, Phone: '1'}],
  })
  t.is(status, 207)
  t.like(body.data[0], {code: 'MANDATORY_NOT_FOUND', details: {api_name: 'id', json_path: '$.data[0].id'}})
  t.like(body.data[1], {code: 'INVALID_DATA', details: {id: '4400001000000999999', api_name: 'id', json_path: '$.data[1].id'}})
  t.like(body.data[2], {code: 'MANDATORY_NOT_FOUND', details: {api_name: 'Account_Name'}})
  t.is(body.data[3].code, 'SUCCESS')
  t.is((await call('PUT', 'Accounts/4400001000000999999', {data: [{Phone: '1'}]})).status, 400)
})

test('a record changed meanwhile is 412, and a locked one is RECORD_LOCKED', async t => {
  const {crm, call} = await openCrm(t)
  const [id, other] = ids(await call('POST', 'Accounts', {data: [{Account_Name: 'Acme'}, {Account_Name: 'Beta'}]}))
  const since = {'if-unmodified-since': '2026-03-02T08:00:00Z'}
  const late = await call('PUT', 'Accounts', {data: [{id, Phone: '1'}]}, since)
  t.like(late, {status: 412, body: {data: [{code: 'ALREADY_MODIFIED', details: {id}}]}})
  t.is((await call('PUT', 'Accounts', {data: [{id, Phone: '1'}]}, {'if-unmodified-since': '2026-03-02T09:00:00Z'})).status, 200)
  crm.mark('example', 'Accounts', [other!], {locked: true})
  t.is((await call('PUT', 'Accounts', {data: [{id: other, Phone: '1'}]})).body.data[0].code, 'RECORD_LOCKED')
})

test('a delete moves records to the recycle bin, once', async t => {
  const {crm, call} = await openCrm(t)
  const [id, other] = ids(await call('POST', 'Accounts', {data: [{Account_Name: 'Acme'}, {Account_Name: 'Beta'}]}))
  const mixed = await call('DELETE', `Accounts?ids=${id},123`)
  t.is(mixed.status, 207)
  t.deepEqual(mixed.body.data[0], {code: 'SUCCESS', details: {id}, message: 'record deleted', status: 'success'})
  t.deepEqual(mixed.body.data[1], {code: 'INVALID_DATA', details: {id: '123'}, message: 'record not deleted', status: 'error'})
  t.is((await call('DELETE', `Accounts/${other}`)).status, 200)
  t.is((await call('DELETE', `Accounts/${other}`)).status, 400)
  t.is(crm.count('example', 'Accounts'), 0)
  t.like(await call('DELETE', 'Accounts'), {status: 400, body: {code: 'REQUIRED_PARAM_MISSING', details: {param_name: 'ids'}}})
})

test('the owner can be set to an active user', async t => {
  const {crm, call} = await openCrm(t)
  const ben = '4400001000000201002'
  await call('POST', 'Accounts', {data: [{Account_Name: 'Acme', Owner: {id: ben}}]})
  t.like(crm.records('example', 'Accounts')[0], {Owner: {id: ben}, Created_By: {name: 'Ana Ruiz'}})
  t.is((await call('POST', 'Accounts', {data: [{Account_Name: 'Beta', Owner: {id: '1'}}]})).status, 400)
})

test('multi-select values can be appended', async t => {
  const {crm, call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Orders', {data: [{Name: 'First', Channels: ['Web']}]}))
  await call('PUT', 'Orders', {data: [{id, Channels: ['Shop'], $append_values: {Channels: true}}]})
  t.deepEqual(crm.records('example', 'Orders')[0]!.Channels, ['Web', 'Shop'])
  await call('PUT', 'Orders', {data: [{id, Channels: ['Phone']}]})
  t.deepEqual(crm.records('example', 'Orders')[0]!.Channels, ['Phone'])
})

test('automations run unless the trigger list is empty', async t => {
  const {crm, call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Accounts', {data: [{Account_Name: 'Acme'}]}))
  await call('PUT', 'Accounts', {data: [{id, Phone: '1'}], trigger: []})
  await call('PUT', 'Accounts', {data: [{id, Phone: '2'}], trigger: ['workflow', 'blueprint']})
  await call('POST', 'Accounts', {data: [{Phone: '2'}]})
  await call('DELETE', `Accounts?ids=${id}&wf_trigger=false`)
  t.deepEqual(
    crm.automations('example').map(note => [note.operation, note.ran.length, note.ids]),
    [
      ['create', 5, [id!]],
      ['update', 0, [id!]],
      ['update', 2, [id!]],
      ['delete', 0, [id!]],
    ],
  )
})

test('a date-time with milliseconds and a tag without an object are refused', async t => {
  const {crm, call} = await openCrm(t)
  crm.addField('example', 'Orders', {name: 'Tag', type: 'tag'})
  const write = async (values: object) => (await call('POST', 'Orders', {data: [{Name: 'A', ...values}]})).body.data[0]
  for (const [values, type] of [
    [{Due_At: '2026-03-02T09:15:40.250+01:00'}, 'datetime'],
    [{Tag: 'new'}, 'jsonarray'],
    [{Tag: ['new']}, 'jsonobject'],
  ] as const)
    t.like(await write(values), {code: 'INVALID_DATA', details: {expected_data_type: type}})
  const {details} = await write({Due_At: '2026-03-02T09:15:40+01:00', Tag: [{name: 'new'}]})
  const [read] = (await call('GET', `Orders/${details.id}`)).body.data
  t.like(read.Tag[0], {name: 'new'})
  t.regex(read.Tag[0].id, /^\d{19}$/)
})
