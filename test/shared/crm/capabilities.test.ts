import anyTest, {type TestFn} from 'ava'
import type {Connection} from '../../../shared/crm/crm.ts'
import {sql} from '../../../sql/database.ts'
import type {Switches} from '../../simulators/crm/switches.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

/** The tests run serially, because they set switches of one stand-in. */
const test = anyTest.serial as TestFn<{place: CrmPlace; id: string; usual: Switches}>

test.before(async t => {
  const here = await place(t)
  Object.assign(t.context, {place: here, id: await here.connect(), usual: here.standIn.switches()})
})
test.beforeEach(t => {
  const {standIn} = t.context.place
  standIn.clear()
  standIn.setSwitches(t.context.usual)
})

const openWith = async ({place: {db, crm}, id}: {place: CrmPlace; id: string}, capabilities: object): Promise<Connection> => {
  await db.query(sql.unsafe`update connectors set capabilities = ${JSON.stringify(capabilities)}::jsonb where id = ${id}`)
  return crm.open(id)
}
const make = ({standIn}: CrmPlace, codes: string[]) =>
  standIn.create(
    'example',
    'Orders',
    codes.map(code => ({Name: code, Code: code})),
  )
const queriesOf = ({standIn}: CrmPlace) => standIn.journal().filter(({path}) => path === '/crm/v8/coql')
const codes = (count: number) => Array.from({length: count}, (_, n) => `C-${n}`)

for (const [coqlInSize, coqlInLists, valuesPerQuery, queries] of [
  [50, 10, 500, 1],
  [100, 10, 500, 1],
  [25, 4, 100, 2],
  [50, 1, 50, 4],
  [100, 1, 100, 2],
] as const)
  test(`a query asks for ${coqlInLists} lists of ${coqlInSize} values if the CRM accepts that many, but at most 500 values`, async t => {
    const {standIn} = t.context.place
    standIn.setSwitches({coqlInLimit: coqlInSize})
    make(t.context.place, codes(200))
    const connection = await openWith(t.context, {coqlInSize, coqlInLists})
    t.is(connection.valuesPerQuery, valuesPerQuery)
    const {records, unaskable} = await connection.findRecords({module: 'Orders', field: 'Code', values: codes(200), fields: []})
    t.deepEqual([records.length, unaskable.length, queriesOf(t.context.place).length], [200, 0, queries])
  })

test('the assumed lag of queries is twice the measured lag', async t => {
  t.is((await openWith(t.context, {})).lagSeconds, 0)
  t.is((await openWith(t.context, {coqlLagSeconds: 45})).lagSeconds, 90)
})

for (const coqlQuote of ['doubled', 'backslash'] as const)
  test(`values with quotes and backslashes are found at a CRM that accepts only the form ${coqlQuote}`, async t => {
    t.context.place.standIn.setSwitches({coqlQuote})
    const values = ["O'Neil", 'a\\b', "\\'", 'plain']
    make(t.context.place, values)
    const {records, unaskable} = await (await openWith(t.context, {coqlQuote})).findRecords({
      module: 'Orders',
      field: 'Code',
      values,
      fields: [],
    })
    t.deepEqual([records.map(({Code}) => Code).toSorted(), unaskable], [values.toSorted(), []])
  })

test('columns beyond the limit of a query are read by id', async t => {
  const {place} = t.context
  place.standIn.setSwitches({coqlColumns: 10})
  const answers = Array.from({length: 30}, (_, n) => `Answer_${n + 1}`)
  place.standIn.create('example', 'Surveys', [{Name: 'S-1', ...Object.fromEntries(answers.map(name => [name, `of ${name}`]))}])
  const connection = await openWith(t.context, {coqlColumns: 10})
  const {records} = await connection.findRecords({module: 'Surveys', field: 'Name', values: ['S-1'], fields: answers})
  t.deepEqual(
    answers.map(name => records[0]![name]),
    answers.map(name => `of ${name}`),
  )
})

for (const [coqlWindow, switches] of [
  ['between-offset', {coqlMoments: ['offset']}],
  ['between-z', {coqlMoments: ['z']}],
  ['pair-offset', {coqlMoments: ['offset'], coqlRefusedOperators: ['between']}],
  ['pair-z', {coqlMoments: ['z'], coqlRefusedOperators: ['between']}],
] as const)
  test(`records created in a time range are found by the form ${coqlWindow}, if the CRM accepts no other`, async t => {
    const {standIn} = t.context.place
    standIn.setSwitches(switches as unknown as Partial<Switches>)
    const [entry] = make(t.context.place, ['Mine'])
    const connection = await openWith(t.context, {coqlWindow})
    const [fromMs, toMs] = [Date.now() - 60_000, Date.now() + 60_000]
    const made = await connection.findMade!({module: 'Orders', user: connection.connector.crmUserId, fromMs, toMs, groups: []})
    t.like(made, {ids: [entry!.details.id as string]})
  })

test('invalid capabilities of another version are replaced by defaults', async t => {
  const connection = await openWith(t.context, {coqlInSize: 'many', coqlQuote: 'tripled', unheardOf: true})
  t.is(connection.valuesPerCondition, 50)
  t.is(connection.valuesPerQuery, 500)
})
