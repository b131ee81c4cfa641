import test from 'ava'
import {sql} from '../../sql/database.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {beginVisit, comeBack, consent, messageOf, visitOf} from '../support/walk.ts'

const expired = {status: 400, code: 'SIGN_IN_EXPIRED'}

test('a failing sign-in provider gives 502 and no session', async t => {
  const token = {path: '/oauth/v2/token'}
  const faults = [
    {match: token, action: {type: 'tokenDown'}},
    {match: token, action: {type: 'tokenDown', drop: true}},
    {match: token, action: {type: 'tokenThrottle'}},
    {match: token, action: {type: 'truncateAfter'}},
    {match: {path: '/oauth/user/info'}, action: {type: 'status5xxAfter'}},
    {match: {path: '/crm/v8/org'}, action: {type: 'dropBefore'}},
    {match: {path: '/crm/v8/users'}, action: {type: 'rateLimit'}},
    {match: {path: '/crm/v8/users'}, action: {type: 'answer', status: 401, body: {code: 'INVALID_TOKEN'}}},
  ] as const
  const own = await startTestDeployment(t)
  for (const fault of faults) {
    const visit = await beginVisit(own.as(null))
    const back = await consent(visit)
    own.crm.faults.add({times: 1, ...fault})
    const {status, body} = await own.as(null)('GET', back, undefined, {cookie: visit.cookie})
    t.like({status, code: body.code}, {status: 502, code: 'SIGN_IN_UNAVAILABLE'}, JSON.stringify(fault))
  }
  t.false(await own.db.exists(sql.unsafe`select from sessions`))
})

test('a used code is refused although the provider answers 200', async t => {
  const own = await startTestDeployment(t)
  const visit = await beginVisit(own.as(null))
  const back = await consent(visit)
  own.crm.faults.add({match: {path: '/oauth/v2/token'}, times: 1, action: {type: 'answer', status: 200, body: {error: 'invalid_code'}}})
  const {status, body} = await own.as(null)('GET', back, undefined, {cookie: visit.cookie})
  t.deepEqual({status, code: body.code}, expired)
})

test('an unlisted API host in a token answer is refused', async t => {
  const own = await startTestDeployment(t)
  const visit = await beginVisit(own.as(null))
  const back = await consent(visit)
  const body = {access_token: '1000.a.b', api_domain: 'https://evil.example', expires_in: 3600}
  own.crm.faults.add({match: {path: '/oauth/v2/token'}, times: 1, action: {type: 'answer', status: 200, body}})
  t.is((await own.as(null)('GET', back, undefined, {cookie: visit.cookie})).body.code, 'SIGN_IN_UNAVAILABLE')
})

test('an API host with a trailing slash is the same host', async t => {
  const own = await startTestDeployment(t)
  const {token, org} = await own.makeOrg()
  const ids = []
  for (const end of ['', '/']) {
    own.crm.setSwitches({apiDomain: `${own.crm.url}${end}`})
    const visit = visitOf(await own.as(token)('POST', `/auth/orgs/${org}/connect`, {dc: 'local', name: 'Odd CRM'}))
    ids.push(messageOf(await comeBack(own.as(null), await consent(visit), visit.cookie)).connectorId)
  }
  t.regex(ids[0] ?? '', /^con_/)
  t.is(ids[1], ids[0])
})

test('an account without a CRM signs in as a person without an org', async t => {
  const own = await startTestDeployment(t)
  const visit = await beginVisit(own.as(null))
  const back = await consent(visit)
  own.crm.faults.add({match: {path: '/crm/v8/*'}, times: 2, action: {type: 'answer', status: 403, body: {code: 'NO_PERMISSION'}}})
  const token = messageOf(await comeBack(own.as(null), back, visit.cookie)).token
  const {body} = await own.as(token)('GET', '/auth/me')
  t.like(body, {org: null, role: null, via: 'session', user: {email: 'ana@example.org'}})
  const again = await own.as(token)('POST', '/auth/session/refresh')
  t.is((await own.as(again.body.token)('GET', '/auth/me')).body.org, null)
})

test('a person who lost their CRM account signs in to an open org that invited them, not to the org of that account', async t => {
  const own = await startTestDeployment(t)
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
  const join = async () => {
    const {org, token: owner} = await own.makeOrg()
    const {invitation} = (await own.as(owner)('POST', `/orgs/${org}/invitations`, {email: 'ana@example.org', role: 'builder'})).body
    await own.as(token)('POST', `/auth/invitations/${invitation.id}/accept`)
    return org
  }
  const orgs = [await join(), await join()]
  t.like((await withoutCrm()).me, {org: {id: orgs[1]}, role: 'builder'})
  await own.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${orgs[1]!}`)
  t.like((await withoutCrm()).me, {org: {id: orgs[0]}, role: 'builder'}, 'the newest one is closed')
  t.like((await own.as(await own.signIn())('GET', '/auth/me')).body, {org: {name: 'Example Ltd'}, role: 'owner'})
})

const answerWith = (body: object, status = 200) => ({type: 'answer' as const, status, body})
const scopeMissing = answerWith({code: 'OAUTH_SCOPE_MISMATCH', details: {}, message: 'no', status: 'error'}, 401)
const user = {id: '1', full_name: 'Ana', email: 'ana@example.org'}
const org = {id: '77', company_name: 'Odd Ltd'}

test('a sign-in succeeds if the CRM leaves fields null or fails a call that only a connection needs', async t => {
  for (const fault of [
    {match: {path: '/crm/v8/users'}, times: 1, action: answerWith({users: [{...user, profile: null}]})},
    {match: {path: '/crm/v8/org'}, times: 1, action: answerWith({org: [{...org, type: null}]})},
    {match: {path: '/crm/v8/settings/data_sharing'}, times: 9, action: 'status5xxBefore'},
  ] as const) {
    const own = await startTestDeployment(t)
    own.crm.addUser('example', {email: 'odd@example.org', firstName: 'Odd', lastName: 'Test', profile: 'Standard'})
    const visit = await beginVisit(own.as(null))
    const back = await consent(visit, {user: 'odd@example.org'})
    own.crm.faults.add(fault)
    const {token} = messageOf(await comeBack(own.as(null), back, visit.cookie))
    t.truthy((await own.as(token)('GET', '/auth/me')).body.org, JSON.stringify(fault))
  }
})

test('a connection succeeds if the CRM hides its permissions or the profile of its user', async t => {
  for (const fault of [
    {match: {path: '/crm/v8/users', nth: 2}, times: 9, action: 'status5xxBefore'},
    {match: {path: '/crm/v8/users'}, times: 1, action: answerWith({users: [{...user, profile: null}]})},
  ] as const) {
    const own = await startTestDeployment(t)
    const {token, org} = await own.makeOrg()
    const visit = visitOf(await own.as(token)('POST', `/auth/orgs/${org}/connect`, {dc: 'local', name: 'Odd CRM'}))
    const back = await consent(visit)
    own.crm.faults.add(fault)
    const {connectorId} = messageOf(await comeBack(own.as(null), back, visit.cookie))
    t.regex(connectorId ?? '', /^con_/, JSON.stringify(fault))
  }
})

test('an HTML page instead of a role fails the sign-in, and does not demote an administrator', async t => {
  const own = await startTestDeployment(t)
  const visit = await beginVisit(own.as(null))
  const back = await consent(visit)
  own.crm.faults.add({match: {path: '/crm/v8/users', nth: 2}, times: 1, action: {type: 'answer', status: 200, text: '<html>Sorry</html>'}})
  t.is((await own.as(null)('GET', back, undefined, {cookie: visit.cookie})).body.code, 'SIGN_IN_UNAVAILABLE')
})

test('a sign-in without all scopes is refused for the scopes, not for a missing CRM', async t => {
  for (const path of ['/crm/v8/users', '/crm/v8/org']) {
    const own = await startTestDeployment(t)
    const visit = await beginVisit(own.as(null))
    const back = await consent(visit)
    own.crm.faults.add({match: {path}, times: 1, action: scopeMissing})
    const {body} = await own.as(null)('GET', back, undefined, {cookie: visit.cookie})
    t.is(body.code, 'SIGN_IN_REFUSED', path)
    t.regex(body.error, /every (scope|permission)/)
  }
})
