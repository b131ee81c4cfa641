import anyTest, {type TestFn} from 'ava'
import {type Connection, CrmError} from '../../../shared/crm/crm.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

const test = anyTest.serial as TestFn<{place: CrmPlace; connection: Connection}>

anyTest.before(async t => {
  const context = t.context as {place: CrmPlace; connection: Connection}
  context.place = await place(t)
  context.connection = await context.place.crm.open(await context.place.connect())
})
anyTest.beforeEach(t => {
  const {standIn} = (t.context as {place: CrmPlace}).place
  standIn.clear()
  standIn.setSwitches({coqlInLimit: 50, coqlCriteria: 25, coqlMostRows: 2_000, coqlRefusedColumns: []})
})

const count = (length: number) => Array.from({length}, (_, n) => n)
const make = ({standIn}: CrmPlace, codes: string[], more: object = {}) =>
  standIn.create(
    'example',
    'Orders',
    codes.map(code => ({Name: code, Code: code, ...more})),
  )
const queries = ({standIn}: CrmPlace) => standIn.journal().filter(({path}) => path === '/crm/v8/coql')
const byCode = (connection: Connection, values: (string | number)[]) =>
  connection.findRecords({module: 'Orders', field: 'Code', values, fields: ['Name']})
const codesOf = (records: Record<string, unknown>[]) => records.map(({Code}) => String(Code)).toSorted()

test('a query by field value returns matching records only, with id and fields', async t => {
  const {place, connection} = t.context
  make(place, ['A-1', 'A-2', 'A-11'])
  const {records, unaskable} = await byCode(connection, ['A-1', 'A-2', 'A-3'])
  t.deepEqual(codesOf(records), ['A-1', 'A-2'])
  t.deepEqual(Object.keys(records[0]!).toSorted(), ['Code', 'Name', 'id'])
  t.deepEqual(unaskable, [])
})

test('no values lead to no query, and absent values to no records', async t => {
  const {place, connection} = t.context
  t.deepEqual(await byCode(connection, ['A-1']), {records: [], unaskable: []})
  place.standIn.clear()
  t.deepEqual(await byCode(connection, []), {records: [], unaskable: []})
  t.is(queries(place).length, 0)
})

const answerEmpty = ({standIn}: CrmPlace, times: number) =>
  standIn.faults.add({match: {path: '/crm/v8/coql'}, times, action: {type: 'emptyBody', status: 204}})

test('an empty answer is not trusted while the same query misses a value that a record has', async t => {
  const {place} = t.context
  const connection = await place.crm.open(t.context.connection.connector.id)
  make(place, ['Held', 'Sought'])
  answerEmpty(place, 2)
  t.deepEqual(codesOf((await byCode(connection, ['Sought', 'Missing'])).records), ['Sought'])
  answerEmpty(place, 3)
  t.deepEqual(codesOf((await byCode(connection, ['Held'])).records), ['Held'])
  t.deepEqual((await byCode(connection, ['Missing'])).records, [], 'the control is not answered')
  const [last] = queries(place).slice(-1)
  t.regex(String(last!.body.select_query), /where \(Code in \('Missing'\) or Code = '(Sought|Held)'\)/)

  answerEmpty(place, 1_000)
  const error = await t.throwsAsync(byCode(connection, ['Missing']), {instanceOf: CrmError})
  t.like(error!.crm, {unanswered: true, retryable: true})
  place.standIn.faults.clear()
})

test('a record is found by a date-time that the control spells with another offset', async t => {
  const {place} = t.context
  const connection = await place.crm.open(t.context.connection.connector.id)
  make(place, ['Held'], {Due_At: '2026-01-01T10:00:00+00:00'})
  const byDue = (...values: string[]) => connection.findRecords({module: 'Orders', field: 'Due_At', values, fields: ['Code']})
  t.deepEqual((await byDue('2026-02-02T10:00:00+00:00')).records, [])
  const [record] = (await byDue('2026-01-01T10:00:00+00:00')).records
  t.like(record, {Code: 'Held', Due_At: '2026-01-01T11:00:00+01:00'})
})

test('a deleted control record is replaced; without any record an empty answer is trusted', async t => {
  const {place} = t.context
  const connection = await place.crm.open(t.context.connection.connector.id)
  make(place, ['First', 'Second'])
  await byCode(connection, ['First'])
  place.standIn.clear()
  make(place, ['Second'])
  t.deepEqual((await byCode(connection, ['Missing'])).records, [])
  place.standIn.clear()
  t.deepEqual((await byCode(connection, ['Missing'])).records, [])
  make(place, ['Third'])
  t.deepEqual(codesOf((await byCode(connection, ['Third'])).records), ['Third'])
})

const listsIn = ({body}: {body: any}) => (String(body.select_query).match(/ in \(/g) ?? []).length
const limitOf = ({body}: {body: any}) => / limit (\d+, \d+)$/.exec(String(body.select_query))![1]

test('a query has ten lists of fifty values, and one query runs after another', async t => {
  const {place, connection} = t.context
  const codes = count(1_100).map(n => `C-${n}`)
  make(place, codes)
  const {records, unaskable} = await byCode(connection, [...codes, ...codes])
  t.deepEqual([records.length, unaskable], [1_100, []])
  t.deepEqual(queries(place).map(listsIn), [10, 10, 2])
  t.deepEqual(queries(place).map(limitOf), ['0, 1000', '0, 1000', '0, 200'], 'a short list costs one credit')
  t.is(place.standIn.inFlightPeak('example'), 1)
})

for (const [what, switches] of [
  ['fewer conditions', {coqlCriteria: 2}],
  ['fewer values', {coqlInLimit: 20}],
] as const)
  test(`a CRM that accepts ${what} in a query is asked for one list at a time from then on`, async t => {
    const {place} = t.context
    const connection = await place.crm.open(t.context.connection.connector.id)
    place.standIn.setSwitches(switches)
    const codes = count(200).map(n => `C-${n}`)
    make(place, codes)
    t.is(connection.valuesPerQuery, 500)
    t.like(await byCode(connection, codes), {unaskable: []})
    if (what === 'fewer conditions') t.is(connection.valuesPerQuery, 50)
    place.standIn.clearJournal()
    t.is((await byCode(connection, codes)).records.length, 200)
    if (what === 'fewer conditions') t.deepEqual(queries(place).map(listsIn), [1, 1, 1, 1])
  })

test('queries of several lists that stay unanswered are replaced by queries of one list', async t => {
  const {place} = t.context
  const connection = await place.crm.open(t.context.connection.connector.id)
  const codes = count(100).map(n => `C-${n}`)
  make(place, codes)
  place.standIn.faults.add({match: {path: '/crm/v8/coql'}, times: 3, action: 'dropAfter'})
  for (let tried = 1; tried <= 3; tried++) await t.throwsAsync(byCode(connection, codes), {name: 'CrmError'})
  t.is((await byCode(connection, codes)).records.length, 100)
  t.is(connection.valuesPerQuery, 50)
})

test('a CRM that answers fewer records than the limit loses none', async t => {
  const {place, connection} = t.context
  place.standIn.setSwitches({coqlMostRows: 200})
  const codes = count(500).map(n => `C-${n}`)
  make(place, codes)
  t.is((await byCode(connection, codes)).records.length, 500)
  t.deepEqual(queries(place).map(limitOf), ['0, 1000', '200, 1000', '400, 1000'])
})

test('quotes, backslashes and other scripts are ordinary values', async t => {
  const {place, connection} = t.context
  const codes = ["O'Brien", "''", 'a\\b', "it's \\'odd", 'say "hi"', 'ünïcødé 漢字 🚚', 'tab\there', "x') or (id is not null", '%', '-- x']
  make(place, [...codes, 'other'])
  for (const code of codes) t.deepEqual(codesOf((await byCode(connection, [code])).records), [code], code)
  const {records, unaskable} = await byCode(connection, codes)
  t.deepEqual(codesOf(records), codes.toSorted())
  t.deepEqual(unaskable, [])
})

test('numbers are queried as numbers', async t => {
  const {place, connection} = t.context
  make(place, ['A-1'], {Quantity: 7})
  make(place, ['A-2'], {Quantity: 8})
  const {records} = await connection.findRecords({module: 'Orders', field: 'Quantity', values: [7, -1, 2.5], fields: ['Code']})
  t.deepEqual(codesOf(records), ['A-1'])
  t.regex(queries(place)[0]!.body.select_query, /Quantity in \(7,-1,2\.5\)/)
})

test('more than a page is paged through', async t => {
  const {place, connection} = t.context
  make(
    place,
    count(450).map(n => `C-${n}`),
    {Status: 'Fresh'},
  )
  const {records} = await connection.findRecords({module: 'Orders', field: 'Status', values: ['Fresh', 'Shipped'], fields: []})
  t.is(new Set(records.map(({id}) => id)).size, 450)
  t.is(queries(place).length, 3)
})

test('values with over two thousand records are split into shorter lists, and a single value is cut there', async t => {
  const {place, connection} = t.context
  make(
    place,
    count(2100).map(n => `N-${n}`),
    {Status: 'Fresh'},
  )
  make(
    place,
    count(30).map(n => `S-${n}`),
    {Status: 'Shipped'},
  )
  const {records} = await connection.findRecords({module: 'Orders', field: 'Status', values: ['Fresh', 'Shipped'], fields: ['Status']})
  const of = (status: string) => records.filter(({Status}) => Status === status).length
  t.deepEqual([of('Fresh'), of('Shipped')], [2000, 30])
})

test('a value that the CRM cannot parse is isolated, and the others are answered', async t => {
  const {place, connection} = t.context
  const codes = count(50).map(n => `C-${n}`)
  make(place, codes)
  const {records, unaskable} = await byCode(connection, [...codes.slice(0, 13), Number.NaN, ...codes.slice(13), 1e21])
  t.deepEqual(
    unaskable.map(({value}) => value),
    ['NaN', '1e+21'],
  )
  t.like(unaskable[0]!.crm, {code: 'SYNTAX_ERROR', status: 400, details: {line: 1}, unanswered: false})
  t.is(records.length, 50)
  t.true(queries(place).length < 20)
})

test('a value that ends in a backslash does not affect other values', async t => {
  const {place, connection} = t.context
  make(place, ['path\\', 'plain'])
  const {records, unaskable} = await byCode(connection, ['path\\', 'plain'])
  t.deepEqual(codesOf(records), ['path\\', 'plain'])
  t.deepEqual(unaskable, [])
})

test('a query that is wrong without any value fails as a whole after two calls', async t => {
  const {place, connection} = t.context
  const values = count(50).map(String)
  await t.throwsAsync(connection.findRecords({module: 'Orders', field: 'No_Such_Field', values, fields: []}), {
    name: 'CrmError',
    message: /INVALID_QUERY/,
  })
  t.is(queries(place).length, 2)
  await t.throwsAsync(connection.findRecords({module: 'No_Such_Module', field: 'Code', values, fields: []}), {
    name: 'CrmError',
    message: /INVALID_MODULE/,
  })
  place.standIn.setSwitches({coqlRefusedColumns: ['Code']})
  await t.throwsAsync(byCode(connection, values), {name: 'CrmError', message: /INVALID_QUERY/})
})

test('a CRM that accepts fewer values gets shorter lists', async t => {
  const {place, connection} = t.context
  place.standIn.setSwitches({coqlInLimit: 20})
  const codes = count(50).map(n => `C-${n}`)
  make(place, codes)
  const {records, unaskable} = await byCode(connection, codes)
  t.is(records.length, 50)
  t.deepEqual(unaskable, [])
})

test('a field whose name is a reserved word of SQL is quoted in the query', async t => {
  const {place, connection} = t.context
  place.standIn.addField('example', 'Orders', {name: 'External', type: 'text', length: 40})
  place.standIn.create('example', 'Orders', [{Name: 'E', External: 'E-1'}])
  const {records} = await connection.findRecords({module: 'Orders', field: 'External', values: ['E-1'], fields: ['Name']})
  t.like(records, [{Name: 'E', External: 'E-1'}])
})

test('an unanswered query fails as a whole', async t => {
  const {place, connection} = t.context
  make(place, count(1_000).map(String))
  place.standIn.faults.add({match: {path: '/crm/v8/coql', nth: 2}, action: 'dropAfter'})
  await t.throwsAsync(byCode(connection, count(1_000).map(String)), {name: 'CrmError', message: 'The CRM did not answer'})
})

test('a query under an exhausted quota fails as a whole', async t => {
  const {place} = t.context
  const connection = await place.crm.open(await place.connect({email: 'zoe@other.example'}))
  place.standIn.faults.add({match: {path: '/crm/v8/coql', org: 'other'}, action: {type: 'rateLimit', credits: 0}})
  await t.throwsAsync(byCode(connection, ['x']), {name: 'CrmError', message: /used all its API credits/})
})

test('only valid names go into a query unquoted', async t => {
  const {connection} = t.context
  for (const name of ['Code) or (1=1', 'a b', "'", '']) {
    await t.throwsAsync(connection.findRecords({module: 'Orders', field: name, values: ['x'], fields: []}), {instanceOf: RangeError})
    await t.throwsAsync(connection.findRecords({module: name, field: 'Code', values: ['x'], fields: []}), {instanceOf: RangeError})
  }
})
