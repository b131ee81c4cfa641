import {randomUUID} from 'node:crypto'
import test from 'ava'
import type {Role} from '../../shared/accounts/roles.ts'
import {openSession} from '../../shared/accounts/session.ts'
import {listChanges} from '../../sql/changes.ts'
import {sql} from '../../sql/database.ts'
import {listMembers} from '../../sql/members.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const newAddress = () => `${randomUUID()}@guests.example`

const newOrg = async (on = house) => {
  const place = await on.makeOrg()
  const owner = on.as(place.token)
  const path = `/orgs/${place.org}/invitations`
  const invite = async (email: string, role: Role = 'builder') => (await owner('POST', path, {email, role})).body.invitation
  const stateOf = async (id: string) => (await owner('GET', path)).body.invitations.find((one: {id: string}) => one.id === id).state
  return {...place, owner, path, invite, stateOf}
}

/** Creates a person with an org of their own. Another org may invite this person. */
const newGuest = async ({email = newAddress(), on = house} = {}) => {
  const place = await on.makeOrg({email})
  const call = on.as(place.token)
  const accept = (id: string) => call('POST', `/auth/invitations/${id}/accept`)
  const listed = async () => (await call('GET', '/auth/invitations')).body.invitations
  return {...place, email, call, accept, listed}
}

const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const roleIn = async (org: string, person: string) => (await listMembers(house.db, org)).find(({personId}) => personId === person)?.role
const changesOf = async (org: string) => (await listChanges(house.db, {org, limit: 100})).filter(({subject}) => subject === 'member.role')
const secretOf = async ({token, org}: {token: string; org: string}): Promise<string> =>
  (await house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body.secret
const close = (org: string) => house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${org}`)

test('an admin invites an address, and the org lists the invitation', async t => {
  const {org, path} = await newOrg()
  const {token, person} = await house.makeOrg({role: 'admin', org})
  const {status, body} = await house.as(token)('POST', path, {email: ' Ana.Ruiz@Example.ORG ', role: 'admin'})
  t.is(status, 201)
  t.deepEqual(Object.keys(body.invitation).sort(), ['createdAt', 'email', 'expiresAt', 'id', 'invitedBy', 'role', 'state'])
  t.like(body.invitation, {email: 'ana.ruiz@example.org', role: 'admin', state: 'pending'})
  t.deepEqual(body.invitation.invitedBy, {id: person, name: 'Test Person'})
  const days = (Date.parse(body.invitation.expiresAt) - Date.parse(body.invitation.createdAt)) / 86_400_000
  t.is(Math.round(days), 14)
  t.deepEqual((await house.as(token)('GET', path)).body, {invitations: [body.invitation]})
})

test('an API token can invite up to the role of an admin', async t => {
  const place = await newOrg()
  const call = house.as(await secretOf(place))
  t.is((await call('POST', place.path, {email: newAddress(), role: 'admin'})).status, 201)
  t.deepEqual(outcomeOf(await call('POST', place.path, {email: newAddress(), role: 'owner'})), [403, 'ROLE_REQUIRED'])
})

test('an admin cannot invite an owner', async t => {
  const {org, path, owner} = await newOrg()
  const {token} = await house.makeOrg({role: 'admin', org})
  t.deepEqual(outcomeOf(await house.as(token)('POST', path, {email: newAddress(), role: 'owner'})), [403, 'ROLE_REQUIRED'])
  t.is((await owner('POST', path, {email: newAddress(), role: 'owner'})).status, 201)
})

test('an invitation needs a valid address and one of four roles', async t => {
  const {owner, path} = await newOrg()
  const email = newAddress()
  const wrong = [{}, {email}, {role: 'admin'}, {email: 'nobody', role: 'admin'}, {email: '', role: 'admin'}, {email, role: 'king'}]
  for (const body of [...wrong, {email: `${'a'.repeat(260)}@example.org`, role: 'admin'}, {email: 'a@b@c', role: 'admin'}]) {
    t.deepEqual(outcomeOf(await owner('POST', path, body)), [400, 'INVALID'], JSON.stringify(body))
  }
})

test('a second invitation to an address renews the first, with the role of the second', async t => {
  const {owner, path, invite} = await newOrg()
  const first = await invite('ana@renewed.example', 'operator')
  const second = await invite('ANA@renewed.example', 'admin')
  t.like(second, {id: first.id, role: 'admin', state: 'pending', createdAt: first.createdAt})
  t.true(second.expiresAt > first.expiresAt)
  t.is((await owner('GET', path)).body.invitations.length, 1)
})

test('an invitation after a used or withdrawn one is a new invitation', async t => {
  const {owner, path, invite} = await newOrg()
  const email = newAddress()
  const guest = await newGuest({email})
  const first = await invite(email)
  await owner('DELETE', `${path}/${first.id}`)
  const second = await invite(email)
  await guest.accept(second.id)
  const third = await invite(email)
  t.is(new Set([first.id, second.id, third.id]).size, 3)
  t.deepEqual(
    (await owner('GET', path)).body.invitations.map(({state}: {state: string}) => state),
    ['pending', 'used', 'withdrawn'],
  )
})

test('withdrawing an invitation is idempotent', async t => {
  const {owner, path, invite} = await newOrg()
  const {id} = await invite(newAddress())
  for (const _ of [1, 2]) {
    const {status, body} = await owner('DELETE', `${path}/${id}`)
    t.like({status, ...body.invitation}, {status: 200, id, state: 'withdrawn'})
  }
})

test('a used invitation cannot be withdrawn', async t => {
  const {owner, path, invite, stateOf} = await newOrg()
  const guest = await newGuest()
  const {id} = await invite(guest.email)
  await guest.accept(id)
  t.deepEqual(outcomeOf(await owner('DELETE', `${path}/${id}`)), [409, 'INVITATION_USED'])
  t.is(await stateOf(id), 'used')
})

test('the invitation of another org cannot be withdrawn, and looks like an unknown one', async t => {
  const {owner, path} = await newOrg()
  const other = await newOrg()
  const {id} = await other.invite(newAddress())
  const foreign = await owner('DELETE', `${path}/${id}`)
  t.deepEqual(outcomeOf(foreign), [404, 'NOT_FOUND'])
  t.is(foreign.text, (await owner('DELETE', `${path}/inv_none`)).text)
  t.is(await other.stateOf(id), 'pending')
})

test('a session sees the pending invitations of its address in any case, and no others', async t => {
  const guest = await newGuest({email: 'Some.Body@Pending.example'})
  const [one, two] = [await newOrg(), await newOrg()]
  const first = await one.invite('some.body@pending.EXAMPLE', 'operator')
  const second = await two.invite('some.body@pending.example', 'owner')
  await one.invite('other.body@pending.example')
  const gone = await newOrg()
  await gone.owner('DELETE', `${gone.path}/${(await gone.invite('some.body@pending.example')).id}`)
  t.deepEqual(await guest.listed(), [
    {id: second.id, org: {id: two.org, name: 'Test Org'}, role: 'owner', expiresAt: second.expiresAt},
    {id: first.id, org: {id: one.org, name: 'Test Org'}, role: 'operator', expiresAt: first.expiresAt},
  ])
})

test('an address that only looks the same in lower case is another mailbox', async t => {
  const guest = await newGuest({email: 'miKe@kelvin.example'.replace('K', '\u212a')})
  const {invite} = await newOrg()
  const {id} = await invite('mike@kelvin.example')
  t.deepEqual(await guest.listed(), [])
  t.deepEqual(outcomeOf(await guest.accept(id)), [404, 'NOT_FOUND'])
})

test('an API token lists the invitations of its creator, and cannot accept them', async t => {
  const guest = await newGuest()
  const {invite} = await newOrg()
  const {id} = await invite(guest.email)
  const call = house.as(await secretOf(guest))
  t.is((await call('GET', '/auth/invitations')).body.invitations[0].id, id)
  t.deepEqual(outcomeOf(await call('POST', `/auth/invitations/${id}/accept`)), [403, 'SESSION_REQUIRED'])
})

test('accepting makes a member at the invited role and switches the session to the org', async t => {
  const {org, invite, stateOf} = await newOrg()
  const guest = await newGuest()
  const {id} = await invite(guest.email, 'admin')
  const {status, body} = await guest.accept(id)
  t.deepEqual({status, body}, {status: 200, body: {role: 'admin'}})
  const me = (await guest.call('GET', '/auth/me')).body
  t.like(me, {org: {id: org}, role: 'admin', via: 'session', user: {id: guest.person}})
  t.is((await guest.call('GET', `/orgs/${org}/tokens`)).status, 200, 'at the full rank, without a refresh')
  t.is(await roleIn(guest.org, guest.person), 'owner', 'and still a member where they came from')
  t.is(await stateOf(id), 'used')
  t.deepEqual(await guest.listed(), [])
  const [change, ...rest] = await changesOf(org)
  t.deepEqual(rest, [])
  t.like(change, {page: 'members', subject: 'member.role', target: 'Test Person', before: null, after: 'admin', userId: guest.person})
})

test('a session of no org or of a closed org can accept, and is then in the new org', async t => {
  const {org, invite} = await newOrg()
  for (const isClosed of [false, true]) {
    const guest = await newGuest()
    await close(guest.org)
    const token = isClosed ? guest.token : await openSession(house.db, house.config, {person: guest.person, org: null, role: null})
    const {id} = await invite(guest.email)
    t.is((await house.as(token)('POST', `/auth/invitations/${id}/accept`)).status, 200)
    t.like((await house.as(token)('GET', '/auth/me')).body, {org: {id: org}, role: 'builder'})
  }
})

test('an invitation to another address looks exactly like an unknown one', async t => {
  const {invite, owner, path, stateOf} = await newOrg()
  const guest = await newGuest()
  const pending = await invite(newAddress())
  const withdrawn = await invite(newAddress())
  await owner('DELETE', `${path}/${withdrawn.id}`)
  const none = await guest.accept('inv_none')
  t.deepEqual(outcomeOf(none), [404, 'NOT_FOUND'])
  for (const {id} of [pending, withdrawn]) t.is((await guest.accept(id)).text, none.text)
  t.is(await stateOf(pending.id), 'pending')
})

test('a withdrawn invitation cannot be accepted', async t => {
  const {invite, owner, path, org, stateOf} = await newOrg()
  const guest = await newGuest()
  const {id} = await invite(guest.email)
  await owner('DELETE', `${path}/${id}`)
  t.deepEqual(outcomeOf(await guest.accept(id)), [409, 'INVITATION_WITHDRAWN'])
  t.is(await stateOf(id), 'withdrawn')
  t.is(await roleIn(org, guest.person), undefined)
})

test('a used invitation cannot be accepted again', async t => {
  const {invite, org} = await newOrg()
  const guest = await newGuest()
  const {id} = await invite(guest.email)
  await guest.accept(id)
  t.deepEqual(outcomeOf(await guest.accept(id)), [409, 'INVITATION_USED'])
  t.is((await changesOf(org)).length, 1)
})

test('an invitation expires after fourteen days, and a new invitation revives it', async t => {
  const own = await startTestDeployment(t)
  const {org, person, invite} = await newOrg(own)
  const email = newAddress()
  const {id} = await invite(email, 'operator')
  const other = await invite(newAddress())
  await own.ahead('13 days 23 hours')
  t.is((await (await newGuest({email, on: own})).listed()).length, 1)
  await own.ahead('14 days 1 minute')
  const guest = await newGuest({email, on: own})
  t.deepEqual(await guest.listed(), [])
  t.deepEqual(outcomeOf(await guest.accept(id)), [409, 'INVITATION_EXPIRED'])
  const owner = own.as(await openSession(own.db, own.config, {person, org, role: 'owner'}))
  const path = `/orgs/${org}/invitations`
  t.deepEqual(
    (await owner('GET', path)).body.invitations.map(({state}: {state: string}) => state),
    ['expired', 'expired'],
  )
  t.is((await owner('DELETE', `${path}/${other.id}`)).body.invitation.state, 'withdrawn')
  t.like((await owner('POST', path, {email, role: 'admin'})).body.invitation, {id, state: 'pending', role: 'admin'})
  t.deepEqual((await guest.accept(id)).body, {role: 'admin'})
})

test('an invitation to a closed org cannot be accepted and stays pending until the org is reopened', async t => {
  const {invite, org, stateOf} = await newOrg()
  const guest = await newGuest()
  const {id} = await invite(guest.email)
  await close(org)
  t.deepEqual(outcomeOf(await guest.accept(id)), [409, 'ORG_CLOSED'])
  t.is((await guest.call('GET', '/auth/me')).body.org.id, guest.org)
  await house.db.query(sql.unsafe`update orgs set closed_at = null where id = ${org}`)
  t.is(await stateOf(id), 'pending')
  t.is((await guest.accept(id)).status, 200)
})

test('a member who accepts gets the invited role, higher or lower', async t => {
  const {invite, org} = await newOrg()
  const email = newAddress()
  const {token, person} = await house.makeOrg({role: 'builder', org, email})
  for (const role of ['admin', 'operator', 'operator'] as const) {
    const {id} = await invite(email, role)
    t.deepEqual((await house.as(token)('POST', `/auth/invitations/${id}/accept`)).body, {role})
    t.is(await roleIn(org, person), role)
    t.is((await house.as(token)('GET', '/auth/me')).body.role, role)
  }
  t.deepEqual(
    (await changesOf(org)).map(({before, after}) => [before, after]),
    [
      ['admin', 'operator'],
      ['builder', 'admin'],
    ],
  )
})

test('the only owner cannot accept a lower role, and the invitation stays pending', async t => {
  const email = newAddress()
  const {token, org, person} = await house.makeOrg({email})
  const {token: admin} = await house.makeOrg({role: 'admin', org})
  const {invitation} = (await house.as(admin)('POST', `/orgs/${org}/invitations`, {email, role: 'admin'})).body
  const accept = () => house.as(token)('POST', `/auth/invitations/${invitation.id}/accept`)
  t.deepEqual(outcomeOf(await accept()), [409, 'LAST_OWNER'])
  t.is(await roleIn(org, person), 'owner')
  t.deepEqual(await changesOf(org), [])
  await house.makeOrg({role: 'owner', org})
  t.deepEqual((await accept()).body, {role: 'admin'}, 'once there is another')
  t.is(await roleIn(org, person), 'admin')
})

test('the only owner can accept an invitation as owner', async t => {
  const email = newAddress()
  const {token, org} = await house.makeOrg({email})
  const {invitation} = (await house.as(token)('POST', `/orgs/${org}/invitations`, {email, role: 'owner'})).body
  t.deepEqual((await house.as(token)('POST', `/auth/invitations/${invitation.id}/accept`)).body, {role: 'owner'})
})
