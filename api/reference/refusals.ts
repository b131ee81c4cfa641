import {type Code, codes, Refusal} from '../../shared/errors.ts'
import {ROLES} from '../../shared/people/roles.ts'
import {type Access, type BackofficeGates, type Effect, type Gates, isClosedToViews} from '../access.ts'
import {effectOf, type Route} from '../route.ts'

/** One way a route refuses. Most codes have one status; the few with two stand here twice. */
export type Possible = {code: Code; status: number}

/** Every refusal a route can make: those of its gates, of its body and of the whole API, and its own. */
export const refusalsOf = (route: Route): Possible[] => {
  const given = [...ofTheApi(route), ...ofAccess(route), ...ofBody(route)].map(code => ({code, status: statusOf(code)}))
  const own = route.refusals.flatMap(one => (typeof one === 'string' ? bothOf(one) : one))
  const once = new Map([...given, ...own].map(one => [`${one.status} ${one.code}`, one]))
  return [...once.values()].sort((one, other) => one.status - other.status)
}

/** Of an address that is no route, or a method it does not take. */
export const refusalsOfNoRoute: readonly Code[] = ['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'INVALID', 'MAINTENANCE', 'RATE_LIMITED', 'INTERNAL']

const STATUS = new Map(codes.map(code => [code, new Refusal(code, '').status]))
const statusOf = (code: Code) => STATUS.get(code)!

/** What the CRM refuses is 502, and 429 where it is for its day. */
const bothOf = (code: Code): Possible[] => [statusOf(code), ...(code === 'CRM_REFUSED' ? [429] : [])].map(status => ({code, status}))

/** An address that is not percent-encoded UTF-8 is refused wherever it points. */
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

const isOfOrg = (access: Exclude<Access, {public: true}>): access is Gates => 'role' in access

const ofGates = ({role, sessionOnly, noOrg, closedOrg, oauth}: Gates, effect: Effect, path: string): Code[] => [
  ...only(!noOrg, 'NO_ORG'),
  ...only(path.split('/').includes(':org'), 'OTHER_ORG'),
  ...only(!closedOrg, 'ORG_CLOSED'),
  ...only(!oauth || sessionOnly !== undefined, 'SESSION_REQUIRED'),
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
