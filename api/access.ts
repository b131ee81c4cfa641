import {impersonationRefused} from '../shared/accounts/impersonation.ts'
import {isAtLeast, type Role} from '../shared/accounts/roles.ts'
import type {Staff} from '../shared/accounts/staff-action.ts'
import type {EmbedScope} from '../shared/embed/scope.ts'
import {Refusal} from '../shared/errors.ts'

/** In a session without an org, `org`, `orgName` and `role` are null. */
export type Caller = {
  via: 'session' | 'token' | 'oauth'
  person: string
  email: string
  name: string
  org: string | null
  orgName: string | null
  role: Role | null
  session: string | null
  token: string | null
  /** The OAuth grant, if the bearer token belongs to an MCP client. */
  grant: string | null
  /** True for a staff member's own session, which may use the backoffice. */
  staff: boolean
  /** True if the person signed in within the last 15 minutes. */
  isRecent: boolean
  /** Set while a staff member views an org. Membership of the org is not required. */
  staffView: {write: boolean} | null
  /** Set for an embed token, which acts with the operator role and only within this scope. */
  embed: EmbedScope | null
}

/** A caller in an org. Routes with `Gates` receive this type, unless they set `noOrg`. */
export type MemberCaller = Caller & {org: string; orgName: string; role: Role}

/** The caller of a backoffice route. `staff` and `session` are null for the deployment operator, who sends ADMIN_TOKEN or METRICS_TOKEN. */
export type StaffCaller<S extends Staff = Staff> = {via: 'staff' | 'operator'; staff: S; session: string | null}

/**
 * The gates of a route in an org. `role`: the lowest role that is admitted. `sessionOnly` refuses API tokens; `sessionOnly: 'person'` also
 * refuses staff views. `noOrg` admits sessions without an org; `closedOrg` admits members of a closed org. `oauth` admits MCP clients,
 * whose tokens work on no other route. `embed` admits embed tokens: with `own`, for the import in the path if the token created it, but not for
 * its undos; with `scope`, the handler uses nothing but the scope of the token.
 */
export type Gates = {role: Role; sessionOnly?: true | 'person'; noOrg?: true; closedOrg?: true; oauth?: true; embed?: 'own' | 'scope'}
/**
 * The gates of a backoffice route. `backoffice` admits a staff session and, unless `sessionOnly` is set, ADMIN_TOKEN. `operator` admits
 * ADMIN_TOKEN alone; with `scrape`, METRICS_TOKEN too. A route that changes something requires ADMIN_TOKEN, or a staff session signed in
 * within the last 15 minutes.
 */
export type BackofficeGates = {backoffice: true; sessionOnly?: true} | {operator: true; scrape?: true}
export type RouteAccess = {public: true} | Gates | BackofficeGates

/**
 * What a route may change. `money`: the plan, payments or AI credits. `publisher`: who manages a library. `access`: who can reach the org
 * or its CRM, and who gets its notices; these changes would outlast a staff view.
 */
export type Effect = 'read' | 'write' | 'money' | 'publisher' | 'access'

export const isClosedToViews = (effect: Effect) => effect === 'money' || effect === 'publisher' || effect === 'access'

export type AuthContext = {caller: Caller; banned: boolean; closed: boolean}

type Route = {access: Gates; effect: Effect}

/**
 * Throws the refusal of the first gate that the caller does not pass. The order of the gates is the precedence of the refusals. `pathOrg`: the
 * org in the path, if any.
 */
export const assertAccess = ({access: gates, effect}: Route, {caller, banned, closed}: AuthContext, pathOrg: string | undefined): void => {
  if (banned) throw new Refusal('BANNED', 'This account has been blocked. Contact support')
  if (caller.org === null && !gates.noOrg)
    throw new Refusal('NO_ORG', 'This session belongs to no org. Accept an invitation, or sign in with a CRM account')
  // Other orgs get the same answer whether they exist or not, so ids cannot be probed.
  if (pathOrg !== undefined && pathOrg !== caller.org)
    throw new Refusal('OTHER_ORG', 'The path names another org than this session or token belongs to. Use the org of the session or token')
  if (closed && !gates.closedOrg) throw new Refusal('ORG_CLOSED', 'This org is closed. Contact support to reopen it')
  if (caller.via === 'oauth' && !gates.oauth)
    throw new Refusal('SESSION_REQUIRED', 'The token of an MCP client works at /mcp only. Sign in, or use an API token')
  if (caller.embed && !gates.embed)
    throw new Refusal('SESSION_REQUIRED', 'An embed token only creates and runs imports of its template. Use an API token, or sign in')
  if (gates.sessionOnly && caller.via !== 'session') throw new Refusal('SESSION_REQUIRED', 'An API token cannot do this. Sign in')
  if (caller.staffView) assertViewMay(caller.staffView, gates, effect)
  if (caller.role !== null && !isAtLeast(caller.role, gates.role))
    throw new Refusal('ROLE_REQUIRED', `This requires the ${gates.role} role. Ask a member with that role`)
}

/** A `sessionOnly: 'person'` route refuses every staff view, so that check comes first. */
const assertViewMay = ({write}: {write: boolean}, {sessionOnly}: Gates, effect: Effect) => {
  if (sessionOnly === 'person') throw new Refusal('STAFF_VIEW', 'A staff view of an org cannot do this. Ask a member of the org to do it')
  if (effect !== 'read' && !write)
    throw new Refusal('IMPERSONATION_READ_ONLY', 'This staff view is read-only. Open a view that allows writing')
  if (isClosedToViews(effect)) throw impersonationRefused()
}
