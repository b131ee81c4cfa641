import {Refusal} from '../shared/errors.ts'
import {isAtLeast, type Role} from '../shared/people/roles.ts'

/** Who asks, as the gates and handlers know them. `role` is the one in force; null, with `org`, for a session in no org. */
export type Caller = {
  via: 'session' | 'token'
  person: string
  email: string
  name: string
  org: string | null
  orgName: string | null
  role: Role | null
  session: string | null
  token: string | null
}

/** A caller in an org: what every route but the few with `noOrg` is handed. */
export type Member = Caller & {org: string; orgName: string; role: Role}

/** `noOrg` and `closedOrg` open a route to sessions in no org and to members of a closed one. */
export type Access = {public: true} | {role: Role; sessionOnly?: true; noOrg?: true; closedOrg?: true}
type Gates = Exclude<Access, {public: true}>

/** What keeps a known caller out, whatever they ask for. */
export type Standing = {caller: Caller; banned: boolean; closed: boolean}

/** The gates after the bearer's, in the order their refusals are told. `pathOrg` is the org in the path, where there is one. */
export const assertAccess = (gates: Gates, {caller, banned, closed}: Standing, pathOrg: string | undefined): void => {
  if (banned) throw new Refusal('BANNED', 'This account has been blocked')
  if (caller.org === null && !gates.noOrg)
    throw new Refusal('NO_ORG', 'This session belongs to no org: accept an invitation, or sign in with a CRM account')
  // The same answer for orgs that exist and that do not.
  if (pathOrg !== undefined && pathOrg !== caller.org)
    throw new Refusal('OTHER_ORG', 'The path names another org than the bearer was issued for')
  if (closed && !gates.closedOrg) throw new Refusal('ORG_CLOSED', 'This org is closed')
  if (gates.sessionOnly && caller.via !== 'session') throw new Refusal('SESSION_REQUIRED', 'An API token cannot do this: sign in')
  // A staff member's view of an org is refused here, before its rank counts.
  if (caller.role !== null && !isAtLeast(caller.role, gates.role)) throw new Refusal('ROLE_REQUIRED', `This needs the ${gates.role} role`)
}
