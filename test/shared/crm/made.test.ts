import anyTest, {type TestFn} from 'ava'
import type {Connection, MadeQuery} from '../../../shared/crm/crm.ts'
import {type Place, place} from './place.ts'

const test = anyTest.serial as TestFn<{place: Place; connection: Connection}>

anyTest.before(async t => {
  const context = t.context as {place: Place; connection: Connection}
  context.place = await place(t)
  context.connection = await context.place.crm.open(await context.place.connect())
})
anyTest.beforeEach(t => {
  const {standIn} = (t.context as {place: Place}).place
  standIn.clear()
  standIn.setSwitches({coqlRefusedColumns: []})
})

const make = ({standIn}: Place, names: string[], as = 'ana@example.org') => {
  const made: string[] = []
  for (let from = 0; from < names.length; from += 100)
    standIn.create(
      'example',
      'Orders',
      names.slice(from, from + 100).map(Name => ({Name})),
      {as},
    )
  for (const {id, Name} of standIn.records('example', 'Orders')) if (names.includes(String(Name))) made.push(id)
  return made
}

const ask = ({connection}: {connection: Connection}, more: Partial<MadeQuery> = {}) =>
  connection.findMade!({
    ...{
      module: 'Orders',
      user: connection.connector.crmUserId,
      fromMs: Date.now() - 5_000,
      toMs: Date.now() + 5_000,
      groups: [],
    },
    ...more,
  })
const idsOf = (found: Awaited<ReturnType<typeof ask>>) => (found === null || found === 'many' ? found : found.ids.toSorted())
const queries = ({standIn}: Place) => standIn.journal().flatMap(({path, body}) => (path === '/crm/v8/coql' ? [body.select_query] : []))

test('records that one user made in the window, and no others', async t => {
  const {place} = t.context
  const mine = make(place, ['a', 'b'])
  make(place, ['c'], 'ben@example.org')
  t.deepEqual(idsOf(await ask(t.context)), mine.toSorted())
  t.deepEqual(idsOf(await ask(t.context, {fromMs: Date.now() - 20_000, toMs: Date.now() - 10_000})), [])
})

test('fifty values a query; a quote is a value like others', async t => {
  const {place} = t.context
  const names = [...Array.from({length: 60}, (_, n) => `n-${n}`), "O'Neil"]
  const mine = make(place, names)
  make(place, ['other'])
  t.deepEqual(
    idsOf(await ask(t.context, {groups: [names.slice(0, 50), names.slice(50)].map(values => [{field: 'Name', values}])})),
    mine.toSorted(),
  )
  t.is(queries(place).length, 2)
})

test('what the CRM does not take as a condition is left to whoever asks; with none left it cannot be asked', async t => {
  const {place} = t.context
  const [mine] = make(place, ['a'])
  const [theirs] = make(place, ['b'], 'ben@example.org')
  place.standIn.setSwitches({coqlRefusedColumns: ['Name']})
  t.deepEqual(idsOf(await ask(t.context, {groups: [[{field: 'Name', values: ['a']}]]})), [mine])
  place.standIn.setSwitches({coqlRefusedColumns: ['Name', 'Created_By']})
  t.deepEqual(idsOf(await ask(t.context, {groups: [[{field: 'Name', values: ['a']}]]})), [mine, theirs].toSorted())
  place.standIn.setSwitches({coqlRefusedColumns: ['Created_Time']})
  t.is(await ask(t.context), null)
})

test('more than two thousand are too many', async t => {
  const {place} = t.context
  make(
    place,
    Array.from({length: 2_001}, (_, n) => `m-${n}`),
  )
  t.is(await ask(t.context), 'many')
})

test("the window is by the CRM's clock where it goes by another", async t => {
  const {place} = t.context
  place.standIn.clock.advance(600_000)
  const mine = make(place, ['a'])
  const found = await ask(t.context)
  t.deepEqual(idsOf(found), mine)
  t.true(found !== null && found !== 'many' && Math.abs(found.clockOffsetMs - 600_000) < 2_000)
})

test('a CRM that does not answer is no answer', async t => {
  t.context.place.standIn.faults.add({match: {path: '/crm/v8/coql'}, times: 1, action: 'dropBefore'})
  await t.throwsAsync(ask(t.context), {name: 'CrmError'})
})
