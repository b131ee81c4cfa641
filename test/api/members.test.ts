import test from 'ava'
import type {Role} from '../../shared/accounts/roles.ts'
import {openSession} from '../../shared/accounts/session.ts'
import {openStaffView} from '../../shared/accounts/staff-view.ts'
import {listChanges} from '../../sql/changes.ts'
import {sql} from '../../sql/database.ts'
import {listMembers} from '../../sql/members.ts'
import {openEmbed} from '../support/embed.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

type OrgPlace = {org: string; person: string; token: string}

/** Creates an org with an owner and members of the given roles, each with their own `call`. */
const newOrg = async (...roles: Role[]) => {
  const owner = await house.makeOrg()
  const others: OrgPlace[] = []
  for (const role of roles) others.push(await house.makeOrg({role, org: owner.org}))
  const {org} = owner
  const members = await listMembers(house.db, org)
  const idOf = ({person}: OrgPlace) => members.find(({personId}) => personId === person)!.id
  const join = (place: OrgPlace) => ({...place, id: idOf(place), path: `/orgs/${org}/members/${idOf(place)}`, call: house.as(place.token)})
  return {org, path: `/orgs/${org}/members`, owner: join(owner), others: others.map(join)}
}

const rolesOf = async (org: string) => (await listMembers(house.db, org)).map(({role}) => role)
const changesOf = (org: string) => listChanges(house.db, {org, limit: 50})
const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const mint = async ({call, org}: {call: ReturnType<TestDeployment['as']>; org: string}): Promise<string> =>
  (await call('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body.secret

test('every member sees the members of the org, oldest first, and none of another org', async t => {
  const {path, owner, others} = await newOrg('operator', 'admin')
  await newOrg('admin')
  const {status, body} = await others[0]!.call('GET', path)
  t.is(status, 200)
  t.deepEqual(Object.keys(body.members[0]).sort(), ['createdAt', 'email', 'id', 'name', 'personId', 'role', 'roleSource'])
  t.deepEqual(
    body.members.map(({personId, role}: {personId: string; role: Role}) => [personId, role]),
    [
      [owner.person, 'owner'],
      [others[0]!.person, 'operator'],
      [others[1]!.person, 'admin'],
    ],
  )
})

test('an admin changes roles, effective from the next request', async t => {
  const {org, others} = await newOrg('admin', 'operator')
  const [admin, operator] = others
  const raised = await admin!.call('PATCH', operator!.path, {role: 'builder'})
  t.like({status: raised.status, ...raised.body.member}, {status: 200, id: operator!.id, personId: operator!.person, role: 'builder'})
  await admin!.call('PATCH', operator!.path, {role: 'admin'})
  const {token} = (await operator!.call('POST', '/auth/session/refresh')).body
  t.is((await house.as(token)('GET', `/orgs/${org}/tokens`)).status, 200)
  await admin!.call('PATCH', operator!.path, {role: 'operator'})
  t.is((await house.as(token)('GET', `/orgs/${org}/tokens`)).body.code, 'ROLE_REQUIRED')
})

test('a role change is in the settings history with both roles, both sources and both names', async t => {
  const {org, owner, others} = await newOrg('operator')
  await owner.call('PATCH', others[0]!.path, {role: 'builder'})
  const [source, change, ...rest] = await changesOf(org)
  t.deepEqual(rest, [])
  t.like(source, {
    page: 'members',
    subject: 'member.roleSource',
    target: 'Test Person',
    before: 'crm',
    after: 'manual',
    userId: owner.person,
  })
  t.like(change, {page: 'members', subject: 'member.role', target: 'Test Person', before: 'operator', after: 'builder'})
  t.like(change, {registryVersion: null, via: 'session', userId: owner.person, tokenId: null, proposedBy: null, connectorId: null})
})

test('a role change by an API token names the token', async t => {
  const {org, owner, others} = await newOrg('operator')
  const secret = await mint(owner)
  t.is((await house.as(secret)('PATCH', others[0]!.path, {role: 'admin'})).status, 200)
  for (const after of ['manual', 'admin'])
    t.like(
      (await changesOf(org)).find(change => change.after === after),
      {via: 'token', tokenName: 'ci', userId: null},
    )
})

test('setting the current role records a new source of the role once, and else nothing', async t => {
  const {org, owner, others} = await newOrg('builder')
  const set = (body: object) => owner.call('PATCH', others[0]!.path, {role: 'builder', ...body})
  const sourcesOf = async () => (await changesOf(org)).map(({subject, before, after}) => [subject, before, after])
  t.is((await set({roleSource: 'crm'})).status, 200)
  t.deepEqual(await sourcesOf(), [])
  for (const _ of [1, 2]) t.like((await set({})).body.member, {role: 'builder', roleSource: 'manual'})
  t.deepEqual(await sourcesOf(), [['member.roleSource', 'crm', 'manual']])
})

test('a member cannot grant a role above their own', async t => {
  const {others, org} = await newOrg('admin', 'operator')
  const [admin, operator] = others
  t.deepEqual(outcomeOf(await admin!.call('PATCH', operator!.path, {role: 'owner'})), [403, 'ROLE_REQUIRED'])
  t.deepEqual(outcomeOf(await admin!.call('PATCH', admin!.path, {role: 'owner'})), [403, 'ROLE_REQUIRED'])
  t.deepEqual(await rolesOf(org), ['owner', 'admin', 'operator'])
})

test('an admin cannot demote or remove an owner', async t => {
  const {owner, others} = await newOrg('admin', 'owner')
  const [admin] = others
  t.deepEqual(outcomeOf(await admin!.call('PATCH', owner.path, {role: 'operator'})), [403, 'ROLE_REQUIRED'])
  t.deepEqual(outcomeOf(await admin!.call('DELETE', owner.path)), [403, 'ROLE_REQUIRED'])
})

test('an API token cannot make, change or remove an owner, even the token of an owner', async t => {
  const {owner, others} = await newOrg('operator', 'owner')
  const call = house.as(await mint(owner))
  for (const {path} of [others[0]!, others[1]!]) {
    t.deepEqual(outcomeOf(await call('PATCH', path, {role: 'owner'})), [403, 'ROLE_REQUIRED'])
  }
  t.deepEqual(outcomeOf(await call('DELETE', others[1]!.path)), [403, 'ROLE_REQUIRED'])
})

test('a demoted member cannot regain a role by an old API token', async t => {
  const {owner, others} = await newOrg('admin')
  const [admin] = others
  const call = house.as(await mint(admin!))
  await owner.call('PATCH', admin!.path, {role: 'operator'})
  t.deepEqual(outcomeOf(await call('PATCH', admin!.path, {role: 'admin'})), [403, 'ROLE_REQUIRED'])
})

test('an owner can make another owner and then step down or leave', async t => {
  const {org, owner, others} = await newOrg('operator', 'operator')
  for (const {path} of others) t.is((await owner.call('PATCH', path, {role: 'owner'})).status, 200)
  t.is((await owner.call('PATCH', owner.path, {role: 'admin'})).status, 200)
  const {token} = (await others[0]!.call('POST', '/auth/session/refresh')).body
  t.is((await house.as(token)('DELETE', others[0]!.path)).status, 200)
  t.deepEqual(await rolesOf(org), ['admin', 'owner'])
})

test('the only owner cannot be demoted or removed, also not by themselves', async t => {
  const {org, owner} = await newOrg('admin')
  t.deepEqual(outcomeOf(await owner.call('PATCH', owner.path, {role: 'admin'})), [409, 'LAST_OWNER'])
  t.deepEqual(outcomeOf(await owner.call('DELETE', owner.path)), [409, 'LAST_OWNER'])
  t.deepEqual(await rolesOf(org), ['owner', 'admin'])
  t.deepEqual(await changesOf(org), [])
})

test('an admin removes a member, whose session and tokens then answer MEMBERSHIP_GONE', async t => {
  const {org, path, others} = await newOrg('admin', 'admin')
  const [admin, other] = others
  const secret = await mint(other!)
  const {status, body} = await admin!.call('DELETE', other!.path)
  t.like({status, ...body.member}, {status: 200, id: other!.id, role: 'admin'})
  for (const bearer of [other!.token, secret]) {
    t.deepEqual(outcomeOf(await house.as(bearer)('GET', path)), [401, 'MEMBERSHIP_GONE'])
  }
  t.deepEqual(outcomeOf(await admin!.call('DELETE', other!.path)), [404, 'NOT_FOUND'])
  const [change, revoked] = await changesOf(org)
  t.like(change, {subject: 'member.role', target: 'Test Person', before: 'admin', after: null, userId: admin!.person})
  t.like(revoked, {subject: 'token.revoked', target: 'ci', userId: admin!.person})
  t.truthy((await admin!.call('GET', `/orgs/${org}/tokens`)).body.tokens[0].revokedAt)
})

test('an admin can leave by removing themselves', async t => {
  const {org, others} = await newOrg('admin')
  t.is((await others[0]!.call('DELETE', others[0]!.path)).status, 200)
  t.deepEqual(await rolesOf(org), ['owner'])
})

test('a member of another org looks like an unknown one and is not changed', async t => {
  const {path, owner} = await newOrg()
  const other = await newOrg('operator')
  const theirs = `${path}/${other.others[0]!.id}`
  for (const [method, body] of [
    ['PATCH', {role: 'admin'}],
    ['DELETE', undefined],
  ] as const) {
    const foreign = await owner.call(method, theirs, body)
    t.deepEqual(outcomeOf(foreign), [404, 'NOT_FOUND'])
    t.is(foreign.text, (await owner.call(method, `${path}/mem_none`, body)).text)
  }
  t.deepEqual(await rolesOf(other.org), ['owner', 'operator'])
})

test('an unknown role is refused', async t => {
  const {owner, others} = await newOrg('operator')
  for (const body of [{}, {role: 'king'}, {role: null}, {role: ['admin']}]) {
    t.deepEqual(outcomeOf(await owner.call('PATCH', others[0]!.path, body)), [400, 'INVALID'], JSON.stringify(body))
  }
})

const rounds = [...Array(10).keys()]

test('of two owners who demote each other at once, one stays owner', async t => {
  for (const round of rounds) {
    const {org, owner, others} = await newOrg('owner')
    const [other] = others
    const answers = await Promise.all([
      owner.call('PATCH', other!.path, {role: 'operator'}),
      other!.call('PATCH', owner.path, {role: 'operator'}),
    ])
    t.deepEqual(
      answers.map(outcomeOf).sort(),
      [
        [200, undefined],
        [403, 'ROLE_REQUIRED'],
      ],
      `round ${round}`,
    )
    t.deepEqual((await rolesOf(org)).sort(), ['operator', 'owner'])
    t.is((await changesOf(org)).filter(({subject}) => subject === 'member.role').length, 1)
  }
})

test('of two owners who remove each other at once, one stays', async t => {
  for (const round of rounds) {
    const {org, owner, others} = await newOrg('owner')
    const answers = await Promise.all([owner.call('DELETE', others[0]!.path), others[0]!.call('DELETE', owner.path)])
    t.deepEqual(
      answers.map(outcomeOf).sort(),
      [
        [200, undefined],
        [401, 'MEMBERSHIP_GONE'],
      ],
      `round ${round}`,
    )
    t.deepEqual(await rolesOf(org), ['owner'])
  }
})

test('of many owners who step down or leave at once, one is left', async t => {
  for (const _ of rounds) {
    const {org, owner, others} = await newOrg('owner', 'owner', 'owner', 'owner')
    const answers = await Promise.all(
      [owner, ...others].map(({call, path}, index) => (index % 2 ? call('DELETE', path) : call('PATCH', path, {role: 'operator'}))),
    )
    t.deepEqual(
      answers.map(outcomeOf).filter(([status]) => status !== 200),
      [[409, 'LAST_OWNER']],
    )
    t.is((await rolesOf(org)).filter(role => role === 'owner').length, 1)
    t.is((await changesOf(org)).filter(({subject}) => subject === 'member.role').length, 4)
  }
})

test('of two admins who demote each other at once, one stays admin', async t => {
  for (const _ of rounds) {
    const {org, others} = await newOrg('admin', 'admin')
    const [one, other] = others
    const answers = await Promise.all([
      one!.call('PATCH', other!.path, {role: 'operator'}),
      other!.call('PATCH', one!.path, {role: 'operator'}),
    ])
    t.deepEqual(answers.map(outcomeOf).sort(), [
      [200, undefined],
      [403, 'ROLE_REQUIRED'],
    ])
    t.deepEqual((await rolesOf(org)).sort(), ['admin', 'operator', 'owner'])
  }
})

test('a staff view cannot change members, because a role would outlive the view', async t => {
  const {org, owner, others} = await newOrg('operator')
  const {person} = await house.makeOrg()
  await house.db.query(sql.unsafe`update people set staff = true where id = ${person}`)
  const view = async (write: boolean) => {
    const by = {id: person, name: 'Test Person', email: 'staff@lading.example'}
    return house.as((await openStaffView(house.db, house.config, by, {org, write, reason: 'asked to'})).token)
  }
  const [read, write] = [await view(false), await view(true)]
  t.deepEqual(outcomeOf(await read('PATCH', others[0]!.path, {role: 'admin'})), [403, 'IMPERSONATION_READ_ONLY'])
  t.deepEqual(outcomeOf(await write('PATCH', others[0]!.path, {role: 'admin'})), [403, 'IMPERSONATION_REFUSED'])
  t.deepEqual(outcomeOf(await write('DELETE', owner.path)), [403, 'IMPERSONATION_REFUSED'])
  t.deepEqual(outcomeOf(await write('POST', '/auth/invitations/inv_none/accept')), [403, 'STAFF_VIEW'])
  t.deepEqual(await changesOf(org), [])
})

test('a member who joins again does not regain their API tokens and embed tokens', async t => {
  const {others, path, owner, org} = await newOrg('admin')
  const [admin] = others
  const secret = await mint(admin!)
  const {embed} = await openEmbed(house, {org, call: admin!.call})
  const {email} = (await admin!.call('GET', '/auth/me')).body.user
  await owner.call('DELETE', admin!.path)
  const {invitation} = (await owner.call('POST', `/orgs/${org}/invitations`, {email, role: 'operator'})).body
  const session = await openSession(house.db, house.config, {person: admin!.person, org: null, role: null})
  t.is((await house.as(session)('POST', `/auth/invitations/${invitation.id}/accept`)).status, 200)
  t.deepEqual(outcomeOf(await house.as(secret)('GET', path)), [401, 'TOKEN_REVOKED'])
  t.deepEqual(outcomeOf(await house.as(embed)('GET', '/auth/embed')), [401, 'AUTH_REQUIRED'])
})
