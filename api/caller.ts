import {lowerOf, type Role} from '../shared/accounts/roles.ts'
import {readSignedId} from '../shared/accounts/signed.ts'
import {hashSecret, isWellFormed, looksLikeSecret} from '../shared/accounts/token-secret.ts'
import {EMBED} from '../shared/embed/embed-tokens.ts'
import {Refusal} from '../shared/errors.ts'
import {
  noteGrantUse,
  noteTokenUse,
  readEmbedCaller,
  readGrantCaller,
  readSessionCaller,
  readTokenCaller,
  type SessionCaller,
  type TokenCaller,
} from '../sql/callers.ts'
import type {AuthContext, Caller} from './access.ts'
import {ACCESS} from './oauth/tokens.ts'
import type {ApiDeps} from './route.ts'

type CallerDeps = Pick<ApiDeps, 'config' | 'hot' | 'log'>

/** Returns the bearer token of the header, without checking it, or null if there is none. */
export const bearerOf = (authorization: string | undefined): string | null => /^Bearer +(\S.*)$/i.exec(authorization ?? '')?.[1] ?? null

/** A function that receives the ids behind a recognised bearer token, for the access log. It is called even if the request is refused later. */
export type NoteBearer = (bearer: Pick<Caller, 'via' | 'org' | 'session' | 'token' | 'grant'> & {person: string | null}) => void

const ignore = () => {}

/**
 * Loads the caller and the account status in one query. Throws a refusal with status 401 if the bearer token is missing, unknown, expired or
 * revoked, or if its org or membership is gone.
 */
export const readCaller = async (deps: CallerDeps, authorization: string | undefined, note: NoteBearer = ignore): Promise<AuthContext> => {
  const bearer = bearerOf(authorization)
  if (bearer === null) throw new Refusal('AUTH_REQUIRED', 'Send `Authorization: Bearer <session or API token>`')
  return isToken(bearer) ? readToken(deps, bearer, note) : readOrgStatus(await readSession(deps, bearer, note))
}

/** Loads the caller of a backoffice route. For a staff session, the org and the membership are ignored. */
export const readInsider = async (deps: CallerDeps, bearer: string, note: NoteBearer = ignore): Promise<AuthContext> => {
  if (isToken(bearer)) return readToken(deps, bearer, note)
  const found = await readSession(deps, bearer, note)
  return readOrgStatus(opensBackoffice(found) ? {...found, orgId: null, orgName: null, closed: false, memberRole: null} : found)
}

const readSession = async ({config, hot}: CallerDeps, bearer: string, note: NoteBearer): Promise<SessionCaller> => {
  const id = isWritten(bearer) ? await readSignedId(config.SESSION_KEYS, 'session', bearer) : null
  const found = id === null ? undefined : await readSessionCaller(hot, id)
  if (found) note({...idsOf(found), via: 'session', session: found.id})
  if (!found || found.expired) throw new Refusal('AUTH_REQUIRED', 'The session is unknown or expired. Sign in again')
  if (found.staffView && found.staff === false)
    throw new Refusal('AUTH_REQUIRED', 'This staff view has ended, because you are no longer staff')
  return found
}

/** Whether the text may be a session token. This cheap check saves a signature verification. */
const isWritten = (bearer: string) => /^[\w.~+/=-]{1,2048}$/.test(bearer)

const opensBackoffice = ({staff, staffView}: SessionCaller) => staff === true && staffView === null

const readOrgStatus = (found: SessionCaller): AuthContext => {
  const staffView = found.staffView && {write: found.staffView === 'write'}
  const bearer = {
    via: 'session',
    session: found.id,
    token: null,
    grant: null,
    staff: opensBackoffice(found),
    staffView,
    isRecent: found.isRecent,
    embed: null,
  } as const
  return authContextOf(found, {...bearer, role: staffView ? 'admin' : roleInForce(found)})
}

const readToken = async ({hot, log}: CallerDeps, bearer: string, note: NoteBearer): Promise<AuthContext> => {
  if (isAccess(bearer)) return readAccess({hot, log}, bearer, note)
  if (isEmbed(bearer)) return readEmbed({hot}, bearer, note)
  const found = isWellFormed(bearer) ? await readTokenCaller(hot, hashSecret(bearer)) : undefined
  if (!found) throw new Refusal('AUTH_REQUIRED', 'Unknown API token. Check it for typing errors, or create a new one')
  note({...idsOf(found), via: 'token', token: found.id})
  // A token is revoked when its member leaves. The answer then names the reason: the member is gone.
  const authContext = authContextOf(found, {via: 'token', role: 'admin', ...nobodys, token: found.id})
  if (found.revoked) throw new Refusal('TOKEN_REVOKED', 'This API token was revoked. Create a new one')
  if (found.expired) throw new Refusal('TOKEN_EXPIRED', 'This API token has expired. Create a new one')
  if (found.stale) noteTokenUse(hot, [found.id]).catch(error => log.warn({err: error}, 'could not record the use of a token'))
  return authContext
}

/** Loads the caller of an MCP client's access token. The role is the current role of the member who granted the access. */
const readAccess = async ({hot, log}: Pick<CallerDeps, 'hot' | 'log'>, bearer: string, note: NoteBearer): Promise<AuthContext> => {
  const found = await readGrantCaller(hot, hashSecret(bearer))
  if (!found) throw new Refusal('AUTH_REQUIRED', 'Access token invalid or expired. Authorise the client again')
  note({...idsOf(found), via: 'oauth', grant: found.id})
  if (found.revoked) throw new Refusal('TOKEN_REVOKED', 'The access of this client was revoked. Authorise the client again')
  if (found.expired) throw new Refusal('TOKEN_EXPIRED', 'This access token has expired. Refresh it')
  const authContext = authContextOf(found, {via: 'oauth', role: found.memberRole, ...nobodys, grant: found.id})
  if (found.stale) noteGrantUse(hot, [found.id]).catch(error => log.warn({err: error}, 'could not record the use of a grant'))
  return authContext
}

/**
 * Loads the caller of an embed token. The embed token acts with the lowest role, for the person who created it. Its changes are recorded under the
 * API token that created it, or under the person if a session created it.
 */
const readEmbed = async ({hot}: Pick<CallerDeps, 'hot'>, bearer: string, note: NoteBearer): Promise<AuthContext> => {
  const found = await readEmbedCaller(hot, hashSecret(bearer))
  if (!found) throw new Refusal('AUTH_REQUIRED', 'Unknown embed token. Create a new one')
  const {id, template, origin, rowsLimit} = found
  note({...idsOf(found), via: 'token', token: id})
  if (found.revoked) throw new Refusal('TOKEN_REVOKED', 'This embed token was revoked. Create a new one')
  if (found.expired) throw new Refusal('TOKEN_EXPIRED', 'This embed token has expired. Create a new one')
  return authContextOf(found, {via: 'token', role: 'operator', ...nobodys, token: found.apiToken, embed: {id, template, origin, rowsLimit}})
}

const isAccess = (bearer: string) => bearer.startsWith(ACCESS)
const isEmbed = (bearer: string) => bearer.startsWith(EMBED)
const isToken = (bearer: string) => looksLikeSecret(bearer) || isAccess(bearer) || isEmbed(bearer)

const idsOf = ({orgId: org, personId: person}: Pick<TokenCaller, 'orgId' | 'personId'>) => ({
  org,
  person,
  session: null,
  token: null,
  grant: null,
})

const nobodys = {session: null, token: null, grant: null, staff: false, staffView: null, isRecent: false, embed: null} as const

/** Returns the role that applies now. A demotion takes effect at once; a promotion takes effect when the session is renewed. */
const roleInForce = ({memberRole, sessionRole}: SessionCaller): Role | null =>
  memberRole && sessionRole ? lowerOf(memberRole, sessionRole) : memberRole

type Bearer = Pick<Caller, 'via' | 'role' | 'session' | 'token' | 'grant' | 'staff' | 'staffView' | 'isRecent' | 'embed'>

const authContextOf = (found: Omit<TokenCaller, 'revoked' | 'stale'>, bearer: Bearer): AuthContext => {
  const {personId, email, personName, orgId: org, orgName, memberRole, banned, closed} = found
  if (org !== null && orgName === null) throw new Refusal('ORG_NOT_FOUND', 'The org of this session or token no longer exists')
  const isMember = memberRole !== null || bearer.staffView !== null || org === null
  if (personId === null || email === null || personName === null || !isMember) {
    throw new Refusal('MEMBERSHIP_GONE', 'The member behind this session or token has left the org. Ask an admin to invite them again')
  }
  return {banned, closed, caller: {...bearer, person: personId, email, name: personName, org, orgName}}
}
