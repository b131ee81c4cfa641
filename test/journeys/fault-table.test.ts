import anyTest, {type TestFn} from 'ava'
import {world} from '../world.ts'
import {assertRow, clear} from './fault-cells.ts'
import {openDoors, type Place} from './fault-doors.ts'
import {limits, refusals, tokens, wholes} from './fault-refusals.ts'
import {meanwhile, silences} from './fault-table.ts'

/** Every fault of the stand-in through every door that reaches it, one row after the other, the doors of a row at once. */
const test = anyTest.serial as TestFn<{places: Place[]}>

test.before(async t => {
  const here = await world(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '1'}})
  t.context.places = await openDoors(here)
})
test.beforeEach(t => clear(t.context.places[0]!))

for (const row of [...silences, ...meanwhile, ...refusals, ...wholes, ...limits, ...tokens])
  test(row.fault, async t => {
    const {places} = t.context
    await assertRow(t, row, places)
    t.deepEqual(places[0]!.world.crm.journal({path: '/elsewhere'}), [], 'no redirect is followed')
  })
