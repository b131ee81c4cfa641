import anyTest, {type TestFn} from 'ava'
import type {Connection} from '../../../shared/crm/crm.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

/** The tests run serially, because they share one stand-in. */
const test = anyTest.serial as TestFn<{place: CrmPlace; connection: Connection}>

anyTest.before(async t => {
  const context = t.context as {place: CrmPlace; connection: Connection}
  context.place = await place(t)
  context.connection = await context.place.crm.open(await context.place.connect())
})
anyTest.beforeEach(t => (t.context as {place: CrmPlace}).place.standIn.clear())

const lead = (name: string) => ({Last_Name: name})

test('a write can be called off until it leaves, and again before it is resent with a new token', async t => {
  const {connection, place} = t.context
  const asked: number[] = []
  const mayLeave = (times: number) => () => {
    asked.push(place.standIn.journal({path: '/crm/v8/'}).length)
    return asked.length <= times
  }
  const refused = {ok: false, sent: false, refusal: {code: 'UNAVAILABLE', extra: {written: false}}}
  t.like((await connection.createRecords('Leads', [lead('One')], {mayLeave: mayLeave(0)})).results[0], refused)
  t.deepEqual(asked.splice(0), [0])
  t.is(place.standIn.journal().length, 0)
  place.standIn.faults.add({match: {method: 'POST', module: 'Leads'}, action: 'expireToken'})
  t.like((await connection.createRecords('Leads', [lead('One')], {mayLeave: mayLeave(1)})).results[0], refused)
  t.deepEqual(asked.splice(0), [0, 1])
  t.deepEqual(place.standIn.records('example', 'Leads'), [])
  t.true((await connection.createRecords('Leads', [lead('One')], {mayLeave: mayLeave(1)})).results[0]!.ok)
})

test('a record is read together with the clock of the CRM', async t => {
  const {connection, place} = t.context
  const [made] = (await connection.createRecords('Leads', [lead('Ono')], {})).results
  const id = made!.ok ? made!.recordId : ''
  place.standIn.clock.advance(-3600_000)
  const {record, clockOffsetMs} = await connection.readRecordWithClock('Leads', id)
  const gone = await connection.readRecordWithClock('Leads', '1')
  place.standIn.clock.advance(3600_000)
  t.like(record, {id, Last_Name: 'Ono'})
  t.is(gone.record, null)
  for (const offset of [clockOffsetMs, gone.clockOffsetMs]) t.true(Math.abs(offset! + 3600_000) < 2000)
})
