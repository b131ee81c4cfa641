import fc from 'fast-check'
import type {z} from 'zod'
import type {Route} from '../../api/route.ts'
import {newId} from '../../shared/ids.ts'
import {type Ids, parametersOf} from '../support/filled-org.ts'
import {fromSchema} from './from-schema.ts'
import {goodBodies} from './good-bodies.ts'
import {bend, boundaries, deepJson} from './odd-values.ts'
import type {RequestPlaces} from './places.ts'

/** A request as sent. `bearer`: a name among the bearers of its place. `cut`: number of body bytes after which the connection ends, or null. */
export type DrawnRequest = {
  method: string
  path: string
  bearer: string
  headers: Record<string, string>
  body: Buffer | null
  chunked: boolean
  cut: number | null
}

/** Returns random requests for one route. Most are valid; the others are wrong in one or several ways. */
export const requestsOf = (route: Route, place: RequestPlaces): fc.Arbitrary<DrawnRequest> =>
  fc
    .record({
      path: pathsOf(route, place),
      query: queriesOf(route, place),
      bearer: bearersOf(route, place),
      body: bodiesOf(route, place),
      prefer: preferences,
    })
    .chain(({path, query, bearer, body, prefer}) => {
      const headers = {...body.headers, ...prefer}
      const plain: DrawnRequest = {
        method: route.method.toUpperCase(),
        path: path + query,
        bearer,
        headers,
        body: body.bytes,
        chunked: false,
        cut: null,
      }
      return fc.oneof({weight: 7, arbitrary: fc.constant(plain)}, {weight: 1, arbitrary: fc.constantFrom(...WAYS).map(way => way(plain))})
    })

const preferences = fc.oneof(
  {weight: 8, arbitrary: fc.constant<Record<string, string>>({})},
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      {prefer: 'respond-async'},
      {prefer: 'wait=1'},
      {prefer: 'wait=-1'},
      {prefer: 'wait=99999999999'},
      {'if-match': '"1"'},
      {'if-match': '*'},
      {'if-match': 'W/"x"'},
      {'if-none-match': '*'},
      {range: 'bytes=5-1'},
      {'last-event-id': '0'},
      {'last-event-id': 'x'},
      {origin: 'https://evil.example'},
      {accept: 'text/html'},
      {'accept-encoding': 'gzip;q=0'},
      {expect: '100-continue'},
      {'x-request-id': '../..'},
      {traceparent: '00-0-0-00'},
      {'content-digest': 'sha-256=:x:'},
      {digest: 'x'},
      {cookie: 'a=b; __proto__=1'},
      {'x-forwarded-for': 'x, ::1'},
      {host: 'evil.example'},
    ),
  },
)

/** Returns the names of bearers, mostly of one that may use the route. */
const bearersOf = ({access}: Route, {bearers}: RequestPlaces) => {
  const isInside = 'backoffice' in access || 'operator' in access
  const able = isInside ? ('backoffice' in access && access.sessionOnly ? 'staff' : 'admin') : 'owner'
  return fc.oneof({weight: 6, arbitrary: fc.constant(able)}, {weight: 1, arbitrary: fc.constantFrom(...Object.keys(bearers))})
}

const pathsOf = (route: Route, {ids, foreign}: RequestPlaces): fc.Arbitrary<string> => {
  const collections = new Map(parametersOf(route).map(({name, collection}) => [name, collection]))
  const names = [...route.path.matchAll(/[:*](\w+)/g)].map(([, name]) => name!)
  const values = names.map(name => parameter(name === 'runId' ? 'authorised' : (collections.get(name) ?? name), {ids, foreign}))
  return fc
    .tuple(...values)
    .map(given => names.reduce((path, name, at) => path.replace(new RegExp(`[:*]${name}\\b`), () => given[at]!), route.path))
}

const parameter = (collection: string, {ids, foreign}: Pick<RequestPlaces, 'ids' | 'foreign'>) => {
  const usual = USUAL[collection] ?? fc.constant(ids[collection] ?? 'one')
  const strange = fc.oneof(fc.constant(foreign[collection] ?? 'two'), fc.constantFrom(...unknownIds), boundaries.strings)
  return fc.oneof({weight: 20, arbitrary: usual}, {weight: 1, arbitrary: strange}).map(text => encodeURIComponent(text.toWellFormed()))
}

const unknownIds = [newId('imp'), newId('con'), newId('tok'), newId('run'), '00000000-0000-4000-8000-000000000000', '4400001999999999999']

const modules = fc.constantFrom('Accounts', 'Accounts', 'Accounts', 'Leads', 'Contacts', 'Deals', 'Orders', 'Nothing')
const fields = fc.constantFrom('Account_Name', 'Account_Number', 'Billing_City', 'Last_Name', 'Email', 'Nothing')
const USUAL: Record<string, fc.Arbitrary<string>> = {
  module: modules,
  apiName: fields,
  version: fc.constantFrom('1', '2', '1.0.0'),
  offset: fc.constantFrom('0', '1', '2'),
  reference: fc.constantFrom('imports.html', 'imports', 'runs', 'nothing'),
  key: fc.constantFrom('credits_500', 'nothing'),
  plans: fc.constantFrom('team', 'business', 'nothing'),
  packs: fc.constantFrom('credits_500', 'nothing'),
}

const of = (schema: z.ZodType | undefined, example: unknown, place: RequestPlaces): fc.Arbitrary<unknown> => {
  const drawn = schema ? fromSchema(schema, name => known(name, place)) : fc.constant({})
  const good = example === undefined ? drawn : fc.oneof(fc.constant(withIds(example, place.ids)), drawn)
  const bent = fc
    .tuple(
      good,
      fc.array(fc.record({at: fc.nat(500), how: fc.constantFrom('replace', 'remove', 'add'), put: boundaries.values}), {
        minLength: 1,
        maxLength: 2,
      }),
    )
    .map(([value, bends]) => bends.reduce<unknown>(bend, value))
  return fc.oneof({weight: 2, arbitrary: good}, {weight: 1, arbitrary: bent})
}

const queriesOf = (route: Route, place: RequestPlaces): fc.Arbitrary<string> =>
  fc
    .tuple(of(route.query, route.example?.query, place), fc.constantFrom(...Array(9).fill('once'), 'twice', 'brackets', 'more'))
    .map(([value, how]) => {
      const pairs =
        typeof value === 'object' && value !== null ? Object.entries(value).map(([name, one]) => [name, textOf(one)] as const) : []
      const written = pairs
        .filter(([, text]) => text.length < 1500)
        .map(([name, text]) => `${safe(name)}${how === 'brackets' ? '[]' : ''}=${safe(text)}`)
      const all = [...written, ...(how === 'twice' ? written : []), ...(how === 'more' ? ['limit=1', '__proto__=1', '&&=', 'limit'] : [])]
      return all.length ? `?${all.join('&')}` : ''
    })

const textOf = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
const safe = (text: string) => encodeURIComponent(text.toWellFormed())

type Body = {bytes: Buffer | null; headers: Record<string, string>}

const bodiesOf = (route: Route, place: RequestPlaces): fc.Arbitrary<Body> => {
  if (route.body === undefined) return fc.constantFrom<Body>({bytes: null, headers: {}})
  if (route.body === 'stream')
    return fc.constantFrom(...files).map(text => ({bytes: Buffer.from(text), headers: {'content-type': 'application/octet-stream'}}))
  const json = {'content-type': 'application/json'}
  if (route.body !== 'bytes')
    return of(route.body, goodBodies(place.ids)[`${route.method} ${route.path}`] ?? route.example?.body, place).map(value => ({
      bytes: Buffer.from(JSON.stringify(value) ?? ''),
      headers: json,
    }))
  const [sent] = [route.sends ?? []].flat() as {type: string; schema?: z.ZodType}[]
  const type = {'content-type': sent?.type ?? 'application/json'}
  const values = of(sent?.schema, route.example?.body, place)
  return values.map(value => ({
    bytes: Buffer.from(type['content-type'].includes('form') ? formOf(value) : (JSON.stringify(value) ?? '')),
    headers: type,
  }))
}

const formOf = (value: unknown) =>
  typeof value === 'object' && value !== null
    ? Object.entries(value)
        .map(([name, one]) => `${safe(name)}=${safe(textOf(one))}`)
        .join('&')
    : textOf(value)

const files = [
  '',
  'name,number,city\nA,1,B\n',
  '\ufeffname;city\r\n"a";"b\nc"\r\n',
  '\u0000',
  'name\n"',
  'a,a\n1,2\n',
  `${'x,'.repeat(3000)}\n1\n`,
  '{"a":1}',
  'PK\u0003\u0004junk',
]

/** Returns values for a property of this name that mostly exist in the org, or null. */
const known = (name: string, {ids, foreign}: RequestPlaces): fc.Arbitrary<unknown> | null => {
  const collection = COLLECTIONS[name]
  if (name === 'module' || name === 'modules') return modules
  if (name === 'runId') return fc.constantFrom(ids.authorised, ids.runs, foreign.runs)
  if (name === 'field' || name === 'apiName') return fields
  if (!collection || !ids[collection]) return null
  return fc.oneof(
    {weight: 10, arbitrary: fc.constant(ids[collection])},
    {weight: 1, arbitrary: fc.constantFrom(foreign[collection], ...unknownIds)},
  )
}

const COLLECTIONS: Record<string, string> = {
  connectorId: 'connectors',
  connector: 'connectors',
  templateId: 'templates',
  sourceId: 'sources',
  source: 'sources',
  fromSource: 'sources',
  importId: 'imports',
  import: 'imports',
  fromImport: 'imports',
  runId: 'runs',
  run: 'runs',
  retryOf: 'runs',
  schedule: 'schedules',
  org: 'org',
  person: 'people',
  namespace: 'libraries',
  ids: 'records',
  recordId: 'records',
}

/** Replaces the ids of an example with the org's own ids of the same kind. */
export const withIds = (value: unknown, ids: Ids): unknown => {
  if (typeof value === 'string') return ids[PREFIXES[/^([a-z]{3})_[0-9a-z]{26}$/.exec(value)?.[1] ?? ''] ?? ''] ?? value
  if (Array.isArray(value)) return value.map(one => withIds(one, ids))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withIds(one, ids)]))
}

const PREFIXES: Record<string, string> = {
  con: 'connectors',
  tpl: 'templates',
  src: 'sources',
  imp: 'imports',
  run: 'runs',
  sch: 'schedules',
  whk: 'webhooks',
  org: 'org',
  upl: 'uploads',
  wrt: 'writes',
  dlv: 'deliveries',
  mem: 'members',
}

/** Changes that make a request wrong or unusual. */

const WAYS: ((one: DrawnRequest) => DrawnRequest)[] = [
  ...['HEAD', 'OPTIONS', 'TRACE', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'].map(method => (one: DrawnRequest) => ({...one, method})),
  ...[
    'text/plain',
    'application/xml',
    'multipart/form-data',
    'application/json; charset=utf-16',
    'application/x-www-form-urlencoded',
    ';',
    '',
  ].map(type => (one: DrawnRequest) => ({...one, headers: {...one.headers, 'content-type': type}})),
  ...['gzip', 'br', 'identity', 'nonsense'].map(coding => (one: DrawnRequest) => ({
    ...one,
    headers: {...one.headers, 'content-encoding': coding},
  })),
  ...[
    '{',
    '{"a":',
    'nul',
    '\ufeff{}',
    '"',
    '{"a":1}{"a":2}',
    deepJson(20_000),
    '1'.repeat(100_000),
    '{"a":1,"a":2}',
    ' '.repeat(2 ** 21),
  ].map(text => (one: DrawnRequest) => ({...one, body: one.body && Buffer.from(text)})),
  one => ({...one, body: one.body && Buffer.from([0xff, 0xfe, 0x7b, 0x00])}),
  one => ({...one, body: Buffer.from('{}')}),
  one => ({...one, chunked: true}),
  one => ({...one, chunked: true}),
  one => ({...one, cut: one.body ? Math.floor(one.body.length / 2) : null}),
  one => ({...one, path: one.path.toUpperCase()}),
  one => ({...one, path: one.path.replace(/\/(?=[^/]*$)/, '//')}),
  one => ({...one, path: `/${one.path}`}),
  one => ({...one, path: `${one.path.split('?')[0]}/`}),
  one => ({...one, path: `${one.path}%`}),
  one => ({...one, path: `${one.path}%ff`}),
  one => ({...one, path: `${one.path}?a=%00`}),
  one => ({...one, path: one.path.replace('/', '/./')}),
  one => ({...one, path: `${one.path}?${'a=b&'.repeat(2000)}`}),
  one => ({...one, headers: {...one.headers, 'x-long': 'x'.repeat(20_000)}}),
  one => ({...one, headers: {...one.headers, authorization: 'Basic Og=='}}),
  one => ({...one, headers: {...one.headers, authorization: 'Bearer  '}}),
]
