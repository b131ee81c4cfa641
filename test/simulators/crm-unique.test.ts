import test from 'ava'
import {codes, ids, openCrm} from './crm-caller.ts'

test('a duplicate of a unique value is refused in any case, with the id of its record', async t => {
  const {call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Orders', {data: [{Name: 'First', Code: 'Abc'}]}))
  const {status, body} = await call('POST', 'Orders', {data: [{Name: 'Second', Code: 'aBC'}]})
  t.is(status, 400)
  const owner = {name: 'Ana Ruiz', id: '4400001000000201001'}
  t.like(body.data[0], {code: 'DUPLICATE_DATA', message: 'duplicate data', status: 'error'})
  t.like(body.data[0].details, {api_name: 'Code', json_path: '$.data[0].Code', id, more_records: false})
  t.like(body.data[0].details.duplicate_record, {id, Owner: owner, module: {api_name: 'Orders'}})
})

test('a field may be unique with case', async t => {
  const {crm, call} = await openCrm(t)
  crm.addField('example', 'Orders', {name: 'Code', type: 'text', length: 40, unique: 'case-sensitive'})
  t.is(
    (
      await call('POST', 'Orders', {
        data: [
          {Name: 'First', Code: 'Abc'},
          {Name: 'Second', Code: 'abc'},
        ],
      })
    ).status,
    201,
  )
  t.is((await call('POST', 'Orders', {data: [{Name: 'Third', Code: 'abc'}]})).status, 400)
})

test('two colliding unique fields give nested errors, possibly with different records', async t => {
  const {call} = await openCrm(t)
  const [one, other] = ids(
    await call('POST', 'Orders', {
      data: [
        {Name: 'One', Code: 'A'},
        {Name: 'Other', Reference: 'B'},
      ],
    }),
  )
  const {body} = await call('POST', 'Orders', {data: [{Name: 'Third', Code: 'a', Reference: 'b'}]})
  t.is(body.data[0].code, 'MULTIPLE_OR_MULTI_ERRORS')
  t.deepEqual(
    body.data[0].details.errors.map((error: any) => [error.code, error.details.api_name, error.details.duplicate_record.id]),
    [
      ['DUPLICATE_DATA', 'Code', one],
      ['DUPLICATE_DATA', 'Reference', other],
    ],
  )
})

test('earlier records of the same call count for uniqueness', async t => {
  const {call} = await openCrm(t)
  const reply = await call('POST', 'Orders', {
    data: [{Name: 'First', Code: 'A'}, {Name: 'Second', Code: 'a'}, {Code: 'B'}, {Name: 'Fourth', Code: 'B'}],
  })
  t.deepEqual(codes(reply), ['SUCCESS', 'DUPLICATE_DATA', 'MANDATORY_NOT_FOUND', 'SUCCESS'])
})

test('empty values and deleted records never collide', async t => {
  const {crm, call} = await openCrm(t)
  t.is((await call('POST', 'Orders', {data: [{Name: 'A', Code: null}, {Name: 'B', Code: ''}, {Name: 'C'}]})).status, 201)
  const [id] = ids(await call('POST', 'Orders', {data: [{Name: 'D', Code: 'x'}]}))
  crm.remove('example', 'Orders', [id!])
  t.is((await call('POST', 'Orders', {data: [{Name: 'E', Code: 'x'}]})).status, 201)
})

test('uniqueness switched on later leaves duplicates, and errors say that there are more', async t => {
  const {crm, call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Accounts', {data: [{Account_Name: 'Same'}, {Account_Name: 'same'}, {Account_Name: 'Other'}]}))
  crm.addField('example', 'Accounts', {name: 'Account_Name', type: 'text', length: 200, mandatory: true, unique: true})
  const {body} = await call('POST', 'Accounts', {data: [{Account_Name: 'SAME'}, {Account_Name: 'OTHER'}]})
  t.like(body.data[0].details, {id, more_records: true})
  t.is(body.data[1].details.more_records, false)
})

test('an update may keep its own value or take a freed one, but not one of another record', async t => {
  const {call} = await openCrm(t)
  const [one, other] = ids(
    await call('POST', 'Orders', {
      data: [
        {Name: 'One', Code: 'A'},
        {Name: 'Other', Code: 'B'},
      ],
    }),
  )
  t.is((await call('PUT', 'Orders', {data: [{id: one, Code: 'A'}]})).status, 200)
  t.like((await call('PUT', 'Orders', {data: [{id: one, Code: 'b'}]})).body.data[0], {code: 'DUPLICATE_DATA', details: {id: other}})
  t.is((await call('PUT', 'Orders', {data: [{id: other, Code: 'C'}]})).status, 200)
  t.is((await call('PUT', 'Orders', {data: [{id: one, Code: 'b'}]})).status, 200)
})

test('an upsert matches by the requested fields, then by every unique one', async t => {
  const {crm, call} = await openCrm(t)
  const [one, other] = ids(
    await call('POST', 'Orders', {
      data: [
        {Name: 'One', Code: 'A'},
        {Name: 'Other', Reference: 'B'},
      ],
    }),
  )
  const {status, body} = await call('POST', 'Orders/upsert', {
    data: [
      {Name: 'By code', Code: 'a'},
      {Name: 'By reference', Reference: 'b'},
      {Name: 'New', Code: 'C'},
    ],
    duplicate_check_fields: ['Code'],
  })
  t.is(status, 200)
  t.like(body.data[0], {action: 'update', duplicate_field: 'Code', message: 'record updated', details: {id: one}})
  t.like(body.data[1], {action: 'update', duplicate_field: 'Reference', details: {id: other}})
  t.like(body.data[2], {action: 'insert', duplicate_field: null, message: 'record added'})
  t.deepEqual(
    crm.records('example', 'Orders').map(record => record.Name),
    ['By code', 'By reference', 'New'],
  )
})

test('an upsert without fields matches by the default field of the module', async t => {
  const {crm, call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'Ono', Email: 'ono@example.org'}]}))
  t.is((await call('POST', 'Leads', {data: [{Last_Name: 'Twin', Email: 'ono@example.org'}]})).status, 201)
  const {body} = await call('POST', 'Leads/upsert', {data: [{Last_Name: 'Changed', Email: 'ONO@example.org'}]})
  t.like(body.data[0], {action: 'update', duplicate_field: 'Email', details: {id}})
  t.is(crm.record('example', 'Leads', id!)!.Last_Name, 'Changed')
  await call('POST', 'Orders', {data: [{Name: 'First'}]})
  t.is((await call('POST', 'Orders/upsert', {data: [{Name: 'first', Quantity: 2}]})).body.data[0].action, 'update')
})

test('an upsert can be refused in part or whole', async t => {
  const {call} = await openCrm(t)
  await call('POST', 'Orders', {
    data: [
      {Name: 'One', Code: 'A'},
      {Name: 'Other', Reference: 'B'},
    ],
  })
  const mixed = await call('POST', 'Orders/upsert', {data: [{Code: 'A', Reference: 'B'}, {Name: 'New'}], duplicate_check_fields: ['Code']})
  t.is(mixed.status, 207)
  t.deepEqual(codes(mixed), ['DUPLICATE_DATA', 'SUCCESS'])
  const wrong = await call('POST', 'Orders/upsert', {data: [{Name: 'New'}], duplicate_check_fields: ['Short']})
  t.like(wrong, {status: 400, body: {code: 'INVALID_DATA', details: {api_name: 'duplicate_check_fields'}}})
})
