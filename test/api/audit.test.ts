import test from 'ava'
import {z} from 'zod'
import {AuditEntry} from '../../api/routes/audit.ts'
import {newId} from '../../shared/ids.ts'
import {auditPage} from '../../sql/audit-export.ts'
import {sql} from '../../sql/database.ts'
import {insertGrant} from '../../sql/oauth-grants.ts'
import {accountRows, accounts, ok, openOrg, prepareImport} from '../support/importing.ts'
import {askToken, codeGrant, letIn, register, revoke} from '../support/oauth-client.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery'], environment: {TRUSTED_PROXIES: '1'}})
})

type Entry = Record<string, any>

const from = (address: string) => ({'x-forwarded-for': address})

const exportOf = async (bearer: string, org: string, query = '') => {
  const {status, text, headers} = await house.as(bearer)('GET', `/orgs/${org}/audit${query}`, undefined, from('192.0.2.9'))
  return {
    status,
    headers,
    entries:
      status === 200
        ? text
            .split('\n')
            .filter(Boolean)
            .map(line => AuditEntry.parse(JSON.parse(line)) as Entry)
        : [],
  }
}
const kindsOf = (entries: Entry[]) => entries.map(({kind}) => kind)

test('the export has the settings history, oldest first, with person, token and values', async t => {
  const {org, person, token} = await house.makeOrg({email: 'ada@example.org'})
  const made = await ok(house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'pipeline'}), 201)
  await ok(house.as(made.secret)('PATCH', `/orgs/${org}/config/settings`, {timezone: 'Europe/Berlin'}), 200)
  await ok(house.as(token)('DELETE', `/orgs/${org}/tokens/${made.token.id}`), 200)
  t.is((await house.as(token)('HEAD', `/orgs/${org}/audit`)).headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
  t.deepEqual(kindsOf((await exportOf(token, org)).entries).slice(-1), ['token.revoked'], 'not the export itself, and not the HEAD')
  const {entries, headers} = await exportOf(token, org)
  t.is(headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
  t.deepEqual(kindsOf(entries), ['session.created', 'token.created', 'settings.timezone', 'token.revoked', 'audit.exported'])
  t.deepEqual(
    entries.map(({at}) => at),
    entries.map(({at}) => at).toSorted(),
  )
  t.like(entries[1], {source: 'settings', via: 'session', personId: person, personEmail: 'ada@example.org', target: 'pipeline'})
  t.like(entries[2], {via: 'token', tokenId: made.token.id, personId: null, detail: {page: 'general', after: 'Europe/Berlin'}})
  t.like(entries[4], {source: 'access', personId: person, address: '192.0.2.9'})
  t.regex(entries[4]!.sessionId, /^ses_/)
  t.false(JSON.stringify(entries).includes(made.secret))
})

test('the export has sign-ins and their ends with the client address', async t => {
  const token = await house.signIn()
  const {body: me} = await house.as(token)('GET', '/auth/me')
  const next = (await house.as(token)('POST', '/auth/session/refresh', undefined, from('192.0.2.4'))).body.token
  await house.as(next)('DELETE', '/auth/session')
  const reader = await house.makeOrg({org: me.org.id, role: 'admin'})
  const {entries} = await exportOf(reader.token, me.org.id)
  const {signIn} = entries.find(({address}) => address === '192.0.2.4')!.detail
  const own = entries.filter(({detail}) => detail.signIn === signIn)
  t.deepEqual(kindsOf(own), ['session.created', 'session.refreshed', 'session.ended'])
  t.like(own[0], {sessionId: signIn, personId: me.user.id})
  t.like(own[1], {via: 'session', address: '192.0.2.4'})
  t.like(own[2], {sessionId: own[1]!.sessionId, personId: me.user.id})
})

test('the export has runs authorised and cancelled, with who cancelled', async t => {
  const org = await openOrg(house)
  const {path} = await prepareImport(org, {csv: accountRows(2), flow: accounts})
  const {run} = await ok(org.call('POST', `${path}/runs`, {}), 202)
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  await ok(org.call('POST', `${path}/runs/${run.id}/cancel`), 200)
  const reader = await house.makeOrg({org: org.org, role: 'admin'})
  const {entries} = await exportOf(reader.token, org.org)
  const runs = entries.filter(({source}) => source === 'runs')
  t.deepEqual(kindsOf(runs), ['run.authorised', 'run.cancelled'], 'a second cancellation changes nothing')
  t.like(runs[0], {detail: {runId: run.id, dryRun: false}})
  t.like(runs[1], {personId: runs[0]!.personId, detail: {runId: run.id}})
  t.regex(runs[1]!.personId, /^per_/)
})

test('the export says how MCP clients were allowed and revoked, also after the person left', async t => {
  const user = 'zoe@other.example'
  const [one, two, three] = [await letIn(house, {user}), await letIn(house, {user}), await letIn(house, {user})]
  const mine = house.as(await house.signIn(user))
  const {body: me} = await mine('GET', '/auth/me')
  const {grants} = await ok(mine('GET', '/auth/grants'), 200)
  const grantOf = ({client}: {client: string}) => grants.find((grant: Entry) => grant.client.id === client).id
  await revoke(house, {token: one.access, client_id: one.client})
  for (const _ of [1, 2]) await ok(mine('DELETE', `/auth/grants/${grantOf(two)}`), 200)
  t.is((await askToken(house, codeGrant(three.client, three.code, three.verifier))).body.error, 'invalid_grant')
  const reader = await house.makeOrg({org: me.org.id, role: 'owner'})
  const clients = async () => (await exportOf(reader.token, me.org.id)).entries.filter(({kind}) => kind.startsWith('client.'))
  const expected = [
    ...[one, two, three].map(of => ['client.allowed', 'session', me.user.id, 'person', grantOf(of)]),
    ['client.revoked', 'oauth', me.user.id, 'client', grantOf(one)],
    ['client.revoked', 'session', me.user.id, 'person', grantOf(two)],
    ['client.revoked', 'oauth', null, 'misuse', grantOf(three)],
  ]
  const seen = (entries: Entry[]) => entries.map(({kind, via, personId, detail}) => [kind, via, personId, detail.cause, detail.grantId])
  t.deepEqual(seen(await clients()), expected)
  await house.db.query(sql.unsafe`delete from audit_events where detail ->> 'grantId' = ${grantOf(one)}`)
  const older = (await clients()).filter(({detail}) => detail.grantId === grantOf(one))
  t.deepEqual(
    older.map(({kind, via, personId}) => [kind, via, personId]),
    [
      ['client.allowed', 'session', me.user.id],
      ['client.revoked', null, null],
    ],
    'grants of older builds have no event',
  )
  const four = await letIn(house, {user})
  const last = (await ok(mine('GET', '/auth/grants'), 200)).grants.find((grant: Entry) => grant.client.id === four.client).id
  const {members} = await ok(house.as(reader.token)('GET', `/orgs/${me.org.id}/members`), 200)
  const {id} = members.find(({personId}: Entry) => personId === me.user.id)
  await ok(house.as(reader.token)('DELETE', `/orgs/${me.org.id}/members/${id}`), 200)
  const left = expected.filter(entry => entry.at(-1) !== grantOf(one))
  t.deepEqual(seen(await clients()), [
    ...left,
    ['client.allowed', 'session', me.user.id, 'person', last],
    ['client.revoked', 'session', null, 'removal', last],
  ])
})

test('the export has staff actions in this org, without staff-only notes', async t => {
  const {org, token} = await house.makeOrg()
  const other = await house.makeOrg()
  const staff = await house.makeStaff({name: 'Sam Staff'})
  const view = await house.openView({org, write: true, by: staff.token})
  await ok(house.as(view)('PATCH', `/orgs/${org}/config/settings`, {timezone: 'Europe/Berlin'}), 200)
  await ok(house.as(staff.token)('POST', `/staff/orgs/${org}/suspend`, {reason: 'a note among staff'}), 200)
  await house.openView({org: other.org, by: staff.token})
  const {entries} = await exportOf(token, org)
  const acts = entries.filter(({source}) => source === 'staff')
  t.deepEqual(kindsOf(acts), ['staff.view', 'staff.write', 'staff.org.suspend'])
  t.like(acts[0], {staffId: staff.person, staffName: 'Sam Staff', personId: null, detail: {write: true, reason: 'A test looks'}})
  t.like(acts[1], {detail: {method: 'PATCH', route: '/orgs/:org/config/settings'}})
  t.false(JSON.stringify(entries).includes('a note among staff'))
  t.false(JSON.stringify(entries).includes(other.org))
})

test('an admin and an API token can export; an operator and members of other orgs cannot', async t => {
  const {org, token} = await house.makeOrg()
  const {secret} = await ok(house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'pipeline'}), 201)
  t.is((await exportOf(secret, org)).status, 200)
  t.is((await exportOf((await house.makeOrg({org, role: 'operator'})).token, org)).status, 403)
  t.is((await exportOf((await house.makeOrg()).token, org)).status, 403)
})

test('from and to limit the export; an invalid time is refused', async t => {
  const {org, token} = await house.makeOrg()
  const {entries} = await exportOf(token, org)
  t.deepEqual(kindsOf(entries), ['session.created'])
  t.deepEqual(kindsOf((await exportOf(token, org, `?to=${entries[0]!.at}`)).entries), [])
  const later = new Date(Date.parse(entries[0]!.at) + 1).toISOString()
  t.deepEqual(new Set(kindsOf((await exportOf(token, org, `?from=${later}`)).entries)), new Set(['audit.exported']))
  for (const wrong of ['yesterday', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])
    t.is((await exportOf(token, org, `?from=${wrong}`)).status, 400)
  t.is((await exportOf(token, org, '?from=2026-01-01T00:00:00%2B23:00')).status, 200)
})

test('an export longer than a page has every entry once', async t => {
  const {org, person, token} = await house.makeOrg()
  await house.db.query(sql.unsafe`
    insert into changes (id, org_id, page, subject, via, user_id, created_at)
    select 'chg_' || n, ${org}, 'general', 'settings.timezone', 'session', ${person}, lading_now() - interval '1 hour'
    from generate_series(1, 1500) n`)
  await house.db.query(sql.unsafe`
    insert into audit_events (org_id, kind, via, created_at) select ${org}, 'session.created', 'session', lading_now() - interval '1 hour'
    from generate_series(1, 1500)`)
  const {entries} = await exportOf(token, org)
  t.is(entries.length, 3001)
  t.is(new Set(entries.map(({id}) => id)).size, 3001)
})

test('a page of the export reads runs by an index, and joins only those of the page', async t => {
  const page = {
    org: 'org_1',
    from: null,
    to: '2026-12-01T00:00:00Z',
    after: {place: '2026-01-01T00:00:00Z', id: 'run_1.started'},
    limit: 10,
  }
  const plan = await house.db.transaction(async tx => {
    await tx.query(sql.unsafe`set local enable_seqscan = off`)
    return tx.anyFirst(sql.type(z.object({'QUERY PLAN': z.string()}))`explain ${auditPage(page)}`)
  })
  for (const moment of ['authorised', 'started', 'ended'])
    t.regex(plan.join('\n'), new RegExp(`using runs_${moment}\\w* on runs.*\n *Index Cond: \\(\\(org_id = .*${moment}_at >= `))
})

test('an erased person leaves no client address in the export, which names the end of the MCP clients', async t => {
  const {org, token} = await house.makeOrg()
  const {person, token: leaving} = await house.makeOrg({org, role: 'admin'})
  await exportOf(leaving, org)
  const client = await register(house)
  await house.db.transaction(tx => insertGrant(tx, {id: newId('ogr'), org, person, client}))
  await ok(house.as(house.adminToken)('POST', `/staff/people/${person}/delete`, {}), 200)
  const {entries} = await exportOf(token, org)
  const left = entries.find(({kind}) => kind === 'audit.exported')!
  t.like(left, {personId: null, personName: null, personEmail: null, address: null, userAgent: null})
  const ended = entries.find(({kind}) => kind === 'client.revoked')!
  t.like(ended, {via: 'staff', personId: null, detail: {cause: 'removal'}})
})
