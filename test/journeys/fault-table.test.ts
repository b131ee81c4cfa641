import anyTest, {type TestFn} from 'ava'
import {startTestDeployment} from '../support/test-deployment.ts'
import {accessRows} from './fault-access-table.ts'
import {assertRow, clear} from './fault-cells.ts'
import {type FaultDoorPlace, openFaultOperations} from './fault-operations.ts'
import {limits, refusals, tokens, wholes} from './fault-refusals.ts'
import {type Door, faultOperations, meanwhile, missingAnswers, type Row} from './fault-table.ts'
import {expectedOf} from './fault-verdict.ts'

/** The tests run serially: row after row, and all doors of a row at once. */
const test = anyTest.serial as TestFn<{places: FaultDoorPlace[]}>

test.before(async t => {
  const here = await startTestDeployment(t, {workers: ['discovery', 'writes'], environment: {CRM_TIMEOUT_SECONDS: '3'}})
  t.context.places = await openFaultOperations(here)
})
test.beforeEach(t => clear(t.context.places[0]!))

const rows = [...missingAnswers, ...meanwhile, ...refusals, ...wholes, ...limits, ...tokens]

for (const row of rows)
  test(row.fault, async t => {
    const {places} = t.context
    await assertRow(t, row, places)
    t.deepEqual(places[0]!.world.crm.journal({path: '/elsewhere'}), [], 'no redirect is followed')
  })

test('every fault of the stand-in, a to u, is covered at every door', t => {
  const met = (door: Door) => new Set([...rows, ...accessRows].filter(row => expectedOf(row as Row, door)).map(({fault}) => fault[0]))
  for (const door of faultOperations)
    t.deepEqual(
      [...'abcdefghijklmnopqrstu'].filter(letter => !met(door).has(letter)),
      [],
      door,
    )
})
