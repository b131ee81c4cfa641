import anyTest, {type TestFn} from 'ava'
import type {Connection, RecordAnswer} from '../../../shared/crm/crm.ts'
import type {CrmProblem} from '../../../shared/crm/error.ts'
import {sql} from '../../../sql/database.ts'
import type {FaultSpec} from '../../simulators/crm/faults.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

/** The tests run serially, because they share one stand-in with faults. */
const test = anyTest.serial as TestFn<{place: CrmPlace; connection: Connection}>

anyTest.before(async t => {
  const context = t.context as {place: CrmPlace; connection: Connection}
  context.place = await place(t, {environment: {CRM_TIMEOUT_SECONDS: '1'}})
  context.connection = await context.place.crm.open(await context.place.connect())
})
anyTest.beforeEach(async t => {
  const {place} = t.context as {place: CrmPlace}
  place.standIn.clear()
  await place.db.query(sql.unsafe`delete from crm_allowances`)
})

const lead = (name: string, more: object = {}) => ({Last_Name: name, ...more})
const order = (code: string, more: object = {}) => ({Name: code, Code: code, ...more})
const problemOf = (result: RecordAnswer | undefined): CrmProblem => {
  if (!result || result.ok || !result.sent) throw new Error(`Not a refusal of the CRM: ${JSON.stringify(result)}`)
  return result.crm
}
/** Waits until the journal has `length` calls. The stand-in may still be working on a call that has ended here. */
const journalOf = async ({standIn}: CrmPlace, length: number) => {
  while (standIn.journal().length < length) await new Promise(setImmediate)
  return standIn.journal()
}
const POST: FaultSpec['match'] = {method: 'POST', module: 'Leads'}

test('created records are returned in order with their ids', async t => {
  const {connection, place} = t.context
  const {results, clockOffsetMs} = await connection.createRecords('Leads', [lead('One'), lead('Two')], {})
  const ids = results.map(result => (result.ok ? result.recordId : null))
  t.deepEqual(
    ids.map(id => place.standIn.record('example', 'Leads', id!)!.Last_Name),
    ['One', 'Two'],
  )
  t.true(clockOffsetMs !== null && Math.abs(clockOffsetMs) < 2000)
})

test('automations run only when requested', async t => {
  const {connection, place} = t.context
  await connection.createRecords('Leads', [lead('Quiet')], {})
  await connection.createRecords('Leads', [lead('Loud')], {automations: true})
  const [quiet, loud] = place.standIn.journal().map(({body}) => body)
  t.deepEqual(quiet.trigger, [])
  t.false('trigger' in loud)
})

test('a list of automations, a layout and an assignment rule are sent beside the records', async t => {
  const {connection, place} = t.context
  const layout = place.standIn.addLayout('example', 'Leads', {name: 'Short'})
  const assignmentRule = place.standIn.addAssignmentRule('example', 'Leads', {name: 'By region', assignTo: 'ben@example.org'})
  const options = {automations: ['workflow' as const], layout, assignmentRule}
  const {results} = await connection.createRecords('Leads', [lead('One')], options)
  const id = results[0]?.ok ? results[0].recordId : ''
  t.like(place.standIn.record('example', 'Leads', id), {Layout: {id: layout}, Owner: {email: 'ben@example.org'}})
  await connection.updateRecords('Leads', [{id, Company: 'Acme'}], options)
  const [create, update] = place.standIn.journal().map(({body}) => body)
  t.like(create, {trigger: ['workflow'], lar_id: assignmentRule, data: [{Layout: {id: layout}}]})
  t.like(update, {trigger: ['workflow'], data: [{id, Layout: {id: layout}}]})
  t.false('lar_id' in update)
})

test('the clock offset of the CRM is returned', async t => {
  const {connection, place} = t.context
  place.standIn.clock.advance(3600_000)
  const {clockOffsetMs} = await connection.createRecords('Leads', [lead('Later')], {})
  place.standIn.clock.advance(-3600_000)
  t.true(Math.abs(clockOffsetMs! - 3600_000) < 2000)
})

test('no records send nothing, and more than a hundred are a RangeError', async t => {
  const {connection, place} = t.context
  t.deepEqual(await connection.createRecords('Leads', [], {}), {results: [], clockOffsetMs: null})
  await t.throwsAsync(
    connection.createRecords(
      'Leads',
      Array.from({length: 101}, () => lead('x')),
      {},
    ),
    {instanceOf: RangeError},
  )
  t.is(place.standIn.journal().length, 0)
})

test('an update names its records, and an absent record fails alone', async t => {
  const {connection, place} = t.context
  const [made] = (await connection.createRecords('Leads', [lead('Before')], {})).results
  const id = made!.ok ? made!.recordId : ''
  const {results} = await connection.updateRecords(
    'Leads',
    [
      {id, Last_Name: 'After'},
      {id: '4400001000000000001', Last_Name: 'x'},
    ],
    {},
  )
  const {Modified_Time: modifiedAt} = place.standIn.record('example', 'Leads', id)!
  t.deepEqual(results[0], {ok: true, recordId: id, modifiedAt: modifiedAt as string})
  t.like(problemOf(results[1]), {code: 'INVALID_DATA', status: 207, unanswered: false, retryable: false})
  t.is(place.standIn.record('example', 'Leads', id)!.Last_Name, 'After')
})

type Case = {row: string; fault: FaultSpec; says: Partial<CrmProblem>; stored: number}
const silent = (status: number | null, more: Partial<CrmProblem> = {}) => ({unanswered: true, retryable: true, code: null, status, ...more})
const limited = (more: Partial<CrmProblem> = {}) => ({
  unanswered: false,
  retryable: true,
  rateLimited: true,
  quotaSpent: false,
  status: 429,
  code: 'TOO_MANY_REQUESTS',
  retryAfterMs: null,
  ...more,
})

const tooLarge = {type: 'answer', status: 413, text: '<h1>Too large</h1>'} as const

const cases: Case[] = [
  {row: '1 dropped before', fault: {action: 'dropBefore'}, says: silent(null), stored: 0},
  {row: '1 dropped after', fault: {action: 'dropAfter'}, says: silent(null), stored: 2},
  {row: '1 cut in half', fault: {action: 'truncateAfter'}, says: silent(200), stored: 2},
  {row: '1 out of time', fault: {action: {type: 'hold', when: 'after'}}, says: silent(null), stored: 2},
  {row: '2 500 before', fault: {action: 'status5xxBefore'}, says: silent(500, {code: 'INTERNAL_ERROR'}), stored: 0},
  {row: '2 502 after, a page', fault: {action: {type: 'status5xxAfter', status: 502, html: true}}, says: silent(502), stored: 2},
  {
    row: '2 503 that asks to wait',
    fault: {action: {type: 'status5xxBefore', status: 503, retryAfter: 7}},
    says: silent(503, {code: 'INTERNAL_ERROR', retryAfterMs: 7000}),
    stored: 0,
  },
  {row: '3 a page', fault: {action: 'nonJson'}, says: silent(200), stored: 2},
  {row: '3 nothing', fault: {action: 'emptyBody'}, says: silent(200), stored: 2},
  {row: '3 204', fault: {action: {type: 'emptyBody', status: 204}}, says: silent(204), stored: 2},
  {row: '4 made, without saying which', fault: {action: 'successNoId'}, says: silent(201, {code: 'SUCCESS'}), stored: 2},
  {row: '5 no entries', fault: {action: {type: 'shortData', by: 2}}, says: silent(201), stored: 2},
  {
    row: '8 refused whole',
    fault: {
      action: {
        type: 'answer',
        status: 400,
        body: {code: 'INVALID_MODULE', details: {resource_path_index: 0}, message: 'x', status: 'error'},
      },
    },
    says: {code: 'INVALID_MODULE', status: 400, unanswered: false, retryable: false, details: {resource_path_index: 0}},
    stored: 0,
  },
  {row: '8 413 as a page', fault: {action: tooLarge}, says: {code: null, status: 413, unanswered: false}, stored: 0},
  {
    row: '12 the day is spent',
    fault: {action: {type: 'rateLimit', credits: 0}},
    says: limited({retryable: false, quotaSpent: true}),
    stored: 0,
  },
  {row: '13 no header', fault: {action: 'rateLimit'}, says: limited(), stored: 0},
  {row: '13 credits left', fault: {action: {type: 'rateLimit', credits: 12}}, says: limited(), stored: 0},
  {row: '13 seconds to wait', fault: {action: {type: 'rateLimit', retryAfter: 3}}, says: limited({retryAfterMs: 3000}), stored: 0},
  {row: '13 the older shape', fault: {action: {type: 'rateLimit', legacy: true}}, says: limited(), stored: 0},
  {row: '15 moved', fault: {action: {type: 'redirect', to: 'http://127.0.0.1:9/'}}, says: silent(302, {retryable: false}), stored: 0},
]

for (const {row, fault, says, stored} of cases) {
  test(`row ${row}: every record has the same problem, and nothing is sent again`, async t => {
    const {connection, place} = t.context
    place.standIn.faults.add({match: POST!, ...fault})
    const {results} = await connection.createRecords('Leads', [lead('One'), lead('Two')], {})
    t.is(results.length, 2)
    for (const result of results) t.like(problemOf(result), says)
    place.standIn.release()
    t.is((await journalOf(place, 1)).length, 1)
    t.is(place.standIn.count('example', 'Leads'), stored)
  })
}

test('row 1: a refused connection is unanswered', async t => {
  const {place} = t.context
  const crm = await place.openAnother({config: {CRM_STANDIN_URL: 'http://127.0.0.1:9'}})
  const id = await place.connect()
  await place.db.query(sql.unsafe`update connectors set api_domain = 'http://127.0.0.1:9' where id = ${id}`)
  const {results} = await (await crm.open(id)).createRecords('Leads', [lead('One')], {})
  t.like(problemOf(results[0]), silent(null))
})

test('row 5: an answer shorter than the request leaves every record unanswered', async t => {
  const {connection, place} = t.context
  place.standIn.faults.add({match: POST!, action: 'shortData'})
  const {results} = await connection.createRecords('Leads', [lead('One'), lead('Two')], {})
  for (const result of results) t.like(problemOf(result), silent(201))
})

test('row 5: entries in another order leave every record unanswered', async t => {
  const {connection, place} = t.context
  place.standIn.faults.add({match: POST!, action: 'shuffleData'})
  const {results} = await connection.createRecords('Leads', [lead('One'), {}], {})
  for (const result of results) t.like(problemOf(result), silent(207))
})

test('row 13: Retry-After with a date is read as a wait', async t => {
  const {connection, place} = t.context
  place.standIn.faults.add({match: POST!, action: {type: 'rateLimit', retryAfter: 'date:30'}})
  const {results} = await connection.createRecords('Leads', [lead('One')], {})
  const {retryAfterMs} = problemOf(results[0])
  t.true(retryAfterMs! > 25_000 && retryAfterMs! <= 31_000)
})

test('row 6: refused records stand beside created ones at 207, 400 and the former 202', async t => {
  const {connection, place} = t.context
  const mixed = await connection.createRecords('Leads', [lead('One'), {}, lead('Three')], {})
  t.deepEqual(
    mixed.results.map(({ok}) => ok),
    [true, false, true],
  )
  t.like(problemOf(mixed.results[1]), {code: 'MANDATORY_NOT_FOUND', status: 207, details: {api_name: 'Last_Name'}, unanswered: false})
  const none = await connection.createRecords('Leads', [{}], {})
  t.like(problemOf(none.results[0]), {code: 'MANDATORY_NOT_FOUND', status: 400})
  place.standIn.setSwitches({legacy202: true})
  const old = await connection.createRecords('Leads', [{}], {})
  place.standIn.setSwitches({legacy202: false})
  t.like(problemOf(old.results[0]), {code: 'MANDATORY_NOT_FOUND', status: 202, unanswered: false})
})

test('row 6: a locked record may be retried, and an unknown code is passed on', async t => {
  const {connection, place} = t.context
  place.standIn.faults.add({match: POST!, action: {type: 'refuse', index: 0, code: 'RECORD_LOCKED'}})
  t.like(problemOf((await connection.createRecords('Leads', [lead('One')], {})).results[0]), {code: 'RECORD_LOCKED', retryable: true})
  place.standIn.faults.add({match: POST!, action: {type: 'refuse', index: 0, code: 'NEVER_SEEN', details: {a: [1]}}})
  t.like(problemOf((await connection.createRecords('Leads', [lead('One')], {})).results[0]), {
    code: 'NEVER_SEEN',
    details: {a: [1]},
    retryable: false,
  })
})

test('row 7: a duplicate names the record that has the value', async t => {
  const {connection} = t.context
  const [made] = (await connection.createRecords('Orders', [order('A-1', {Reference: 'R-1'})], {})).results
  const id = made!.ok ? made!.recordId : ''
  const again = async (record: object) => (await connection.createRecords('Orders', [record as Record<string, unknown>], {})).results[0]!
  t.like(await again(order('A-1')), {ok: false, duplicateOf: id})
  t.like(await again(order('A-1', {Reference: 'R-1'})), {ok: false, duplicateOf: id, crm: {code: 'MULTIPLE_OR_MULTI_ERRORS'}})
  await again(order('A-2', {Reference: 'R-2'}))
  t.like(await again(order('A-1', {Reference: 'R-2'})), {ok: false, duplicateOf: null, crm: {code: 'MULTIPLE_OR_MULTI_ERRORS'}})
})

test('row 11: a profile without write permission is refused', async t => {
  const {connection, place} = t.context
  const body = {code: 'NO_PERMISSION', details: {permissions: ['Crm_Create_Leads']}, message: 'permission denied', status: 'error'}
  place.standIn.faults.add({match: POST!, action: {type: 'answer', status: 403, body}})
  const {results} = await connection.createRecords('Leads', [lead('One')], {})
  t.like(problemOf(results[0]), {code: 'NO_PERMISSION', status: 403, unanswered: false, retryable: false, response: body})
})

test('a call cancelled in flight is unanswered; one cancelled before is not sent', async t => {
  const {connection, place} = t.context
  const flight = new AbortController()
  place.standIn.faults.add({match: POST!, action: {type: 'hold', when: 'after'}})
  const writing = connection.createRecords('Leads', [lead('One')], {signal: flight.signal})
  while (place.standIn.held() === 0) await new Promise(setImmediate)
  flight.abort()
  t.like(problemOf((await writing).results[0]), silent(null))
  place.standIn.release()
  await journalOf(place, 1)
  const {results} = await connection.createRecords('Leads', [lead('Two')], {signal: AbortSignal.abort()})
  t.like(results[0], {ok: false, sent: false, refusal: {code: 'UNAVAILABLE', extra: {written: false}}})
  t.is(place.standIn.journal().length, 1)
})

test('one record is read whole, and a deleted one is null', async t => {
  const {connection, place} = t.context
  const [made] = (await connection.createRecords('Leads', [lead('Ono', {Email: 'ono@example.org'})], {})).results
  const id = made!.ok ? made!.recordId : ''
  t.like(await connection.readRecord('Leads', id), {id, Last_Name: 'Ono', Email: 'ono@example.org'})
  place.standIn.remove('example', 'Leads', [id])
  t.is(await connection.readRecord('Leads', id), null)
  await t.throwsAsync(connection.readRecord('Nothing', id), {name: 'CrmError', message: /INVALID_MODULE/})
})

test('a failed read has the CRM’s words, or says that no answer came', async t => {
  const {connection, place} = t.context
  place.standIn.faults.add({action: 'dropAfter'})
  await t.throwsAsync(connection.readRecord('Leads', '1'), {name: 'CrmError', message: 'The CRM did not answer'})
  place.standIn.faults.add({action: 'nonJson'})
  await t.throwsAsync(connection.readRecord('Leads', '1'), {message: 'The CRM answered 200 without a usable result'})
  place.standIn.faults.add({action: {type: 'answer', status: 200, body: {info: {}}}})
  await t.throwsAsync(connection.readRecord('Leads', '1'), {name: 'CrmError'})
})

test('the CRM user of the connection and the number of active users can be read', async t => {
  const {connection} = t.context
  t.deepEqual(await connection.currentUser(), {id: connection.connector.crmUserId, name: 'Ana Ruiz'})
  t.is(await connection.countActiveUsers(), 3)
})
