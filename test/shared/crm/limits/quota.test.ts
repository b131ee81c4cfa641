import anyTest, {type TestFn} from 'ava'
import type {Connection, Crm} from '../../../../shared/crm/crm.ts'
import {licenceIn} from '../../../../shared/crm/limits/licence.ts'
import {findCrmQuota, keepQuotaExhausted} from '../../../../sql/crm-quota.ts'
import {sql} from '../../../../sql/database.ts'
import type {FaultSpec} from '../../../simulators/crm/faults.ts'
import {type CrmPlace, place} from '../crm-fixture.ts'

/** What the tests share: one CRM org. So they run serially. */
type Here = {place: CrmPlace; crm: Crm; connection: Connection; id: string}
const test = anyTest.serial as TestFn<Here>

test.before(async t => {
  const here = await place(t, {environment: {CRM_TIMEOUT_SECONDS: '5'}})
  const id = await here.connect()
  Object.assign(t.context, {place: here, id})
})
/** Each test gets a new adapter without cached state, as a new process has it. */
test.beforeEach(async t => {
  const {place, id} = t.context
  place.standIn.clear()
  await place.db.query(sql.unsafe`delete from crm_allowances`)
  await setAhead(place, '0 seconds')
  t.context.crm = await place.openAnother()
  t.context.connection = await t.context.crm.open(id)
})

const org = {dc: 'local', crmOrgId: 'example'}
const rowOf = ({db}: CrmPlace) => findCrmQuota(db, org)
const setAhead = ({db}: CrmPlace, ahead: string) =>
  db.query(sql.unsafe`
    insert into clock_offset (ahead) values (${ahead}::text::interval) on conflict (only_row) do update set ahead = excluded.ahead`)
const calls = ({standIn}: CrmPlace) => standIn.journal().length
const read = (connection: Connection) => connection.readRecord('Leads', '4400001000000099999')
const isSpentRefusal = {name: 'Refusal', code: 'DAILY_ALLOWANCE_SPENT'} as const

const spend = async ({place, connection}: Here, fault: FaultSpec['action'] = {type: 'rateLimit', credits: 0}) => {
  place.standIn.faults.add({action: fault})
  await connection.readRecord('Leads', '1').catch(() => {})
  place.standIn.faults.clear()
  place.standIn.clearJournal()
}

test('the quota is unknown before the first answer, and the CRM reports it only after half is used', async t => {
  const {place, connection} = t.context
  t.is(await rowOf(place), null)
  await read(connection)
  t.is(await rowOf(place), null)
})

test('an exhausted quota refuses the next call before sending, without a time or a crm object', async t => {
  const {place, connection} = t.context
  await spend(t.context)
  t.like(await rowOf(place), {spent: true, remaining: 0})
  const refusal: any = await t.throwsAsync(read(connection), isSpentRefusal)
  t.is(refusal.status, 429)
  t.deepEqual(Object.keys(refusal.envelope), ['error', 'code'])
  const {results} = await connection.createRecords('Leads', [{Last_Name: 'One'}, {Last_Name: 'Two'}], {})
  for (const result of results) {
    t.true(!result.ok && !result.sent && result.refusal.code === 'DAILY_ALLOWANCE_SPENT' && result.refusal.extra.written === false)
  }
  t.is(calls(place), 0)
})

test('only a 429 whose header shows zero credits means an exhausted quota', async t => {
  const {place, connection} = t.context
  const limited = {code: 'TOO_MANY_REQUESTS', details: {}, message: '', status: 'error'}
  const headers = {'x-api-credits-remaining': '0'}
  await spend(t.context, 'rateLimit')
  await spend(t.context, {type: 'rateLimit', credits: 3})
  await spend(t.context, {type: 'answer', status: 400, body: limited, headers})
  await spend(t.context, {type: 'answer', status: 200, body: {data: []}, headers})
  t.like(await rowOf(place), {spent: false})
  await t.notThrowsAsync(read(connection))
})

test('one probe a minute is sent; a refused or lost probe lifts nothing, a successful one does', async t => {
  const {place, connection} = t.context
  await spend(t.context)
  const {spentAt} = (await rowOf(place))!
  const fail: FaultSpec['action'][] = [
    {type: 'rateLimit', credits: 0},
    'dropAfter',
    {type: 'answer', status: 400, body: {code: 'INVALID_DATA'}},
  ]
  for (const [at, action] of fail.entries()) {
    await setAhead(place, `${61 * (at + 1)} seconds`)
    place.standIn.faults.add({action})
    await t.throwsAsync(read(connection), {name: 'CrmError'})
    await t.throwsAsync(read(connection), isSpentRefusal)
    t.is(calls(place), at + 1)
    t.like(await rowOf(place), {spent: true, spentAt})
  }
  await setAhead(place, '300 seconds')
  await read(connection)
  await read(connection)
  t.is(calls(place), 5)
  t.like(await rowOf(place), {spent: false, spentAt: null})
})

test('after a refused licence, the next probe of the process is another call, so that the block ends', async t => {
  const {place, connection} = t.context
  await spend(t.context)
  place.standIn.faults.add({match: {path: '/crm/v8/org'}, times: 9, action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION'}}})
  await setAhead(place, '61 seconds')
  await t.throwsAsync(connection.readLicence({onlyAsProbe: true}), {name: 'CrmError'})
  await setAhead(place, '122 seconds')
  await t.throwsAsync(connection.readLicence({onlyAsProbe: true}), isSpentRefusal)
  t.is(await read(connection), null)
  t.like(await rowOf(place), {spent: false})
})

test('a batch refused record by record was accepted as a call, and lifts the block', async t => {
  const {place, connection} = t.context
  await spend(t.context)
  await setAhead(place, '61 seconds')
  place.standIn.faults.add({action: {type: 'refuse', index: [0, 1]}})
  const {results} = await connection.createRecords('Leads', [{Last_Name: 'One'}, {Last_Name: 'Two'}], {})
  t.true(results.every(result => !result.ok && result.sent && result.crm.status === 400))
  t.like(await rowOf(place), {spent: false})
})

test('of calls in two processes one probe is sent; calls of its process wait for it, the others are refused', async t => {
  const {place, connection, id} = t.context
  await spend(t.context)
  const other = await (await place.openAnother()).open(id)
  await setAhead(place, '61 seconds')
  place.standIn.faults.add({action: {type: 'hold', when: 'before'}})
  const asked = [read(connection), read(connection), read(connection)]
  while (place.standIn.held() === 0) await new Promise(setImmediate)
  await t.throwsAsync(read(other), isSpentRefusal)
  await t.throwsAsync(read(other), isSpentRefusal)
  place.standIn.release()
  t.deepEqual(await Promise.all(asked), [null, null, null])
  t.is(calls(place), 3)
  t.is(await read(other), null)
  t.like(await rowOf(place), {spent: false})
})

test('twenty processes at once send one probe', async t => {
  const {place, id} = t.context
  await spend(t.context)
  await setAhead(place, '61 seconds')
  place.standIn.faults.add({times: 99, action: {type: 'rateLimit', credits: 0}})
  const crms = await Promise.all(Array.from({length: 20}, () => place.openAnother()))
  const connections = await Promise.all(crms.map(crm => crm.open(id)))
  const ends = await Promise.allSettled(connections.map(read))
  t.is(calls(place), 1)
  t.is(ends.filter(end => end.status === 'rejected' && end.reason.code === 'DAILY_ALLOWANCE_SPENT').length, 19)
})

test('other processes and connections of the CRM org know the exhausted quota; another org is not affected', async t => {
  const {place} = t.context
  await spend(t.context)
  const crm = await place.openAnother()
  await t.throwsAsync(read(await crm.open(await place.connect({email: 'ben@example.org'}))), isSpentRefusal)
  t.is(await read(await crm.open(await place.connect({email: 'zoe@other.example'}))), null)
})

test('upkeep calls never use the probe, and continue once the quota is available', async t => {
  const {place, crm, connection, id} = t.context
  const upkeep = await crm.open(id, {upkeep: true})
  t.is(await read(upkeep), null)
  await spend(t.context)
  await setAhead(place, '61 seconds')
  await t.throwsAsync(upkeep.readModules(), isSpentRefusal)
  t.is(calls(place), 0)
  await read(connection)
  t.is(await read(upkeep), null)
  t.is(calls(place), 2)
})

test('a call in flight when the quota ran out does not lift the block', async t => {
  const {place, connection} = t.context
  place.standIn.faults.add({match: {module: 'Contacts'}, action: {type: 'hold', when: 'before'}})
  const early = connection.readRecord('Contacts', '1')
  while (place.standIn.held() === 0) await new Promise(setImmediate)
  place.standIn.faults.add({match: {module: 'Leads'}, action: {type: 'rateLimit', credits: 0}})
  await t.throwsAsync(read(connection), {name: 'CrmError'})
  place.standIn.release()
  t.is(await early, null)
  t.like(await rowOf(place), {spent: true})
})

test('a call that cannot be sent does not use the probe of the minute', async t => {
  const {place, connection} = t.context
  await spend(t.context)
  await setAhead(place, '61 seconds')
  const gone = AbortSignal.abort()
  await t.throwsAsync(connection.readRecord('Leads', '1', {signal: gone}), {code: 'UNAVAILABLE'})
  t.is(await read(connection), null)
})

test('the remaining count is kept when its header disappears, and dropped after a day', async t => {
  const {place, connection} = t.context
  place.standIn.setCredits('example', {used: 40_000})
  await read(connection)
  const kept = (await rowOf(place))!.remaining!
  t.is(kept, place.standIn.credits('example').remaining)
  place.standIn.setCredits('example', {used: 0})
  await read(connection)
  t.is((await rowOf(place))!.remaining, kept)
  await setAhead(place, '25 hours')
  t.is((await rowOf(place))!.remaining, null)
})

test('the count is not stored at every call, but at once when it was asked for', async t => {
  const {place, connection} = t.context
  place.standIn.setCredits('example', {used: 40_000})
  await read(connection)
  const first = (await rowOf(place))!.remaining
  await read(connection)
  t.is((await rowOf(place))!.remaining, first)
  t.deepEqual(await connection.readLicence(), {edition: 'enterprise', allowance: 62_000, allowanceAtLeast: true})
  t.is((await rowOf(place))!.remaining, first! - 2)
})

test('a remaining count that is equal before and after an exhausted quota is stored again', async t => {
  const {place, connection} = t.context
  place.standIn.setCredits('example', {used: 40_000})
  await read(connection)
  const first = (await rowOf(place))!.remaining!
  await spend(t.context)
  place.standIn.setCredits('example', {used: 40_000})
  await setAhead(place, '61 seconds')
  const now = performance.now.bind(performance)
  performance.now = () => now() + 61_000
  t.teardown(() => void (performance.now = now))
  await read(connection)
  t.like(await rowOf(place), {spent: false, remaining: first})
})

test('the quota of an edition is a minimum, except for the free one; unknown editions have none', t => {
  const licence = (paid_type: string | null, users_license_purchased = 10, more = {}) =>
    licenceIn({paid: paid_type !== null, paid_type, users_license_purchased, ...more})
  t.deepEqual(licence('free'), {edition: 'free', allowance: 5_000, allowanceAtLeast: false})
  const floors = {standard: 52_500, crmplusstarter: 52_500, zohoonestandard: 52_500, professional: 55_000, enterprise: 60_000}
  for (const [edition, allowance] of Object.entries({...floors, zohooneenterprise: 60_000, ultimate: 70_000, crmplus: 70_000})) {
    t.deepEqual(licence(edition), {edition, allowance, allowanceAtLeast: true})
  }
  t.is(licence('standard', 1_000)!.allowance, 100_000)
  t.is(licence('enterprise', 1e6)!.allowance, 5_000_000)
  t.is(licence('ultimate', 1e6)!.allowance, 2_000_050_000)
  t.deepEqual(licence('whatever'), {edition: 'whatever', allowance: null, allowanceAtLeast: false})
  t.like(licence(null, 4, {trial_type: 'enterprise'}), {edition: 'enterprise', allowance: 54_000})
  t.is(licenceIn(null), null)
  t.is(licenceIn({paid_type: null}), null)
})

test('the stored quota is deleted with the last connection of its CRM org', async t => {
  const {place} = t.context
  const email = 'kim@eu.example'
  const ids = [await place.connect({email}), await place.connect({email})]
  await place.db.query(sql.unsafe`insert into crm_allowances (dc, crm_org_id) values ('local', 'eu')`)
  const left = async () => (await findCrmQuota(place.db, {dc: 'local', crmOrgId: 'eu'})) !== null
  await place.db.query(sql.unsafe`delete from connectors where id = ${ids[0]!}`)
  t.true(await left())
  await place.db.query(sql.unsafe`delete from connectors where id = ${ids[1]!}`)
  t.false(await left())
  await keepQuotaExhausted(place.db, {dc: 'local', crmOrgId: 'eu'})
  t.false(await left(), 'nor does a call that ends later bring it back')
})
