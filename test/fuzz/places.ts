import type {Route} from '../../api/route.ts'
import {type Pool, sql} from '../../sql/database.ts'
import type {Deployment} from '../deployment.ts'
import {fillOrg, type Ids} from '../filled-org.ts'
import {ok, openOrg} from '../importing.ts'
import {seedOrgs} from '../simulators/crm/seed.ts'
import type {World} from '../world.ts'

/** Who may ask, by name: what a failure is told with instead of a token. */
export type Bearers = Record<string, string>
/** What a request is drawn over: the ids it is about, those of an org nobody may touch, and the bearers. */
export type Place = {ids: Ids; foreign: Ids; bearers: Bearers}

/**
 * Four orgs: the one that is asked, one for what ends things, one that only has a bearer, and one whose ids are known and which nobody
 * may touch. People and orgs to ban, close and erase are made apart.
 */
export const openPlaces = async (house: Deployment) => {
  const mine = await fill(house, 'ana@example.org')
  const doomed = await fill(house, 'zoe@other.example')
  house.crm.addOrg(untouchedCompany)
  const untouched = await fill(house, untouchedCompany.users[0]!.email)
  const outsider = await house.makeOrg()
  const victims = await Promise.all(Array.from({length: 4}, () => house.makeOrg()))
  const staff = await house.makeStaff()
  const others = {other: outsider.token, admin: house.adminToken, staff: staff.token, junk: 'junk', none: ''}
  const usual: Place = {ids: mine.ids, foreign: untouched.ids, bearers: {...mine.bearers, ...others}}
  const ending: Place = {ids: doomed.ids, foreign: untouched.ids, bearers: {...doomed.bearers, ...others}}
  const leaver = await house.makeOrg({role: 'operator', org: doomed.ids.org!})
  const leaving: Place = {...ending, bearers: {...others, owner: leaver.token, token: doomed.bearers.token!}}
  const victimIds = (at: number): Ids => ({...doomed.ids, org: victims[at]!.org, people: victims[at]!.person, orgs: victims[at]!.org})
  const inside = victims.map(
    (_, at): Place => ({
      ids: victimIds(at),
      foreign: victimIds((at + 1) % victims.length),
      bearers: {...others, owner: doomed.bearers.owner!},
    }),
  )
  return {
    org: mine.ids.org!,
    /** A digest of all that the untouched org has, table by table. */
    untouched: () => digestsOf(house.db, untouched.ids.org!),
    of: (route: Route, at: number): Place => {
      if (isInside(route)) return inside[at % inside.length]!
      if (isSignOut(route)) return leaving
      return ends(route) ? ending : usual
    },
  }
}

const untouchedCompany = {
  ...seedOrgs[1]!,
  ...{key: 'untouched', companyName: 'Untouched Ltd', prefix: '7700009', zgid: '30009'},
  users: [{email: 'yan@untouched.example', firstName: 'Yan', lastName: 'Test', profile: 'Administrator', role: 'CEO'}],
}

const fill = async (house: Deployment, user: string): Promise<{ids: Ids; bearers: Bearers}> => {
  const org = await openOrg(house as World, user)
  const ids = await fillOrg(house as World, org, user)
  const operator = (await house.makeOrg({role: 'operator', org: org.org})).token
  const {secret: token} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'fuzz'}), 201)
  const [view, writer] = [await house.openView({org: org.org}), await house.openView({org: org.org, write: true})]
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 100_000, connectorId: org.connector}), 200)
  return {ids: {...ids, authorised: runId}, bearers: {owner: org.session, operator, token, view, writer}}
}

const isInside = ({access, path}: Route) => 'backoffice' in access || 'operator' in access || path.startsWith('/staff/')

/** By a session of its own: whoever asks with it is nobody from then on. */
const isSignOut = ({method, path}: Route) => method === 'delete' && path === '/auth/session'

const ENDS = [
  'post /auth/session/refresh',
  'put /orgs/:org/production',
  'patch /orgs/:org/members/:id',
  'patch /orgs/:org/config/writing',
  'post /entitlements/runs/:runId/progress',
  'post /entitlements/runs/:runId/lease',
]

const ends = ({method, path}: Route) => method === 'delete' || ENDS.includes(`${method} ${path}`)

/** Every table that names an org, by the columns that do. */
const digestsOf = async (db: Pool, org: string): Promise<Record<string, string>> => {
  const tables = (await db.any(sql.unsafe`
    select c.table_name as name, c.column_name as column from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.column_name in ('org', 'org_id') order by 1`)) as {
    name: string
    column: string
  }[]
  const digests: Record<string, string> = {}
  for (const {name, column} of tables) {
    const text = sql.identifier([name])
    const by = sql.identifier([column])
    const found = await db.oneFirst(sql.unsafe`
      select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') from ${text} t where ${by} = ${org}`)
    digests[name] = String(found)
  }
  return digests
}
