import {Refusal} from '../shared/errors.ts'
import {isAtLeast, type Role} from '../shared/people/roles.ts'
import type {Staff} from '../shared/people/staff-action.ts'

/** Who asks, as the gates and handlers know them. `role` is the one in force; null, with `org`, for a session in no org. */
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
  /** What a person let an MCP client do, where the bearer is such a client's. */
  grant: string | null
  /** Whether this bearer opens the backoffice: a session of somebody who is staff. */
  staff: boolean
  /** Whether the person of the session signed in within the last 15 minutes. */
  isRecent: boolean
  /** Set for a staff member's view of an org they need not be a member of. */
  staffView: {write: boolean} | null
}

/** A caller in an org: what every route but the few with `noOrg` is handed. */
export type Member = Caller & {org: string; orgName: string; role: Role}

/** Who acts in the backoffice. `staff` and `session` are null for the operator, who has ADMIN_TOKEN and no name. */
export type Insider<S extends Staff = Staff> = {via: 'staff' | 'operator'; staff: S; session: string | null}

/**
 * `noOrg` and `closedOrg` open a route to sessions in no org and to members of a closed one. `sessionOnly: 'person'` acts for the very
 * person who signed in, which a staff member's view of an org does not. `oauth` opens it to MCP clients, whose tokens are for nothing else.
 */
export type Gates = {role: Role; sessionOnly?: true | 'person'; noOrg?: true; closedOrg?: true; oauth?: true}
/**
 * `backoffice` takes a staff session or ADMIN_TOKEN, the latter unless it is `sessionOnly`; `operator` takes ADMIN_TOKEN alone, with `scrape`
 * also METRICS_TOKEN, which opens nothing else. A route that changes something takes a staff session of a recent sign-in alone.
 */
export type BackofficeGates = {backoffice: true; sessionOnly?: true} | {operator: true; scrape?: true}
export type Access = {public: true} | Gates | BackofficeGates

/** What a route may change. `access`: who can reach the org or its CRM, and would still be able to after a staff view has ended. */
export type Effect = 'read' | 'write' | 'money' | 'publisher' | 'access'

/** The effects that no staff view of an org may have. */
export const isClosedToViews = (effect: Effect) => effect === 'money' || effect === 'publisher' || effect === 'access'

/** What keeps a known caller out, whatever they ask for. */
export type Standing = {caller: Caller; banned: boolean; closed: boolean}

type Route = {access: Gates; effect: Effect}

/** The gates after the bearer's, in the order their refusals are told. `pathOrg` is the org in the path, where there is one. */
export const assertAccess = ({access: gates, effect}: Route, {caller, banned, closed}: Standing, pathOrg: string | undefined): void => {
  if (banned) throw new Refusal('BANNED', 'This account has been blocked')
  if (caller.org === null && !gates.noOrg)
    throw new Refusal('NO_ORG', 'This session belongs to no org: accept an invitation, or sign in with a CRM account')
  // The same answer for orgs that exist and that do not.
  if (pathOrg !== undefined && pathOrg !== caller.org)
    throw new Refusal('OTHER_ORG', 'The path names another org than the bearer was issued for')
  if (closed && !gates.closedOrg) throw new Refusal('ORG_CLOSED', 'This org is closed')
  if (caller.via === 'oauth' && !gates.oauth)
    throw new Refusal('SESSION_REQUIRED', 'A token that was given to an MCP client opens /mcp alone: sign in, or use an API token')
  if (gates.sessionOnly && caller.via !== 'session') throw new Refusal('SESSION_REQUIRED', 'An API token cannot do this: sign in')
  if (caller.staffView) assertViewMay(caller.staffView, gates, effect)
  if (caller.role !== null && !isAtLeast(caller.role, gates.role)) throw new Refusal('ROLE_REQUIRED', `This needs the ${gates.role} role`)
}

/** What acts for a person is told first: it is closed to every view alike. */
const assertViewMay = ({write}: {write: boolean}, {sessionOnly}: Gates, effect: Effect) => {
  if (sessionOnly === 'person') throw new Refusal('STAFF_VIEW', 'A view of an org cannot do this: only somebody who signed in to it can')
  if (effect !== 'read' && !write)
    throw new Refusal('IMPERSONATION_READ_ONLY', 'This view of the org is for reading: open one that may write')
  if (isClosedToViews(effect)) throw impersonationRefused()
}

/** Also for a route that learns only from its body whether money or the publisher would change. */
export const impersonationRefused = () =>
  new Refusal('IMPERSONATION_REFUSED', 'A staff view cannot do this for an org. Ask a member of the org to do it')
