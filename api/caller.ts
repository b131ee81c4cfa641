import {Refusal} from '../shared/errors.ts'
import {ACCESS} from '../shared/oauth/tokens.ts'
import {hashSecret, isWellFormed, looksLikeSecret} from '../shared/people/api-token.ts'
import {lowerOf, type Role} from '../shared/people/roles.ts'
import {readSignedId} from '../shared/people/signed.ts'
import {
  noteGrantUse,
  noteTokenUse,
  readGrantCaller,
  readSessionCaller,
  readTokenCaller,
  type SessionCaller,
  type TokenCaller,
} from '../sql/callers.ts'
import type {Caller, Standing} from './access.ts'
import type {Tools} from './route.ts'

type Needed = Pick<Tools, 'config' | 'hot' | 'log'>

/** What follows `Bearer`, whatever it is; null when nothing of that scheme was sent. */
export const bearerOf = (authorization: string | undefined): string | null => /^Bearer +(\S.*)$/i.exec(authorization ?? '')?.[1] ?? null

/** Told of every bearer that was found, also of one that is refused then: the access log names it. */
export type NoteBearer = (bearer: Pick<Caller, 'via' | 'org' | 'session' | 'token' | 'grant'> & {person: string | null}) => void

const ignore = () => {}

/** Who the bearer is and how they stand, by one query. Throws the 401s. */
export const readCaller = async (tools: Needed, authorization: string | undefined, note: NoteBearer = ignore): Promise<Standing> => {
  const bearer = bearerOf(authorization)
  if (bearer === null) throw new Refusal('AUTH_REQUIRED', 'Send `Authorization: Bearer <session or API token>`')
  return looksLikeSecret(bearer) || isAccess(bearer)
    ? readToken(tools, bearer, note)
    : standingInOrg(await readSession(tools, bearer, note))
}

/** The same for the backoffice: of somebody who is staff the org and the membership count for nothing there. */
export const readInsider = async (tools: Needed, bearer: string, note: NoteBearer = ignore): Promise<Standing> => {
  if (looksLikeSecret(bearer) || isAccess(bearer)) return readToken(tools, bearer, note)
  const found = await readSession(tools, bearer, note)
  return standingInOrg(opensBackoffice(found) ? {...found, orgId: null, orgName: null, closed: false, memberRole: null} : found)
}

const readSession = async ({config, hot}: Needed, bearer: string, note: NoteBearer): Promise<SessionCaller> => {
  const id = isWritten(bearer) ? await readSignedId(config.SESSION_KEYS, 'session', bearer) : null
  const found = id === null ? undefined : await readSessionCaller(hot, id)
  if (found) note({...idsOf(found), via: 'session', session: found.id})
  if (!found || found.expired) throw new Refusal('AUTH_REQUIRED', 'The session is unknown or over: sign in again')
  if (found.staffView && found.staff === false) throw new Refusal('AUTH_REQUIRED', 'This view is over: its person is no longer staff')
  return found
}

/** Only then is a signature looked for. */
const isWritten = (bearer: string) => /^[\w.~+/=-]{1,2048}$/.test(bearer)

const opensBackoffice = ({staff, staffView}: SessionCaller) => staff === true && staffView === null

const standingInOrg = (found: SessionCaller): Standing => {
  const staffView = found.staffView && {write: found.staffView === 'write'}
  const bearer = {
    via: 'session',
    session: found.id,
    token: null,
    grant: null,
    staff: opensBackoffice(found),
    staffView,
    isRecent: found.isRecent,
  } as const
  return standingOf(found, {...bearer, role: staffView ? 'admin' : roleInForce(found)})
}

const readToken = async ({hot, log}: Needed, bearer: string, note: NoteBearer): Promise<Standing> => {
  if (isAccess(bearer)) return readAccess({hot, log}, bearer, note)
  const found = isWellFormed(bearer) ? await readTokenCaller(hot, hashSecret(bearer)) : undefined
  if (!found) throw new Refusal('AUTH_REQUIRED', 'No such API token: look for a typing error, or make a new one')
  note({...idsOf(found), via: 'token', token: found.id})
  if (found.revoked) throw new Refusal('TOKEN_REVOKED', 'This API token was revoked')
  if (found.expired) throw new Refusal('TOKEN_EXPIRED', 'This API token has expired')
  const standing = standingOf(found, {via: 'token', role: 'admin', ...nobodys, token: found.id})
  if (found.stale) noteTokenUse(hot, [found.id]).catch(error => log.warn({err: error}, 'token use not noted'))
  return standing
}

/** The token of an MCP client is worth what its member is worth at the moment. */
const readAccess = async ({hot, log}: Pick<Needed, 'hot' | 'log'>, bearer: string, note: NoteBearer): Promise<Standing> => {
  const found = await readGrantCaller(hot, hashSecret(bearer))
  if (!found) throw new Refusal('AUTH_REQUIRED', 'This access is unknown or over: let the client in again')
  note({...idsOf(found), via: 'oauth', grant: found.id})
  if (found.revoked) throw new Refusal('TOKEN_REVOKED', 'This access was taken back: let the client in again')
  if (found.expired) throw new Refusal('TOKEN_EXPIRED', 'This access token has expired: refresh it')
  const standing = standingOf(found, {via: 'oauth', role: found.memberRole, ...nobodys, grant: found.id})
  if (found.stale) noteGrantUse(hot, [found.id]).catch(error => log.warn({err: error}, 'use of a grant not noted'))
  return standing
}

const isAccess = (bearer: string) => bearer.startsWith(ACCESS)

const idsOf = ({orgId: org, personId: person}: SessionCaller | TokenCaller) => ({org, person, session: null, token: null, grant: null})

const nobodys = {session: null, token: null, grant: null, staff: false, staffView: null, isRecent: false} as const

/** What a member became since the session began counts at once when it is less, and after a refresh when it is more. */
const roleInForce = ({memberRole, sessionRole}: SessionCaller): Role | null =>
  memberRole && sessionRole ? lowerOf(memberRole, sessionRole) : memberRole

type Bearer = Pick<Caller, 'via' | 'role' | 'session' | 'token' | 'grant' | 'staff' | 'staffView' | 'isRecent'>

const standingOf = (found: SessionCaller | TokenCaller, bearer: Bearer): Standing => {
  const {personId, email, personName, orgId: org, orgName, memberRole, banned, closed} = found
  if (org !== null && orgName === null) throw new Refusal('ORG_NOT_FOUND', 'The org of this bearer is gone')
  const isMember = memberRole !== null || bearer.staffView !== null || org === null
  if (personId === null || email === null || personName === null || !isMember) {
    throw new Refusal('MEMBERSHIP_GONE', 'The member of this bearer is gone')
  }
  return {banned, closed, caller: {...bearer, person: personId, email, name: personName, org, orgName}}
}
