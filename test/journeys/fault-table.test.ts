import anyTest, {type TestFn} from 'ava'
import {world} from '../world.ts'
import {accessRows} from './fault-access-table.ts'
import {assertRow, clear} from './fault-cells.ts'
import {openDoors, type Place} from './fault-doors.ts'
import {limits, refusals, tokens, wholes} from './fault-refusals.ts'
import {type Door, doors, meanwhile, type Row, silences} from './fault-table.ts'
import {expectedOf} from './fault-verdict.ts'

/** Every fault of the stand-in through every door that reaches it, one row after the other, the doors of a row at once. */
const test = anyTest.serial as TestFn<{places: Place[]}>

test.before(async t => {
  const here = await world(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '3'}})
  t.context.places = await openDoors(here)
})
test.beforeEach(t => clear(t.context.places[0]!))

const rows = [...silences, ...meanwhile, ...refusals, ...wholes, ...limits, ...tokens]

for (const row of rows)
  test(row.fault, async t => {
    const {places} = t.context
    await assertRow(t, row, places)
    t.deepEqual(places[0]!.world.crm.journal({path: '/elsewhere'}), [], 'no redirect is followed')
  })

test('no fault of the stand-in, a to u, is left out at any door', t => {
  const met = (door: Door) => new Set([...rows, ...accessRows].filter(row => expectedOf(row as Row, door)).map(({fault}) => fault[0]))
  for (const door of doors)
    t.deepEqual(
      [...'abcdefghijklmnopqrstu'].filter(letter => !met(door).has(letter)),
      [],
      door,
    )
})
