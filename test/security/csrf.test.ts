import test from 'ava'
import {callFromPage, signInOnPage} from '../support/cookie-session.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

const listed = 'https://widget.example.org'
const hostile = 'https://evil.example'
let house: TestDeployment
let cookie: string
let org: string
test.before(async t => {
  house = await startTestDeployment(t, {environment: {RETURN_ORIGINS: listed}})
  cookie = (await signInOnPage(house)).cookie
  org = (await callFromPage(house, cookie)('GET', '/auth/me')).body.org.id
})

const own = () => new URL(house.url).origin
const create = (headers: Record<string, string>, body: unknown = {name: 'ci'}) =>
  house.as(null)('POST', `/orgs/${org}/tokens`, body, {cookie, ...headers})
const tokens = async () => (await callFromPage(house, cookie)('GET', `/orgs/${org}/tokens`)).body.tokens.length

test.serial('a request of our own page changes something; the same request from elsewhere changes nothing', async t => {
  const csrf = {'x-lading-csrf': '1'}
  const forged: Record<string, Record<string, string>> = {
    'without the CSRF header': {origin: own()},
    'with another value of the header': {origin: own(), 'x-lading-csrf': 'true'},
    'from a foreign origin': {...csrf, origin: hostile},
    'from a listed origin': {...csrf, origin: listed},
    'from a sandboxed frame': {...csrf, origin: 'null'},
    'from the same host on another port': {...csrf, origin: 'http://127.0.0.1:1'},
    'from another site': {...csrf, origin: own(), 'sec-fetch-site': 'cross-site'},
    'from a sibling domain': {...csrf, 'sec-fetch-site': 'same-site'},
    'typed into the address bar': {...csrf, 'sec-fetch-site': 'none'},
    'without Origin and Sec-Fetch-Site': csrf,
  }
  const before = await tokens()
  for (const [what, headers] of Object.entries(forged)) t.like(await create(headers), {status: 401, body: {code: 'AUTH_REQUIRED'}}, what)
  t.is(await tokens(), before)
  t.is((await create({...csrf, origin: own()})).status, 201)
  t.is((await create({...csrf, 'sec-fetch-site': 'same-origin'})).status, 201)
  t.is(await tokens(), before + 2)
})

test.serial('a form that another site submits changes nothing', async t => {
  const before = await tokens()
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
    const headers = {'content-type': type, origin: hostile, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate'}
    t.is((await create(headers, '{"name":"ci"}')).status, 401, type)
  }
  t.is(await tokens(), before)
})

test.serial('a read needs the CSRF header too, so a link or an image of another site reads nothing', async t => {
  const read = (headers: Record<string, string>) => house.as(null)('GET', '/auth/me', undefined, {cookie, ...headers})
  for (const headers of [{}, {'sec-fetch-site': 'none'}, {'sec-fetch-site': 'cross-site'}, {'x-lading-csrf': '1', origin: listed}])
    t.is((await read(headers)).status, 401, JSON.stringify(headers))
  t.is((await read({'x-lading-csrf': '1'})).status, 200)
})

test.serial('no preflight answer allows the CSRF header, not even for a listed origin', async t => {
  for (const origin of [listed, hostile]) {
    const asked = {origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-lading-csrf'}
    const {headers} = await house.as(null)('OPTIONS', `/orgs/${org}/tokens`, undefined, asked)
    t.notRegex(headers.get('access-control-allow-headers') ?? '', /csrf|\*/i, origin)
  }
})

test.serial('a bearer token takes precedence over the cookie, and an invalid one is not replaced by it', async t => {
  const page = {cookie, 'x-lading-csrf': '1', origin: own()}
  const other = await house.makeOrg()
  t.is((await house.as(other.token)('GET', '/auth/me', undefined, page)).body.org.id, other.org)
  for (const authorization of ['Bearer nothing', 'Basic YTpi', ''])
    t.is((await house.as(null)('GET', '/auth/me', undefined, {...page, authorization})).status, 401, authorization)
  t.is((await house.as(other.token)('DELETE', '/auth/session', undefined, page)).headers.get('set-cookie'), null)
  t.is((await callFromPage(house, cookie)('GET', '/auth/me')).status, 200, 'the cookie still holds')
})

test.serial('a cookie carries sessions only: an API token or ADMIN_TOKEN in it is not accepted', async t => {
  const {secret} = (await create({'x-lading-csrf': '1', origin: own()})).body
  for (const text of [secret, house.adminToken, '', 'a.b.c', `${cookie.split('=')[1]}x`])
    t.is((await callFromPage(house, `lading-session=${text}`)('GET', '/auth/me')).status, 401, text)
  t.is((await callFromPage(house, `lading-session=${house.adminToken}`)('GET', '/staff/people')).status, 403)
})

test.serial('no session of the cookie is opened or changed by a GET without the state of this browser', async t => {
  const {status, headers} = await house.as(null)('GET', '/auth/zoho/callback?code=1&state=forged', undefined, {cookie})
  t.is(status, 400)
  t.is(headers.get('set-cookie'), null)
  t.is((await callFromPage(house, cookie)('GET', '/auth/me')).status, 200)
})
