import type {Route} from '../../api/route.ts'
import {type Pool, sql} from '../../sql/database.ts'
import {seedOrgs} from '../simulators/crm/seed.ts'
import type {Deployment} from '../support/deployment.ts'
import {fillOrg, type Ids} from '../support/filled-org.ts'
import {ok, openOrg} from '../support/importing.ts'
import type {TestDeployment} from '../support/test-deployment.ts'

/** Bearer tokens by name. Failures are printed with the name, not the token. */
export type Bearers = Record<string, string>
/** Values for random requests: ids of the tested org, ids of an org that must stay unchanged, and the bearers. */
export type RequestPlaces = {ids: Ids; foreign: Ids; bearers: Bearers}

/**
 * Fills three orgs: one for most requests, one for requests that delete or end something, and one whose ids are known but which must stay
 * unchanged. Makes another org for its bearer only, and four with a person each to ban, close or erase.
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
  const usual: RequestPlaces = {ids: mine.ids, foreign: untouched.ids, bearers: {...mine.bearers, ...others}}
  const ending: RequestPlaces = {ids: doomed.ids, foreign: untouched.ids, bearers: {...doomed.bearers, ...others}}
  const leaver = await house.makeOrg({role: 'operator', org: doomed.ids.org!})
  const leaving: RequestPlaces = {...ending, bearers: {...others, owner: leaver.token, token: doomed.bearers.token!}}
  const victimIds = (at: number): Ids => ({...doomed.ids, org: victims[at]!.org, people: victims[at]!.person, orgs: victims[at]!.org})
  const inside = victims.map(
    (_, at): RequestPlaces => ({
      ids: victimIds(at),
      foreign: victimIds((at + 1) % victims.length),
      bearers: {...others, owner: doomed.bearers.owner!},
    }),
  )
  return {
    org: mine.ids.org!,
    /** Returns a digest of each table's rows of the org that must stay unchanged. */
    untouched: () => digestsOf(house.db, untouched.ids.org!),
    of: (route: Route, at: number): RequestPlaces => {
      if (isInside(route)) return inside[at % inside.length]!
      if (isSignOut(route)) return leaving
      return ends(route) ? ending : usual
    },
  }
}

const untouchedCompany = {
  ...seedOrgs[1]!,
  key: 'untouched',
  companyName: 'Untouched Ltd',
  prefix: '7700009',
  zgid: '30009',
  users: [{email: 'yan@untouched.example', firstName: 'Yan', lastName: 'Test', profile: 'Administrator', role: 'CEO'}],
}

const fill = async (house: Deployment, user: string): Promise<{ids: Ids; bearers: Bearers}> => {
  const org = await openOrg(house as TestDeployment, user)
  const ids = await fillOrg(house as TestDeployment, org, user)
  const operator = (await house.makeOrg({role: 'operator', org: org.org})).token
  const {secret: token} = await ok(org.call('POST', `/orgs/${org.org}/tokens`, {name: 'fuzz'}), 201)
  const [view, writer] = [await house.openView({org: org.org}), await house.openView({org: org.org, write: true})]
  const {runId} = await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 100_000, connectorId: org.connector}), 200)
  return {ids: {...ids, authorised: runId}, bearers: {owner: org.session, operator, token, view, writer}}
}

const isInside = ({access, path}: Route) => 'backoffice' in access || 'operator' in access || path.startsWith('/staff/')

/** Whether the route signs out. It needs a separate session, because the session ends. */
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

/** Returns a digest of the org's rows for every table with a column `org` or `org_id`. */
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
