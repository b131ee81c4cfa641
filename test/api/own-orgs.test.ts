import test from 'ava'
import {sql} from '../../sql/database.ts'
import {lockOrg} from '../../sql/orgs.ts'
import {callFromPage, signInOnPage} from '../support/cookie-session.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

let orgs = 0
/** Signs in a person of a new CRM org. The person then accepts an invitation to the org of `host`, in which the session works from then on. */
const newGuest = async () => {
  const key = `own${++orgs}`
  const email = `ana@${key}.example`
  const users = [{email, firstName: 'ana', lastName: 'Test', profile: 'Administrator'}]
  const numbers = {prefix: String(6_600_000 + orgs), zgid: String(50_000 + orgs), licences: 5}
  house.crm.addOrg({key, companyName: `Company ${key}`, edition: 'enterprise', users, modules: [], ...numbers})
  const {cookie} = await signInOnPage(house, {user: email})
  const call = callFromPage(house, cookie)
  const home = (await call('GET', '/auth/me')).body
  const host = await house.makeOrg()
  const invitation = (await house.as(host.token)('POST', `/orgs/${host.org}/invitations`, {email, role: 'builder'})).body.invitation
  const accepted = await call('POST', `/auth/invitations/${invitation.id}/accept`)
  if (accepted.status !== 200) throw new Error(accepted.text)
  const list = async () => (await call('GET', '/auth/orgs')).body.orgs
  const switchTo = (org: string) => call('PUT', '/auth/session/org', {org})
  return {key, email, call, home, host, list, switchTo}
}

test('a person with several orgs lists them, and switches between them with the same session', async t => {
  const {call, home, host, list, switchTo} = await newGuest()
  t.deepEqual(
    (await list()).map(({id, role, isCurrent}: any) => [id, role, isCurrent]).toSorted(),
    [
      [home.org.id, 'owner', false],
      [host.org, 'builder', true],
    ].toSorted(),
  )
  t.deepEqual((await switchTo(home.org.id)).body, {role: 'owner'})
  t.like((await call('GET', '/auth/me')).body, {org: {id: home.org.id}, role: 'owner'})
  t.is((await call('GET', `/orgs/${home.org.id}/tokens`)).status, 200)
  t.is((await call('GET', `/orgs/${host.org}/imports`)).body.code, 'OTHER_ORG')
  t.is((await call('POST', '/auth/session/refresh')).status, 204)
  t.deepEqual((await switchTo(host.org)).body, {role: 'builder'})
  t.like((await call('GET', '/auth/me')).body, {org: {id: host.org}, role: 'builder'})
})

test('an org of others, an unknown one and a closed one are refused alike', async t => {
  const {call, home, host, switchTo} = await newGuest()
  const stranger = await house.makeOrg()
  const refusals = [await switchTo(stranger.org), await switchTo('org_none')]
  await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${home.org.id}`)
  refusals.push(await switchTo(home.org.id))
  for (const {status, body} of refusals)
    t.like({status, code: body.code, error: body.error}, {status: 404, code: 'NOT_FOUND', error: refusals[0]!.body.error})
  t.is((await call('GET', '/auth/me')).body.org.id, host.org)
})

test('a membership that neither the sign-in nor an invitation gave is not reachable', async t => {
  const {home, host, switchTo, list} = await newGuest()
  await house.db.query(sql.unsafe`update sessions set home_org_id = null where home_org_id = ${home.org.id}`)
  t.deepEqual(
    (await list()).map(({id}: any) => id),
    [host.org],
  )
  t.is((await switchTo(home.org.id)).status, 404)
})

test('a person whom the CRM has deactivated cannot switch back to its org', async t => {
  const {key, email, home, switchTo} = await newGuest()
  house.crm.addUser(key, {email: `second@${key}.example`, firstName: 'second', lastName: 'Test', profile: 'Administrator'})
  const second = callFromPage(house, (await signInOnPage(house, {user: `second@${key}.example`})).cookie)
  const {org} = (await second('GET', '/auth/me')).body
  t.is(org.id, home.org.id)
  await house.connect(await house.signIn(`second@${key}.example`), {user: `second@${key}.example`})
  house.crm.addUser(key, {email, firstName: 'ana', lastName: 'Test', profile: 'Administrator', status: 'inactive'})
  t.is((await switchTo(home.org.id)).status, 404)
})

test('an API token cannot switch', async t => {
  const {host} = await newGuest()
  const secret = (await house.as(host.token)('POST', `/orgs/${host.org}/tokens`, {name: 'ci'})).body.secret
  t.is((await house.as(secret)('PUT', '/auth/session/org', {org: host.org})).body.code, 'SESSION_REQUIRED')
})

test('an invitation stays pending if the session ends during its acceptance', async t => {
  const [host, guest] = [await house.makeOrg(), await house.makeOrg({email: 'leaves@guests.example'})]
  const [owner, call] = [house.as(host.token), house.as(guest.token)]
  const path = `/orgs/${host.org}/invitations`
  const {invitation} = (await owner('POST', path, {email: 'leaves@guests.example', role: 'builder'})).body
  const [accepting] = await house.db.transaction(async tx => {
    await lockOrg(tx, host.org)
    const answer = call('POST', `/auth/invitations/${invitation.id}/accept`)
    await until(
      () => tx.exists(sql.unsafe`select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`),
      Boolean,
    )
    t.is((await call('DELETE', '/auth/session')).status, 204)
    return [answer]
  })
  t.like(await accepting, {status: 401, body: {code: 'AUTH_REQUIRED'}})
  t.like((await owner('GET', path)).body.invitations, [{state: 'pending'}])
  t.is((await owner('GET', `/orgs/${host.org}/members`)).body.members.length, 1)
})
