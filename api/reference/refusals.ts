import {ROLES} from '../../shared/accounts/roles.ts'
import {type Code, codes, Refusal} from '../../shared/errors.ts'
import {type BackofficeGates, type Effect, type Gates, isClosedToViews, type RouteAccess} from '../access.ts'
import {effectOf, type Route} from '../route.ts'

/** A code and status with which a route refuses. A code with two statuses has two entries. */
export type PossibleRefusal = {code: Code; status: number}

export const refusalsOf = (route: Route): PossibleRefusal[] => {
  const given = [...ofTheApi(route), ...ofAccess(route), ...ofBody(route)].map(code => ({code, status: statusOf(code)}))
  const own = route.refusals.flatMap(one => (typeof one === 'string' ? answersOf(one) : one))
  const once = new Map([...given, ...own].map(one => [`${one.status} ${one.code}`, one]))
  return [...once.values()].sort((one, other) => one.status - other.status)
}

/** Refusals of a request for an unknown path or method. */
export const refusalsOfNoRoute: readonly Code[] = ['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'INVALID', 'MAINTENANCE', 'RATE_LIMITED', 'INTERNAL']

const STATUS = new Map(codes.map(code => [code, new Refusal(code, '').status]))
const statusOf = (code: Code) => STATUS.get(code)!

/**
 * Expands an error code of a route to the refusals that it means. CRM_REFUSED has status 502, or 429 if the daily CRM quota is exhausted. If the
 * connection lacks a scope, the route refuses with SCOPE_MISSING instead.
 */
const answersOf = (code: Code): PossibleRefusal[] => {
  const usual = {code, status: statusOf(code)}
  return code === 'CRM_REFUSED' ? [usual, {code, status: 429}, {code: 'SCOPE_MISSING', status: statusOf('SCOPE_MISSING')}] : [usual]
}

/**
 * Returns the refusals of a route that come from the API itself, not from its access checks, its body or its handler. INVALID is always among
 * them, because any URL may be malformed.
 */
const ofTheApi = ({path, access}: Route): Code[] => [
  'INVALID',
  'INTERNAL',
  ...only(!['/health', '/robots.txt'].includes(path), 'MAINTENANCE'),
  ...only(path !== '/health', 'RATE_LIMITED'),
  ...only(!('public' in access), 'UNAVAILABLE'),
]

const ofAccess = (route: Route): Code[] => {
  const {access, path} = route
  if ('public' in access) return []
  const bearer: Code[] = ['AUTH_REQUIRED', 'TOKEN_REVOKED', 'TOKEN_EXPIRED', 'ORG_NOT_FOUND', 'MEMBERSHIP_GONE', 'BANNED']
  return [...bearer, ...(isOfOrg(access) ? ofGates(access, effectOf(route), path) : ofBackoffice(access, effectOf(route)))]
}

const isOfOrg = (access: Exclude<RouteAccess, {public: true}>): access is Gates => 'role' in access

const ofGates = ({role, sessionOnly, noOrg, closedOrg, oauth, embed}: Gates, effect: Effect, path: string): Code[] => [
  ...only(!noOrg, 'NO_ORG'),
  ...only(path.split('/').includes(':org'), 'OTHER_ORG'),
  ...only(!closedOrg, 'ORG_CLOSED'),
  ...only(!oauth || !embed || sessionOnly !== undefined, 'SESSION_REQUIRED'),
  ...only(embed === 'own', 'IMPORT_NOT_FOUND'),
  ...ofView(sessionOnly, effect),
  ...only(role !== ROLES[0], 'ROLE_REQUIRED'),
]

const ofView = (sessionOnly: Gates['sessionOnly'], effect: Effect): Code[] => {
  if (sessionOnly === 'person') return ['STAFF_VIEW']
  return [...only(effect !== 'read', 'IMPERSONATION_READ_ONLY'), ...only(isClosedToViews(effect), 'IMPERSONATION_REFUSED')]
}

const ofBackoffice = (gates: BackofficeGates, effect: Effect): Code[] => [
  'ADMIN_REQUIRED',
  ...only('sessionOnly' in gates, 'SESSION_REQUIRED'),
  ...only('backoffice' in gates && effect !== 'read', 'RECENT_SIGN_IN_REQUIRED'),
]

const ofBody = ({body}: Route): Code[] => {
  if (body === undefined) return []
  if (body === 'stream') return ['UPLOAD_BROKEN']
  return ['BODY_TOO_LARGE', 'REQUEST_TIMEOUT', 'UPLOAD_BROKEN', ...(body === 'bytes' ? [] : (['BAD_JSON', 'CONTENT_TYPE'] as const))]
}

const only = (is: boolean, code: Code): Code[] => (is ? [code] : [])
