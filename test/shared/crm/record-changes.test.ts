import anyTest, {type TestFn} from 'ava'
import type {Connection} from '../../../shared/crm/crm.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

const test = anyTest.serial as TestFn<{place: CrmPlace; connection: Connection}>
const dayMs = 86_400_000

anyTest.before(async t => {
  const context = t.context as {place: CrmPlace; connection: Connection}
  context.place = await place(t)
  context.connection = await context.place.crm.open(await context.place.connect())
})

test('changes are read up to now, also those long after the start, with deletions', async t => {
  const {place, connection} = t.context
  const orders = [{Name: 'stays'}, {Name: 'goes'}]
  place.standIn.create('example', 'Orders', orders, {as: 'ana@example.org'})
  const [stays, goes] = place.standIn.records('example', 'Orders').map(({id}) => id)
  await connection.deleteRecords!('Orders', [goes!], {})
  for (const days of [0.01, 1.5, 40]) {
    const found = await connection.readChanges!({module: 'Orders', fields: ['Name'], sinceMs: Date.now() - days * dayMs})
    t.deepEqual([found!.records.map(({id, Name}) => [id, Name]), found!.deleted], [[[stays, 'stays']], [goes]], `${days} days`)
  }
  const later = await connection.readChanges!({module: 'Orders', fields: ['Name'], sinceMs: Date.now() + 60_000})
  t.deepEqual([later!.records, later!.deleted], [[], []])
})

test('a module with too many deletions has no list of changes', async t => {
  const {place, connection} = t.context
  place.standIn.create('example', 'Products', [{Product_Name: 'One'}, {Product_Name: 'Two'}])
  await connection.deleteRecords!(
    'Products',
    place.standIn.records('example', 'Products').map(({id}) => id),
    {},
  )
  const query = {module: 'Products', fields: ['Product_Name'], sinceMs: Date.now() - dayMs}
  const options = {signal: new AbortController().signal, mostChanges: 1}
  t.is(await connection.readChanges!(query, options), null)
  t.is((await connection.readChanges!(query, {...options, mostChanges: 2} as object))!.deleted.length, 2)
})

test('converted leads are counted and found by a search', async t => {
  const {place, connection} = t.context
  const {standIn} = place
  standIn.create('example', 'Leads', [{Last_Name: 'Ono', Email: 'ono@example.org'}])
  const [{id}] = standIn.records('example', 'Leads') as [{id: string}]
  standIn.mark('example', 'Leads', [id], {converted: true})
  t.is(await connection.countRecords!('Leads'), 1)
  const ids = (records: {id: string}[]) => records.map(record => record.id)
  t.deepEqual(ids(await connection.searchValue({module: 'Leads', field: 'Email', value: 'ono@example.org'})), [id])
  t.deepEqual(ids(await connection.searchWord({module: 'Leads', word: 'Ono', page: 1, perPage: 20})), [id])
})
