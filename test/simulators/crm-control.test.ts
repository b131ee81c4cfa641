import {spawn} from 'node:child_process'
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {createInterface} from 'node:readline'
import test, {type ExecutionContext} from 'ava'
import {startCrm} from './crm.ts'
import {authorise, callWith, exchange, openCrm, refresh, request} from './crm-caller.ts'

const lead = {data: [{Last_Name: 'Ono'}]}

const snapshotPath = (t: ExecutionContext): string => {
  const folder = mkdtempSync(join(tmpdir(), 'stand-in-'))
  t.teardown(() => rmSync(folder, {recursive: true}))
  return join(folder, 'state.json')
}

const controlOf = (url: string) => async (method: string, path: string, body?: unknown) =>
  (await request(`${url}/__sim/${path}`, {method, ...(body === undefined ? {} : {body: JSON.stringify(body)})})).body

test('the control interface is off by default', async t => {
  const {crm} = await openCrm(t)
  t.is((await request(`${crm.url}/__sim/state`)).status, 404)
})

test('the control interface covers state, grants, records, faults, clock, switches and the journal', async t => {
  const {crm} = await openCrm(t, {control: true})
  const control = controlOf(crm.url)
  const {accessToken} = await control('POST', 'grants', {email: 'ana@example.org'})
  const call = callWith(crm.url, accessToken)

  const entries = await control('POST', 'records', {org: 'example', module: 'Leads', records: [{Last_Name: 'Ono'}], as: 'eva@example.org'})
  const {id} = entries[0].details
  t.like((await control('GET', 'records?org=example&module=Leads'))[0], {id, Created_By: {name: 'Eva Lind'}})
  await control('POST', 'marks', {org: 'example', module: 'Leads', ids: [id], locked: true})
  t.is((await call('PUT', `Leads/${id}`, {data: [{Phone: '1'}]})).body.data[0].code, 'RECORD_LOCKED')

  t.deepEqual(
    await control('POST', 'faults', {match: {method: 'POST'}, times: 1, action: {type: 'refuse', index: 0, code: 'NOT_APPROVED'}}),
    {id: 1},
  )
  t.is((await call('POST', 'Leads', lead)).body.data[0].code, 'NOT_APPROVED')
  t.like((await control('GET', 'faults'))[0], {id: 1, used: 1})

  t.is((await control('POST', 'clock', {at: '2027-01-01T00:00:00Z', advanceMs: 1000})).now, '2027-01-01T00:00:01.000Z')
  t.is((await control('POST', 'switches', {legacy202: true})).legacy202, true)
  t.regex((await control('POST', 'switches', {nothing: true})).error, /No such switch/)

  const state = await control('GET', 'state')
  t.like(state.orgs.example, {counts: {Leads: 1}, credits: {allowance: 62_000}})
  t.is(state.now, '2027-01-01T00:00:01.000Z')
  const journal = await control('GET', 'journal?method=POST&path=/crm/v8/Leads')
  t.like(journal[0], {status: 400, committed: false, fault: {id: 1, actions: ['refuse']}, body: lead})
  t.is((await control('GET', 'time?org=example')).recordCalls, 2)
  await control('POST', 'reset')
  t.is((await control('GET', 'state')).orgs.example.counts.Leads, 0)
})

test('the control interface covers schemas, users, clients, credits and held calls', async t => {
  const {crm} = await openCrm(t, {control: true})
  const control = controlOf(crm.url)
  await control('POST', 'modules', {org: 'example', module: {name: 'Boats', kind: 'custom', fields: [{name: 'Name', type: 'text'}]}})
  await control('POST', 'fields', {org: 'example', module: 'Boats', field: {name: 'Mast', type: 'integer'}})
  await control('POST', 'users', {org: 'example', user: {email: 'new@example.org', firstName: 'New', lastName: 'One'}})
  await control('POST', 'clients', {clientId: 'c', clientSecret: 's', redirectUris: 'any-loopback'})
  await control('POST', 'credits', {org: 'example', allowance: 10, used: 6})
  const {accessToken} = await control('POST', 'grants', {email: 'new@example.org', clientId: 'c'})
  const reply = await callWith(crm.url, accessToken)('POST', 'Boats', {data: [{Name: 'Ark', Mast: 1}]})
  t.is(reply.status, 201)
  t.is(reply.headers.get('x-api-credits-remaining'), '3')
  await control('POST', 'faults', {action: 'hold'})
  const held = callWith(crm.url, accessToken)('GET', 'org')
  while ((await control('GET', 'state')).held === 0);
  t.deepEqual(await control('POST', 'release'), {released: 1})
  t.is((await held).status, 200)
  t.regex((await control('GET', 'records?org=example')).error, /module is missing/)
  t.is((await control('GET', 'nothing')).error, 'no such control route')
})

test('a reset restores the start state, including the ids to come', async t => {
  const {crm, call} = await openCrm(t)
  const first = (await call('POST', 'Leads', lead)).body.data[0].details.id
  crm.setSwitches({legacy202: true})
  crm.addModule('example', {name: 'Boats', fields: []})
  crm.reset()
  t.is(crm.count('example', 'Leads'), 0)
  t.false(crm.switches().legacy202)
  t.false('Boats' in crm.state().orgs.example!.counts)
  t.is((await call('GET', 'org')).status, 401)
  const again = callWith(crm.url, crm.grant({email: 'ana@example.org'}).accessToken)
  t.is((await again('POST', 'Leads', lead)).body.data[0].details.id, first)
})

test('a clear deletes records, journal and faults, and keeps tokens, schemas and switches', async t => {
  const {crm, call} = await openCrm(t)
  crm.addField('example', 'Leads', {name: 'Code', type: 'text', unique: true})
  crm.setSwitches({searchLagSeconds: 5})
  await call('POST', 'Leads', {data: [{Last_Name: 'Ono', Code: 'A'}]})
  crm.faults.add({action: 'dropBefore'})
  crm.clear()
  t.is(crm.count('example', 'Leads'), 0)
  t.deepEqual([crm.journal(), crm.automations(), crm.faults.list()], [[], [], []])
  t.is(crm.switches().searchLagSeconds, 5)
  const reply = await call('POST', 'Leads', {
    data: [
      {Last_Name: 'Ono', Code: 'A'},
      {Last_Name: 'Lee', Code: 'a'},
    ],
  })
  t.is(reply.status, 207)
})

test('the journal contains no token, secret or code', async t => {
  const {crm} = await openCrm(t)
  const code = (await authorise(crm)).searchParams.get('code') ?? ''
  const {access_token, refresh_token} = (await exchange(crm, code)).body
  await refresh(crm, refresh_token)
  await callWith(crm.url, access_token)('GET', 'org')
  await request(`${crm.url}/oauth/v2/token/revoke?token=${refresh_token}`, {method: 'POST'})
  const text = JSON.stringify(crm.journal())
  for (const secret of [code, access_token, refresh_token, 'stand-in-secret']) t.false(text.includes(secret))
  t.like(crm.journal({path: '/crm/'})[0], {
    org: 'example',
    user: 'ana@example.org',
    client: '1000.LADING',
    headers: {authorization: 'Zoho-oauthtoken ***'},
  })
})

test('the journal keeps only its last entries, with or without bodies', async t => {
  const {crm, call} = await openCrm(t, {journal: {limit: 2, bodies: false}})
  for (const path of ['org', 'users', 'Leads?fields=id']) await call('GET', path)
  t.deepEqual(
    crm.journal().map(entry => [entry.seq, entry.path, entry.answer]),
    [
      [2, '/crm/v8/users', null],
      [3, '/crm/v8/Leads', null],
    ],
  )
})

test('the clock runs or stands still, and the Date header shows it', async t => {
  const {crm, call} = await openCrm(t)
  t.is((await call('GET', 'org')).headers.get('date'), 'Mon, 02 Mar 2026 08:15:40 GMT')
  crm.clock.set('2026-05-01T00:00:00Z')
  crm.clock.unfreeze()
  t.false(crm.clock.isFrozen())
  t.true(crm.clock.now() >= Date.parse('2026-05-01T00:00:00Z'))
  crm.clock.freeze()
  t.is(crm.clock.now(), crm.clock.now())
})

test('a snapshot keeps records, rows, schemas, users and tokens between starts', async t => {
  const snapshot = snapshotPath(t)
  const first = await startCrm({snapshot})
  first.addField('example', 'Orders', {name: 'Colour', type: 'text', unique: true})
  first.addUser('example', {email: 'new@example.org', firstName: 'New', lastName: 'One'})
  const {accessToken, refreshToken} = first.grant({email: 'new@example.org'})
  const order = {Name: 'First', Colour: 'red', Due_At: '2026-01-01T00:00:00Z', Order_Lines: [{Product: 'A'}, {Product: 'B'}]}
  const [id, gone] = first.create('example', 'Orders', [order, {Name: 'Gone'}]).map(entry => String(entry.details.id))
  first.remove('example', 'Orders', [gone!])
  const before = first.record('example', 'Orders', id!)
  await first.stop()

  const second = await startCrm({snapshot})
  t.teardown(second.stop)
  t.deepEqual(second.record('example', 'Orders', id!), before)
  const call = callWith(second.url, accessToken)
  t.is((await call('POST', 'Orders', {data: [{Name: 'Second', Colour: 'RED'}]})).body.data[0].code, 'DUPLICATE_DATA')
  t.is((await call('GET', 'Orders/deleted')).body.data[0].id, gone)
  t.is((await call('POST', 'coql', {select_query: `select id from Order_Lines where Parent_Id = '${id}'`})).body.info.count, 2)
  const made = (await call('POST', 'Orders', {data: [{Name: 'Third'}]})).body.data[0].details
  t.is(made.Created_By.name, 'New One')
  t.true(made.id > gone!)
  t.is(second.record('example', 'Orders', made.id)!.Number, 'ORD-1002')
  t.is((await refresh(second, refreshToken)).status, 200)
})

test('sample records can exist from the start', async t => {
  const {crm} = await openCrm(t, {samples: true})
  t.is(crm.count('example', 'Accounts'), 6)
  t.like(crm.records('example', 'Contacts')[2], {Email: 'chloe.mercier@example.net', Account_Name: {name: 'Petit Atelier'}})
  t.is(crm.count('example', 'Order_Lines'), 2)
})

test('an unreadable snapshot is renamed and ignored', async t => {
  const snapshot = snapshotPath(t)
  writeFileSync(snapshot, '{"kind":"world","version":1,"tokens":0,"clients":[]}\n{"kind"')
  const crm = await startCrm({snapshot})
  t.teardown(crm.stop)
  t.is(crm.count('example', 'Leads'), 0)
  t.regex(readFileSync(`${snapshot}.unreadable`, 'utf8'), /^\{"kind":"world"/)
})

test('the stand-in runs as a process, prints its address, and writes its snapshot on SIGTERM', async t => {
  const snapshot = snapshotPath(t)
  const args = [
    '--port',
    '0',
    '--control',
    '--client',
    'own:secret',
    '--snapshot',
    snapshot,
    '--switch',
    'legacy202=true',
    '--latency',
    '1',
  ]
  const child = spawn(process.execPath, [join(import.meta.dirname, 'crm.ts'), ...args], {stdio: ['ignore', 'pipe', 'inherit']})
  t.teardown(() => child.kill('SIGKILL'))
  const [url] = await new Promise<string[]>(resolve => createInterface(child.stdout).once('line', line => resolve([line])))
  const control = controlOf(url!)
  const {accessToken} = await control('POST', 'grants', {email: 'ana@example.org', clientId: 'own'})
  t.is((await callWith(url!, accessToken)('POST', 'Leads', lead)).status, 201)
  t.like((await control('GET', 'state')).switches, {legacy202: true, latencyMs: 1})
  child.kill('SIGTERM')
  t.is(await new Promise(resolve => child.once('exit', resolve)), 0)
  t.regex(readFileSync(snapshot, 'utf8'), /"Last_Name":"Ono"/)
})
