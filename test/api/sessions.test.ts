import test from 'ava'
import {openSession} from '../../shared/people/session.ts'
import {type World, world} from '../world.ts'

let house: World
test.before(async t => {
  house = await world(t)
})

test('a session lives eight hours, and a refresh begins another', async t => {
  const own = await world(t)
  const token = await own.signIn()
  await own.ahead('7 hours 59 minutes')
  const {status, body} = await own.as(token)('POST', '/auth/session/refresh')
  t.is(status, 200)
  t.not(body.token, token)
  await own.ahead('8 hours 1 second')
  t.is((await own.as(token)('GET', '/auth/me')).body.code, 'AUTH_REQUIRED')
  t.is((await own.as(body.token)('GET', '/auth/me')).status, 200)
})

test('signing out ends that session and no other of the person, and nobody else’s', async t => {
  const {token, org, person} = await house.makeOrg()
  const [other, stranger] = [await openSession(house.db, house.config, {person, org, role: 'owner'}), (await house.makeOrg()).token]
  const secret = (await house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body.secret
  t.like(await house.as(secret)('DELETE', '/auth/session'), {status: 403, body: {code: 'SESSION_REQUIRED'}})
  const {status, text} = await house.as(token)('DELETE', '/auth/session')
  t.deepEqual({status, text}, {status: 204, text: ''})
  for (const [method, path] of [
    ['GET', '/auth/me'],
    ['DELETE', '/auth/session'],
    ['POST', '/auth/session/refresh'],
  ] as const)
    t.like(await house.as(token)(method, path), {status: 401, body: {code: 'AUTH_REQUIRED'}}, path)
  for (const bearer of [other, secret, stranger]) t.is((await house.as(bearer)('GET', '/auth/me')).status, 200)
})

test('the session’s token names its row and says nothing else', async t => {
  const payload = JSON.parse(Buffer.from((await house.signIn()).split('.')[1]!, 'base64url').toString())
  t.deepEqual(Object.keys(payload).sort(), ['aud', 'exp', 'iat', 'iss', 'sub'])
  t.regex(payload.sub, /^ses_/)
})
