import {readFile} from 'node:fs/promises'
import test, {type ExecutionContext} from 'ava'
import type {Gates} from '../api/access.ts'
import {routes} from '../api/app.ts'
import type {Route} from '../api/route.ts'
import {mintSecret} from '../shared/people/api-token.ts'
import {ROLES, type Role} from '../shared/people/roles.ts'
import {openSession} from '../shared/people/session.ts'
import {sql} from '../sql/database.ts'
import {type World, world} from './world.ts'

/** Every route × every gate: the table of routes is walked, so a new route is tested by being there. */
type Guarded = Route & {access: Gates}

let house: World
let home: {org: string; person: string; token: string}
let secret: string

const guarded = routes.filter((route): route is Guarded => 'role' in route.access)
const inOrg = guarded.filter(({path}) => path.includes('/:org'))

test.before(async t => {
  house = await world(t)
  home = await house.makeOrg()
  secret = await mint(home)
})

const mint = async ({token, org}: {token: string; org: string}, body: object = {name: 'ci'}): Promise<string> => {
  const {body: made} = await house.as(token)('POST', `/orgs/${org}/tokens`, body)
  return made.secret
}

const pathOf = ({path}: Route, org: string) => path.replace('/:org', `/${org}`).replaceAll(/:\w+/g, 'none')

/** Says nothing a schema would take, so that a refusal is the gate's. */
const knock = (route: Route, bearer: string | null, org = home.org, headers = {}) =>
  house.as(bearer)(route.method.toUpperCase(), pathOf(route, org), route.method === 'get' ? undefined : '{not json', {
    'content-type': 'application/json',
    ...headers,
  })

type Expected = {status: number; code: string}

const refuses = async (t: ExecutionContext, list: Guarded[], expected: Expected, ask: (route: Guarded) => ReturnType<typeof knock>) => {
  t.plan(list.length)
  const answers = await Promise.all(list.map(async route => ({route, answer: await ask(route)})))
  for (const {route, answer} of answers) {
    t.deepEqual({status: answer.status, code: answer.body.code}, expected, `${route.method} ${route.path}: ${answer.text}`)
  }
}

const GATES = [
  'AUTH_REQUIRED',
  'TOKEN_REVOKED',
  'TOKEN_EXPIRED',
  'ORG_NOT_FOUND',
  'MEMBERSHIP_GONE',
  'BANNED',
  'NO_ORG',
  'OTHER_ORG',
  'ORG_CLOSED',
]

/** Past every gate: whatever the route makes of what it was sent. */
const admits = async (t: ExecutionContext, list: Guarded[], ask: (route: Guarded) => ReturnType<typeof knock>) => {
  t.plan(list.length)
  const answers = await Promise.all(list.map(async route => ({route, answer: await ask(route)})))
  for (const {route, answer} of answers) {
    t.false(
      [...GATES, 'SESSION_REQUIRED', 'ROLE_REQUIRED', 'INTERNAL'].includes(answer.body.code),
      `${route.method} ${route.path}: ${answer.text}`,
    )
  }
}

test('the table has routes, each of its own method and path', t => {
  const names = routes.map(({method, path}) => `${method} ${path}`)
  t.true(guarded.length > 5)
  t.deepEqual(names, [...new Set(names)])
})

test('the README lists every route with who may, and no other', async t => {
  const readme = await readFile(new URL('../api/README.md', import.meta.url), 'utf8')
  const listed = [...readme.matchAll(/^\| (GET|POST|PUT|PATCH|DELETE) \| `([^`]+)` \| (\w+)/gm)].map(([, ...parts]) => parts.join(' '))
  const known = routes.map(({method, path, access}) => `${method.toUpperCase()} ${path} ${whoMay(access)}`)
  t.deepEqual(listed.sort(), known.sort())
})

const whoMay = (access: Route['access']) => {
  if ('public' in access) return 'everybody'
  if ('role' in access) return access.role
  return 'operator' in access ? 'ADMIN_TOKEN' : 'staff'
}

test('only what the specification opens to everybody is public', t => {
  const open = routes.filter(({access}) => 'public' in access).map(({path}) => path)
  t.deepEqual(open.sort(), ['/auth/zoho/callback', '/auth/zoho/start', '/health', '/robots.txt'])
})

const required = {status: 401, code: 'AUTH_REQUIRED'}
test('no bearer', t => refuses(t, guarded, required, route => knock(route, null)))
test('garbage as a bearer', t => refuses(t, guarded, required, route => knock(route, 'garbage.and.more')))
test('a session in place of its signature', t => refuses(t, guarded, required, route => knock(route, `${home.token}x`)))
test('an API token nobody made', t => refuses(t, guarded, required, route => knock(route, mintSecret().secret)))
test('an API token with a typing error', t => refuses(t, guarded, required, route => knock(route, `${secret.slice(0, -1)}!`)))
test('another scheme', t => refuses(t, guarded, required, route => knock(route, null, home.org, {authorization: `Basic ${home.token}`})))

test('a session that is over', async t => {
  const {db, config} = house
  const token = await openSession(db, config, {...home, role: 'owner'})
  await db.query(sql.unsafe`update sessions set expires_at = lading_now() where id = ${sessionOf(token)}`)
  await refuses(t, guarded, required, route => knock(route, token))
})

test('a session whose row is gone', async t => {
  const token = await openSession(house.db, house.config, {...home, role: 'owner'})
  await house.db.query(sql.unsafe`delete from sessions where id = ${sessionOf(token)}`)
  await refuses(t, guarded, required, route => knock(route, token))
})

const sessionOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).sub

test('a revoked API token', async t => {
  const revoked = await mint(home)
  await house.db.query(sql.unsafe`update api_tokens set revoked_at = lading_now() where prefix = ${revoked.slice(0, 11)}`)
  await refuses(t, guarded, {status: 401, code: 'TOKEN_REVOKED'}, route => knock(route, revoked))
})

test('an expired API token', async t => {
  const expired = await mint(home, {name: 'old', expiresAt: new Date(Date.now() + 60_000).toISOString()})
  await house.db.query(sql.unsafe`update api_tokens set expires_at = lading_now() where prefix = ${expired.slice(0, 11)}`)
  await refuses(t, guarded, {status: 401, code: 'TOKEN_EXPIRED'}, route => knock(route, expired))
})

for (const via of ['session', 'token'] as const) {
  const bearerOf = async (place: {token: string; org: string}) => (via === 'session' ? place.token : mint(place))
  // An API token is an admin, whoever made it.
  const open = via === 'session' ? guarded : guarded.filter(({access}) => !access.sessionOnly && access.role !== 'owner')

  test(`a ${via} whose org is gone`, async t => {
    const gone = await house.makeOrg()
    const bearer = await bearerOf(gone)
    await house.db.query(sql.unsafe`delete from orgs where id = ${gone.org}`)
    await refuses(t, guarded, {status: 401, code: 'ORG_NOT_FOUND'}, route => knock(route, bearer, gone.org))
  })

  test(`a ${via} whose member is gone`, async t => {
    const gone = await house.makeOrg()
    const bearer = await bearerOf(gone)
    await house.db.query(sql.unsafe`delete from members where org_id = ${gone.org}`)
    await refuses(t, guarded, {status: 401, code: 'MEMBERSHIP_GONE'}, route => knock(route, bearer, gone.org))
  })

  test(`a ${via} whose person is gone`, async t => {
    const gone = await house.makeOrg()
    const bearer = await bearerOf(gone)
    await house.db.query(sql.unsafe`delete from people where id = ${gone.person}`)
    await refuses(t, guarded, {status: 401, code: 'MEMBERSHIP_GONE'}, route => knock(route, bearer, gone.org))
  })

  test(`a ${via} of a banned person, before all else`, async t => {
    const banned = await house.makeOrg({role: 'admin'})
    const bearer = await bearerOf(banned)
    await house.db.query(sql.unsafe`update people set banned_at = lading_now() where id = ${banned.person}`)
    await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${banned.org}`)
    await refuses(t, guarded, {status: 403, code: 'BANNED'}, route => knock(route, bearer, home.org))
  })

  test(`a ${via} of another org, whether that exists or not`, async t => {
    const other = await house.makeOrg()
    const bearer = via === 'session' ? home.token : secret
    await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${other.org}`)
    t.plan(2 * inOrg.length)
    for (const org of [other.org, 'org_none']) {
      for (const route of inOrg) {
        const {status, body} = await knock(route, bearer, org)
        t.deepEqual({status, code: body.code}, {status: 403, code: 'OTHER_ORG'}, `${route.method} ${route.path}`)
      }
    }
  })

  test(`a ${via} of a closed org`, async t => {
    const closed = await house.makeOrg()
    const bearer = await bearerOf(closed)
    await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${closed.org}`)
    const shut = guarded.filter(({access}) => !access.closedOrg)
    await refuses(t, shut, {status: 403, code: 'ORG_CLOSED'}, route => knock(route, bearer, closed.org))
  })

  test(`a ${via} with the rank a route asks for is let in`, async t => {
    const places = new Map<Role, string>()
    for (const role of ROLES) places.set(role, via === 'session' ? (await house.makeOrg({role, org: home.org})).token : secret)
    await admits(t, open, route => knock(route, places.get(route.access.role)!))
  })
}

test('a session in no org', async t => {
  const {person} = await house.makeOrg()
  const token = await openSession(house.db, house.config, {person, org: null, role: null})
  await refuses(
    t,
    guarded.filter(({access}) => !access.noOrg),
    {status: 403, code: 'NO_ORG'},
    route => knock(route, token),
  )
})

test('what is open to sessions in no org and to closed orgs is open to them', async t => {
  const {person, org, token} = await house.makeOrg()
  await house.db.query(sql.unsafe`update orgs set closed_at = lading_now() where id = ${org}`)
  const alone = await openSession(house.db, house.config, {person, org: null, role: null})
  const both = guarded.filter(({access}) => access.noOrg && access.closedOrg)
  t.deepEqual(both.map(({path}) => path).sort(), ['/auth/invitations', '/auth/invitations/:id/accept', '/auth/me', '/auth/session/refresh'])
  for (const route of both) {
    const status = route.path.includes(':id') ? 404 : 200
    t.is((await knock(route, alone)).status, status, route.path)
    t.is((await knock(route, token)).status, status, route.path)
  }
})

test('every session-only route refuses an API token, whatever its rank', t => {
  const sessionOnly = guarded.filter(({access}) => access.sessionOnly)
  return refuses(t, sessionOnly, {status: 403, code: 'SESSION_REQUIRED'}, route => knock(route, secret))
})

test('every rank below the one a route asks for', async t => {
  const operator = await house.makeOrg({role: 'operator', org: home.org})
  const builder = await house.makeOrg({role: 'builder', org: home.org})
  const admin = await house.makeOrg({role: 'admin', org: home.org})
  const above = (low: Role) => guarded.filter(({access}) => ROLES.indexOf(access.role) > ROLES.indexOf(low))
  t.plan(above('operator').length + above('builder').length + above('admin').length)
  for (const [low, {token}] of [
    ['operator', operator],
    ['builder', builder],
    ['admin', admin],
  ] as const) {
    for (const route of above(low)) {
      const {status, body} = await knock(route, token)
      t.deepEqual({status, code: body.code}, {status: 403, code: 'ROLE_REQUIRED'}, `${low} at ${route.method} ${route.path}`)
    }
  }
})

test('a member who was lowered since the session began loses the rank at once', async t => {
  const {token, person} = await house.makeOrg({role: 'admin', org: home.org})
  t.is((await house.as(token)('GET', `/orgs/${home.org}/tokens`)).status, 200)
  await house.db.query(sql.unsafe`update members set role = 'operator' where person_id = ${person}`)
  t.is((await house.as(token)('GET', `/orgs/${home.org}/tokens`)).body.code, 'ROLE_REQUIRED')
})

test('a member who was raised gains the rank by a refresh', async t => {
  const {token, person} = await house.makeOrg({role: 'operator', org: home.org})
  await house.db.query(sql.unsafe`update members set role = 'admin' where person_id = ${person}`)
  t.is((await house.as(token)('GET', `/orgs/${home.org}/tokens`)).body.code, 'ROLE_REQUIRED')
  const {body} = await house.as(token)('POST', '/auth/session/refresh')
  t.is((await house.as(body.token)('GET', `/orgs/${home.org}/tokens`)).status, 200)
  t.is((await house.as(body.token)('GET', '/auth/me')).body.role, 'admin')
})
