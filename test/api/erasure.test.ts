import {existsSync, readdirSync} from 'node:fs'
import {join} from 'node:path'
import {PassThrough} from 'node:stream'
import test from 'ava'
import {z} from 'zod'
import {openSession} from '../../shared/accounts/session.ts'
import {listChanges} from '../../sql/changes.ts'
import {sql} from '../../sql/database.ts'
import {deleteOfRuns, holdRuns, listRunNos} from '../../sql/erasure.ts'
import {takeLease} from '../../sql/run-heads.ts'
import {startWorkers} from '../../workers/start.ts'
import {filled, fillMore, importVerified} from '../support/erasure.ts'
import {accountRows, accounts, ok, openOrg, prepareImport, runImport} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
let operator: ReturnType<TestDeployment['as']>

test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery', 'imports', 'erasure'], environment: {VERIFY_AFTER_SECONDS: '1'}})
  operator = house.as(house.adminToken)
})

const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const actionsOn = async (org: string) => (await operator('GET', `/staff/actions?org=${org}`)).body.actions

/** Reads every row of every table as JSON, by table. */
const dump = async () => {
  const tables = await house.db.anyFirst(
    sql.type(
      z.object({name: z.string()}),
    )`select table_name as name from information_schema.tables where table_schema = 'public' order by 1`,
  )
  const rows = tables.map(async name => {
    const texts = await house.db.anyFirst(
      sql.type(z.object({row: z.string()}))`select row_to_json(t)::text as row from ${sql.identifier([name])} t`,
    )
    return [name, texts] as const
  })
  return new Map(await Promise.all(rows))
}

type Dump = Map<string, readonly string[]>
const countsOf = (tables: Dump) => Object.fromEntries([...tables].map(([name, rows]) => [name, rows.length]))
const tablesWith = (tables: Dump, text: string) =>
  [...tables].filter(([, rows]) => rows.some(row => row.includes(text))).map(([name]) => name)

const revocations = () => house.crm.journal({path: '/oauth/v2/token/revoke'}).length

/** Tables in which rows stay on purpose. People do not belong to the org. A late call may write CRM shares and budgets again; they expire. */
const kept = ['api_tokens', 'crm_budgets', 'crm_shares', 'people', 'sessions', 'staff_actions', 'used_sign_ins']

test.serial('an erased org leaves no row, no file and no name; another org keeps everything', async t => {
  const neighbour = await openOrg(house, 'zoe@other.example')
  await runImport(neighbour, {csv: accountRows(120, 'Z-'), flow: accounts})
  await house.hot.query(`insert into retention_nights (day, ended_at, lease_until) values ('2020-01-01', lading_now(), lading_now())`)
  const before = countsOf(await dump())

  const home = await openOrg(house)
  const {run, path, source} = await runImport(home, {csv: accountRows(230, 'Erased-'), flow: accounts})
  t.true((await importVerified(house, home)) > 0)
  await prepareImport(home, {csv: accountRows(5, 'Erased-'), flow: accounts})
  await ok(home.call('POST', '/entitlements/runs/authorise', {declaredRows: 5}), 200)
  await house.db.query(sql.unsafe`
    update runs set retry_of = (select run_no from runs where id = ${run.id}) where org_id = ${home.org} and state = 'authorised'`)
  await ok(home.call('POST', `/orgs/${home.org}/invitations`, {email: 'guest@erased.example', role: 'builder'}), 201)
  const {secret} = await ok(home.call('POST', `/orgs/${home.org}/tokens`, {name: 'Erased token'}), 201)
  const member = await house.makeOrg({role: 'operator', org: home.org})
  const view = await house.openView({org: home.org})
  const folder = join(house.config.STORAGE_DIR, home.org)
  t.is(readdirSync(folder).length, 4, 'three files, and the objects of the second run')
  const more = await fillMore(house, home, run.id)
  const full = countsOf(await dump())
  const given = revocations()
  t.true([...filled, 'run_verified'].every(table => full[table]! > (before[table] ?? 0)))

  const asked = await operator('POST', `/staff/orgs/${home.org}/erase`, {reason: 'They asked'}, {prefer: 'wait=30'})
  t.is(asked.status, 200, asked.text)
  t.like(asked.body.job, {name: 'org.erase', state: 'done'})
  t.true(asked.body.job.result.rows > 250)
  t.is(asked.headers.get('location'), `/staff/orgs/${home.org}/erasure`)
  t.deepEqual((await operator('GET', `/staff/orgs/${home.org}/erasure`)).body.job, asked.body.job)

  t.is(revocations(), given + 1, 'what the CRM granted was given up there')
  const after = await dump()
  const left = Object.fromEntries(Object.entries(countsOf(after)).filter(([name]) => !kept.includes(name)))
  t.deepEqual(left, Object.fromEntries(Object.entries(before).filter(([name]) => !kept.includes(name))))
  t.deepEqual(tablesWith(after, home.org), ['api_tokens', 'sessions', 'staff_actions'])
  for (const text of [...more, 'Erased', 'guest@erased', source.id, run.id, home.connector, 'Example Ltd', secret.slice(0, 11)])
    t.deepEqual(tablesWith(after, text), [], text)
  t.false(existsSync(folder))

  for (const bearer of [secret, member.token, view])
    t.deepEqual(outcomeOf(await house.as(bearer)('GET', '/auth/me')), [401, 'ORG_NOT_FOUND'])
  t.deepEqual(outcomeOf(await home.call('GET', path)), [401, 'ORG_NOT_FOUND'])
  const kinds = (await actionsOn(home.org)).map(({kind, reason, staff}: any) => [kind, reason, staff?.name ?? null])
  t.deepEqual(kinds, [
    ['erased', null, null],
    ['erase', 'They asked', null],
    ['view', 'A test looks', 'Test Staff'],
  ])
  t.deepEqual(outcomeOf(await operator('POST', `/staff/orgs/${home.org}/erase`, {reason: 'x'})), [404, 'NOT_FOUND'])
  t.is((await neighbour.call('GET', `/orgs/${neighbour.org}/imports`)).body.imports.length, 1)

  const again = (await house.as(await house.signIn())('GET', '/auth/me')).body
  t.not(again.org.id, home.org, 'who signs in again begins anew')
  t.is(again.role, 'owner')
})

test.serial('a run that is writing when its org is erased stops without failing the erasure', async t => {
  const home = await openOrg(house, 'zoe@other.example')
  house.crm.faults.add({
    match: {method: 'POST', path: '/crm/v8/Accounts', nth: 3},
    times: 50,
    action: {type: 'slow', ms: 300, when: 'before'},
  })
  const {path} = await prepareImport(home, {csv: accountRows(3000, 'Busy-'), flow: accounts})
  const {run} = await ok(home.call('POST', `${path}/runs`, {}), 202)
  await until(
    async () => (await home.call('GET', `${path}/runs/${run.id}`)).body.run.counts.Accounts?.created ?? 0,
    created => created > 0,
  )
  const {body} = await operator('POST', `/staff/orgs/${home.org}/erase`, {reason: 'They asked'}, {prefer: 'wait=60'})
  t.is(body.job.state, 'done', JSON.stringify(body))
  house.crm.faults.clear()
  t.deepEqual(tablesWith(await dump(), 'Busy-'), [])
  await until(
    () => house.queue.findJobs('import.run', {}),
    found => found.every(({state}) => state === 'completed'),
  )
  t.false(existsSync(join(house.config.STORAGE_DIR, home.org)))
})

test.serial('an org under erasure is closed, and cannot be reopened or viewed', async t => {
  const own = await startTestDeployment(t)
  const {org, token} = await own.makeOrg()
  const staff = await own.makeStaff()
  const ask = own.as(own.adminToken)
  const {status, body} = await ask('POST', `/staff/orgs/${org}/erase`, {reason: 'They asked'})
  t.is(status, 202)
  t.is(body.job.state, 'queued')
  t.deepEqual(outcomeOf(await own.as(token)('GET', `/orgs/${org}/tokens`)), [403, 'ORG_CLOSED'])
  t.deepEqual(outcomeOf(await ask('POST', `/staff/orgs/${org}/reopen`)), [404, 'NOT_FOUND'])
  t.deepEqual(outcomeOf(await own.as(staff.token)('POST', `/staff/orgs/${org}/view`, {reason: 'x'})), [404, 'NOT_FOUND'])
  const again = await ask('POST', `/staff/orgs/${org}/erase`, {reason: 'Again'})
  t.is(again.body.job.id, body.job.id, 'asked again, it is the same erasure')
  const {actions} = (await ask('GET', `/staff/actions?org=${org}`)).body
  t.deepEqual(
    actions.map(({kind, reason}: any) => [kind, reason]),
    [['erase', 'They asked']],
  )
})

test.serial('an erasure that was interrupted is resumed', async t => {
  const own = await startTestDeployment(t, {workers: ['discovery', 'imports']})
  const home = await openOrg(own)
  await runImport(home, {csv: accountRows(30), flow: accounts})
  const ask = own.as(own.adminToken)
  await ask('POST', `/staff/orgs/${home.org}/erase`, {reason: 'They asked'})
  // The state that a process leaves if it crashes during the erasure.
  await holdRuns(own.db, home.org)
  const runs = await listRunNos(own.db, {org: home.org, limit: 100})
  await own.ahead('1 hour')
  t.is(await takeLease(own.db, {run: runs[0]!, owner: 'a worker', seconds: 15}), null, 'nobody carries a run of it any more')
  await deleteOfRuns(own.db, {table: 'log_batches', runs, limit: 10})
  await own.storage.removeAll(home.org)
  const {stop} = await startWorkers(['erasure'], own.config)
  await until(
    async () => (await ask('GET', `/staff/orgs/${home.org}/erasure`)).body.job.state,
    state => state === 'done',
  )
  await stop()
  t.deepEqual(outcomeOf(await home.call('GET', '/auth/me')), [401, 'ORG_NOT_FOUND'])
})

test.serial('a file still being uploaded when its org is erased is not kept', async t => {
  const home = await openOrg(house, 'zoe@other.example')
  const {import: made} = await ok(home.call('POST', `/orgs/${home.org}/imports`, {name: 'Late', connectorId: home.connector}), 201)
  const body = new PassThrough()
  body.write(accountRows(10))
  const sending = home.call('POST', `/orgs/${home.org}/imports/${made.id}/sources`, body, {'content-type': 'text/csv'})
  const filesIn = (folder: string) =>
    readdirSync(house.config.STORAGE_DIR, {recursive: true}).filter(name => String(name).startsWith(folder))
  await until(
    () => filesIn('_temporary/'),
    names => names.length > 0,
  )
  const {body: erased} = await operator('POST', `/staff/orgs/${home.org}/erase`, {reason: 'They asked'}, {prefer: 'wait=30'})
  t.is(erased.job.state, 'done')
  body.end('Last,L-1,Town\n')
  t.deepEqual(outcomeOf(await sending), [404, 'IMPORT_NOT_FOUND'])
  t.false(filesIn(home.org).some(name => String(name).includes('src_')))
  t.deepEqual(filesIn('_temporary/'), [])
})

const erasePerson = (id: string, body?: object) => operator('POST', `/staff/people/${id}/delete`, body)

test.serial('an erased person leaves no name or address; their work stays without a name', async t => {
  const email = 'Gone.Person@example.net'
  const {person, org, token} = await house.makeOrg({email})
  const other = await house.makeOrg({org, role: 'owner'})
  await house.db.query(sql.unsafe`update people set name = 'Gone Person' where id = ${person}`)
  const call = house.as(token)
  const connector = await house.connect(token)
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {name: 'Theirs', connectorId: connector}), 201)
  const {runId} = await ok(call('POST', '/entitlements/runs/authorise', {declaredRows: 5, importId: made.id}), 200)
  const {secret} = await ok(call('POST', `/orgs/${org}/tokens`, {name: 'ci'}), 201)
  await ok(call('POST', `/orgs/${org}/invitations`, {email: 'kept@example.net', role: 'operator'}), 201)
  const elsewhere = await house.makeOrg()
  await ok(house.as(elsewhere.token)('POST', `/orgs/${elsewhere.org}/invitations`, {email, role: 'admin'}), 201)
  t.true(tablesWith(await dump(), 'one.Person').length + tablesWith(await dump(), 'gone.person').length > 1)

  const {status, body} = await erasePerson(person, {reason: 'Their right'})
  t.is(status, 200)
  t.deepEqual(body, {deleted: true, heirs: []})
  const after = await dump()
  for (const text of ['Gone Person', 'Gone.Person', 'gone.person']) t.deepEqual(tablesWith(after, text), [], text)
  t.deepEqual(tablesWith(after, person), ['sessions', 'staff_actions'])
  for (const bearer of [token, secret]) t.deepEqual(outcomeOf(await house.as(bearer)('GET', '/auth/me')), [401, 'MEMBERSHIP_GONE'])
  const seen = house.as(other.token)
  t.is((await seen('GET', `/orgs/${org}/imports/${made.id}`)).body.import.name, 'Theirs')
  const {createdBy, revokedAt} = (await seen('GET', `/orgs/${org}/tokens`)).body.tokens[0]
  t.deepEqual([createdBy, typeof revokedAt], [null, 'string'])
  t.is((await seen('GET', `/orgs/${org}/invitations`)).body.invitations[0].invitedBy, null)
  t.true(after.get('runs')!.some(row => row.includes(runId) && row.includes('"person_id":null')))
  t.deepEqual(
    (await seen('GET', `/orgs/${org}/members`)).body.members.map(({personId}: any) => personId),
    [other.person],
  )
  t.deepEqual(outcomeOf(await erasePerson(person)), [404, 'NOT_FOUND'])
  const [newest] = (await operator('GET', '/staff/actions?limit=1')).body.actions
  t.like(newest, {kind: 'person.delete', person, reason: 'Their right', staff: null, org: null})
})

test.serial('the only owner of an org with others is erased only on insistence; the highest member then inherits', async t => {
  const {person, org} = await house.makeOrg()
  await house.makeOrg({org, role: 'operator'})
  const first = await house.makeOrg({org, role: 'builder'})
  await house.makeOrg({org, role: 'builder'})
  const refused = await erasePerson(person)
  t.deepEqual(outcomeOf(refused), [409, 'LAST_OWNER'])
  t.deepEqual(refused.body.orgs, [{id: org, name: 'Test Org'}])
  t.is((await house.as(first.token)('GET', `/orgs/${org}/members`)).body.members.length, 4, 'nothing happened')
  const {body} = await erasePerson(person, {force: true})
  t.deepEqual(body.heirs, [{org, person: first.person}])
  const {members} = (await house.as(first.token)('GET', `/orgs/${org}/members`)).body
  t.deepEqual(
    members.filter(({role}: any) => role === 'owner').map(({personId}: any) => personId),
    [first.person],
  )
  const changes = await listChanges(house.db, {org, limit: 10})
  t.is(
    String(changes.map(({subject, target, before, after, via}) => [subject, target, before, after, via])),
    'member.role,,owner,,staff,member.role,Test Person,builder,owner,staff',
  )
})

test.serial('a person alone in an org, one of several owners, or in no org is erased at once', async t => {
  const alone = await house.makeOrg()
  const {org, person} = await house.makeOrg()
  await house.makeOrg({org, role: 'owner'})
  t.is((await erasePerson(alone.person)).status, 200)
  t.is((await erasePerson(person)).status, 200)
  const staff = await house.makeStaff()
  t.is((await erasePerson(staff.person)).status, 200)
  t.deepEqual(outcomeOf(await house.as(staff.token)('GET', '/staff/people')), [401, 'MEMBERSHIP_GONE'])
})

test.serial('past staff actions still name an erased staff member', async t => {
  const {org} = await house.makeOrg()
  const staff = await house.makeStaff({name: 'Was Staff', email: 'was@staff.example'})
  await house.openView({org, by: staff.token})
  await erasePerson(staff.person)
  t.like((await actionsOn(org))[0].staff, {name: 'Was Staff', email: 'was@staff.example'})
})

test.serial('of two owners, one erased and one leaving at the same moment, one stays', async t => {
  for (let n = 0; n < 5; n++) {
    const one = await house.makeOrg()
    const other = await house.makeOrg({org: one.org, role: 'owner'})
    const plain = await house.makeOrg({org: one.org, role: 'operator'})
    const {members} = (await house.as(one.token)('GET', `/orgs/${one.org}/members`)).body
    const {id} = members.find(({personId}: any) => personId === other.person)
    const [erased, removed] = await Promise.all([
      erasePerson(one.person),
      house.as(other.token)('PATCH', `/orgs/${one.org}/members/${id}`, {role: 'admin'}),
    ])
    t.deepEqual([erased.status, removed.status].sort(), [200, 409], `${erased.text} ${removed.text}`)
    const left = (await house.as(plain.token)('GET', `/orgs/${one.org}/members`)).body.members
    t.is(left.filter(({role}: any) => role === 'owner').length, 1)
  }
})

test.serial('an erased person with an open session cannot refresh it', async t => {
  const {person} = await house.makeOrg()
  const token = await openSession(house.db, house.config, {person, org: null, role: null})
  await erasePerson(person)
  t.deepEqual(outcomeOf(await house.as(token)('POST', '/auth/session/refresh')), [401, 'MEMBERSHIP_GONE'])
})
