import test from 'ava'
import {callWith, codes, ids, openCrm, refresh, request, until} from './crm-caller.ts'

const lead = (count = 1) => ({data: Array.from({length: count}, (_, index) => ({Last_Name: `Ono ${index}`}))})

test('a: dropBefore does nothing and gives no answer', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({match: {method: 'POST'}, action: 'dropBefore'})
  await t.throwsAsync(call('POST', 'Leads', lead()))
  t.is(crm.count('example', 'Leads'), 0)
  t.like(crm.journal().at(-1), {outcome: 'dropped', committed: false, status: null, answer: null, fault: {id: 1, actions: ['dropBefore']}})
  t.is((await call('POST', 'Leads', lead())).status, 201)
})

test('b: dropAfter takes effect and gives no answer', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({match: {method: 'POST'}, action: 'dropAfter'})
  await t.throwsAsync(call('POST', 'Leads', lead(3)))
  t.is(crm.count('example', 'Leads'), 3)
  t.like(crm.journal().at(-1), {outcome: 'dropped', committed: true, status: null})
})

test('c: truncateAfter takes effect and breaks off inside the body', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({match: {module: 'Leads'}, action: 'truncateAfter'})
  await t.throwsAsync(call('POST', 'Leads', lead()))
  t.is(crm.count('example', 'Leads'), 1)
  crm.faults.add({action: 'truncateAfter'})
  const {accessToken} = crm.grant({email: 'ana@example.org'})
  const reply = await fetch(`${crm.url}/crm/v8/Leads`, {
    method: 'POST',
    body: JSON.stringify(lead()),
    headers: {authorization: `Bearer ${accessToken}`},
  })
  t.is(reply.status, 200)
  await t.throwsAsync(reply.text())
  t.is(crm.journal().at(-1)!.outcome, 'truncated')
})

test('d and e: a server error comes before the effect, or after it', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: {type: 'status5xxBefore', status: 503, retryAfter: 7}})
  const before = await call('POST', 'Leads', lead())
  t.like(before, {status: 503, body: {code: 'INTERNAL_ERROR'}})
  t.is(before.headers.get('retry-after'), '7')
  t.is(crm.count('example', 'Leads'), 0)
  crm.faults.add({action: {type: 'status5xxAfter', status: 502, html: true}})
  const after = await call('POST', 'Leads', lead())
  t.is(after.status, 502)
  t.regex(after.body, /<html>/)
  t.regex(after.headers.get('content-type') ?? '', /text\/html/)
  t.is(crm.count('example', 'Leads'), 1)
  t.true(crm.journal().at(-1)!.committed)
})

test('f: nonJson takes effect and answers with an HTML page', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: 'nonJson'})
  const {status, body, headers} = await call('POST', 'Leads', lead())
  t.is(status, 200)
  t.regex(body, /<html>/)
  t.is(headers.get('content-type'), 'text/html;charset=UTF-8')
  t.is(crm.count('example', 'Leads'), 1)
})

test('g: emptyBody takes effect and answers without a body, with 200 or 204', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: 'emptyBody'})
  crm.faults.add({action: {type: 'emptyBody', status: 204}})
  t.like(await call('POST', 'Leads', lead()), {status: 200, body: null})
  t.like(await call('POST', 'Leads', lead()), {status: 204, body: null})
  t.is(crm.count('example', 'Leads'), 2)
})

test('h: successNoId answers SUCCESS without an id', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: {type: 'successNoId', index: 1}})
  const {status, body} = await call('POST', 'Leads', lead(2))
  t.is(status, 201)
  t.is(typeof body.data[0].details.id, 'string')
  t.like(body.data[1], {code: 'SUCCESS', status: 'success'})
  t.deepEqual(body.data[1].details, {})
  crm.faults.add({action: 'successNoId'})
  t.deepEqual(ids(await call('POST', 'Leads', lead(2))), [undefined, undefined] as never)
  t.is(crm.count('example', 'Leads'), 4)
})

test('i: shortData omits entries, shuffleData reorders them', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: {type: 'shortData', by: 2}})
  t.is((await call('POST', 'Leads', lead(5))).body.data.length, 3)
  t.is(crm.count('example', 'Leads'), 5)
  crm.faults.add({action: 'shuffleData'})
  const shuffled = ids(await call('POST', 'Leads', lead(2)))
  t.true(shuffled[0]! > shuffled[1]!)
})

test('i: shortData can omit the first, a middle or the last entry', async t => {
  const {crm, call} = await openCrm(t)
  const left = async (at: 'first' | 'middle' | 'last') => {
    crm.faults.add({action: {type: 'shortData', at}})
    const made = ids(await call('POST', 'Leads', lead(3)))
    const all = crm.records('example', 'Leads').map(({id}) => id)
    return made.map(id => all.sort().slice(-3).indexOf(id))
  }
  t.deepEqual(await left('first'), [1, 2])
  t.deepEqual(await left('middle'), [0, 2])
  t.deepEqual(await left('last'), [0, 1])
})

test('i: wrongId answers with the record of another entry, or with any record', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: {type: 'wrongId', index: 2, of: 0}})
  const [first, second, third] = ids(await call('POST', 'Leads', lead(3)))
  t.is(third, first)
  t.not(second, first)
  crm.faults.add({action: {type: 'wrongId', id: second!}})
  t.is(ids(await call('POST', 'Leads', lead(2)))[0], second)
  t.is(crm.count('example', 'Leads'), 5)
})

test('j: refuse declines some records and accepts the others', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: {type: 'refuse', index: [0, 2], code: 'NOT_APPROVED'}})
  const mixed = await call('POST', 'Leads', lead(3))
  t.is(mixed.status, 207)
  t.deepEqual(codes(mixed), ['NOT_APPROVED', 'SUCCESS', 'NOT_APPROVED'])
  crm.faults.add({action: 'refuse'})
  t.like(await call('PUT', 'Leads', {data: [{id: '1'}]}), {status: 400, body: {data: [{code: 'RECORD_LOCKED'}]}})
})

test('k: rateLimit is a 429 with or without headers, or in the older form', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: 'rateLimit'})
  crm.faults.add({action: {type: 'rateLimit', retryAfter: 3, credits: 500}})
  crm.faults.add({action: {type: 'rateLimit', retryAfter: 'date:30'}})
  crm.faults.add({action: {type: 'rateLimit', legacy: true}})
  const heads = ({status, headers}: Awaited<ReturnType<typeof call>>) => [
    status,
    headers.get('retry-after'),
    headers.get('x-api-credits-remaining'),
  ]
  t.deepEqual(heads(await call('POST', 'Leads', lead())), [429, null, null])
  t.deepEqual(heads(await call('POST', 'Leads', lead())), [429, '3', '500'])
  t.deepEqual(heads(await call('POST', 'Leads', lead())), [429, 'Mon, 02 Mar 2026 08:16:10 GMT', null])
  t.like((await call('POST', 'Leads', lead())).body, {code: 429, error: 'TOO_MANY_REQUESTS'})
  t.is(crm.count('example', 'Leads'), 0)
})

test('l: allowanceSpent is a 429 without credits until its time has passed', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: {type: 'allowanceSpent', forSeconds: 60}})
  for (const path of ['org', 'Leads?fields=id']) {
    const {status, headers} = await call('GET', path)
    t.deepEqual([status, headers.get('x-api-credits-remaining')], [429, '0'])
  }
  crm.clock.advance(60_000)
  const {status, headers} = await call('GET', 'org')
  t.deepEqual([status, headers.get('x-api-credits-remaining')], [200, null])
  crm.faults.add({action: {type: 'allowanceSpent', until: '2026-03-02T08:20:00Z'}})
  t.is((await call('GET', 'org')).status, 429)
})

test('m: expireToken ends the token of the next call, and a renewed token works', async t => {
  const {crm} = await openCrm(t)
  const {accessToken, refreshToken} = crm.grant({email: 'ana@example.org'})
  crm.faults.add({match: {method: 'POST', module: 'Leads'}, action: 'expireToken'})
  const call = callWith(crm.url, accessToken)
  t.is((await call('GET', 'org')).status, 200)
  t.like(await call('POST', 'Leads', lead()), {status: 401, body: {code: 'INVALID_TOKEN'}})
  t.is(crm.count('example', 'Leads'), 0)
  const {body} = await refresh(crm, refreshToken)
  t.is((await callWith(crm.url, body.access_token)('POST', 'Leads', lead())).status, 201)
})

test('n: revokeGrant ends the grant, noticed at a call or at the token endpoint', async t => {
  const {crm} = await openCrm(t)
  const one = crm.grant({email: 'ana@example.org'})
  crm.faults.add({action: 'revokeGrant'})
  t.is((await callWith(crm.url, one.accessToken)('GET', 'org')).status, 401)
  t.deepEqual((await refresh(crm, one.refreshToken)).body, {error: 'invalid_code'})
  const other = crm.grant({email: 'ana@example.org'})
  crm.faults.add({match: {path: '/oauth/v2/token'}, action: 'revokeGrant'})
  t.deepEqual((await refresh(crm, other.refreshToken)).body, {error: 'invalid_code'})
})

test('o and p: the token endpoint can be throttled, broken or silent', async t => {
  const {crm} = await openCrm(t)
  const {refreshToken} = crm.grant({email: 'ana@example.org'})
  crm.faults.add({action: 'tokenThrottle'})
  crm.faults.add({action: {type: 'tokenDown', status: 502}})
  crm.faults.add({action: {type: 'tokenDown', drop: true}})
  t.like(await refresh(crm, refreshToken), {status: 400, body: {error: 'Access Denied'}})
  const down = await refresh(crm, refreshToken)
  t.is(down.status, 502)
  t.regex(down.body, /<html>/)
  await t.throwsAsync(refresh(crm, refreshToken))
  t.is((await refresh(crm, refreshToken)).status, 200)
})

test('q: a slow call can outlast its caller and still takes effect', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: {type: 'slow', ms: 40}})
  const {accessToken} = crm.grant({email: 'ana@example.org'})
  const patience = new AbortController()
  const impatient = request(`${crm.url}/crm/v8/Leads`, {
    method: 'POST',
    body: JSON.stringify(lead()),
    headers: {authorization: `Bearer ${accessToken}`},
    signal: patience.signal,
  })
  await until(() => crm.inFlight() === 1)
  patience.abort()
  await t.throwsAsync(impatient)
  await until(() => crm.count('example', 'Leads') === 1)
  crm.faults.add({action: {type: 'slow', ms: 40, when: 'after'}})
  t.is((await call('POST', 'Leads', lead())).status, 201)
  t.true(crm.journal().at(-1)!.ms >= 38)
})

test('r: hold keeps calls in flight before or after their effect, until released', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: 'hold'})
  crm.faults.add({action: {type: 'hold', when: 'after'}})
  const first = call('POST', 'Leads', lead())
  await until(() => crm.held() === 1)
  t.is(crm.count('example', 'Leads'), 0)
  const second = call('POST', 'Leads', lead())
  await until(() => crm.held() === 2)
  t.is(crm.count('example', 'Leads'), 1)
  t.is(crm.inFlight('example'), 2)
  t.is(crm.release(1), 1)
  t.is((await first).status, 201)
  t.is(crm.release(), 1)
  t.is((await second).status, 201)
})

test('s: redirect answers with a redirect, before or after the effect', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: 'redirect'})
  crm.faults.add({action: {type: 'redirect', to: 'https://elsewhere.example/', when: 'after'}})
  const before = await call('POST', 'Leads', lead())
  t.deepEqual([before.status, before.headers.get('location')], [302, `${crm.url}/elsewhere`])
  t.is(crm.count('example', 'Leads'), 0)
  const after = await call('POST', 'Leads', lead())
  t.deepEqual([after.status, after.headers.get('location')], [302, 'https://elsewhere.example/'])
  t.is(crm.count('example', 'Leads'), 1)
})

test('t: another user creates or changes a record between two calls', async t => {
  const {crm, call} = await openCrm(t)
  const foreign = {Account_Name: 'Foreign', Account_Number: 'X'}
  crm.faults.add({match: {method: 'POST'}, action: {type: 'foreignCreate', module: 'Accounts', record: foreign, user: 'eva@example.org'}})
  const reply = await call('POST', 'Accounts', {data: [{Account_Name: 'Mine', Account_Number: 'x'}]})
  t.is(reply.body.data[0].code, 'DUPLICATE_DATA')
  const [record] = crm.records('example', 'Accounts')
  t.like(record, {Account_Name: 'Foreign', Created_By: {name: 'Eva Lind'}})
  const change = {type: 'foreignCreate' as const, module: 'Accounts', record: {id: record!.id, Phone: '9'}, when: 'after' as const}
  crm.faults.add({match: {method: 'GET'}, action: change})
  t.is((await call('GET', `Accounts/${record!.id}`)).body.data[0].Phone, null)
  t.like(crm.record('example', 'Accounts', record!.id), {Phone: '9', Modified_By: {name: 'Ben Okoye'}})
})

test('u: clockSkew shifts the times of created records', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({action: {type: 'clockSkew', seconds: -3600}})
  const {body} = await call('POST', 'Leads', lead())
  t.is(body.data[0].details.Created_Time, '2026-03-02T08:15:40+01:00')
  t.is((await call('POST', 'Leads', lead())).body.data[0].details.Created_Time, '2026-03-02T09:15:40+01:00')
})

test('any answer can replace that of the CRM', async t => {
  const {crm, call} = await openCrm(t)
  const body = {code: 'NO_PERMISSION', details: {permissions: ['Crm_Implied_Create_Leads']}, message: 'permission denied', status: 'error'}
  crm.faults.add({action: {type: 'answer', status: 403, body}})
  t.like(await call('POST', 'Leads', lead()), {status: 403, body})
  t.is(crm.count('example', 'Leads'), 0)
})
