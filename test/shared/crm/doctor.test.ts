import anyTest, {type TestFn} from 'ava'
import {clearProbe, writeProbes} from '../../../shared/crm/doctor/write-probes.ts'
import {type CrmPlace, place} from './crm-fixture.ts'

/** The tests run serially, because they share one sandbox org. */
const test = anyTest.serial as TestFn<{place: CrmPlace; id: string}>

test.before(async t => {
  const here = await place(t, {environment: {CRM_TIMEOUT_SECONDS: '2'}})
  Object.assign(t.context, {place: here, id: await here.connect({email: 'sam@sandbox.example'})})
})
test.beforeEach(t => {
  const {standIn} = t.context.place
  standIn.faults.clear()
  standIn.clear()
})

const leftIn = ({standIn}: CrmPlace) => ['Leads', 'Contacts', 'Accounts'].map(module => standIn.count('sandbox', module))
const isWriting = ({standIn}: CrmPlace) => standIn.count('sandbox', 'Leads') > 1

test('records of the doctor are deleted although its job is cancelled between two writing probes', async t => {
  const {place, id} = t.context
  const stop = new AbortController()
  const connection = await place.crm.open(id)
  const onProgress = async () => void (isWriting(place) && stop.abort())
  await t.throwsAsync(connection.runProbes({write: true, signal: stop.signal, onProgress}))
  t.true(stop.signal.aborted)
  t.deepEqual(leftIn(place), [0, 0, 0])
})

test('when its time is up, the doctor deletes its records and reports what it has found', async t => {
  const {place, id} = t.context
  const late = new AbortController()
  const connection = await place.crm.open(id)
  const onProgress = async () => void (isWriting(place) && late.abort())
  const report = await connection.runProbes({write: true, timeUp: late.signal, onProgress})
  const verdictOf = (id: string) => report.probes.find(probe => probe.id === id)?.verdict
  t.deepEqual(
    [verdictOf('write.create'), verdictOf('unmodifiedSince.batch'), verdictOf('write.clear')],
    ['expected', 'unknown', 'expected'],
  )
  t.deepEqual(leftIn(place), [0, 0, 0])
})

test('a failed read before the writing probes leaves them unknown, and the other facts are reported', async t => {
  const {place, id} = t.context
  const connection = await place.crm.open(id)
  const onProgress = async (done: number, total: number) => {
    // The next read looks for a module for the test records.
    if (done === total - writeProbes.length - 1)
      place.standIn.faults.add({
        match: {path: '/crm/v8/settings/fields'},
        times: 4,
        action: {type: 'status5xxBefore', status: 503, retryAfter: 0},
      })
  }
  const report = await connection.runProbes({write: true, onProgress})
  const written = report.probes.slice(-writeProbes.length - 1)
  t.deepEqual(
    written.map(({id}) => id),
    [...writeProbes, clearProbe].map(({id}) => id),
  )
  t.true(written.every(({verdict, seen}) => verdict === 'unknown' && /503/.test(seen)))
  t.true(report.probes.some(({verdict}) => verdict === 'expected'))
})

test('a doctor whose time is up before its writing probes reports them as unknown', async t => {
  const {place, id} = t.context
  const late = new AbortController()
  const connection = await place.crm.open(id)
  const onProgress = async (done: number, total: number) => void (done === total - writeProbes.length - 1 && late.abort())
  const report = await connection.runProbes({write: true, timeUp: late.signal, onProgress})
  t.like(report.probes.at(-1), {id: clearProbe.id, verdict: 'unknown', seen: 'Not within the time of the doctor'})
  t.deepEqual(leftIn(place), [0, 0, 0])
})

test('an unanswered deletion is repeated, and the others are made', async t => {
  const {place, id} = t.context
  place.standIn.faults.add({match: {path: '/crm/v8/Leads', method: 'DELETE', nth: 2}, times: 1, action: 'dropBefore'})
  const report = await (await place.crm.open(id)).runProbes({write: true})
  t.is(report.probes.find(probe => probe.id === 'write.clear')?.verdict, 'expected')
  t.deepEqual(leftIn(place), [0, 0, 0])
})

test('records that cannot be deleted are named in the report, and the others are deleted', async t => {
  const {place, id} = t.context
  const body = {code: 'NO_PERMISSION', details: {}, message: 'no', status: 'error'}
  place.standIn.faults.add({
    match: {path: '/crm/v8/Leads', method: 'DELETE', nth: 2},
    times: 1,
    action: {type: 'answer', status: 403, body},
  })
  const report = await (await place.crm.open(id)).runProbes({write: true})
  const [left] = place.standIn.records('sandbox', 'Leads')
  t.like(
    report.probes.find(probe => probe.id === 'write.clear'),
    {verdict: 'different', seen: `Still there in Leads: ${left!.id}`},
  )
  t.deepEqual(leftIn(place), [1, 0, 0])
})

test('the report names creates that were not answered', async t => {
  const {place, id} = t.context
  place.standIn.faults.add({match: {path: '/crm/v8/Leads', method: 'POST'}, times: 1, action: 'dropAfter'})
  const report = await (await place.crm.open(id)).runProbes({write: true})
  const clear = report.probes.find(probe => probe.id === 'write.clear')
  t.is(clear?.verdict, 'different')
  t.regex(clear!.seen, /1 create was not answered/)
})

test('a record that a refused create names is neither changed nor deleted', async t => {
  const {place, id} = t.context
  place.standIn.create('sandbox', 'Leads', [{Last_Name: 'Lading doctor', Company: 'Acme'}])
  const before = place.standIn.records('sandbox', 'Leads')
  const details = {api_name: 'Last_Name', id: before[0]!.id}
  const body = {data: [{code: 'DUPLICATE_DATA', details, message: 'duplicate data', status: 'error'}]}
  place.standIn.faults.add({match: {path: '/crm/v8/Leads', method: 'POST'}, times: 9, action: {type: 'answer', status: 400, body}})
  await (await place.crm.open(id)).runProbes({write: true})
  t.deepEqual(place.standIn.records('sandbox', 'Leads'), before)
})

test('the doctor reports no difference because of unique or short mandatory fields, even if an earlier doctor run left records', async t => {
  const {place, id} = t.context
  const usual = {name: 'Last_Name', type: 'text', mandatory: true} as const
  place.standIn.addField('sandbox', 'Leads', {...usual, unique: true, length: 10})
  t.teardown(() => place.standIn.addField('sandbox', 'Leads', usual))
  place.standIn.create('sandbox', 'Leads', [{Last_Name: 'Lading doc', Company: 'Acme'}])
  const {probes} = await (await place.crm.open(id)).runProbes({write: true})
  const written = probes.slice(-writeProbes.length - 1).filter(({verdict}) => verdict !== 'expected')
  t.deepEqual(
    written.map(({id, seen}) => [id, seen]),
    [],
  )
})

test('if no record can be made, the other writing probes are unknown', async t => {
  const {place, id} = t.context
  const body = {data: [{code: 'INVALID_DATA', details: {api_name: 'Company'}, message: 'invalid data', status: 'error'}]}
  place.standIn.faults.add({match: {path: '/crm/v8/Leads', method: 'POST'}, times: 99, action: {type: 'answer', status: 400, body}})
  const {probes} = await (await place.crm.open(id)).runProbes({write: true})
  const written = probes.slice(-writeProbes.length, -1).filter(({verdict}) => verdict !== 'unknown')
  t.deepEqual(written, [])
})

test('equal records in hundreds do not make a fact appear different', async t => {
  const {place} = t.context
  const connection = await place.crm.open(await place.connect())
  place.standIn.create(
    'example',
    'Leads',
    Array.from({length: 300}, () => ({Last_Name: 'Ono', Company: 'Acme'})),
  )
  const {probes} = await connection.runProbes({write: false})
  const different = probes.filter(({verdict}) => verdict === 'different').map(({id, seen}) => [id, seen])
  t.deepEqual(different, [])
})

test('the doctor does not query by an encrypted field', async t => {
  const {place} = t.context
  const connection = await place.crm.open(await place.connect())
  place.standIn.addField('example', 'Leads', {name: 'Pass_Code', type: 'text', encrypted: true})
  place.standIn.create('example', 'Leads', [{Last_Name: 'O’Neil & Co', Company: 'A & B', Pass_Code: 'Secret'}])
  const {probes} = await connection.runProbes({write: false})
  t.deepEqual(
    probes.filter(({verdict}) => verdict === 'different').map(({id, seen}) => [id, seen]),
    [],
  )
})
