import anyTest, {type TestFn} from 'ava'
import type {Connection, MadeQuery} from '../../../shared/crm/crm.ts'
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
  standIn.setSwitches({coqlRefusedColumns: []})
})

const make = ({standIn}: CrmPlace, names: string[], as = 'ana@example.org') => {
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
    module: 'Orders',
    user: connection.connector.crmUserId,
    fromMs: Date.now() - 5_000,
    toMs: Date.now() + 5_000,
    groups: [],
    ...more,
  })
const idsOf = (found: Awaited<ReturnType<typeof ask>>) => (found === null || found === 'many' ? found : found.ids.toSorted())
const queries = ({standIn}: CrmPlace) => standIn.journal().flatMap(({path, body}) => (path === '/crm/v8/coql' ? [body.select_query] : []))

test('a search for created records returns those of one user in the time window', async t => {
  const {place} = t.context
  const mine = make(place, ['a', 'b'])
  make(place, ['c'], 'ben@example.org')
  t.deepEqual(idsOf(await ask(t.context)), mine.toSorted())
  t.deepEqual(idsOf(await ask(t.context, {fromMs: Date.now() - 20_000, toMs: Date.now() - 10_000})), [])
})

test('a search has fifty values a query, and a quote is an ordinary value', async t => {
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

test('conditions that the CRM refuses are left to the caller; without any condition there is no search', async t => {
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

test('a search with more than two thousand records returns `many`', async t => {
  const {place} = t.context
  make(
    place,
    Array.from({length: 2_001}, (_, n) => `m-${n}`),
  )
  t.is(await ask(t.context), 'many')
})

test('the window uses the clock of the CRM if it differs from ours', async t => {
  const {place} = t.context
  place.standIn.clock.advance(600_000)
  const mine = make(place, ['a'])
  const found = await ask(t.context)
  t.deepEqual(idsOf(found), mine)
  t.true(found !== null && found !== 'many' && Math.abs(found.clockOffsetMs - 600_000) < 2_000)
})

test('a CRM that does not answer fails the search', async t => {
  t.context.place.standIn.faults.add({match: {path: '/crm/v8/coql'}, times: 1, action: 'dropBefore'})
  await t.throwsAsync(ask(t.context), {name: 'CrmError'})
})
