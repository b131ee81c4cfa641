import test, {type ExecutionContext} from 'ava'
import type {Route} from '../../api/route.ts'
import {routes} from '../../api/routes.ts'
import {openSession} from '../../shared/accounts/session.ts'
import {mintSecret} from '../../shared/accounts/token-secret.ts'
import {readConfig} from '../../shared/config.ts'
import {sql} from '../../sql/database.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {beginVisit, comeBack, consent} from '../support/walk.ts'

let house: TestDeployment
let operator: ReturnType<TestDeployment['as']>
let staff: {person: string; name: string; email: string; token: string}

test.before(async t => {
  house = await startTestDeployment(t)
  operator = house.as(house.adminToken)
  staff = await house.makeStaff({name: 'Sol', email: 'sol@staff.example'})
})

const outcomeOf = ({status, body}: {status: number; body: {code?: string}}) => [status, body.code]
const kindsOn = async (org: string) =>
  (await operator('GET', `/staff/actions?org=${org}`)).body.actions.map((one: {kind: string}) => one.kind)

const mint = async ({token, org}: {token: string; org: string}, body: object = {name: 'ci'}): Promise<string> =>
  (await house.as(token)('POST', `/orgs/${org}/tokens`, body)).body.secret

const PREFIXES = ['/billing/admin', '/entitlements/admin', '/ai/admin', '/staff']
const backoffice = routes.filter(({access}) => 'backoffice' in access || 'operator' in access)
/** The routes of the backoffice, their prefixes, unknown paths below the prefixes, and methods without a route. */
const addresses: [method: string, path: string][] = [
  ...backoffice.map(({method, path}): [string, string] => [method.toUpperCase(), path.replaceAll(/:\w+/g, 'none')]),
  ...PREFIXES.flatMap((prefix): [string, string][] => [
    ['GET', prefix],
    ['GET', `${prefix}/no/such/thing`],
    ['DELETE', `${prefix}/`],
    ['OPTIONS', `${prefix}/no`],
  ]),
  ['PUT', '/staff/people'],
  ['GET', '/staff/people/none/delete'],
  ['OPTIONS', '/staff/people'],
]

const refuses = async (t: ExecutionContext, headers: Record<string, string>, expected: [number, string]) => {
  t.plan(addresses.length)
  for (const [method, path] of addresses) {
    const answer = await house.as(null)(method, path, method === 'GET' ? undefined : '{not json', headers)
    t.deepEqual(outcomeOf(answer), expected, `${method} ${path}: ${answer.text}`)
  }
}
const bearer = (token: string) => ({authorization: `Bearer ${token}`})

const unknown: [number, string] = [401, 'AUTH_REQUIRED']
const required: [number, string] = [403, 'ADMIN_REQUIRED']
test('the route table has more than ten backoffice routes', t => t.true(backoffice.length > 10))
test('exactly the backoffice routes are under a backoffice prefix, except the metrics route', t => {
  const isUnder = ({path}: Route) => PREFIXES.some(prefix => path === prefix || path.startsWith(`${prefix}/`))
  t.deepEqual(
    backoffice.filter(route => !isUnder(route)).map(({path}) => path),
    ['/metrics'],
  )
  t.deepEqual(
    routes.filter(isUnder),
    backoffice.filter(({path}) => path !== '/metrics'),
  )
})
test('a request without a bearer is refused', t => refuses(t, {}, required))
test('an authorization scheme other than Bearer is refused as no bearer', t =>
  refuses(t, {authorization: `Basic ${house.adminToken}`}, required))
test('an unknown bearer is refused', t => refuses(t, bearer('garbage'), unknown))
test('ADMIN_TOKEN with one more letter is an unknown bearer', t => refuses(t, bearer(`${house.adminToken}x`), unknown))
test('a made-up API token is an unknown bearer', t => refuses(t, bearer(mintSecret().secret), unknown))
test('a customer session is refused in the backoffice', async t => refuses(t, bearer((await house.makeOrg()).token), required))
test('an API token is refused in the backoffice', async t => refuses(t, bearer(await mint(await house.makeOrg())), required))
test('an API token of a staff member is only a token of its org', async t => {
  const place = await house.makeOrg()
  await operator('POST', '/staff/people', {person: place.person})
  await refuses(t, bearer(await mint(place)), required)
})
test('a view token of a staff member is only valid in its org', async t => {
  const {org} = await house.makeOrg()
  await refuses(t, bearer(await house.openView({org, write: true})), required)
})
test('an expired session is an unknown bearer', async t => {
  const token = await openSession(house.db, house.config, {person: staff.person, org: null, role: null})
  const id = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).sub
  await house.db.query(sql.unsafe`update sessions set expires_at = lading_now() where id = ${id}`)
  await refuses(t, bearer(token), unknown)
})
test('a revoked API token is refused as revoked', async t => {
  const place = await house.makeOrg()
  const secret = await mint(place)
  await house.db.query(sql.unsafe`update api_tokens set revoked_at = lading_now() where org_id = ${place.org}`)
  await refuses(t, bearer(secret), [401, 'TOKEN_REVOKED'])
})
test('a banned person is refused as banned', async t => {
  const {person, token} = await house.makeOrg()
  await house.db.query(sql.unsafe`update people set banned_at = lading_now() where id = ${person}`)
  await refuses(t, bearer(token), [403, 'BANNED'])
})

const refused = ['AUTH_REQUIRED', 'ADMIN_REQUIRED', 'SESSION_REQUIRED', 'BANNED', 'INTERNAL']
test('the operator may call every backoffice route except those that must name a person', async t => {
  t.plan(backoffice.length)
  for (const {method, path, access} of backoffice) {
    const answer = await operator(method.toUpperCase(), path.replaceAll(/:\w+/g, 'none'), method === 'get' ? undefined : '{not json')
    if ('sessionOnly' in access) t.deepEqual(outcomeOf(answer), [403, 'SESSION_REQUIRED'])
    else t.false(refused.includes(answer.body.code), `${method} ${path}: ${answer.text}`)
  }
})

test('staff may call every backoffice route except those of the operator alone', async t => {
  t.plan(backoffice.length)
  for (const {method, path, access} of backoffice) {
    const ask = house.as(staff.token)
    const answer = await ask(method.toUpperCase(), path.replaceAll(/:\w+/g, 'none'), method === 'get' ? undefined : '{not json')
    if ('operator' in access) t.deepEqual(outcomeOf(answer), required)
    else t.false(refused.includes(answer.body.code), `${method} ${path}: ${answer.text}`)
  }
})

test('staff and the operator get 404 for unknown paths and 405 for wrong methods', async t => {
  for (const call of [operator, house.as(staff.token)]) {
    for (const prefix of PREFIXES) t.deepEqual(outcomeOf(await call('GET', `${prefix}/nothing`)), [404, 'NOT_FOUND'])
    const wrong = await call('PUT', '/staff/people')
    t.deepEqual(outcomeOf(wrong), [405, 'METHOD_NOT_ALLOWED'])
    t.regex(wrong.headers.get('allow')!, /POST/)
  }
  t.deepEqual(outcomeOf(await house.as(null)('GET', '/staffing')), [404, 'NOT_FOUND'], 'another word is another address')
})

test('ADMIN_TOKEN gives access to the backoffice only', async t => {
  const {org} = await house.makeOrg()
  for (const path of ['/auth/me', `/orgs/${org}/tokens`]) t.deepEqual(outcomeOf(await operator('GET', path)), unknown)
})

test('no bearer is the operator when ADMIN_TOKEN is not set', async t => {
  const own = await startTestDeployment(t, {environment: {ADMIN_TOKEN: ''}})
  t.is(own.config.ADMIN_TOKEN, undefined)
  for (const token of [house.adminToken, 'undefined', 'null'])
    t.deepEqual(outcomeOf(await own.as(token)('GET', '/staff/people')), unknown, token)
  t.deepEqual(outcomeOf(await own.as('')('GET', '/staff/people')), required)
})

test('the service does not start with an ADMIN_TOKEN that is short or contains a blank', t => {
  t.throws(() => readConfig({ADMIN_TOKEN: 'x'.repeat(31)}), {message: /ADMIN_TOKEN: At least 32/})
  t.throws(() => readConfig({ADMIN_TOKEN: `${'x'.repeat(32)} y`}), {message: /ADMIN_TOKEN: Letters/})
  t.is(readConfig({ADMIN_TOKEN: 'x'.repeat(32)}).ADMIN_TOKEN, 'x'.repeat(32))
})

test('a ban applies from the next request to every bearer of the person, until it is lifted', async t => {
  const place = await house.makeOrg()
  const bearers = [place.token, await mint(place)]
  const {person} = place
  const sol = house.as(staff.token)
  const {status, body} = await sol('POST', `/staff/people/${person}/ban`, {reason: 'abuse'})
  t.is(status, 200)
  t.is(body.person.id, person)
  t.truthy(body.person.bannedAt)
  for (const one of bearers) t.deepEqual(outcomeOf(await house.as(one)('GET', `/orgs/${place.org}/tokens`)), [403, 'BANNED'])
  t.deepEqual((await operator('POST', `/staff/people/${person}/ban`, {reason: 'again'})).body, body, 'a second ban changes nothing')
  t.is((await operator('POST', `/staff/people/${person}/unban`)).body.person.bannedAt, null)
  for (const one of bearers) t.is((await house.as(one)('GET', `/orgs/${place.org}/tokens`)).status, 200)
  const {actions} = (await operator('GET', '/staff/actions?limit=500')).body
  const about = actions.filter((one: {person: string}) => one.person === person)
  t.like(about[1], {kind: 'ban', reason: 'abuse', org: null, staff: {id: staff.person, name: 'Sol', email: 'sol@staff.example'}})
  t.like(about[0], {kind: 'unban', reason: null, staff: null})
  t.is(about.length, 2)
})

test('a banned person cannot sign in, and the page gives the reason', async t => {
  const {user} = (await house.as(await house.signIn('zoe@other.example'))('GET', '/auth/me')).body
  await operator('POST', `/staff/people/${user.id}/ban`, {reason: 'abuse'})
  const visit = await beginVisit(house.as(null))
  const page = await comeBack(house.as(null), await consent(visit, {user: 'zoe@other.example'}), visit.cookie)
  t.is(page.status, 403)
  t.regex(page.text, /blocked/)
  t.false(page.text.includes('id="message"'))
  await operator('POST', `/staff/people/${user.id}/unban`)
  t.truthy(await house.signIn('zoe@other.example'))
})

test('a closed org refuses sessions and API tokens until it is reopened', async t => {
  const place = await house.makeOrg()
  const bearers = [place.token, await mint(place)]
  const path = `/orgs/${place.org}/tokens`
  const {body} = await house.as(staff.token)('POST', `/staff/orgs/${place.org}/close`, {reason: 'unpaid'})
  t.like(body.org, {id: place.org, name: 'Test Org'})
  t.truthy(body.org.closedAt)
  for (const one of bearers) t.deepEqual(outcomeOf(await house.as(one)('GET', path)), [403, 'ORG_CLOSED'])
  t.deepEqual((await operator('POST', `/staff/orgs/${place.org}/close`, {reason: 'again'})).body, body)
  t.is((await operator('POST', `/staff/orgs/${place.org}/reopen`, {reason: 'paid'})).body.org.closedAt, null)
  for (const one of bearers) t.is((await house.as(one)('GET', path)).status, 200)
  t.deepEqual(await kindsOn(place.org), ['reopen', 'close'])
})

test('banning a person and closing an org need a reason and an existing target', async t => {
  const {person, org} = await house.makeOrg()
  for (const path of [`/staff/people/${person}/ban`, `/staff/orgs/${org}/close`, `/staff/orgs/${org}/erase`]) {
    for (const body of [{}, {reason: ' '}, {reason: 'x'.repeat(1001)}, {reason: 'x', more: 1}])
      t.deepEqual(outcomeOf(await operator('POST', path, body)), [400, 'INVALID'], `${path} ${JSON.stringify(body).slice(0, 40)}`)
  }
  for (const path of [
    'people/none/ban',
    'people/none/unban',
    'people/none/delete',
    'orgs/none/close',
    'orgs/none/reopen',
    'orgs/none/erase',
  ])
    t.deepEqual(outcomeOf(await operator('POST', `/staff/${path}`, {reason: 'x'})), [404, 'NOT_FOUND'], path)
  t.deepEqual(outcomeOf(await operator('GET', '/staff/orgs/none/erasure')), [404, 'NOT_FOUND'])
  t.is((await house.as(staff.token)('GET', '/staff/people/search?email=none@none.example')).body.people.length, 0)
})

test('staff actions are listed newest first, in pages, for one org or all', async t => {
  const {org} = await house.makeOrg()
  for (let n = 0; n < 3; n++) {
    await operator('POST', `/staff/orgs/${org}/close`, {reason: `${n}`})
    await operator('POST', `/staff/orgs/${org}/reopen`)
  }
  const list = `/staff/actions?org=${org}`
  const reasons: (string | null)[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const {body}: {body: any} = await operator('GET', `${list}&limit=4${cursor && `&cursor=${cursor}`}`)
    t.true(body.actions.length <= 4)
    reasons.push(...body.actions.map(({reason}: {reason: string | null}) => reason))
    cursor = body.nextCursor
  }
  t.deepEqual(reasons, [null, '2', null, '1', null, '0'])
  const all = (await operator('GET', '/staff/actions?limit=1')).body
  t.is(all.actions.length, 1)
  t.deepEqual(
    outcomeOf(await operator('GET', `${list}&cursor=${all.nextCursor}`)),
    [400, 'INVALID_CURSOR'],
    'a cursor is good for its list',
  )
  t.is((await operator('GET', '/staff/actions?org=org_none')).body.actions.length, 0)
  const [newest] = (await operator('GET', list)).body.actions
  t.deepEqual(Object.keys(newest).sort(), ['createdAt', 'detail', 'id', 'kind', 'org', 'person', 'reason', 'staff'])
})
