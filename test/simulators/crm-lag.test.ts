import test from 'ava'
import {type Call, codes, ids, openCrm} from './crm-caller.ts'

const lagging = {switches: {coqlLagSeconds: 30, searchLagSeconds: 30}}
const acme = (city: string, more: object = {}) => ({data: [{Account_Name: 'Acme', Account_Number: 'A-1', Billing_City: city, ...more}]})
const query = async (call: Call, where: string): Promise<string[]> => {
  const {status, body} = await call('POST', 'coql', {select_query: `select id, Billing_City from Accounts where ${where}`})
  return status === 204 ? [] : body.data.map((row: any) => row.Billing_City)
}

test('every form of COQL and search shows a created record only after the lag', async t => {
  const {crm, call} = await openCrm(t, lagging)
  const [id] = ids(await call('POST', 'Accounts', acme('Bilbao')))
  const ways = [`id = '${id}'`, "Account_Number = 'A-1'", "Account_Name = 'Acme'", "Created_Time >= '2026-01-01T00:00:00+00:00'"]
  crm.clock.advance(29_999)
  for (const where of ways) t.deepEqual(await query(call, where), [], where)
  t.is((await call('GET', 'Accounts/search?word=acme')).status, 204)
  crm.clock.advance(1)
  for (const where of ways) t.deepEqual(await query(call, where), ['Bilbao'], where)
  t.is((await call('GET', 'Accounts/search?word=acme')).status, 200)
})

test('a test can make COQL and search see a record at once', async t => {
  const {crm, call} = await openCrm(t, lagging)
  const [id] = ids(await call('POST', 'Accounts', acme('Bilbao')))
  crm.catchUp('example', 'Accounts', [id!])
  t.deepEqual(await query(call, "Account_Number = 'A-1'"), ['Bilbao'])
  t.is((await call('GET', 'Accounts/search?word=acme')).status, 200)
})

test('reads by id and unique checks see a record before COQL does', async t => {
  const {call} = await openCrm(t, lagging)
  const [id] = ids(await call('POST', 'Accounts', acme('Bilbao')))
  t.is((await call('GET', `Accounts/${id}`)).body.data[0].Billing_City, 'Bilbao')
  t.is((await call('GET', `Accounts?ids=${id}&fields=Billing_City`)).body.data[0].Billing_City, 'Bilbao')
  const again = await call('POST', 'Accounts', acme('Vigo'))
  t.deepEqual(codes(again), ['DUPLICATE_DATA'])
  t.is(again.body.data[0].details.duplicate_record.id, id)
})

test('COQL shows the old state of an updated record until the lag has passed', async t => {
  const {crm, call} = await openCrm(t, lagging)
  const [id] = ids(await call('POST', 'Accounts', acme('Bilbao')))
  crm.clock.advance(60_000)
  await call('PUT', 'Accounts', acme('Vigo', {id}))
  crm.clock.advance(20_000)
  await call('PUT', 'Accounts', acme('Cádiz', {id}))
  t.deepEqual(await query(call, "Billing_City = 'Bilbao'"), ['Bilbao'])
  t.deepEqual(await query(call, "Billing_City = 'Cádiz'"), [])
  crm.clock.advance(30_000)
  t.deepEqual(await query(call, "Billing_City = 'Bilbao'"), [])
  t.deepEqual(await query(call, "Billing_City = 'Cádiz'"), ['Cádiz'])
})

test('an org may have its own lag', async t => {
  const {crm, call} = await openCrm(t)
  crm.setSwitches({coqlLagSeconds: 30}, 'other')
  await call('POST', 'Accounts', acme('Bilbao'))
  t.deepEqual(await query(call, "Account_Number = 'A-1'"), ['Bilbao'])
  crm.setSwitches({coqlLagSeconds: 30}, 'example')
  await call('POST', 'Accounts', {data: [{Account_Name: 'Beta', Account_Number: 'B-1'}]})
  t.deepEqual(await query(call, "Account_Number = 'B-1'"), [])
  t.is(crm.switches().coqlLagSeconds, 0)
})

test('COQL answers a share of matching queries with 204', async t => {
  const {crm, call} = await openCrm(t)
  await call('POST', 'Accounts', acme('Bilbao'))
  crm.faults.add({match: {path: '/crm/v8/coql', share: 0.5, seed: 3}, times: 100, action: {type: 'emptyBody', status: 204}})
  const seen = []
  for (let n = 0; n < 12; n++) seen.push((await query(call, "Account_Number = 'A-1'")).length)
  t.deepEqual([...new Set(seen)].sort(), [0, 1])
})

test('a jumped clock shows in later headers and records, while tokens expire by true time', async t => {
  const {crm, call} = await openCrm(t)
  const told = async () => {
    const {headers, body} = await call('POST', 'Leads', {data: [{Last_Name: 'Ono'}]})
    return [headers.get('date'), new Date(body.data[0].details.Created_Time).toUTCString()]
  }
  t.deepEqual(await told(), Array(2).fill('Mon, 02 Mar 2026 08:15:40 GMT'))
  crm.faults.add({match: {module: 'Leads'}, action: {type: 'clockJump', seconds: 3_600}})
  t.deepEqual(await told(), Array(2).fill('Mon, 02 Mar 2026 09:15:40 GMT'))
  t.deepEqual(await told(), Array(2).fill('Mon, 02 Mar 2026 09:15:40 GMT'))
  crm.faults.add({match: {module: 'Leads'}, action: {type: 'clockJump', seconds: -7_200}})
  t.deepEqual(await told(), Array(2).fill('Mon, 02 Mar 2026 07:15:40 GMT'))
})
