import anyTest, {type TestFn} from 'ava'
import type {Connection, CrmError} from '../../../shared/crm/crm.ts'
import {sql} from '../../../sql/database.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

/** What the tests share: one stand-in with faults and switches. So they run serially. */
type Here = {place: CrmPlace; connection: Connection}
const test = anyTest.serial as TestFn<Here>

anyTest.before(async t => {
  const context = t.context as Here
  context.place = await place(t, {environment: {CRM_TIMEOUT_SECONDS: '2'}})
  context.connection = await context.place.crm.open(await context.place.connect())
})
anyTest.beforeEach(async t => {
  const {place} = t.context as Here
  place.standIn.clear()
  place.standIn.setSwitches({subformRowsRead: null, cutSubforms: false})
  await place.db.query(sql.unsafe`delete from crm_allowances`)
})

const lines = {field: 'Order_Lines', child: 'Order_Lines', fields: ['Product']}
const readIds = async (connection: Connection, module: string, id: string, place: typeof lines) =>
  (await connection.readRows(module, id, place))?.rows.map(row => row.id) ?? null
const makeOrder = ({standIn}: CrmPlace, count: number) => {
  const rows = Array.from({length: count}, (_, n) => ({Product: `Old ${n + 1}`}))
  return standIn.create('example', 'Orders', [{Name: 'An order', Order_Lines: rows}])[0]!.details.id as string
}
const rowsOf = ({standIn}: CrmPlace, id: string): any[] => standIn.record('example', 'Orders', id)!.Order_Lines
const productsOf = (here: CrmPlace, id: string) => rowsOf(here, id).map(row => row.Product)
const modifiedAt = (here: CrmPlace, id: string) => here.standIn.record('example', 'Orders', id)!.Modified_Time as string
const adds = (...products: string[]) => products.map(Product => ({Product}))

test('the rows of a parent are read, and an absent parent gives null', async t => {
  const {place, connection} = t.context
  const id = makeOrder(place, 3)
  t.deepEqual(
    await readIds(connection, 'Orders', id, lines),
    rowsOf(place, id).map(row => row.id),
  )
  t.deepEqual(await readIds(connection, 'Orders', makeOrder(place, 0), lines), [])
  t.is(await readIds(connection, 'Orders', '4400000000999999999', lines), null)
})

test('rows left out by a single read are paged through the subform module', async t => {
  const {place, connection} = t.context
  const [id, other] = [makeOrder(place, 450), makeOrder(place, 2)]
  const all = rowsOf(place, id).map(row => row.id)
  const products = productsOf(place, id)
  place.standIn.setSwitches({subformRowsRead: 100})
  t.deepEqual(new Set(await readIds(connection, 'Orders', id, lines)), new Set(all))
  t.is(place.standIn.journal({path: '/crm/v8/coql'}).length, 3)
  const {rows} = (await connection.readRows('Orders', id, lines))!
  t.deepEqual(
    rows.map(row => row.Product),
    products,
    'in the order of the parent, with values',
  )
  t.is((await readIds(connection, 'Orders', other, lines))!.length, 2, 'nothing is paged that was told whole')
  t.is(place.standIn.journal({path: '/crm/v8/coql'}).length, 6)
})

test('a query that misses rows which the parent shows is unanswered, because it lags behind their creation', async t => {
  const {place, connection} = t.context
  const id = makeOrder(place, 3)
  place.standIn.setSwitches({subformRowsRead: 2})
  const earlier = {data: [{id: '4400000000999999999', Parent_Id: {id}}], info: {more_records: false}}
  place.standIn.faults.add({match: {path: '/crm/v8/coql'}, times: 1, action: {type: 'answer', status: 200, body: earlier}})
  const error = await t.throwsAsync<CrmError>(connection.readRows('Orders', id, lines))
  t.like(error!.crm, {unanswered: true, retryable: true})
  t.is((await readIds(connection, 'Orders', id, lines))!.length, 3)
})

test('an answer without usable rows is unanswered', async t => {
  const {place, connection} = t.context
  const id = makeOrder(place, 1)
  for (const data of [[{id, Order_Lines: [{Product: 'without an id'}]}], [{id, Order_Lines: 'all'}]]) {
    place.standIn.faults.add({match: {method: 'GET', module: 'Orders'}, action: {type: 'answer', status: 200, body: {data}}})
    const error = await t.throwsAsync<CrmError>(connection.readRows('Orders', id, lines))
    t.true(error!.crm.unanswered)
  }
  place.standIn.faults.add({
    match: {method: 'GET', module: 'Orders'},
    action: {type: 'answer', status: 200, body: {data: [{id, Order_Lines: null}]}},
  })
  t.deepEqual(await readIds(connection, 'Orders', id, lines), [])
})

test('a record that does not show the subform field is an error that is not retried', async t => {
  const {place, connection} = t.context
  const id = makeOrder(place, 1)
  const answer = {type: 'answer' as const, status: 200, body: {data: [{id, Name: 'An order'}]}}
  place.standIn.faults.add({match: {method: 'GET', module: 'Orders'}, action: answer})
  const error = await t.throwsAsync<CrmError>(connection.readRows('Orders', id, lines), {
    message: /^The CRM does not show the field Order_Lines/,
  })
  t.like(error!.crm, {code: 'FIELD_NOT_FOUND', retryable: false})
})

test('rows are replaced in one request: the old ones are deleted by id, then the new ones added', async t => {
  const {place, connection} = t.context
  const [one, other] = [makeOrder(place, 2), makeOrder(place, 1)]
  const parents = await Promise.all(
    [one, other].map(async (id, n) => {
      const deletes = (await readIds(connection, 'Orders', id, lines))!
      return {id, field: 'Order_Lines', deletes, adds: adds(`A${n}`, `B${n}`)}
    }),
  )
  place.standIn.clearJournal()
  const {results} = await connection.replaceRows('Orders', parents, {})
  t.deepEqual(results, [
    {ok: true, recordId: one, modifiedAt: modifiedAt(place, one)},
    {ok: true, recordId: other, modifiedAt: modifiedAt(place, other)},
  ])
  const [put, ...more] = place.standIn.journal()
  t.is(more.length, 0)
  t.deepEqual(put!.body, {
    data: parents.map(({id, deletes, adds}) => ({id, Order_Lines: [...deletes.map(row => ({id: row, _delete: null})), ...adds]})),
    trigger: [],
  })
  t.deepEqual(
    [productsOf(place, one), productsOf(place, other)],
    [
      ['A0', 'B0'],
      ['A1', 'B1'],
    ],
  )
})

test('a refused row leaves its whole parent unchanged, and other parents are written', async t => {
  const {place, connection} = t.context
  const [bad, good] = [makeOrder(place, 1), makeOrder(place, 1)]
  const replacement = async (id: string, rows: object[]) => ({
    id,
    field: 'Order_Lines',
    adds: rows as Record<string, unknown>[],
    deletes: (await readIds(connection, 'Orders', id, lines))!,
  })
  const parents = [await replacement(bad, [...adds('A'), {Product: 'B', Quantity: 'many'}]), await replacement(good, adds('C'))]
  const {results} = await connection.replaceRows('Orders', parents, {automations: true})
  t.like(results[0], {
    ok: false,
    sent: true,
    crm: {code: 'INVALID_DATA', unanswered: false, details: {json_path: '$.data[0].Order_Lines[2].Quantity'}},
  })
  t.deepEqual(results[1], {ok: true, recordId: good, modifiedAt: modifiedAt(place, good)})
  t.deepEqual([productsOf(place, bad), productsOf(place, good)], [['Old 1'], ['C']])
  t.false('trigger' in place.standIn.journal({method: 'PUT'})[0]!.body)
})

test('a missing answer leaves every parent unanswered', async t => {
  const {place, connection} = t.context
  const id = makeOrder(place, 0)
  place.standIn.faults.add({match: {method: 'PUT', module: 'Orders'}, action: 'dropAfter'})
  const {results} = await connection.replaceRows('Orders', [{id, field: 'Order_Lines', deletes: [], adds: adds('A')}], {})
  t.like(results[0], {ok: false, sent: true, crm: {unanswered: true, code: null}})
  t.deepEqual(productsOf(place, id), ['A'])
})
