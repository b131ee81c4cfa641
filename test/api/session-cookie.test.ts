import test from 'ava'
import {outcomePage} from '../../api/sign-in-page.ts'
import {callFromPage, signInOnPage} from '../support/cookie-session.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {beginVisit, cookieOf, messageOf} from '../support/walk.ts'

const widget = 'https://widget.example.org'
let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {environment: {RETURN_ORIGINS: widget}})
})

test('a sign-in of our own page sets a cookie that scripts cannot read, and its page contains no token', async t => {
  const {page, message, setCookie} = await signInOnPage(house)
  t.is(page.status, 200)
  t.deepEqual(message, {type: 'lading:signed-in', missingScopes: []})
  t.is(setCookie.length, 1)
  t.regex(setCookie[0]!, /^lading-session=[\w-]+\.[\w-]+\.[\w-]+; Path=\/; Max-Age=28800; HttpOnly; SameSite=Lax$/)
  t.false(page.text.includes(setCookie[0]!.split(/[=;]/)[1]!))
})

test('behind https the cookie is Secure and bound to the host', async t => {
  const own = await startTestDeployment(t, {environment: {PUBLIC_URL: 'https://lading.example.org'}})
  const {token} = await own.makeOrg()
  const call = callFromPage(own, `__Host-lading-session=${token}`)
  t.is((await call('GET', '/auth/me')).status, 200)
  t.is((await callFromPage(own, `lading-session=${token}`)('GET', '/auth/me')).status, 401)
  const {headers} = await call('POST', '/auth/session/refresh')
  t.regex(headers.get('set-cookie')!, /^__Host-lading-session=[^;]+; Path=\/; Max-Age=28800; HttpOnly; SameSite=Lax; Secure$/)
})

test('the cookie signs our own pages in, also in another tab', async t => {
  const call = callFromPage(house, (await signInOnPage(house)).cookie)
  const {body: me} = await call('GET', '/auth/me')
  t.like(me, {via: 'session', role: 'owner', user: {email: 'ana@example.org'}})
  t.is((await call('GET', `/orgs/${me.org.id}/imports`)).status, 200)
  t.is((await call('PATCH', `/orgs/${me.org.id}/config/settings`, {})).status, 200)
})

test('a session cookie is given to our own origin only', async t => {
  const {status, body} = await house.as(null)('GET', `/auth/zoho/start?dc=local&session=cookie&return=${encodeURIComponent(widget)}`)
  t.deepEqual({status, code: body.code}, {status: 400, code: 'RETURN_NOT_ALLOWED'})
})

test('a sign-in for a page elsewhere still posts its token, and sets no session cookie', async t => {
  const {message, setCookie} = await signInOnPage(house, {query: {session: 'message', connect: 'false', return: widget}})
  t.is(message.type, 'lading:session')
  t.deepEqual(setCookie, [])
  t.is((await house.as(message.token)('GET', '/auth/me')).status, 200)
})

test('a token that contains the placeholder of the nonce reaches the page unchanged', t => {
  const message = {type: 'lading:session', token: 'abcNONCEdef'} as const
  const {body} = outcomePage(house.config, {origin: widget, message, cookie: null})
  t.deepEqual(messageOf({status: 200, text: String(body)}), message)
})

test('a refresh by cookie renews the cookie and shows no token', async t => {
  const {cookie} = await signInOnPage(house)
  const {status, text, headers} = await callFromPage(house, cookie)('POST', '/auth/session/refresh')
  t.deepEqual({status, text}, {status: 204, text: ''})
  const next = cookieOf(headers)
  t.not(next, cookie)
  t.is((await callFromPage(house, next)('GET', '/auth/me')).status, 200)
})

test('signing out ends the session and removes the cookie', async t => {
  const {cookie} = await signInOnPage(house)
  const {status, headers} = await callFromPage(house, cookie)('DELETE', '/auth/session')
  t.is(status, 204)
  t.regex(headers.get('set-cookie')!, /^lading-session=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/)
  t.like(await callFromPage(house, cookie)('GET', '/auth/me'), {status: 401, body: {code: 'AUTH_REQUIRED'}})
})

test('a new sign-in in the same browser makes another session and ends the replaced one', async t => {
  const first = await signInOnPage(house)
  const second = await signInOnPage(house, {former: first.cookie})
  t.not(second.cookie, first.cookie)
  t.is((await callFromPage(house, first.cookie)('GET', '/auth/me')).status, 401)
  t.is((await callFromPage(house, second.cookie)('GET', '/auth/me')).status, 200)
})

test('a sign-in that another page began leaves the session of the cookie as it is', async t => {
  const {cookie} = await signInOnPage(house)
  await signInOnPage(house, {former: cookie, query: {session: 'message'}})
  t.is((await callFromPage(house, cookie)('GET', '/auth/me')).status, 200)
})

test('a staff session in the cookie opens the backoffice, under the same rules', async t => {
  const {token} = await house.makeStaff()
  const cookie = `lading-session=${token}`
  t.is((await callFromPage(house, cookie)('GET', '/staff/people')).status, 200)
  t.is((await house.as(null)('GET', '/staff/people', undefined, {cookie})).status, 403)
})

test('a sign-in that asks for no connection asks for no scope of one', async t => {
  const {url} = await beginVisit(house.as(null))
  t.regex(url, /access_type=online/)
  t.false(url.includes('modules'))
})
