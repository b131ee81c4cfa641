import {followCrmUser} from '../../shared/accounts/follow.ts'
import {hashOf} from '../../shared/accounts/sign-in.ts'
import {readSignedId} from '../../shared/accounts/signed.ts'
import {mintSecret} from '../../shared/accounts/token-secret.ts'
import type {Config} from '../../shared/config.ts'
import type {Crm} from '../../shared/crm/crm.ts'
import {Refusal} from '../../shared/errors.ts'
import type {Log} from '../../shared/telemetry/log.ts'
import type {Pool} from '../../sql/database.ts'
import {noteClientUse} from '../../sql/oauth-clients.ts'
import {allowRequest, denyRequest, findRequest, listOpenOrgs, lockRequest, type OAuthRequest} from '../../sql/oauth-requests.ts'
import {isBanned} from '../../sql/people.ts'
import {answerTo} from './authorise.ts'

/** Lifetime of an authorisation code, in seconds. */
const codeSeconds = 60

type ConsentDeps = {db: Pool; config: Pick<Config, 'PUBLIC_URL' | 'SESSION_KEYS'>}
/** The two proofs that identify an authorisation request: `request` from the page and `browser` from the cookie. Both are needed. */
type Visit = {request: string | undefined; browser: string | null}

export type OAuthConsent = {request: OAuthRequest & {person: string}; orgs: {id: string; name: string}[]}

export const readConsent = async ({db, config}: ConsentDeps, visit: Visit): Promise<OAuthConsent> => {
  const of = await identify(config, visit)
  const request = of && (await findRequest(db, of))
  if (!request?.person) throw expired()
  const {person, org} = request
  return {request: {...request, person}, orgs: [...(await listOpenOrgs(db, {person, org}))]}
}

type DecideDeps = ConsentDeps & {crm: Crm; log: Log}
type Decision = {allow: boolean; org: string | undefined; signal: AbortSignal}

/**
 * Records the person's decision, which is possible once per request. Returns the redirect to the client, with a code or `access_denied`. Like a
 * switch to the org, an approval reads the CRM user first; an inactive user is refused.
 */
export const decide = async (deps: DecideDeps, visit: Visit, {allow, org, signal}: Decision): Promise<string> => {
  const {db, config} = deps
  const of = await identify(config, visit)
  const waiting = of && (await findRequest(db, of))
  if (!of || !waiting?.person) throw expired()
  if (allow && org !== undefined && !(await followCrmUser(deps, {org, person: waiting.person, signal})).isActive) throw notAdmitted()
  return db.transaction(async tx => {
    const request = await lockRequest(tx, of)
    if (!request?.person) throw expired()
    const {redirectUri, clientState: state} = request
    if (!allow) {
      await denyRequest(tx, request.id)
      return answerTo(config, redirectUri, {error: 'access_denied', error_description: 'The person denied access', state})
    }
    const {person} = request
    const chosen = (await listOpenOrgs(tx, {person, org: request.org})).find(({id}) => id === org)
    if (!chosen) throw notAdmitted()
    if (await isBanned(tx, person)) throw new Refusal('BANNED', 'This account has been blocked. Contact support')
    const {secret, hash} = mintSecret('lading-code_')
    await allowRequest(tx, {id: request.id, org: chosen.id, codeHash: hash, seconds: codeSeconds})
    await noteClientUse(tx, request.clientId)
    return answerTo(config, redirectUri, {code: secret, state})
  })
}

const identify = async ({SESSION_KEYS}: Pick<Config, 'SESSION_KEYS'>, {request, browser}: Visit) => {
  const id = request === undefined ? null : await readSignedId(SESSION_KEYS, 'consent', request)
  return id !== null && browser !== null ? {id, browserHash: hashOf(browser)} : null
}

const notAdmitted = () => new Refusal('NOT_FOUND', 'You are no longer in that org. Start again from the client')

const expired = () =>
  new Refusal('SIGN_IN_EXPIRED', 'This request expired, was already answered, or began in another browser. Start again from the client')
