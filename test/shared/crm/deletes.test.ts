import test, {type ExecutionContext} from 'ava'
import type {Connection, WriteAnswer} from '../../../shared/crm/crm.ts'
import {isGone} from '../../../shared/crm/deletes.ts'
import {place} from './crm-fixture.ts'

const openPlace = async (t: ExecutionContext, scopes?: string[]) => {
  const {standIn, crm, connect} = await place(t, {environment: {CRM_TIMEOUT_SECONDS: '1'}})
  return {standIn, connection: await crm.open(await connect(scopes ? {scopes} : {}))}
}

const verdicts = ({results}: WriteAnswer) =>
  results.map(result => (result.ok ? 'ok' : result.sent ? (result.crm.unanswered ? 'unanswered' : result.crm.code) : 'unsent'))

const make = async (connection: Connection, names: string[]) => {
  const {results} = await connection.createRecords(
    'Leads',
    names.map(Last_Name => ({Last_Name})),
    {},
  )
  return results.map(result => (result.ok ? result.recordId : ''))
}

test('a delete answers per id, runs no workflow unless requested, and a repeated one finds the record gone', async t => {
  const {standIn, connection} = await openPlace(t)
  const ids = await make(connection, ['A', 'B', 'C'])
  standIn.mark('example', 'Leads', [ids[1]!], {locked: true})
  const answer = await connection.deleteRecords!('Leads', ids, {})
  t.deepEqual(verdicts(answer), ['ok', 'RECORD_LOCKED', 'ok'])
  t.deepEqual(standIn.automations('example').at(-1)!.ran, [])
  standIn.mark('example', 'Leads', [ids[1]!], {locked: false})
  const again = await connection.deleteRecords!('Leads', ids.slice(0, 2), {automations: true})
  t.deepEqual(verdicts(again), ['INVALID_DATA', 'ok'])
  const [first] = again.results
  t.true(first?.ok === false && first.sent && isGone(first.crm, ids[0]!))
  t.deepEqual(standIn.automations('example').at(-1)!.ran, ['workflow'])
  t.is(standIn.count('example', 'Leads'), 0)
  await t.throwsAsync(connection.deleteRecords!('Leads', Array(101).fill('1'), {}), {instanceOf: RangeError})
})

test('a delete without an answer is unanswered and may have happened', async t => {
  const {standIn, connection} = await openPlace(t)
  const ids = await make(connection, ['A', 'B'])
  standIn.faults.add({match: {method: 'DELETE'}, times: 1, action: {type: 'dropAfter'}})
  t.deepEqual(verdicts(await connection.deleteRecords!('Leads', ids, {})), ['unanswered', 'unanswered'])
  t.deepEqual(await connection.readRecords({module: 'Leads', ids, fields: ['id']}), [])
  t.is(standIn.journal({method: 'DELETE'}).length, 1)
})

test('deleted records are listed in the bin and restored with their ids, each with its result', async t => {
  const {standIn, connection} = await openPlace(t)
  const ids = await make(connection, ['A', 'B'])
  await connection.deleteRecords!('Leads', ids, {})
  const binned = await connection.readBin!([...ids, '4400001000000000009'])
  t.like(binned, {0: {id: ids[0], module: 'Leads', deletedBy: standIn.state().orgs.example!.users[0]!.id}, length: 2})
  const restored = await connection.restoreRecords!([ids[1]!, '4400001000000000009', ids[0]!], {})
  t.deepEqual(verdicts(restored), ['ok', 'INVALID_DATA', 'ok'])
  t.deepEqual(restored.scheduled, [])
  t.is(standIn.count('example', 'Leads'), 2)
  t.deepEqual(await connection.readBin!(ids), [])
  await t.throwsAsync(connection.restoreRecords!(Array(201).fill('1'), {}), {instanceOf: RangeError})
})

test('a scheduled restore names its records, which exist later', async t => {
  const {standIn, connection} = await openPlace(t)
  standIn.setSwitches({restoreAtOnce: 1})
  const ids = await make(connection, ['A', 'B'])
  await connection.deleteRecords!('Leads', ids, {})
  const answer = await connection.restoreRecords!(ids, {})
  t.deepEqual([verdicts(answer), answer.scheduled], [['ok', 'ok'], ids])
  t.deepEqual(await connection.readRecords({module: 'Leads', ids, fields: ['id']}), [])
  standIn.clock.advance(5000)
  t.is((await connection.readRecords({module: 'Leads', ids, fields: ['id']})).length, 2)
})

test('a connection without the scopes of the bin deletes records and cannot restore them', async t => {
  const {connection} = await openPlace(t, ['ZohoCRM.modules.ALL'])
  const ids = await make(connection, ['A'])
  t.deepEqual(verdicts(await connection.deleteRecords!('Leads', ids, {})), ['ok'])
  t.deepEqual(verdicts(await connection.restoreRecords!(ids, {})), ['OAUTH_SCOPE_MISMATCH'])
  const error: any = await t.throwsAsync(connection.readBin!(ids))
  t.is(error.crm.code, 'OAUTH_SCOPE_MISMATCH')
})

test('the timeline tells the newest foreign change since a time, and none for own changes and modules without one', async t => {
  const {standIn, connection} = await openPlace(t)
  const [id] = await make(connection, ['A'])
  const start = standIn.clock.now() - 5000
  const read = (since = start) => connection.readTimeline!('Leads', id!, since)
  t.is(await read(), null)
  standIn.clock.advance(10_000)
  standIn.update('example', 'Leads', [{id, Phone: '2'}], {as: 'ben@example.org'})
  standIn.clock.advance(10_000)
  await connection.updateRecords('Leads', [{id: id!, Company: 'Acme'}], {})
  const change = await read()
  t.like(change, {source: 'crm_ui', fields: ['Phone'], by: {name: 'Ben Okoye'}})
  t.is(await read(Date.parse(change!.at) + 1000), null)
  standIn.clock.advance(10_000)
  standIn.update('example', 'Leads', [{id, Phone: '3'}], {as: 'ana@example.org'})
  t.like(await read(), {source: 'crm_ui', by: {name: 'Ana Ruiz'}})
  t.is(await connection.readTimeline!('Campaigns', id!, start), null)
})

test('an update with unmodifiedSince is refused whole if one of its records changed later', async t => {
  const {standIn, connection} = await openPlace(t)
  const ids = await make(connection, ['A', 'B'])
  const readAt = Math.floor(standIn.clock.now() / 1000) * 1000
  const update = (unmodifiedSince: number) =>
    connection.updateRecords(
      'Leads',
      ids.map(id => ({id, Company: 'Acme'})),
      {unmodifiedSince},
    )
  standIn.clock.advance(5000)
  standIn.update('example', 'Leads', [{id: ids[1], Phone: '9'}])
  const refused = await update(readAt + 2000)
  t.deepEqual(verdicts(refused), ['ALREADY_MODIFIED', 'ALREADY_MODIFIED'])
  t.is(refused.whole?.crm.status, 412)
  t.is(standIn.record('example', 'Leads', ids[0]!)!.Company ?? null, null)
  t.deepEqual(verdicts(await update(readAt + 6000)), ['ok', 'ok'])
  t.regex(standIn.journal({method: 'PUT'})[0]!.headers['if-unmodified-since']!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/)
})
