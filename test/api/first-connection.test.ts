import test from 'ava'
import {callFromPage, signInOnPage} from '../support/cookie-session.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery']})
})

let orgs = 0
/** Creates a CRM org. Its first user is an administrator, the others are not. */
const newCrmOrg = (names: string[]) => {
  const key = `first${++orgs}`
  const users = names.map((name, index) => ({
    email: `${name}@${key}.example`,
    firstName: name,
    lastName: 'Test',
    profile: index === 0 ? 'Administrator' : 'Standard',
  }))
  const numbers = {prefix: String(7_700_000 + orgs), zgid: String(40_000 + orgs), licences: 5}
  house.crm.addOrg({key, companyName: `Company ${key}`, edition: 'enterprise', users, modules: [], ...numbers})
  return users.map(({email}) => email)
}

const openPage = async (cookie: string) => {
  const call = callFromPage(house, cookie)
  const {body: me} = await call('GET', '/auth/me')
  const connectors = async () => (await call('GET', `/orgs/${me.org.id}/connectors`)).body.connectors
  return {call, me, connectors}
}

test.serial('the first sign-in of an org makes its connection from the same consent, and reads the modules', async t => {
  const [ana] = newCrmOrg(['ana'])
  const {message, cookie} = await signInOnPage(house, {user: ana!})
  t.deepEqual(message, {type: 'lading:signed-in', missingScopes: []})
  const {call, me, connectors} = await openPage(cookie)
  const [connector, ...more] = await connectors()
  t.deepEqual(more, [])
  t.like(connector, {state: 'connected', crmUserName: 'ana Test', name: me.org.name})
  const latest = () => call('GET', `/orgs/${me.org.id}/discovery/latest`)
  await until(latest, ({status}) => status === 200)
  const {body} = await call('GET', `/auth/orgs/${me.org.id}/connection`)
  t.like(body.connections[0], {missingScopes: [], health: 'ok'})
})

test.serial('a second sign-in makes no other connection', async t => {
  const [ana] = newCrmOrg(['ana'])
  const first = await openPage((await signInOnPage(house, {user: ana!})).cookie)
  const second = await openPage((await signInOnPage(house, {user: ana!})).cookie)
  t.deepEqual(await second.connectors(), await first.connectors())
  t.is((await second.connectors()).length, 1)
})

test.serial('of concurrent first sign-ins one makes the connection, and every person gets a session', async t => {
  const emails = newCrmOrg(['a', 'b', 'c', 'd'])
  for (const email of emails) house.crm.addUser(`first${orgs}`, {email, firstName: email[0]!, lastName: 'Test', profile: 'Administrator'})
  const entered = await Promise.all(emails.map(user => signInOnPage(house, {user})))
  for (const {cookie} of entered) t.is((await (await openPage(cookie)).connectors()).length, 1)
})

test.serial('a person who may not connect signs in without a connection, and the unused grant is revoked at the CRM', async t => {
  const [ana, ben] = newCrmOrg(['ana', 'ben'])
  const owner = await openPage((await signInOnPage(house, {user: ana!, query: {connect: 'false'}})).cookie)
  t.deepEqual(await owner.connectors(), [])
  const before = countGrants()
  const {message, cookie} = await signInOnPage(house, {user: ben!})
  t.is(message.type, 'lading:signed-in')
  const operator = await openPage(cookie)
  t.is(operator.me.role, 'operator')
  t.deepEqual(await operator.connectors(), [])
  t.is(countGrants(), before)
  t.true(house.crm.journal({path: '/oauth/v2/token/revoke'}).length > 0)
  const {members} = (await owner.call('GET', `/orgs/${owner.me.org.id}/members`)).body
  const {id} = members.find(({email}: {email: string}) => email === ben)
  t.is((await owner.call('PATCH', `/orgs/${owner.me.org.id}/members/${id}`, {role: 'admin'})).status, 200)
  const admin = await openPage((await signInOnPage(house, {user: ben!})).cookie)
  t.is(admin.me.role, 'admin')
  t.deepEqual(await admin.connectors(), [], 'the CRM grants permanent access only with the first consent')
})

test.serial('a partial consent gives a session without a connection, and names the missing scopes', async t => {
  const [ana] = newCrmOrg(['ana'])
  const before = countGrants()
  const {message, cookie} = await signInOnPage(house, {user: ana!, scopes: all => all.filter(scope => scope !== 'ZohoCRM.coql.READ')})
  t.deepEqual(message, {type: 'lading:signed-in', missingScopes: ['ZohoCRM.coql.READ']})
  t.deepEqual(await (await openPage(cookie)).connectors(), [])
  t.is(countGrants(), before)
})

test.serial('a sign-in does not revive a connection that an admin has disconnected', async t => {
  const [ana] = newCrmOrg(['ana'])
  const {call, me, connectors} = await openPage((await signInOnPage(house, {user: ana!})).cookie)
  const [{id}] = await connectors()
  await call('DELETE', `/orgs/${me.org.id}/connectors/${id}`)
  const again = await openPage((await signInOnPage(house, {user: ana!})).cookie)
  t.like(await again.connectors(), [{id, state: 'disconnected'}])
})

test.serial('a closed org gets no connection from a sign-in', async t => {
  const [ana] = newCrmOrg(['ana'])
  const {me} = await openPage((await signInOnPage(house, {user: ana!, query: {connect: 'false'}})).cookie)
  t.is((await house.as(house.adminToken)('POST', `/staff/orgs/${me.org.id}/close`, {reason: 'A test'})).status, 200)
  const {message} = await signInOnPage(house, {user: ana!})
  t.is(message.type, 'lading:signed-in')
  t.is((await house.as(house.adminToken)('POST', `/staff/orgs/${me.org.id}/reopen`, {reason: 'A test'})).status, 200)
  const again = await openPage((await signInOnPage(house, {user: ana!, query: {connect: 'false'}})).cookie)
  t.deepEqual(await again.connectors(), [])
})

/** Returns the number of refresh tokens at the CRM. */
const countGrants = () => house.crm.state().tokens.refresh
