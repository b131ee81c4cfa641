import test from 'ava'
import {type Call, codes, ids, openCrm} from './crm-caller.ts'

const rowsOf = async (call: Call, id: string): Promise<any[]> => (await call('GET', `Orders/${id}`)).body.data[0].Order_Lines

const createOrder = async (call: Call, rows: unknown[]): Promise<string> =>
  ids(await call('POST', 'Orders', {data: [{Name: 'First', Order_Lines: rows}]}))[0]!

test('subform rows are written within their parent and read with it', async t => {
  const {call} = await openCrm(t)
  const id = await createOrder(call, [{Product: 'Bolt', Quantity: 10, Price: 0.5}, {Product: 'Nut'}])
  const rows = await rowsOf(call, id)
  t.like(rows[0], {Parent_Id: {name: 'First', id}, Product: 'Bolt', Quantity: 10, Price: 0.5, Created_Time: '2026-03-02T09:15:40+01:00'})
  t.like(rows[1], {Product: 'Nut', Quantity: null})
  t.regex(rows[0].id, /^\d{19}$/)
})

test('subform rows can be changed, kept, removed and appended in one update', async t => {
  const {crm, call} = await openCrm(t)
  const id = await createOrder(call, [{Product: 'A'}, {Product: 'B', Quantity: 1}, {Product: 'C'}, {Product: 'D'}])
  const before = await rowsOf(call, id)
  const rows = [{id: before[0].id}, {id: before[1].id, Quantity: 4}, {id: before[2].id, _delete: null}, {Product: 'E', Quantity: 5}]
  t.is((await call('PUT', 'Orders', {data: [{id, Order_Lines: rows}], trigger: []})).status, 200)
  t.deepEqual(
    (await rowsOf(call, id)).map(row => [row.Product, row.Quantity]),
    [
      ['A', null],
      ['B', 4],
      ['D', null],
      ['E', 5],
    ],
  )
  t.is(crm.count('example', 'Order_Lines'), 4)
})

test('subform rows without an id are appended, so a repeat doubles them', async t => {
  const {call} = await openCrm(t)
  const id = await createOrder(call, [{Product: 'A'}])
  const add = {data: [{id, Order_Lines: [{Product: 'B'}]}]}
  await call('PUT', 'Orders', add)
  await call('PUT', 'Orders', add)
  t.deepEqual(
    (await rowsOf(call, id)).map(row => row.Product),
    ['A', 'B', 'B'],
  )
})

test('an empty list empties the subform, and means no rows in a create', async t => {
  const {crm, call} = await openCrm(t)
  const id = await createOrder(call, [{Product: 'A'}, {Product: 'B'}])
  await call('PUT', 'Orders', {data: [{id, Order_Lines: []}]})
  t.deepEqual(await rowsOf(call, id), [])
  t.is(crm.count('example', 'Order_Lines'), 0)
  t.deepEqual(await rowsOf(call, await createOrder(call, [])), [])
})

test('replacing rows is atomic per record: old rows deleted, new ones added', async t => {
  const {call} = await openCrm(t)
  const id = await createOrder(call, [{Product: 'A'}, {Product: 'B'}])
  const old = (await rowsOf(call, id)).map(row => ({id: row.id, _delete: null}))
  const replace = async (rows: unknown[]) => call('PUT', 'Orders', {data: [{id, Name: 'Changed', Order_Lines: [...old, ...rows]}]})
  const refused = await replace([{Product: 'C'}, {Product: 'D', Quantity: 'many'}])
  t.is(refused.status, 400)
  t.deepEqual(refused.body.data[0].details, {
    expected_data_type: 'integer',
    api_name: 'Quantity',
    json_path: '$.data[0].Order_Lines[3].Quantity',
  })
  t.deepEqual(
    (await rowsOf(call, id)).map(row => row.Product),
    ['A', 'B'],
  )
  t.is((await call('GET', `Orders/${id}`)).body.data[0].Name, 'First')
  t.is((await replace([{Product: 'C'}])).status, 200)
  t.deepEqual(
    (await rowsOf(call, id)).map(row => row.Product),
    ['C'],
  )
})

test('an invalid row refuses its parent and no other record', async t => {
  const {crm, call} = await openCrm(t)
  const reply = await call('POST', 'Orders', {
    data: [
      {Name: 'Wrong', Order_Lines: [{Quantity: 1}]},
      {Name: 'Fine', Order_Lines: [{Product: 'A'}]},
    ],
  })
  t.is(reply.status, 207)
  t.deepEqual(codes(reply), ['MANDATORY_NOT_FOUND', 'SUCCESS'])
  t.is(reply.body.data[0].details.json_path, '$.data[0].Order_Lines[0].Product')
  t.is(crm.count('example', 'Orders'), 1)
  t.is(crm.count('example', 'Order_Lines'), 1)
})

test('a row of another parent is an invalid id', async t => {
  const {call} = await openCrm(t)
  const one = await createOrder(call, [{Product: 'A'}])
  const other = await createOrder(call, [])
  const [row] = await rowsOf(call, one)
  const {body} = await call('PUT', 'Orders', {data: [{id: other, Order_Lines: [{id: row.id, _delete: null}]}]})
  t.like(body.data[0], {code: 'INVALID_DATA', details: {api_name: 'id', json_path: '$.data[0].Order_Lines[0].id'}})
  t.is((await call('PUT', 'Orders', {data: [{id: other, Order_Lines: {}}]})).body.data[0].details.expected_data_type, 'jsonarray')
})

test('subform rows cannot be written directly, but can be read, searched and queried', async t => {
  const {call} = await openCrm(t)
  const id = await createOrder(call, [{Product: 'Bolt'}, {Product: 'Nut'}])
  t.like(await call('POST', 'Order_Lines', {data: [{Product: 'C'}]}), {status: 400, body: {code: 'NOT_SUPPORTED'}})
  t.is((await call('GET', 'Order_Lines?fields=Product,Parent_Id')).body.data.length, 2)
  t.like((await call('GET', 'Order_Lines/search?word=bolt&fields=Product,Parent_Id')).body.data[0], {Product: 'Bolt', Parent_Id: {id}})
  const {body} = await call('POST', 'coql', {select_query: `select id, Product from Order_Lines where Parent_Id = '${id}'`})
  t.deepEqual(
    body.data.map((row: any) => row.Product),
    ['Bolt', 'Nut'],
  )
})

test('subform rows are deleted with their parent', async t => {
  const {crm, call} = await openCrm(t)
  const id = await createOrder(call, [{Product: 'A'}])
  await call('DELETE', `Orders?ids=${id}`)
  t.is(crm.count('example', 'Order_Lines'), 0)
})

test('more than two thousand elements are refused whole, or cut to the parents that fit', async t => {
  const {crm, call} = await openCrm(t)
  const order = (rows: number) => ({Name: 'Many', Order_Lines: Array.from({length: rows}, () => ({Product: 'A'}))})
  const {body} = await call('POST', 'Orders', {data: [order(1000), order(1000), order(1)]})
  t.like(body, {code: 'LIMIT_EXCEEDED', details: {limit: 2000}})
  t.is(crm.count('example', 'Orders'), 0)
  crm.setSwitches({cutSubforms: true})
  const cut = await call('POST', 'Orders', {data: [order(1000), order(1000), order(1)]})
  t.is(cut.status, 201)
  t.is(cut.body.data.length, 2)
  t.is(crm.count('example', 'Orders'), 2)
  t.is((await call('POST', 'Orders', {data: [order(2000)]})).status, 201)
})

test('the rows of a record can be limited, and a read can omit some', async t => {
  const {crm, call} = await openCrm(t)
  crm.setSwitches({subformRowsPerRecord: 2, subformRowsRead: 1})
  const id = await createOrder(call, [{Product: 'A'}, {Product: 'B'}])
  t.is((await call('PUT', 'Orders', {data: [{id, Order_Lines: [{Product: 'C'}]}]})).body.data[0].code, 'LIMIT_EXCEEDED')
  const [read] = (await call('GET', `Orders/${id}`)).body.data
  t.is(read.Order_Lines.length, 1)
  t.deepEqual(read.$has_more, {Order_Lines: true, Related_Products: false})
})

test('a multi-select lookup links a record once', async t => {
  const {call} = await openCrm(t)
  const [bolt, nut] = ids(await call('POST', 'Products', {data: [{Product_Name: 'Bolt'}, {Product_Name: 'Nut'}]}))
  const link = (id: string) => ({Related_Product: {id}})
  const [id] = ids(await call('POST', 'Orders', {data: [{Name: 'First', Related_Products: [link(bolt!)]}]}))
  const double = await call('PUT', 'Orders', {data: [{id, Related_Products: [link(bolt!)]}]})
  t.is(double.body.data[0].code, 'DUPLICATE_LINKING_DATA')
  const links = async () => (await call('GET', `Orders/${id}`)).body.data[0].Related_Products
  const [first] = await links()
  await call('PUT', 'Orders', {data: [{id, Related_Products: [{id: first.id, _delete: null}, link(nut!)]}]})
  t.deepEqual(
    (await links()).map((row: any) => row.Related_Product.name),
    ['Nut'],
  )
})

test('a record with a mandatory subform is created with a row and keeps at least one', async t => {
  const {crm, call} = await openCrm(t)
  const [made] = crm.create('example', 'Products', [{Product_Name: 'Bolt'}])
  const Product_Name = {id: made!.details.id}
  const missing = {code: 'MANDATORY_NOT_FOUND', details: {api_name: 'Quoted_Items', json_path: '$.data[0].Quoted_Items'}}
  for (const none of [{}, {Quoted_Items: []}, {Quoted_Items: null}])
    t.like((await call('POST', 'Quotes', {data: [{Subject: 'Q', ...none}]})).body.data[0], missing)
  const wrong = await call('POST', 'Quotes', {data: [{Subject: 'Q', Quoted_Items: [{Product_Name}, {Quantity: 1}]}]})
  t.like(wrong.body.data[0], {code: 'MANDATORY_NOT_FOUND', details: {json_path: '$.data[0].Quoted_Items[1].Product_Name'}})
  t.is(crm.count('example', 'Quotes'), 0)
  const id = ids(await call('POST', 'Quotes', {data: [{Subject: 'Q', Quoted_Items: [{Product_Name, Quantity: 2}]}]}))[0]!
  const [row] = (await call('GET', `Quotes/${id}`)).body.data[0].Quoted_Items
  const put = async (Quoted_Items: unknown) => (await call('PUT', 'Quotes', {data: [{id, Quoted_Items}]})).body.data[0]
  t.like(await put([]), missing)
  t.like(await put([{id: row.id, _delete: null}]), missing)
  t.like(await put([{id: row.id, _delete: null}, {Product_Name}]), {code: 'SUCCESS'})
  t.like((await call('PUT', 'Quotes', {data: [{id, Subject: 'R'}]})).body.data[0], {code: 'SUCCESS'})
})
