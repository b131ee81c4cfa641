import test from 'ava'
import {callAs, callWith, openCrm, type Reply, until} from './crm-caller.ts'

const records = (count: number) => ({data: Array.from({length: count}, () => ({Last_Name: 'Ono'}))})
const left = (reply: Reply) => reply.headers.get('x-api-credits-remaining')

test('the quota depends on the edition and its licences', async t => {
  const {crm} = await openCrm(t)
  t.is(crm.credits('example').allowance, 62_000)
  t.is(crm.credits('other').allowance, 50_750)
  t.is(crm.credits('eu').allowance, 54_000)
  crm.addOrg({key: 'free', companyName: 'F', prefix: '8800005', zgid: '1', edition: 'free', licences: 3, users: [], modules: []})
  crm.addOrg({key: 'big', companyName: 'B', prefix: '8800006', zgid: '2', edition: 'enterprise', licences: 90_000, users: [], modules: []})
  t.is(crm.credits('free').allowance, 5000)
  t.is(crm.credits('big').allowance, 5_000_000)
})

test('a call costs one credit, a write one per ten records, a query by its limit', async t => {
  const {crm, call} = await openCrm(t)
  let before = 0
  const cost = async (method: string, path: string, body?: unknown) => {
    await call(method, path, body)
    const {used} = crm.credits('example')
    const spent = used - before
    before = used
    return spent
  }
  t.is(await cost('GET', 'org'), 1)
  t.is(await cost('POST', 'Leads', records(1)), 1)
  t.is(await cost('POST', 'Leads', records(10)), 1)
  t.is(await cost('POST', 'Leads', records(11)), 2)
  t.is(await cost('POST', 'Leads/upsert', records(100)), 10)
  const query = (limit: string) => ({select_query: `select id from Leads where id is not null ${limit}`})
  t.is(await cost('POST', 'coql', query('')), 1)
  t.is(await cost('POST', 'coql', query('limit 1000')), 2)
  t.is(await cost('POST', 'coql', query('limit 0, 1001')), 3)
  t.is(await cost('GET', 'Nothing?fields=id'), 1)
  t.is(await cost('GET', 'settings/unknown'), 0)
  crm.setSwitches({refusedCallsCost: false})
  t.is(await cost('GET', 'Nothing?fields=id'), 0)
})

test('the remaining credits are reported from half of the quota on, also on errors', async t => {
  const {crm, call} = await openCrm(t)
  crm.setCredits('example', {used: 30_998})
  t.is(left(await call('GET', 'org')), null)
  t.is(left(await call('GET', 'org')), '31000')
  t.is(left(await call('GET', 'Nothing?fields=id')), '30999')
  crm.setCredits('example', {addOn: 1000})
  t.is(left(await call('GET', 'org')), '31998')
  t.is((await call('GET', 'org')).body.org[0].license_details.users_license_purchased, 12)
})

test('a call that would exceed the quota is a 429 without effect', async t => {
  const {crm, call} = await openCrm(t)
  crm.setCredits('example', {used: 61_995})
  const refused = await call('POST', 'Leads', records(100))
  t.like(refused, {status: 429, body: {code: 'TOO_MANY_REQUESTS', details: {}, status: 'error'}})
  t.is(left(refused), '0')
  t.is(crm.count('example', 'Leads'), 0)
  t.is(crm.credits('example').used, 61_995)
  t.is((await call('POST', 'Leads', records(50))).status, 201)
  t.is((await call('GET', 'org')).status, 429)
  t.is((await callAs(crm, 'zoe@other.example')('GET', 'org')).status, 200)
})

test('each credit returns a day after its use', async t => {
  const {crm, call} = await openCrm(t)
  crm.setCredits('example', {allowance: 3})
  await call('GET', 'org')
  crm.clock.advance(3_000_000)
  await call('GET', 'org')
  await call('GET', 'org')
  t.is((await call('GET', 'org')).status, 429)
  crm.clock.advance(24 * 3600_000 - 3_000_000 - 1000)
  const later = callAs(crm, 'ana@example.org')
  t.is((await later('GET', 'org')).status, 429)
  crm.clock.advance(1000)
  t.is((await later('GET', 'org')).status, 200)
  t.is((await later('GET', 'org')).status, 429)
})

test('calls in flight are limited per client of an org, and the refusal has no credit header', async t => {
  const {crm, call} = await openCrm(t)
  crm.setConcurrency('example', 3)
  crm.addClient({clientId: 'second', clientSecret: 's', redirectUris: 'any-loopback'})
  crm.faults.add({action: 'hold', times: 3})
  const held = [1, 2, 3].map(() => call('GET', 'org'))
  await until(() => crm.held() === 3)
  const refused = await call('GET', 'org')
  t.like(refused, {status: 429, body: {code: 'TOO_MANY_REQUESTS'}})
  t.is(left(refused), null)
  const second = callWith(crm.url, crm.grant({email: 'ana@example.org', clientId: 'second'}).accessToken)
  t.is((await second('GET', 'org')).status, 200)
  t.is((await callAs(crm, 'zoe@other.example')('GET', 'org')).status, 200)
  t.is(crm.release(), 3)
  t.true((await Promise.all(held)).every(reply => reply.status === 200))
  t.is((await call('GET', 'org')).status, 200)
  t.is(crm.inFlightPeak('example'), 3)
  t.is(crm.inFlight(), 0)
})

test('at most ten large writes, queries and sorted reads run at once, and small calls continue', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: 'hold', times: 10})
  const query = {select_query: 'select id from Leads where id is not null'}
  const held = [
    ...Array.from({length: 5}, () => call('POST', 'Leads', records(11))),
    ...Array.from({length: 4}, () => call('POST', 'coql', query)),
    call('GET', 'Leads?fields=id&sort_by=Created_Time'),
  ]
  await until(() => crm.held() === 10)
  t.is((await call('POST', 'Leads', records(11))).status, 429)
  t.is((await call('POST', 'coql', query)).status, 429)
  t.is((await call('GET', 'Leads?fields=id&sort_by=Modified_Time')).status, 429)
  t.is((await call('POST', 'Leads', records(10))).status, 201)
  t.is((await call('GET', 'Leads?fields=id&sort_by=id')).status, 200)
  crm.release()
  await Promise.all(held)
  t.is(crm.state().orgs.example!.concurrency.clients['1000.LADING']!.heavyPeak, 10)
})

test('the quota and the concurrency limit can be switched off', async t => {
  const {crm, call} = await openCrm(t, {switches: {credits: false, concurrency: false}})
  crm.setCredits('example', {allowance: 0})
  crm.setConcurrency('example', 0)
  const reply = await call('GET', 'org')
  t.is(reply.status, 200)
  t.is(left(reply), null)
})

test('calls can have a latency, and their time in flight is summed', async t => {
  const {crm, call} = await openCrm(t)
  crm.setSwitches({latencyMs: 30})
  await Promise.all([call('GET', 'org'), call('POST', 'Leads', records(1)), call('POST', 'Leads', records(1))])
  const {calls, ms, recordCalls, recordMs} = crm.inFlightTime('example')
  t.is(calls, 3)
  t.is(recordCalls, 2)
  t.true(recordMs >= 58 && ms >= recordMs + 28, `${recordMs} of ${ms}`)
})
