import {Refusal} from '../shared/errors.ts'
import {hashSecret, isWellFormed, looksLikeSecret} from '../shared/people/api-token.ts'
import {lowerOf, type Role} from '../shared/people/roles.ts'
import {readSignedId} from '../shared/people/signed.ts'
import {noteTokenUse, readSessionCaller, readTokenCaller, type SessionCaller, type TokenCaller} from '../sql/callers.ts'
import type {Caller, Standing} from './access.ts'
import type {Tools} from './route.ts'

type Needed = Pick<Tools, 'config' | 'hot' | 'log'>

/** Who the bearer is and how they stand, by one query. Throws the 401s. */
export const readCaller = async (tools: Needed, authorization: string | undefined): Promise<Standing> => {
  const [, bearer] = /^Bearer +([\w.~+/=-]{1,2048})$/i.exec(authorization ?? '') ?? []
  if (bearer === undefined) throw new Refusal('AUTH_REQUIRED', 'Send `Authorization: Bearer <session or API token>`')
  return looksLikeSecret(bearer) ? readToken(tools, bearer) : readSession(tools, bearer)
}

const readSession = async ({config, hot}: Needed, bearer: string): Promise<Standing> => {
  const id = await readSignedId(config.SESSION_KEYS, 'session', bearer)
  const [found] = id === null ? [] : await readSessionCaller(hot, [id])
  if (!found || found.expired) throw new Refusal('AUTH_REQUIRED', 'The session is unknown or over: sign in again')
  return standingOf(found, {via: 'session', role: roleInForce(found), session: found.id, token: null})
}

const readToken = async ({hot, log}: Needed, bearer: string): Promise<Standing> => {
  const [found] = isWellFormed(bearer) ? await readTokenCaller(hot, [hashSecret(bearer)]) : []
  if (!found) throw new Refusal('AUTH_REQUIRED', 'No such API token: look for a typing error, or make a new one')
  if (found.revoked) throw new Refusal('TOKEN_REVOKED', 'This API token was revoked')
  if (found.expired) throw new Refusal('TOKEN_EXPIRED', 'This API token has expired')
  const standing = standingOf(found, {via: 'token', role: 'admin', session: null, token: found.id})
  if (found.stale) noteTokenUse(hot, [found.id]).catch(error => log.warn({err: error}, 'token use not noted'))
  return standing
}

/** What a member became since the session began counts at once when it is less, and after a refresh when it is more. */
const roleInForce = ({memberRole, sessionRole}: SessionCaller): Role | null =>
  memberRole && sessionRole ? lowerOf(memberRole, sessionRole) : memberRole

type Bearer = Pick<Caller, 'via' | 'role' | 'session' | 'token'>

const standingOf = (found: SessionCaller | TokenCaller, bearer: Bearer): Standing => {
  const {personId, email, personName, orgId: org, orgName, memberRole, banned, closed} = found
  if (org !== null && orgName === null) throw new Refusal('ORG_NOT_FOUND', 'The org of this bearer is gone')
  if (personId === null || email === null || personName === null || (org !== null && memberRole === null)) {
    throw new Refusal('MEMBERSHIP_GONE', 'The member of this bearer is gone')
  }
  return {banned, closed, caller: {...bearer, person: personId, email, name: personName, org, orgName}}
}
