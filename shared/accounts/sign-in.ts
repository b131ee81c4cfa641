import {createHash, randomBytes} from 'node:crypto'
import {readClock} from '../../sql/clock.ts'
import type {Pool} from '../../sql/database.ts'
import {listReceived} from '../../sql/invitations.ts'
import {insertRequest} from '../../sql/oauth-requests.ts'
import type {Device} from '../../sql/sessions.ts'
import {useSignInOnce} from '../../sql/used-sign-ins.ts'
import type {Config} from '../config.ts'
import type {Crm} from '../crm/crm.ts'
import {apiAccessRemedy} from '../crm/error.ts'
import {findAccounts, findHosts, type Hosts} from '../crm/hosts.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import type {Queue} from '../queue.ts'
import type {Log} from '../telemetry/log.ts'
import {normaliseAddress} from './address.ts'
import {keepConnection} from './connection.ts'
import {keepFirstConnection} from './first-connection.ts'
import {followCrmUser} from './follow.ts'
import {
  authoriseUrl,
  type CrmConsent,
  exchangeCode,
  type Identity,
  listMissingScopes,
  readIdentity,
  revokeConsent,
} from './identity-provider.ts'
import {admitPerson, type SignedIn} from './membership.ts'
import {findReturnOrigin} from './origins.ts'
import {endReplaced, openSession} from './session.ts'
import {openVisit, sealVisit, type Visit} from './visit.ts'

type SignInDeps = {db: Pool; config: Config; crm: Crm; queue: Queue; log: Log}

/** `browser`: the secret of an earlier visit, if the browser has one. Two windows then share the secret and can sign in at the same time. */
type Begin = {dc: string; returnTo: string | undefined; browser: string | null} & (
  | ({purpose: 'session'} & SessionOptions)
  | {purpose: 'grant'; asked: NonNullable<Visit['asked']>}
  | {purpose: 'connect'; org: string; person: string; token: string | null; connectionName: string | null}
)

/**
 * `keepsCookie`: a cookie keeps the session, and no page receives its token. `connects`: the consent includes the scopes of a connection and may
 * create the org's first connection.
 */
type SessionOptions = {keepsCookie?: boolean; connects?: boolean}

export const visitMinutes = 10

/**
 * Returns the URL for the browser, and the secret that the browser must return. The state in the URL contains the visit, so nothing is stored.
 */
export const beginSignIn = async (
  {db, config}: Pick<SignInDeps, 'db' | 'config'>,
  begin: Begin,
): Promise<{url: string; browser: string}> => {
  const hosts = findHosts(config, begin.dc)
  if (!hosts)
    throw new Refusal('INVALID', `The data centre ${begin.dc} is unknown. Choose one of the list`, {
      issues: [{path: ['dc'], message: 'No such data centre'}],
    })
  const returnOrigin = findReturnOrigin(config, begin.returnTo)
  const {keepsCookie = false, connects = false} = begin.purpose === 'session' ? begin : {}
  if (!returnOrigin || (keepsCookie && returnOrigin !== findReturnOrigin(config, undefined)))
    throw new Refusal('RETURN_NOT_ALLOWED', 'This origin is not allowed to receive sessions. Ask the operator to add it to RETURN_ORIGINS')
  const verifier = randomText()
  const browser = begin.browser ?? randomText()
  const {org = null, person = null, token = null, connectionName = null} = begin.purpose === 'connect' ? begin : {}
  const asked = begin.purpose === 'grant' ? begin.asked : null
  const expiresAt = new Date(Date.parse(await readClock(db)) + visitMinutes * 60_000).toISOString()
  const of = {purpose: begin.purpose, dc: hosts.dc, returnOrigin, org, person, token, connectionName, asked, keepsCookie, connects}
  const state = sealVisit(config.SECRETS_KEYS, {id: newId('sgn'), ...of, verifier, expiresAt}, browser)
  return {url: authoriseUrl(config, hosts, {purpose: begin.purpose, connects, state, verifier}), browser}
}

type SignInReturn = {
  state?: string | undefined
  code?: string | undefined
  error?: string | undefined
  accountsServer?: string | undefined
  browser: string | null
  /** The session token in the cookie of the browser. If the visit sets a new cookie, the sign-in of this token ends. */
  former: string | null
  device: Device
  signal: AbortSignal
}

/**
 * The result of a visit. For the purpose `grant`, it is the request of an MCP client that awaits a decision. For the other purposes, it is a message
 * for the page that began the visit, and the origin of that page. `cookie`: the session token for the cookie, or null if no cookie is set.
 */
export type SignInOutcome = {origin: string; message: SignInMessage; cookie: string | null} | {request: {id: string; expiresAt: string}}

/** `lading:signed-in` contains no token, because a cookie keeps the session. */
type SignInMessage =
  | {type: 'lading:session'; token: string}
  | {type: 'lading:signed-in'; missingScopes: string[]}
  | {type: 'lading:connected'; connectorId: string}

export const completeSignIn = async (deps: SignInDeps, returned: SignInReturn): Promise<SignInOutcome> => {
  const {db, config} = deps
  const visit = await takeVisit(deps, returned)
  const hosts = returned.accountsServer === undefined ? findHosts(config, visit.dc) : findAccounts(config, returned.accountsServer)
  if (!hosts)
    throw new Refusal('SIGN_IN_REFUSED', 'This did not come from a sign-in host of the CRM. Start again from the page you came from')
  const code = codeOf(returned)
  const consent = await exchangeCode(config, hosts, {code, verifier: visit.verifier})
  const identity = await readIdentity(hosts, consent, visit.purpose)
  if (visit.purpose === 'connect') {
    const connectorId = await db.transaction(tx => keepConnection(tx, config, {visit, consent, identity}))
    return {origin: visit.returnOrigin, message: {type: 'lading:connected', connectorId}, cookie: null}
  }
  const signedIn = await dropInactive(deps, await admit(deps, {visit, hosts, consent, identity}), returned.signal)
  if (identity.lacksApiAccess && signedIn.org === null && !signedIn.isStaff) await assertInvited(db, identity)
  if (visit.purpose === 'grant') return {request: await openRequest(db, visit, {...signedIn, browser: returned.browser!})}
  const home = signedIn.isGuest ? null : signedIn.org
  const token = await openSession(db, config, {...signedIn, home, device: returned.device})
  if (!visit.keepsCookie) return {origin: visit.returnOrigin, message: {type: 'lading:session', token}, cookie: null}
  if (returned.former !== null) await endReplaced(db, config, returned.former)
  const missingScopes = visit.connects ? listMissingScopes(consent) : []
  return {origin: visit.returnOrigin, message: {type: 'lading:signed-in', missingScopes}, cookie: token}
}

type AdmitInput = {visit: Visit; hosts: Hosts; consent: CrmConsent; identity: Identity}

/**
 * Admits the person. If the visit may connect and `keepFirstConnection` accepts the consent, makes the org's first connection in the same
 * transaction. A refresh token that no connection stores is revoked.
 */
const admit = async (deps: SignInDeps, {visit, hosts, consent, identity}: AdmitInput): Promise<SignedIn> => {
  const {db, config, log} = deps
  const {signedIn, isKept} = await db.transaction(async tx => {
    const signedIn = await admitPerson(tx, config, identity)
    return {signedIn, isKept: visit.connects && (await keepFirstConnection(tx, deps, {signedIn, consent, identity}))}
  })
  if (consent.refreshToken && !isKept)
    await revokeConsent(hosts, consent.refreshToken).catch(error => log.warn({err: error}, 'grant of a sign-in not revoked at the CRM'))
  return signedIn
}

/** Removes the org from the sign-in of an invited person whose user in the org's CRM is inactive. Other sign-ins stay unchanged. */
const dropInactive = async (deps: SignInDeps, signedIn: SignedIn, signal: AbortSignal): Promise<SignedIn> => {
  const {person, org, isGuest, isStaff} = signedIn
  if (!isGuest || org === null || (await followCrmUser(deps, {org, person, signal})).isActive) return signedIn
  return {person, org: null, role: null, isGuest, isStaff}
}

/**
 * Throws unless the person has an invitation. Call it if the sign-in gave no org and the profile of the CRM user lacks API access: the error names
 * this cause.
 */
const assertInvited = async (db: Pool, {email}: Identity) => {
  if ((await listReceived(db, normaliseAddress(email))).length > 0) return
  throw new Refusal('SIGN_IN_REFUSED', `The profile of your CRM user has no API access. ${apiAccessRemedy}. Then sign in again`)
}

/** The request is stored only after the sign-in, so that anonymous visitors cannot fill the table. */
const openRequest = async (db: Pool, {asked, expiresAt}: Visit, {person, org, browser}: SignedIn & {browser: string}) => {
  const request = await insertRequest(db, {...asked!, id: newId('oar'), browserHash: hashOf(browser), expiresAt, person, org})
  if (request) return request
  throw new Refusal('SIGN_IN_EXPIRED', 'This request took too long. Start again from the program you came from')
}

const takeVisit = async ({db, config}: Pick<SignInDeps, 'db' | 'config'>, {state, browser}: SignInReturn): Promise<Visit> => {
  const visit = state && browser ? openVisit(config.SECRETS_KEYS, state, browser) : null
  if (visit && (await useSignInOnce(db, visit))) return visit
  throw new Refusal('SIGN_IN_EXPIRED', 'This sign-in took too long, was already used, or began in another browser. Start again')
}

const codeOf = ({code, error}: SignInReturn) => {
  if (error === 'access_denied')
    throw new Refusal('SIGN_IN_REFUSED', 'You did not allow access in the CRM. Start again if you want to continue')
  if (error !== undefined || !code)
    throw new Refusal('SIGN_IN_REFUSED', 'The CRM refused the sign-in. Start again, and contact your administrator if this continues')
  return code
}

const randomText = () => randomBytes(32).toString('base64url')
export const hashOf = (text: string) => createHash('sha256').update(text).digest()
