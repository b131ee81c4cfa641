import {createHash, randomBytes} from 'node:crypto'
import {readClock} from '../../sql/clock.ts'
import type {Pool} from '../../sql/database.ts'
import {signInRequest} from '../../sql/oauth-requests.ts'
import type {Device} from '../../sql/sessions.ts'
import {spendSignIn} from '../../sql/used-sign-ins.ts'
import type {Config} from '../config.ts'
import type {Crm} from '../crm/crm.ts'
import {findAccounts, findHosts} from '../crm/hosts.ts'
import {Refusal} from '../errors.ts'
import {newId} from '../ids.ts'
import type {Log} from '../log.ts'
import {keepConnection} from './connection.ts'
import {followCrmUser} from './follow.ts'
import {authoriseUrl, exchangeCode, readIdentity} from './identity-provider.ts'
import {admitPerson, type SignedIn} from './membership.ts'
import {findReturnOrigin} from './origins.ts'
import {openSession} from './session.ts'
import {openVisit, sealVisit, type Visit} from './visit.ts'

type Tools = {db: Pool; config: Config; crm: Crm; log: Log}

/** `browser` is the secret the browser already carries, if any: two windows may sign in at once. */
type Begin = {dc: string; returnTo: string | undefined; browser: string | null} & (
  | {purpose: 'session'}
  | {purpose: 'grant'; request: string}
  | {purpose: 'connect'; org: string; person: string; connectionName: string | null}
)

/** How long a visit to the identity provider may take. */
export const visitMinutes = 10

/** Where to send the browser, and the secret it must bring back. Nothing is stored: the state in the address holds the visit. */
export const beginSignIn = async ({db, config}: Pick<Tools, 'db' | 'config'>, begin: Begin): Promise<{url: string; browser: string}> => {
  const hosts = findHosts(config, begin.dc)
  if (!hosts)
    throw new Refusal('INVALID', `There is no data centre ${begin.dc}`, {issues: [{path: ['dc'], message: 'No such data centre'}]})
  const returnOrigin = findReturnOrigin(config, begin.returnTo)
  if (!returnOrigin)
    throw new Refusal('RETURN_NOT_ALLOWED', 'Sessions are not handed to this origin: the operator lists it in RETURN_ORIGINS')
  const verifier = randomText()
  const browser = begin.browser ?? randomText()
  const {org = null, person = null, connectionName = null} = begin.purpose === 'connect' ? begin : {}
  const oauthRequest = begin.purpose === 'grant' ? begin.request : null
  const expiresAt = new Date(Date.parse(await readClock(db)) + visitMinutes * 60_000).toISOString()
  const of = {purpose: begin.purpose, dc: hosts.dc, returnOrigin, org, person, connectionName, oauthRequest}
  const state = sealVisit(config.SECRETS_KEYS, {id: newId('sgn'), ...of, verifier, expiresAt}, browser)
  return {url: authoriseUrl(config, hosts, {purpose: begin.purpose, state, verifier}), browser}
}

type Returned = {
  state?: string | undefined
  code?: string | undefined
  error?: string | undefined
  accountsServer?: string | undefined
  browser: string | null
  device: Device
  signal: AbortSignal
}

/** What the page that began the visit is told at its origin, or the request of an MCP client the person is to decide on now. */
export type Outcome =
  | {origin: string; message: {type: 'lading:session'; token: string} | {type: 'lading:connected'; connectorId: string}}
  | {request: {id: string; expiresAt: string}}

/** What came of the visit. Refuses a visit that is used up, late, another browser's or not allowed. */
export const completeSignIn = async (tools: Tools, returned: Returned): Promise<Outcome> => {
  const {db, config} = tools
  const visit = await takeVisit(tools, returned)
  const hosts = returned.accountsServer === undefined ? findHosts(config, visit.dc) : findAccounts(config, returned.accountsServer)
  if (!hosts)
    throw new Refusal('SIGN_IN_REFUSED', 'This did not come from a sign-in host of the CRM. Start again from the page you came from')
  const code = codeOf(returned)
  const consent = await exchangeCode(config, hosts, {code, verifier: visit.verifier})
  const identity = await readIdentity(hosts, consent)
  if (visit.purpose === 'connect') {
    const connectorId = await db.transaction(tx => keepConnection(tx, config, {visit, consent, identity}))
    return {origin: visit.returnOrigin, message: {type: 'lading:connected', connectorId}}
  }
  const signedIn = await dropInactive(tools, await db.transaction(tx => admitPerson(tx, config, identity)), returned.signal)
  if (visit.purpose === 'grant') return {request: await resume(db, visit, signedIn)}
  const token = await openSession(db, config, {...signedIn, device: returned.device})
  return {origin: visit.returnOrigin, message: {type: 'lading:session', token}}
}

/** The CRM let a person in who came from its own org. A person let in by an invitation may be deactivated there: they get no org. */
const dropInactive = async (tools: Tools, signedIn: SignedIn, signal: AbortSignal): Promise<SignedIn> => {
  const {person, org, isGuest} = signedIn
  if (!isGuest || org === null || (await followCrmUser(tools, {org, person, signal})).isActive) return signedIn
  return {person, org: null, role: null, isGuest}
}

const resume = async (db: Pool, {oauthRequest}: Visit, {person, org}: SignedIn) => {
  const request = await signInRequest(db, {id: oauthRequest!, person, org})
  if (request) return request
  throw new Refusal('SIGN_IN_EXPIRED', 'This request took too long. Start again from the program you came from')
}

const takeVisit = async ({db, config}: Pick<Tools, 'db' | 'config'>, {state, browser}: Returned): Promise<Visit> => {
  const visit = state && browser ? openVisit(config.SECRETS_KEYS, state, browser) : null
  if (visit && (await spendSignIn(db, visit))) return visit
  throw new Refusal('SIGN_IN_EXPIRED', 'This sign-in took too long, was already used, or began in another browser. Start again')
}

const codeOf = ({code, error}: Returned) => {
  if (error === 'access_denied')
    throw new Refusal('SIGN_IN_REFUSED', 'You did not allow access in the CRM. Start again if you want to go on')
  if (error !== undefined || !code)
    throw new Refusal('SIGN_IN_REFUSED', "The CRM's sign-in refused. Start again, and tell your administrator if it refuses again")
  return code
}

export const randomText = () => randomBytes(32).toString('base64url')
export const hashOf = (text: string) => createHash('sha256').update(text).digest()
