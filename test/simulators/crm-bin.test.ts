import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test from 'ava'
import {startCrm} from './crm.ts'
import {callAs, codes, ids, openCrm, type Reply} from './crm-caller.ts'

const restore = 'settings/recycle_bin/actions/restore'
const dayMs = 24 * 3600_000
const binCodes = ({body}: Reply): string[] => body.recycle_bin.map(({code}: any) => code)

// The facts are from the vendor's OpenAPI of the recycle bin (getRecycleBinRecords, restoreRecycleBinRecords) and of records (deleteRecords).

test('a restored record has its id, values, creator and subform rows', async t => {
  const {crm, call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Orders', {data: [{Name: 'One', Order_Lines: [{Product: 'A'}, {Product: 'B'}]}]}))
  const before = crm.record('example', 'Orders', id!)
  const lines = crm.count('example', 'Order_Lines')
  crm.clock.advance(60_000)
  t.deepEqual(codes(await call('DELETE', `Orders?ids=${id}`)), ['SUCCESS'])
  t.is(crm.count('example', 'Order_Lines'), lines - 2)
  const listed = await call('GET', `settings/recycle_bin?ids=${id},4400001000000000009`)
  t.like(listed.body.recycle_bin, {0: {id, display_name: 'One', module: {api_name: 'Orders'}, deleted_by: {name: 'Ana Ruiz'}}, length: 1})
  const restored = await call('POST', restore, {ids: [id]})
  t.like(restored, {status: 200, body: {recycle_bin: [{code: 'SUCCESS', details: {id}, message: 'record restored'}]}})
  t.deepEqual(crm.record('example', 'Orders', id!), before)
  t.is(crm.count('example', 'Order_Lines'), lines)
  t.is((await call('GET', `settings/recycle_bin/${id}`)).status, 204)
})

test('a switch gives restored records a new time of change', async t => {
  const {crm, call} = await openCrm(t)
  crm.setSwitches({restoreTouchesModified: true})
  const [id] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'Ono'}]}))
  const {Modified_Time: before} = crm.record('example', 'Leads', id!)!
  await call('DELETE', `Leads/${id}`)
  crm.clock.advance(60_000)
  await call('POST', `settings/recycle_bin/${id}/actions/restore`)
  t.not(crm.record('example', 'Leads', id!)!.Modified_Time, before)
})

test('each id of a restore is refused alone: unknown, taken unique value, owned by another user', async t => {
  const {crm, call} = await openCrm(t)
  const made = await call('POST', 'Orders', {
    data: [
      {Name: 'One', Code: 'A'},
      {Name: 'Two', Code: 'B'},
    ],
  })
  const [one, two] = ids(made)
  await call('DELETE', `Orders?ids=${one},${two}`)
  await call('POST', 'Orders', {data: [{Name: 'Other', Code: 'A'}]})
  const mixed = await call('POST', restore, {ids: [one, two, '4400001000000000009']})
  t.is(mixed.status, 207)
  t.deepEqual(binCodes(mixed), ['DUPLICATE_DATA', 'SUCCESS', 'INVALID_DATA'])
  t.is(mixed.body.recycle_bin[2].message, 'the id given seems to be invalid')
  const asBen = callAs(crm, 'ben@example.org')
  const refused = await asBen('POST', restore, {ids: [one]})
  t.like(refused, {status: 400, body: {recycle_bin: [{code: 'AUTHORIZATION_FAILED', details: {id: one}}]}})
})

test('a restore needs exactly one of ids, filters and restore_all_records, and at most 200 ids', async t => {
  const {call} = await openCrm(t)
  const code = async (body: object) => (await call('POST', restore, body)).body.code
  t.is(await code({}), 'EXPECTED_FIELD_MISSING')
  t.is(await code({ids: ['1'], restore_all_records: true}), 'AMBIGUITY_DURING_PROCESSING')
  t.is(await code({ids: 'x'}), 'INVALID_DATA')
  t.is(await code({ids: Array(201).fill('1')}), 'INVALID_DATA')
})

test('a restore of more than 1,000 records with rows is answered 202 and done later', async t => {
  const {crm, call} = await openCrm(t)
  crm.setSwitches({restoreAtOnce: 2})
  const [id] = ids(await call('POST', 'Orders', {data: [{Name: 'One', Order_Lines: [{Product: 'A'}, {Product: 'B'}]}]}))
  await call('DELETE', `Orders/${id}`)
  const scheduled = await call('POST', restore, {ids: [id]})
  t.like(scheduled, {status: 202, body: {recycle_bin: [{code: 'SCHEDULED', details: {id}, status: 'success'}]}})
  crm.clock.advance(4000)
  t.is((await call('GET', `Orders/${id}`)).status, 204)
  crm.clock.advance(1000)
  t.is((await call('GET', `Orders/${id}`)).body.data[0].Order_Lines.length, 2)
  await call('DELETE', `Orders/${id}`)
  t.is((await call('POST', restore, {restore_all_records: true})).status, 202)
})

test('a record leaves the bin after 60 days and the list of deleted records after 120', async t => {
  const {crm, call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'Ono'}]}))
  await call('DELETE', `Leads/${id}`)
  crm.clock.advance(61 * dayMs)
  const later = callAs(crm, 'ana@example.org')
  t.is((await later('GET', `settings/recycle_bin?ids=${id}`)).status, 204)
  t.deepEqual(binCodes(await later('POST', restore, {ids: [id]})), ['INVALID_DATA'])
  t.like((await later('GET', 'Leads/deleted?type=permanent')).body.data[0], {id, display_name: null, type: 'permanent'})
  crm.clock.advance(60 * dayMs)
  const last = callAs(crm, 'ana@example.org')
  t.is((await last('GET', 'Leads/deleted')).status, 204)
  t.is((await last('GET', 'Leads/deleted?type=other')).body.code, 'PATTERN_NOT_MATCHED')
})

test('the bin needs its own scopes, one to read and one to restore', async t => {
  const {crm} = await openCrm(t)
  const call = callAs(crm, 'ana@example.org', ['ZohoCRM.modules.ALL', 'ZohoCRM.settings.recycle_bin.READ'])
  t.is((await call('GET', 'settings/recycle_bin')).status, 204)
  t.like(await call('POST', restore, {ids: ['1']}), {status: 401, body: {code: 'OAUTH_SCOPE_MISMATCH'}})
})

test('deletes are refused per record for locked, missing and hidden records, and once more for a deleted one', async t => {
  const {crm, call} = await openCrm(t)
  const made = ids(await call('POST', 'Leads', {data: ['A', 'B'].map(Last_Name => ({Last_Name}))}))
  crm.mark('example', 'Leads', [made[1]!], {locked: true})
  const mixed = await call('DELETE', `Leads?ids=${made.join(',')}&wf_trigger=false`)
  t.is(mixed.status, 207)
  t.deepEqual(codes(mixed), ['SUCCESS', 'RECORD_LOCKED'])
  t.deepEqual(crm.automations('example').at(-1)!.ran, [])
  const again = await call('DELETE', `Leads?ids=${made[0]}`)
  t.like(again, {status: 400, body: {data: [{code: 'INVALID_DATA', message: 'record not deleted', details: {id: made[0]}}]}})
  crm.mark('example', 'Leads', [made[1]!], {locked: false})
  crm.setSwitches({privateModules: ['Leads']})
  t.deepEqual(codes(await callAs(crm, 'ben@example.org')('DELETE', `Leads?ids=${made[1]}`)), ['INVALID_DATA'])
})

test('If-Unmodified-Since refuses an upsert too, with the stamps of the changed record', async t => {
  const {crm, call} = await openCrm(t)
  await call('POST', 'Orders', {data: [{Name: 'One', Code: 'A'}]})
  const upsert = (header: string) =>
    call('POST', 'Orders/upsert', {data: [{Code: 'A', Name: 'New'}], duplicate_check_fields: ['Code']}, {'if-unmodified-since': header})
  const refused = await upsert('2026-03-02T08:15:39+00:00')
  t.is(refused.status, 412)
  t.like(refused.body.data[0], {
    code: 'ALREADY_MODIFIED',
    details: {Modified_By: {name: 'Ana Ruiz'}, Modified_Time: '2026-03-02T09:15:40+01:00'},
  })
  t.is((await upsert('2026-03-02T08:15:40+00:00')).status, 200)
  crm.setSwitches({unmodifiedSince: 'ignored'})
  t.is((await upsert('2026-03-02T08:15:39+00:00')).status, 200)
})

test('a snapshot keeps the bin with its subform rows, and the history of records', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'lading-bin-'))
  t.teardown(() => rmSync(folder, {recursive: true}))
  const snapshot = join(folder, 'snapshot')
  const first = await startCrm({snapshot})
  const call = callAs(first, 'ana@example.org')
  const [id] = ids(await call('POST', 'Orders', {data: [{Name: 'One', Order_Lines: [{Product: 'A'}]}]}))
  await call('PUT', `Orders/${id}`, {data: [{Name: 'Two'}]})
  const before = first.record('example', 'Orders', id!)
  await call('DELETE', `Orders/${id}`)
  await first.stop()
  const second = await startCrm({snapshot})
  t.teardown(second.stop)
  const again = callAs(second, 'ana@example.org')
  t.deepEqual(binCodes(await again('POST', restore, {ids: [id]})), ['SUCCESS'])
  t.deepEqual(second.record('example', 'Orders', id!), before)
  t.is((await again('GET', `Orders/${id}/__timeline`)).body.info.count, 3)
})
