import test from 'ava'
import {sql} from '../../sql/database.ts'
import {beginVisit, comeBack, consent, messageOf} from '../walk.ts'
import {world} from '../world.ts'

const expired = {status: 400, code: 'SIGN_IN_EXPIRED'}

test('a provider that fails is a 502, and no session is made', async t => {
  const token = {path: '/oauth/v2/token'}
  const faults = [
    {match: token, action: {type: 'tokenDown'}},
    {match: token, action: {type: 'tokenDown', drop: true}},
    {match: token, action: {type: 'tokenThrottle'}},
    {match: token, action: {type: 'truncateAfter'}},
    {match: {path: '/oauth/user/info'}, action: {type: 'status5xxAfter'}},
    {match: {path: '/crm/v8/org'}, action: {type: 'dropBefore'}},
    {match: {path: '/crm/v8/users'}, action: {type: 'rateLimit'}},
  ] as const
  const own = await world(t)
  for (const fault of faults) {
    const visit = await beginVisit(own.as(null))
    const back = await consent(visit)
    own.crm.faults.add({times: 1, ...fault})
    const {status, body} = await own.as(null)('GET', back, undefined, {cookie: visit.cookie})
    t.like({status, code: body.code}, {status: 502, code: 'SIGN_IN_UNAVAILABLE'}, JSON.stringify(fault))
  }
  t.false(await own.db.exists(sql.unsafe`select from sessions`))
})

test('a code that is used up is refused although the provider says 200', async t => {
  const own = await world(t)
  const visit = await beginVisit(own.as(null))
  const back = await consent(visit)
  own.crm.faults.add({match: {path: '/oauth/v2/token'}, times: 1, action: {type: 'answer', status: 200, body: {error: 'invalid_code'}}})
  const {status, body} = await own.as(null)('GET', back, undefined, {cookie: visit.cookie})
  t.deepEqual({status, code: body.code}, expired)
})

test('an API host outside the table is refused, whoever names it', async t => {
  const own = await world(t)
  const visit = await beginVisit(own.as(null))
  const back = await consent(visit)
  const body = {access_token: '1000.a.b', api_domain: 'https://evil.example', expires_in: 3600}
  own.crm.faults.add({match: {path: '/oauth/v2/token'}, times: 1, action: {type: 'answer', status: 200, body}})
  t.is((await own.as(null)('GET', back, undefined, {cookie: visit.cookie})).body.code, 'SIGN_IN_UNAVAILABLE')
})

test('an account without a CRM is somebody, in no org', async t => {
  const own = await world(t)
  const visit = await beginVisit(own.as(null))
  const back = await consent(visit)
  own.crm.faults.add({match: {path: '/crm/v8/*'}, times: 2, action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION'}}})
  const token = messageOf(await comeBack(own.as(null), back, visit.cookie)).token
  const {body} = await own.as(token)('GET', '/auth/me')
  t.like(body, {org: null, role: null, via: 'session', user: {email: 'ana@example.org'}})
  const again = await own.as(token)('POST', '/auth/session/refresh')
  t.is((await own.as(again.body.token)('GET', '/auth/me')).body.org, null)
})

test('without a CRM one signs in to where one was invited, and not to where one only came from the CRM', async t => {
  const own = await world(t)
  const withoutCrm = async () => {
    const visit = await beginVisit(own.as(null))
    const back = await consent(visit)
    own.crm.faults.add({match: {path: '/crm/v8/*'}, times: 2, action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION'}}})
    const token: string = messageOf(await comeBack(own.as(null), back, visit.cookie)).token
    return {token, me: (await own.as(token)('GET', '/auth/me')).body}
  }
  t.like((await own.as(await own.signIn())('GET', '/auth/me')).body, {org: {name: 'Example Ltd'}, role: 'owner'})
  const {token, me} = await withoutCrm()
  t.is(me.org, null)
  const {org, token: owner} = await own.makeOrg()
  const {invitation} = (await own.as(owner)('POST', `/orgs/${org}/invitations`, {email: 'ana@example.org', role: 'builder'})).body
  await own.as(token)('POST', `/auth/invitations/${invitation.id}/accept`)
  t.like((await withoutCrm()).me, {org: {id: org}, role: 'builder'})
  t.like((await own.as(await own.signIn())('GET', '/auth/me')).body, {org: {name: 'Example Ltd'}, role: 'owner'})
})
