import {readFile} from 'node:fs/promises'
import test, {type ExecutionContext} from 'ava'
import {ACCESS} from '../api/oauth/tokens.ts'
import type {Route} from '../api/route.ts'
import {routes} from '../api/routes.ts'
import {ROLES, type Role} from '../shared/accounts/roles.ts'
import {openSession} from '../shared/accounts/session.ts'
import {mintSecret} from '../shared/accounts/token-secret.ts'
import {newId} from '../shared/ids.ts'
import {sql} from '../sql/database.ts'
import {insertGrant, insertTokens} from '../sql/oauth-grants.ts'
import {type Row, rows} from './support/access-rows.ts'
import {embedBearers} from './support/embed.ts'
import {register} from './support/oauth-client.ts'
import {startTestDeployment, type TestDeployment} from './support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const nameOf = ({method, path}: Route) => `${method.toUpperCase()} ${path}`

test('every route has a row in the permission table, and every row has a route', t => {
  t.deepEqual(routes.map(nameOf).sort(), Object.keys(rows).sort())
})

test('docs/access.md lists every route with the role it needs, and no other', async t => {
  const page = await readFile(new URL('../docs/access.md', import.meta.url), 'utf8')
  const listed = [...page.matchAll(/^\| (GET|POST|PUT|PATCH|DELETE) \| `([^`]+)` \| (\w+)/gm)].map(([, ...parts]) => parts.join(' '))
  const known = routes.map(({method, path, access}) => `${method.toUpperCase()} ${path} ${whoMay(access)}`)
  t.deepEqual(listed.sort(), known.sort())
})

const whoMay = (access: Route['access']) => {
  if ('public' in access) return 'everybody'
  if ('role' in access) return access.role
  return 'operator' in access ? 'ADMIN_TOKEN' : 'staff'
}

/** A bearer and what the gates know about it. `refused`: the response of every route that reads a bearer. */
type Bearer = {
  token: string | null
  org: string
  role?: Role | null
  api?: true
  /** True for the token of an MCP client with consent. */
  client?: true
  /** True for an embed token that created no import. */
  embed?: true
  refused?: [number, string]
  state?: 'banned' | 'closed' | 'other org' | 'no org'
  view?: 'read' | 'write'
  staff?: true
  operator?: true
}

const GATES = new Set([
  'AUTH_REQUIRED',
  'TOKEN_REVOKED',
  'TOKEN_EXPIRED',
  'ORG_NOT_FOUND',
  'MEMBERSHIP_GONE',
  'BANNED',
  'NO_ORG',
  'OTHER_ORG',
  'ORG_CLOSED',
  'SESSION_REQUIRED',
  'ROLE_REQUIRED',
  'STAFF_VIEW',
  'IMPERSONATION_READ_ONLY',
  'IMPERSONATION_REFUSED',
  'ADMIN_REQUIRED',
  'INTERNAL',
])
type ExpectedAnswer = [number, string] | 'let in'

/** Returns the expected response. The order of the checks is the order in which the gates must refuse. */
const expectedAt = (row: Row, path: string, bearer: Bearer): ExpectedAnswer => {
  if (row.who === 'everybody') return 'let in'
  if (row.who === 'staff' || row.who === 'operator with ADMIN_TOKEN') return expectedInside(row, bearer)
  if (bearer.operator || bearer.token === null) return [401, 'AUTH_REQUIRED']
  if (bearer.refused) return bearer.refused
  if (bearer.state === 'banned') return [403, 'BANNED']
  if (bearer.state === 'no org') return row.anyOrg ? 'let in' : [403, 'NO_ORG']
  if (bearer.state === 'other org' && path.includes('/:org')) return [403, 'OTHER_ORG']
  if (bearer.state === 'closed' && !row.anyOrg) return [403, 'ORG_CLOSED']
  if (bearer.client && !row.client) return [403, 'SESSION_REQUIRED']
  if (bearer.embed && !row.embed) return [403, 'SESSION_REQUIRED']
  if (bearer.embed && row.embed === 'own') return [404, 'IMPORT_NOT_FOUND']
  if ((row.person || row.session) && bearer.api) return [403, 'SESSION_REQUIRED']
  if (bearer.view && row.person) return [403, 'STAFF_VIEW']
  if (bearer.view === 'read' && row.effect !== 'read') return [403, 'IMPERSONATION_READ_ONLY']
  if (bearer.view && ['money', 'publisher', 'access'].includes(row.effect)) return [403, 'IMPERSONATION_REFUSED']
  return ROLES.indexOf(bearer.role!) >= ROLES.indexOf(row.who) ? 'let in' : [403, 'ROLE_REQUIRED']
}

/** Returns the expected response of a backoffice route. No bearer, a customer's session and an API token get 403; an unknown bearer gets 401. */
const expectedInside = (row: Extract<Row, {who: 'staff' | 'operator with ADMIN_TOKEN'}>, bearer: Bearer): ExpectedAnswer => {
  if (bearer.operator) return 'session' in row ? [403, 'SESSION_REQUIRED'] : 'let in'
  if (bearer.token === null) return [403, 'ADMIN_REQUIRED']
  if (bearer.refused) return bearer.refused
  if (bearer.state === 'banned') return [403, 'BANNED']
  return bearer.staff && row.who === 'staff' ? 'let in' : [403, 'ADMIN_REQUIRED']
}

/** Calls a route so that an admitted request changes nothing: with ids that do not exist, except the org's, and, unless GET, a broken body. */
const knock = (route: Route, {token, org}: Bearer) =>
  house.as(token)(
    route.method.toUpperCase(),
    route.path.replace('/:org', `/${org}`).replaceAll(/:\w+/g, 'none'),
    route.method === 'get' ? undefined : '{not json',
    {'content-type': 'application/json'},
  )

/** Whether the route is the sign-out. The test calls it last, because it ends the bearer. */
const isSignOut = (route: Route) => nameOf(route) === 'DELETE /auth/session'

const walk = async (t: ExecutionContext, bearer: Bearer) => {
  const tell = async (route: Route) => {
    const {status, body} = await knock(route, bearer)
    const code = typeof body === 'object' ? (body?.code ?? null) : null
    // Only an embed token gets IMPORT_NOT_FOUND from a gate. Other bearers get this code from the handler, so they were let in.
    const isGate = GATES.has(code) || (bearer.embed && code === 'IMPORT_NOT_FOUND')
    return [nameOf(route), isGate ? [status, code] : 'let in'] as const
  }
  const told = await Promise.all(routes.filter(route => !isSignOut(route)).map(tell))
  told.push(await tell(routes.find(isSignOut)!))
  const expected = routes.map(route => [nameOf(route), expectedAt(rows[nameOf(route)]!, route.path, bearer)] as const)
  t.deepEqual(Object.fromEntries(told), Object.fromEntries(expected))
}

const run = (text: string, value: string) => house.db.query({...sql.unsafe``, sql: text, values: [value]} as never)
const mint = async ({org, token}: {org: string; token: string}) =>
  (await house.as(token)('POST', `/orgs/${org}/tokens`, {name: 'm'})).body.secret
const withToken = async () => {
  const home = await house.makeOrg()
  return {...home, token: await mint(home)}
}
/** Inserts a grant directly; `test/api/oauth.test.ts` tests the real flow. */
const withGrant = async () => {
  const home = await house.makeOrg()
  const client = await register(house)
  const {secret, hash} = mintSecret(ACCESS)
  await house.db.transaction(async tx => {
    const grant = await insertGrant(tx, {id: newId('ogr'), org: home.org, person: home.person, client})
    await insertTokens(tx, {grant: grant!.id, access: hash, refresh: mintSecret().hash, accessSeconds: 600, refreshSeconds: 600})
  })
  return {org: home.org, role: 'owner' as const, token: secret}
}
const AUTH: [number, string] = [401, 'AUTH_REQUIRED']

const GONE = [
  ['org', 'delete from orgs where id = $1', 'ORG_NOT_FOUND'],
  ['member', 'delete from members where org_id = $1', 'MEMBERSHIP_GONE'],
  ['person', 'delete from people where id in (select person_id from members where org_id = $1)', 'MEMBERSHIP_GONE'],
] as const

const lose = async (home: {org: string; token: string}, text: string, code: string): Promise<Bearer> => {
  await run(text, home.org)
  return {...home, refused: [401, code]}
}

const bearers: Record<string, () => Promise<Bearer>> = {
  'no bearer': async () => ({token: null, org: 'org_none'}),
  'a malformed bearer': async () => ({token: 'garbage.and.more', org: 'org_none', refused: AUTH}),
  'an expired session': async () => {
    const home = await house.makeOrg()
    await run('update sessions set expires_at = lading_now() where person_id = $1', home.person)
    return {...home, refused: AUTH}
  },
  ...Object.fromEntries(ROLES.map(role => [`a session of rank ${role}`, async () => ({...(await house.makeOrg({role})), role})])),
  'a session whose row is gone': async () => {
    const home = await house.makeOrg()
    await run('delete from sessions where person_id = $1', home.person)
    return {...home, refused: AUTH}
  },
  'a session with another signature': async () => {
    const home = await house.makeOrg()
    return {...home, token: `${home.token}x`, refused: AUTH}
  },
  'an API token': async () => ({...(await withToken()), role: 'admin', api: true}),
  'an access token of an MCP client': async () => ({...(await withGrant()), client: true}),
  'an access token of an MCP client in a closed org': async () => {
    const home = await withGrant()
    await run('update orgs set closed_at = lading_now() where id = $1', home.org)
    return {...home, client: true, state: 'closed'}
  },
  'a revoked access token': async () => {
    const home = await withGrant()
    await run('update oauth_grants set revoked_at = lading_now() where org_id = $1', home.org)
    return {...home, refused: [401, 'TOKEN_REVOKED']}
  },
  'an access token whose member is gone': async () => {
    const home = await withGrant()
    await run('delete from members where org_id = $1', home.org)
    return {...home, refused: AUTH}
  },
  ...embedBearers(() => house, withToken),
  'an unknown API token': async () => ({token: mintSecret().secret, org: 'org_none', refused: AUTH}),
  'an API token with a typing error': async () => {
    const home = await withToken()
    return {...home, token: `${home.token.slice(0, -1)}!`, refused: AUTH}
  },
  'a revoked API token': async () => {
    const {token, ...home} = await withToken()
    await run('update api_tokens set revoked_at = lading_now() where org_id = $1', home.org)
    return {...home, token, refused: [401, 'TOKEN_REVOKED']}
  },
  'an expired API token': async () => {
    const {token, ...home} = await withToken()
    await run('update api_tokens set expires_at = lading_now() where org_id = $1', home.org)
    return {...home, token, refused: [401, 'TOKEN_EXPIRED']}
  },
  ...Object.fromEntries(
    GONE.flatMap(([what, text, code]) => [
      [`a session whose ${what} is gone`, async () => lose(await house.makeOrg(), text, code)],
      [`an API token whose ${what} is gone`, async () => lose(await withToken(), text, code)],
    ]),
  ),
  'a staff view for reading': async () => {
    const {org} = await house.makeOrg()
    return {token: await house.openView({org}), org, role: 'admin', view: 'read'}
  },
  'a staff view that may write': async () => {
    const {org} = await house.makeOrg()
    return {token: await house.openView({org, write: true}), org, role: 'admin', view: 'write'}
  },
  'a staff view of a closed org': async () => {
    const {org} = await house.makeOrg()
    const token = await house.openView({org})
    await run('update orgs set closed_at = lading_now() where id = $1', org)
    return {token, org, role: 'admin', view: 'read', state: 'closed'}
  },
  'a staff session': async () => ({token: (await house.makeStaff()).token, org: 'org_none', staff: true, state: 'no org'}),
  ADMIN_TOKEN: async () => ({token: house.adminToken, org: 'org_none', operator: true}),
  'a banned person in a closed org, refused for the ban': async () => {
    const home = await house.makeOrg()
    await run('update people set banned_at = lading_now() where id = $1', home.person)
    await run('update orgs set closed_at = lading_now() where id = $1', home.org)
    return {...home, role: 'owner', state: 'banned'}
  },
  'an API token of a banned person': async () => {
    const {token, ...home} = await withToken()
    await run('update people set banned_at = lading_now() where id = $1', home.person)
    return {...home, token, role: 'admin', api: true, state: 'banned'}
  },
  'a session in no org': async () => {
    const {person} = await house.makeOrg()
    return {token: await openSession(house.db, house.config, {person, org: null, role: null}), org: 'org_none', state: 'no org'}
  },
  'a session of a closed org': async () => {
    const home = await house.makeOrg()
    await run('update orgs set closed_at = lading_now() where id = $1', home.org)
    return {...home, role: 'owner', state: 'closed'}
  },
  'an API token of a closed org': async () => {
    const {token, ...home} = await withToken()
    await run('update orgs set closed_at = lading_now() where id = $1', home.org)
    return {...home, token, role: 'admin', api: true, state: 'closed'}
  },
  'a session of another org': async () => {
    const [mine, theirs] = await Promise.all([house.makeOrg(), house.makeOrg()])
    return {token: mine.token, org: theirs.org, role: 'owner', state: 'other org'}
  },
  'an API token of another org': async () => {
    const [mine, theirs] = await Promise.all([house.makeOrg(), house.makeOrg()])
    return {token: await mint(mine), org: theirs.org, role: 'admin', api: true, state: 'other org'}
  },
}

// The bearers are tested one after another, because all at once would open thousands of connections and time out.
for (const [what, make] of Object.entries(bearers))
  test.serial(`every route answers ${what} by the permission table`, async t => walk(t, await make()))

test('an authorization scheme other than Bearer is refused', async t => {
  const {token} = await house.makeOrg()
  const {status, body} = await house.as(null)('GET', '/auth/me', undefined, {authorization: `Basic ${token}`})
  t.like({status, ...body}, {status: 401, code: 'AUTH_REQUIRED'})
})

test('a demoted member loses the rank at once', async t => {
  const {token, person, org} = await house.makeOrg({role: 'admin'})
  t.is((await house.as(token)('GET', `/orgs/${org}/tokens`)).status, 200)
  await house.db.query(sql.unsafe`update members set role = 'operator' where person_id = ${person}`)
  t.is((await house.as(token)('GET', `/orgs/${org}/tokens`)).body.code, 'ROLE_REQUIRED')
})

test('a promoted member gains the rank at the next refresh', async t => {
  const {token, person, org} = await house.makeOrg({role: 'operator'})
  await house.db.query(sql.unsafe`update members set role = 'admin' where person_id = ${person}`)
  t.is((await house.as(token)('GET', `/orgs/${org}/tokens`)).body.code, 'ROLE_REQUIRED')
  const {body} = await house.as(token)('POST', '/auth/session/refresh')
  t.is((await house.as(body.token)('GET', `/orgs/${org}/tokens`)).status, 200)
  t.is((await house.as(body.token)('GET', '/auth/me')).body.role, 'admin')
})
