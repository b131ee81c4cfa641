import test from 'ava'
import pg from 'pg'
import {z} from 'zod'
import {listen} from '../../api/listen.ts'
import type {Route} from '../../api/route.ts'
import {routes} from '../../api/routes.ts'
import {sql} from '../../sql/database.ts'
import {goodBodies} from '../fuzz/good-bodies.ts'
import {withIds} from '../fuzz/requests.ts'
import {openCalls} from '../support/client.ts'
import {fillOrg, type Ids, parametersOf} from '../support/filled-org.ts'
import {openOrg} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {texts} from './hostile-json.ts'

/** A deployment whose org has one resource of every kind. */
let house: TestDeployment
let ids: Ids
let bearers: {owner: string; staff: string; operator: string}

test.before(async t => {
  house = await startTestDeployment(t, {
    workers: ['imports', 'discovery', 'writes'],
    environment: {RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'},
  })
  const org = await openOrg(house)
  const victim = await house.makeOrg()
  const {token: staff} = await house.makeStaff()
  ids = {...(await fillOrg(house, org, 'ana@example.org')), people: victim.person, orgs: victim.org}
  bearers = {owner: org.session, staff, operator: house.adminToken}
})

const nameOf = ({method, path}: Route) => `${method.toUpperCase()} ${path}`
/** Returns a bearer that may use the route, or null for a public one. */
const bearerOf = ({access}: Route) =>
  'public' in access
    ? null
    : 'role' in access
      ? bearers.owner
      : 'backoffice' in access && access.sessionOnly
        ? bearers.staff
        : bearers.operator

/* S10. Input of a caller never becomes part of a statement, a header or an internal error message */

const marker = 'pr0be'
const probe = `${marker}' or pg_sleep(9) is null; --\r\nx-${marker}: 1\\" $1 :x {{7*7}} \u2028`
const statements: string[] = []

/** Records every statement that this process sends to Postgres. */
const watchStatements = () => {
  const query = pg.Client.prototype.query as (...given: unknown[]) => unknown
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [asked] = given as [string | {text?: string; name?: string}]
    statements.push(typeof asked === 'string' ? asked : `${asked?.text} ${asked?.name}`)
    return query.apply(this, given)
  } as never
}

type Request = {path: string; query: Record<string, unknown>; body: unknown}
type SentAnswer = {name: string; status: number; code: unknown; text: string; headers: Headers}

/** Returns the ids for a route. Routes of the backoffice get the ids of a second org, because some of them close or delete the org. */
const idsOf = (route: Route): Ids => ('role' in route.access || 'public' in route.access ? ids : {...ids, org: ids.orgs!})

const goodOf = (route: Route): Request => {
  const ids = idsOf(route)
  const collections = new Map(parametersOf(route).map(({name, collection}) => [name, collection]))
  const path = route.path.replaceAll(/[:*](\w+)/g, (_, name: string) => ids[collections.get(name) ?? name] ?? USUAL[name] ?? 'one')
  const query = withIds(route.example?.query ?? {}, ids) as Record<string, unknown>
  return {path, query, body: withIds(goodBodies(ids)[`${route.method} ${route.path}`] ?? route.example?.body ?? {}, ids)}
}
const USUAL: Record<string, string> = {module: 'Accounts', apiName: 'Account_Name', version: '1', offset: '0'}

/** Returns valid requests in which one string is replaced by the probe: each path parameter, each query parameter and each text of the body. */
const bentOf = (route: Route): Request[] => {
  const good = goodOf(route)
  const names = [...route.path.matchAll(/[:*]\w+/g)].map(([name]) => name)
  const segments = route.path.split('/')
  const paths = names.map(name => {
    const at = segments.indexOf(name)
    return good.path.split('/').with(at, encodeURIComponent(probe)).join('/')
  })
  const known = route.query instanceof z.ZodObject ? Object.keys(route.query.shape) : []
  const asked = [...new Set([...known, ...Object.keys(good.query)])]
  return [
    ...paths.map(path => ({...good, path})),
    ...asked.map(name => ({...good, query: {...good.query, [name]: probe}})),
    ...(route.body instanceof z.ZodType ? leavesOf(good.body).map(body => ({...good, body})) : []),
  ]
}

const leavesOf = (value: unknown): unknown[] => {
  if (typeof value === 'string') return [probe]
  if (Array.isArray(value)) return value.slice(0, 2).flatMap((one, at) => leavesOf(one).map(bent => value.with(at, bent)))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => leavesOf(one).map(bent => ({...value, [key]: bent})))
}

const send = async (route: Route, {path, query, body}: Request): Promise<SentAnswer> => {
  const written = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])).toString()
  const sent = route.method === 'get' ? undefined : route.body === undefined ? {} : route.body instanceof z.ZodType ? body : 'name\nx\n'
  const {
    status,
    headers,
    text,
    body: said,
  } = await house.as(bearerOf(route))(route.method.toUpperCase(), path + (written && `?${written}`), sent)
  return {name: `${nameOf(route)} ${path} ${written}`, status, headers, text, code: said?.code}
}

const ENDS = new Set(['DELETE /auth/session', 'POST /auth/session/refresh'])
const INSIDES = /node_modules|slonik|\b(violates|relation "|syntax error at or near|pg_catalog)/i

test.serial('a probe in any string of any route appears in no SQL statement, header or error message', async t => {
  t.timeout(400_000)
  watchStatements()
  await house.db.query({...sql.unsafe``, sql: `select '${marker}'`} as never)
  t.is(statements.filter(text => text.includes(marker)).length, 1, 'one that is put together is seen')
  statements.length = 0
  let asked = 0
  for (const route of routes.filter(one => !ENDS.has(nameOf(one)) && one.body !== 'bytes'))
    for (const request of bentOf(route)) {
      const {name, status, text, headers} = await send(route, request)
      asked++
      t.true(status !== 500, `${name}: ${status} ${text.slice(0, 300)}`)
      t.false(status >= 400 && INSIDES.test(text), `${name}: ${text.slice(0, 300)}`)
      t.is(headers.get(`x-${marker}`), null, name)
    }
  t.true(asked > 500 && statements.length > asked, `${asked} requests, ${statements.length} statements`)
  t.deepEqual(
    statements.filter(text => text.includes(marker)),
    [],
  )
})

test.serial('an id with a probe gets the same answer as an unknown id', async t => {
  for (const route of routes.filter(one => 'role' in one.access && !ENDS.has(nameOf(one))))
    for (const {name} of parametersOf(route)) {
      const at = route.path.split('/').indexOf(`:${name}`)
      const good = goodOf(route)
      const ask = async (id: string) => {
        const {status, text} = await send(route, {...good, path: good.path.split('/').with(at, encodeURIComponent(id)).join('/')})
        return {status, text: text.replaceAll(JSON.stringify(id).slice(1, -1), 'ID')}
      }
      const harmless = await ask('nobody')
      for (const id of ["nobody' or '1'='1", "nobody'; select pg_sleep(9); --", 'nobody%', 'nobody\\'])
        t.deepEqual(await ask(id), harmless, `${nameOf(route)} ${id}`)
    }
})

/* S11. JSON that is invalid, too large, or that names properties of every object */

const tokens = () => `/orgs/${ids.org}/tokens`
const post = (text: string | Buffer) => house.as(bearers.owner)('POST', tokens(), text, {'content-type': 'application/json'})

test.serial('hostile JSON gets the decided answer and changes no prototype', async t => {
  const before = Reflect.ownKeys(Object.prototype).length
  const told = {taken: [201, undefined], refused: [400, 'BAD_JSON'], wrong: [400, 'INVALID']}
  for (const [kind, all] of Object.entries(texts))
    for (const text of all) {
      const {status, body} = await post(text)
      t.deepEqual([status, body.code], told[kind as keyof typeof told], String(text).slice(0, 80))
    }
  t.is(Reflect.ownKeys(Object.prototype).length, before)
  t.is(({} as {polluted?: unknown}).polluted, undefined)
})

const names = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__', 'then', 'toJSON']

test.serial('property names that every object has are accepted like any other name', async t => {
  const before = Object.getOwnPropertyNames(Object.prototype).sort()
  const owner = house.as(bearers.owner)
  const of = (path: string) => `/orgs/${ids.org}/${path}`
  for (const name of names) {
    const named = `{"${name}":{"polluted":"yes"}}`
    const sent: [string, string, string][] = [
      ['PATCH', of('config/settings'), `{"expressionContext":${named}}`],
      ['POST', of('expressions/test'), `{"expression":"row.a","columns":["${name}"],"rows":[${named}]}`],
      [
        'POST',
        of(`connectors/${ids.connector}/records/Accounts`),
        `{"runId":"${ids.runs}","items":[{"rowKey":"${name}","payload":${named}}]}`,
      ],
      ['PUT', of(`libraries/${name}`), `{"manifest":{"namespace":"${name}"},"source":""}`],
      ['GET', of(`config/fields/${name}`), ''],
      ['GET', of(`imports?${name}[polluted]=yes&${name}.polluted=yes&constructor[prototype][polluted]=yes`), ''],
    ]
    for (const [method, path, text] of sent) {
      const {status, text: said} = await owner(method, path, text || undefined, {'content-type': 'application/json'})
      t.true(status < 500, `${name} ${path}: ${status} ${said.slice(0, 200)}`)
    }
    const csv = `${name},name\nyes,Ana\n`
    const {status, body} = await owner('POST', of(`imports/${ids.filling}/sources?name=${name}.csv`), csv, {'content-type': 'text/csv'})
    t.is(status, 201, JSON.stringify(body))
    t.deepEqual(
      body.source.columns.map((column: string | {name: string}) => (typeof column === 'string' ? column : column.name)),
      [name, 'name'],
    )
  }
  t.deepEqual(Object.getOwnPropertyNames(Object.prototype).sort(), before)
  t.is(({} as {polluted?: unknown}).polluted, undefined)
})

/* S17. In maintenance, requests are refused before authentication */

const OPEN = ['GET /health', 'GET /robots.txt', 'POST /staff/people/:id/delete']

test.serial('every route in maintenance refuses a request before reading it, for every caller', async t => {
  const shut = await listen({...house.tools, config: {...house.config, MAINTENANCE: true}}, {observer: house.observer})
  t.teardown(shut.drain)
  const as = openCalls(shut.url)
  for (const bearer of [null, 'junk', bearers.owner, bearers.staff, bearers.operator])
    for (const route of routes) {
      const path = goodOf(route).path
      const {status, body} = await as(bearer)(route.method.toUpperCase(), path, route.method === 'get' ? undefined : '{not json')
      if (!OPEN.includes(nameOf(route)) || (!bearer && nameOf(route).startsWith('POST')))
        t.deepEqual([status, body.code], [503, 'MAINTENANCE'], `${nameOf(route)} as ${bearer?.slice(0, 6)}`)
    }
  for (const path of ['/nothing', '/orgs//', '/%ff']) t.is((await as(null)('GET', path)).status, 503, path)
})
