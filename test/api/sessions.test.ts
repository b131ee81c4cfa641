import test from 'ava'
import {openSession} from '../../shared/accounts/session.ts'
import {sql} from '../../sql/database.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {beginVisit, consent, messageOf} from '../support/walk.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const refresh = async (token: string): Promise<string> => (await house.as(token)('POST', '/auth/session/refresh')).body.token

test('a session expires after eight hours, and a refresh starts a new one', async t => {
  const own = await startTestDeployment(t)
  const token = await own.signIn()
  await own.ahead('7 hours 59 minutes')
  const {status, body} = await own.as(token)('POST', '/auth/session/refresh')
  t.is(status, 200)
  t.not(body.token, token)
  await own.ahead('8 hours 1 second')
  t.is((await own.as(token)('GET', '/auth/me')).body.code, 'AUTH_REQUIRED')
  t.is((await own.as(body.token)('GET', '/auth/me')).status, 200)
})

test('signing out ends the sign-in with every session refreshed from it, and no other', async t => {
  const {token, org, person} = await house.makeOrg()
  const [other, stranger] = [await openSession(house.db, house.config, {person, org, role: 'owner'}), (await house.makeOrg()).token]
  const secret = (await house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body.secret
  const [second, third] = [await refresh(token), await refresh(token)]
  const fourth = await refresh(second)
  t.like(await house.as(secret)('DELETE', '/auth/session'), {status: 403, body: {code: 'SESSION_REQUIRED'}})
  const {status, text} = await house.as(second)('DELETE', '/auth/session')
  t.deepEqual({status, text}, {status: 204, text: ''})
  for (const ended of [token, second, third, fourth])
    for (const [method, path] of [
      ['GET', '/auth/me'],
      ['DELETE', '/auth/session'],
      ['POST', '/auth/session/refresh'],
    ] as const)
      t.like(await house.as(ended)(method, path), {status: 401, body: {code: 'AUTH_REQUIRED'}}, path)
  for (const bearer of [other, secret, stranger]) t.is((await house.as(bearer)('GET', '/auth/me')).status, 200)
})

test('a session of an older build, without a sign-in, counts as its own sign-in', async t => {
  const {token, person} = await house.makeOrg()
  await house.db.query(sql.unsafe`update sessions set root_id = null, signed_in_at = null where person_id = ${person}`)
  const second = await refresh(token)
  const {sessions} = (await house.as(second)('GET', '/auth/sessions')).body
  t.like(sessions, [{isCurrent: true}])
  t.is(sessions.length, 1)
  t.is((await house.as(second)('DELETE', '/auth/session')).status, 204)
  for (const ended of [token, second]) t.is((await house.as(ended)('GET', '/auth/me')).status, 401)
})

test('a refresh concurrent with a sign-out does not survive it', async t => {
  for (let round = 0; round < 10; round++) {
    const {token} = await house.makeOrg()
    const [refreshed] = await Promise.all([house.as(token)('POST', '/auth/session/refresh'), house.as(token)('DELETE', '/auth/session')])
    t.true([200, 401].includes(refreshed.status))
    if (refreshed.status === 200) t.is((await house.as(refreshed.body.token)('GET', '/auth/me')).status, 401, `round ${round}`)
  }
})

test('a sign-in expires after 30 days, however often its session is refreshed', async t => {
  const own = await startTestDeployment(t)
  let token = await own.signIn()
  const renew = async () => (token = (await own.as(token)('POST', '/auth/session/refresh')).body.token)
  for (let hours = 7; hours < 30 * 24; hours += 7) {
    await own.ahead(`${hours} hours`)
    await renew()
  }
  await own.ahead('29 days 23 hours')
  t.is((await own.as(token)('GET', '/auth/me')).status, 200)
  await renew()
  await own.ahead('30 days 1 second')
  for (const path of ['/auth/me', '/auth/session/refresh'])
    t.like(await own.as(token)(path.endsWith('me') ? 'GET' : 'POST', path), {status: 401, body: {code: 'AUTH_REQUIRED'}})
})

test('a person can list their sign-ins with device, time and address, and end all others', async t => {
  const {token, org, person} = await house.makeOrg()
  const stranger = await house.makeOrg()
  const phone = await openSession(house.db, house.config, {person, org: null, role: null})
  const headers = {'user-agent': 'Phone 1.0'}
  const renewed = (await house.as(phone)('POST', '/auth/session/refresh', undefined, headers)).body.token
  const {status, body} = await house.as(renewed)('GET', '/auth/sessions')
  t.is(status, 200)
  t.is(body.sessions.length, 2, 'one entry per sign-in, not per refresh')
  const [here, desk] = body.sessions
  t.like(here, {isCurrent: true, device: 'Phone 1.0', address: '127.0.0.1', org: null, staffView: false})
  t.like(desk, {isCurrent: false, device: null, address: null, org: {id: org}})
  t.true(here.signedInAt <= here.refreshedAt && here.refreshedAt < here.expiresAt)
  t.deepEqual((await house.as(renewed)('DELETE', '/auth/sessions')).body, {ended: 1})
  t.is((await house.as(token)('GET', '/auth/me')).status, 401)
  for (const bearer of [phone, renewed, stranger.token]) t.is((await house.as(bearer)('GET', '/auth/me')).status, 200)
  t.deepEqual((await house.as(renewed)('DELETE', '/auth/sessions')).body, {ended: 0})
})

test('a sign-in records the device and address of the browser that returned', async t => {
  const visit = await beginVisit(house.as(null))
  const back = await consent(visit)
  const answer = await house.as(null)('GET', back, undefined, {cookie: visit.cookie, accept: 'text/html', 'user-agent': 'Desk 2.0'})
  const {token} = messageOf(answer)
  const {sessions} = (await house.as(token)('GET', '/auth/sessions')).body
  t.like(
    sessions.find(({isCurrent}: {isCurrent: boolean}) => isCurrent),
    {device: 'Desk 2.0', address: '127.0.0.1'},
  )
})

test('a session of a removed member stays ended after the person joins again', async t => {
  const owner = await house.makeOrg()
  const member = await house.makeOrg({org: owner.org, role: 'admin'})
  const call = house.as(owner.token)
  const later = await refresh(member.token)
  const {members} = (await call('GET', `/orgs/${owner.org}/members`)).body
  const {id, email} = members.find(({personId}: {personId: string}) => personId === member.person)
  t.is((await call('DELETE', `/orgs/${owner.org}/members/${id}`)).status, 200)
  const {invitation} = (await call('POST', `/orgs/${owner.org}/invitations`, {email, role: 'operator'})).body
  const fresh = await openSession(house.db, house.config, {person: member.person, org: null, role: null})
  t.is((await house.as(fresh)('POST', `/auth/invitations/${invitation.id}/accept`)).status, 200)
  for (const old of [member.token, later]) t.like(await house.as(old)('GET', '/auth/me'), {status: 401, body: {code: 'AUTH_REQUIRED'}})
  t.is((await house.as(fresh)('GET', '/auth/me')).body.role, 'operator')
})

test('erasing a person erases the device and address of their sessions', async t => {
  const {token, person} = await house.makeOrg()
  await house.as(token)('POST', '/auth/session/refresh', undefined, {'user-agent': 'Phone 1.0'})
  const kept = () =>
    house.db.exists(sql.unsafe`select from sessions where person_id = ${person} and (user_agent is not null or address is not null)`)
  t.true(await kept())
  t.is((await house.as(house.adminToken)('POST', `/staff/people/${person}/delete`, {reason: 'Their right'})).status, 200)
  t.false(await kept())
})

test('the session token contains only the id of its row and standard claims', async t => {
  const payload = JSON.parse(Buffer.from((await house.signIn()).split('.')[1]!, 'base64url').toString())
  t.deepEqual(Object.keys(payload).sort(), ['aud', 'exp', 'iat', 'iss', 'sub'])
  t.regex(payload.sub, /^ses_/)
})
