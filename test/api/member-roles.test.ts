import test from 'ava'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const whoIs = async (token: string) => (await house.as(token)('GET', '/auth/me')).body

/** Creates a CRM org whose first user is an administrator. */
const newCrmOrg = () => {
  const key = 'roles'
  const users = ['ana', 'ben', 'eva'].map((firstName, index) => ({
    email: `${firstName}@${key}.example`,
    firstName,
    lastName: 'Test',
    profile: index === 0 ? 'Administrator' : 'Standard',
  }))
  const numbers = {prefix: '8600001', zgid: '50001', licences: 5}
  house.crm.addOrg({key, companyName: 'Company', edition: 'enterprise', users, modules: [], ...numbers})
  return {key, emails: users.map(({email}) => email)}
}

test('a role set by hand or by invitation stays at refresh and sign-in until it is returned to the CRM', async t => {
  const {key, emails} = newCrmOrg()
  const owner = await house.signIn(emails[0])
  await house.connect(owner, {user: emails[0]!})
  const {org} = await whoIs(owner)
  const call = house.as(owner)
  const [ben, eva] = [await house.signIn(emails[1]), await house.signIn(emails[2])]
  const memberOf = async (email: string) =>
    (await call('GET', `/orgs/${org.id}/members`)).body.members.find((member: {email: string}) => member.email === email)
  const refresh = async (token: string) => (await house.as(token)('POST', '/auth/session/refresh')).body.token
  const roleAgain = async (token: string, email: string) => [
    (await whoIs(await refresh(token))).role,
    (await whoIs(await house.signIn(email))).role,
  ]
  t.like(await memberOf(emails[1]!), {role: 'operator', roleSource: 'crm'})

  const path = `/orgs/${org.id}/members/${(await memberOf(emails[1]!)).id}`
  t.like((await call('PATCH', path, {role: 'builder'})).body.member, {role: 'builder', roleSource: 'manual'})
  t.deepEqual(await roleAgain(ben, emails[1]!), ['builder', 'builder'])

  const {invitation} = (await call('POST', `/orgs/${org.id}/invitations`, {email: emails[2], role: 'admin'})).body
  t.is((await house.as(eva)('POST', `/auth/invitations/${invitation.id}/accept`)).body.role, 'admin')
  t.like(await memberOf(emails[2]!), {role: 'admin', roleSource: 'manual'})
  t.deepEqual(await roleAgain(eva, emails[2]!), ['admin', 'admin'])
  const {changes} = (await call('GET', `/orgs/${org.id}/config/changes?page=members`)).body
  const sources = changes.filter(({subject}: {subject: string}) => subject === 'member.roleSource')
  t.deepEqual(
    sources.map(({target, userName, before, after}: Record<string, string>) => [target, userName, before, after]),
    [
      ['eva Test', 'eva Test', 'crm', 'manual'],
      ['ben Test', 'ana Test', 'crm', 'manual'],
    ],
  )

  house.crm.addUser(key, {email: emails[1]!, firstName: 'ben', lastName: 'Test', profile: 'Administrator'})
  t.deepEqual(await roleAgain(ben, emails[1]!), ['builder', 'builder'], 'the CRM does not raise it either')
  t.like((await call('PATCH', path, {role: 'builder', roleSource: 'crm'})).body.member, {role: 'builder', roleSource: 'crm'})
  t.deepEqual(await roleAgain(ben, emails[1]!), ['admin', 'admin'])
  t.like(await memberOf(emails[1]!), {role: 'admin', roleSource: 'crm'})
})

/** Creates an org with an owner and two admins, each with their own `call`. */
const newOrg = async () => {
  const owner = await house.makeOrg()
  const {org} = owner
  const others = [await house.makeOrg({role: 'admin', org}), await house.makeOrg({role: 'admin', org})]
  const path = `/orgs/${org}/members`
  const {members} = (await house.as(owner.token)('GET', path)).body
  const idOf = (person: string) => members.find(({personId}: {personId: string}) => personId === person).id
  const join = ({person, token}: typeof owner) => ({org, path: `${path}/${idOf(person)}`, call: house.as(token)})
  return {org, path, owner: join(owner), others: others.map(join)}
}

const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const mint = async ({call, org}: {call: ReturnType<TestDeployment['as']>; org: string}): Promise<string> =>
  (await call('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body.secret

test('the API tokens of a demoted member are counted, and revoked on request', async t => {
  const {org, path, owner, others} = await newOrg()
  const [admin, other] = others
  const [first, second, kept] = [await mint(admin!), await mint(admin!), await mint(other!)]
  const {tokens} = (await owner.call('GET', `/orgs/${org}/tokens`)).body
  await owner.call('DELETE', `/orgs/${org}/tokens/${tokens.at(-1).id}`)
  const demoted = await owner.call('PATCH', admin!.path, {role: 'operator'})
  t.like(demoted.body, {member: {role: 'operator'}, activeTokens: 1})
  t.is((await house.as(second)('GET', path)).status, 200, 'nothing is revoked unasked')
  const revoked = await owner.call('PATCH', admin!.path, {role: 'operator', revokeTokens: true})
  t.like(revoked.body, {member: {role: 'operator'}, activeTokens: 0})
  for (const secret of [first, second]) t.deepEqual(outcomeOf(await house.as(secret)('GET', path)), [401, 'TOKEN_REVOKED'])
  t.is((await house.as(kept)('GET', path)).status, 200)
})

test('revoking tokens with a role change needs a session', async t => {
  const {org, path, owner, others} = await newOrg()
  const [admin] = others
  const secret = await mint(admin!)
  const byToken = house.as(await mint(owner))
  const byStaff = house.as(await house.openView({org, write: true}))
  const body = {role: 'operator', revokeTokens: true}
  t.deepEqual(outcomeOf(await byToken('PATCH', admin!.path, body)), [403, 'SESSION_REQUIRED'])
  t.deepEqual(outcomeOf(await byStaff('PATCH', admin!.path, body)), [403, 'IMPERSONATION_REFUSED'])
  t.is((await admin!.call('GET', '/auth/me')).body.role, 'admin', 'a refused request changes nothing')
  t.is((await house.as(secret)('GET', path)).status, 200)
})
