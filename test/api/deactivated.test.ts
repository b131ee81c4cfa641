import test from 'ava'
import {newId} from '../../shared/ids.ts'
import {sql} from '../../sql/database.ts'
import {keepMember, markInvited} from '../../sql/members.ts'
import {openEmbed} from '../support/embed.ts'
import {answerPage, askToken, letIn, newVerifier, reachPage, register} from '../support/oauth-client.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {beginVisit, comeBack, consent, messageOf} from '../support/walk.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

let orgs = 0
type Status = 'active' | 'inactive' | 'deleted'

/** Creates a CRM org that is connected by its owner and has a second member, who has signed in. */
const newOrg = async () => {
  const key = `firm${++orgs}`
  const users = ['ana', 'ben'].map((firstName, index) => ({
    email: `${firstName}@${key}.example`,
    firstName,
    lastName: 'Test',
    profile: index === 0 ? 'Administrator' : 'Standard',
  }))
  const numbers = {prefix: String(8_700_000 + orgs), zgid: String(40_000 + orgs), licences: 5}
  house.crm.addOrg({key, companyName: `Company ${key}`, edition: 'enterprise', users, modules: [], ...numbers})
  const [ana, ben] = users as [(typeof users)[0], (typeof users)[0]]
  const owner = await house.signIn(ana.email)
  await house.connect(owner, {user: ana.email})
  const {org} = (await house.as(owner)('GET', '/auth/me')).body
  const setStatus = (user: (typeof users)[0], status: Status) => house.crm.addUser(key, {...user, status})
  return {key, org: org.id as string, owner, ana, ben, member: await house.signIn(ben.email), setStatus}
}

const refresh = (token: string) => house.as(token)('POST', '/auth/session/refresh')
/** The CRM answers the next sign-in as it answers a deactivated user, who can sign in but not use the CRM. */
const refuseOneSignIn = (org: string) => {
  const action = {type: 'answer', status: 403, body: {code: 'NO_PERMISSION'}} as const
  for (const path of ['/crm/v8/users', '/crm/v8/org']) house.crm.faults.add({match: {path, org}, times: 1, action})
}
const codeOf = async (token: string) => (await house.as(token)('GET', '/auth/me')).body.code

test('a person deactivated in the CRM loses every session and token of the org at the next refresh', async t => {
  const {org, owner, ana, ben, member, setStatus} = await newOrg()
  const other = await house.signIn(ben.email)
  const call = house.as(owner)
  const {members} = (await call('GET', `/orgs/${org}/members`)).body
  const [, {id, personId}] = members
  await call('PATCH', `/orgs/${org}/members/${id}`, {role: 'admin'})
  const admin = (await refresh(member)).body.token
  const {secret} = (await house.as(admin)('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body
  const {embed} = await openEmbed(house, {org, call: house.as(admin)})
  t.is(await codeOf(embed), 'SESSION_REQUIRED', 'a known bearer')
  setStatus(ben, 'inactive')
  const {status, body} = await refresh(admin)
  t.like({status, code: body.code}, {status: 401, code: 'AUTH_REQUIRED'})
  for (const token of [member, other, admin, embed]) t.is(await codeOf(token), 'AUTH_REQUIRED')
  t.is(await codeOf(secret), 'TOKEN_REVOKED')
  t.is(await codeOf(owner), undefined, 'nobody else')
  const {changes} = (await call('GET', `/orgs/${org}/config/changes?page=tokens`)).body
  t.like(changes[0], {subject: 'token.revoked', target: 'ci', after: null, via: 'session', userId: personId})
  setStatus(ben, 'active')
  const again = await house.signIn(ben.email)
  t.is((await refresh(again)).status, 200, 'an active user signs in again')
  t.is(await codeOf(embed), 'AUTH_REQUIRED')
  t.is(await codeOf(secret), 'TOKEN_REVOKED')
  setStatus(ana, 'inactive')
  t.is((await refresh(owner)).status, 401, 'an owner too')
})

test('a user deleted in the CRM loses access', async t => {
  const {ben, member, setStatus} = await newOrg()
  setStatus(ben, 'deleted')
  t.is((await refresh(member)).status, 401)
  t.is(await codeOf(member), 'AUTH_REQUIRED')
})

test('access stays if the org does not follow CRM roles or the CRM does not answer', async t => {
  const {org, key, owner, ben, member, setStatus} = await newOrg()
  setStatus(ben, 'inactive')
  house.crm.faults.add({match: {path: '/crm/v8/users', org: key}, times: 1, action: 'status5xxBefore'})
  t.is((await refresh(member)).status, 200, 'the CRM does not answer')
  t.is((await house.as(owner)('PATCH', `/orgs/${org}/config/settings`, {followsCrmRoles: false})).status, 200)
  t.is((await refresh(member)).status, 200)
})

test('a guest unknown to this CRM keeps access; a guest deactivated in it does not', async t => {
  const home = await newOrg()
  const guest = await newOrg()
  for (const {email} of [guest.ben, home.ben]) {
    const sent = await house.as(home.owner)('POST', `/orgs/${home.org}/invitations`, {email, role: 'builder'})
    const token = email === home.ben.email ? home.member : guest.member
    t.is((await house.as(token)('POST', `/auth/invitations/${sent.body.invitation.id}/accept`)).status, 200)
  }
  home.setStatus(home.ben, 'inactive')
  t.is((await refresh(guest.member)).status, 200)
  t.is((await refresh(home.member)).status, 401)
})

test('a deactivated person who signs in again cannot use an old invitation', async t => {
  const {org, key, owner, ben, member, setStatus} = await newOrg()
  const {invitation} = (await house.as(owner)('POST', `/orgs/${org}/invitations`, {email: ben.email, role: 'builder'})).body
  await house.as(member)('POST', `/auth/invitations/${invitation.id}/accept`)
  const visit = await beginVisit(house.as(null))
  const back = await consent(visit, {user: ben.email})
  setStatus(ben, 'inactive')
  refuseOneSignIn(key)
  const {token} = messageOf(await comeBack(house.as(null), back, visit.cookie))
  t.like((await house.as(token)('GET', '/auth/me')).body, {org: null, role: null})
  t.is(await codeOf(member), 'AUTH_REQUIRED')
})

test('an MCP client of a deactivated person cannot renew its access', async t => {
  const {ben, setStatus} = await newOrg()
  const {client, access, refresh: refreshToken} = await letIn(house, {user: ben.email})
  const renew = (refresh_token: string) => askToken(house, {grant_type: 'refresh_token', client_id: client, refresh_token})
  const renewed = await renew(refreshToken)
  t.is(renewed.status, 200)
  setStatus(ben, 'inactive')
  t.like(await renew(renewed.body.refresh_token), {status: 400, body: {error: 'invalid_grant'}})
  t.is(await codeOf(access), 'TOKEN_REVOKED')
})

test('a person whom the CRM did not admit at this sign-in cannot allow an MCP client for its org', async t => {
  const {org, key, owner, ben} = await newOrg()
  await house.as(owner)('PATCH', `/orgs/${org}/config/settings`, {followsCrmRoles: false})
  refuseOneSignIn(key)
  const reached = await reachPage(house, await register(house), newVerifier(), {user: ben.email})
  t.regex(reached.page.text, /reaches no open org/)
  t.is((await answerPage(house, reached, {more: {org}})).body.code, 'NOT_FOUND')
})

test('a person deactivated in the CRM after the sign-in cannot allow an MCP client', async t => {
  const {ben, member, setStatus} = await newOrg()
  const reached = await reachPage(house, await register(house), newVerifier(), {user: ben.email})
  setStatus(ben, 'inactive')
  t.is((await answerPage(house, reached)).body.code, 'NOT_FOUND')
  t.is(await codeOf(member), 'AUTH_REQUIRED')
})

test('an admin deactivated in the CRM cannot make its org pay for a sandbox', async t => {
  const {org, owner, ben, member, setStatus} = await newOrg()
  const {members} = (await house.as(owner)('GET', `/orgs/${org}/members`)).body
  const {id, personId: person} = members.find(({email}: {email: string}) => email === ben.email)
  await house.as(owner)('PATCH', `/orgs/${org}/members/${id}`, {role: 'admin'})
  const sandbox = await house.makeOrg()
  await house.db.query(sql.unsafe`update orgs set sandbox = true where id = ${sandbox.org}`)
  await keepMember(house.db, {id: newId('mem'), org: sandbox.org, person, role: 'owner'})
  await house.db.transaction(tx => markInvited(tx, {org: sandbox.org, person}))
  t.is((await house.as(member)('PUT', '/auth/session/org', {org: sandbox.org})).status, 200)
  setStatus(ben, 'inactive')
  t.is((await house.as(member)('PUT', `/orgs/${sandbox.org}/production`, {orgId: org})).body.code, 'NOT_FOUND')
})
