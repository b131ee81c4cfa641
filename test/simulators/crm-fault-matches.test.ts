import test from 'ava'
import {callAs, callWith, openCrm} from './crm-caller.ts'

const lead = {data: [{Last_Name: 'Ono'}]}

test('faults apply in order, each for its number of times', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({times: 2, action: {type: 'status5xxBefore', status: 500}})
  crm.faults.add({action: {type: 'status5xxBefore', status: 503}})
  const statuses = []
  for (let at = 0; at < 4; at++) statuses.push((await call('GET', 'org')).status)
  t.deepEqual(statuses, [500, 500, 503, 200])
  t.deepEqual(
    crm.faults.list().map(fault => fault.used),
    [2, 1],
  )
})

test('a fault can match only the nth request', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({match: {method: 'POST', module: 'Leads', nth: 3}, times: 2, action: {type: 'status5xxBefore'}})
  const statuses = []
  for (let at = 0; at < 5; at++) {
    statuses.push((await call('POST', 'Leads', lead)).status)
    await call('GET', 'Leads?fields=id')
  }
  t.deepEqual(statuses, [201, 201, 500, 500, 201])
})

test('a fault can match by path glob, client, org and user', async t => {
  const {crm, call} = await openCrm(t)
  const broken = async (match: Record<string, string>, ask = () => call('GET', 'Leads/1')) => {
    crm.faults.clear()
    crm.faults.add({match, action: {type: 'status5xxBefore'}})
    return (await ask()).status === 500
  }
  t.true(await broken({path: '/crm/v8/*/1'}))
  t.true(await broken({path: '/crm/**'}))
  t.false(await broken({path: '/crm/v8/*'}))
  t.false(await broken({module: 'Contacts'}))
  t.false(await broken({method: 'POST'}))
  t.true(await broken({org: 'example', user: 'ana@example.org', client: '1000.LADING'}))
  t.false(await broken({user: 'ana@example.org'}, () => callAs(crm, 'ben@example.org')('GET', 'Leads/1')))
  t.false(await broken({client: 'other'}))
  t.false(await broken({org: 'other'}))
})

test('a random share of requests fails, equal for equal seeds', async t => {
  const {crm, call} = await openCrm(t, {switches: {concurrency: false}})
  const met = async (seed: number) => {
    crm.faults.clear()
    crm.faults.add({match: {share: 0.3, seed}, times: 1000, action: {type: 'status5xxBefore'}})
    const statuses = []
    for (let at = 0; at < 60; at++) statuses.push((await call('GET', 'org')).status)
    return statuses
  }
  const first = await met(7)
  const broken = first.filter(status => status === 500).length
  t.true(broken > 8 && broken < 30, `${broken} of 60`)
  t.deepEqual(await met(7), first)
  t.notDeepEqual(await met(8), first)
})

test('a fault can combine several actions', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: [{type: 'refuse', index: 0, code: 'RECORD_LOCKED'}, {type: 'clockSkew', seconds: 60}, 'dropAfter']})
  await t.throwsAsync(call('POST', 'Leads', {data: [{Last_Name: 'Ono'}, {Last_Name: 'Lee'}]}))
  t.deepEqual(
    crm.records('example', 'Leads').map(record => [record.Last_Name, record.Created_Time]),
    [['Lee', '2026-03-02T09:16:40+01:00']],
  )
})

test('a fault can be removed, and an unknown action is refused', async t => {
  const {crm, call} = await openCrm(t)
  const id = crm.faults.add({action: 'dropBefore'})
  t.true(crm.faults.remove(id))
  t.is((await call('GET', 'org')).status, 200)
  t.throws(() => crm.faults.add({action: 'explode' as never}))
})

test('faults do not apply to calls with a dead token', async t => {
  const {crm} = await openCrm(t)
  crm.faults.add({match: {org: 'example'}, action: 'dropBefore'})
  t.is((await callWith(crm.url, '1000.dead.token')('GET', 'org')).status, 401)
})
