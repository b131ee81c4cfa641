import {beginSignIn} from '../../shared/accounts/sign-in.ts'
import {signId} from '../../shared/accounts/signed.ts'
import type {Config} from '../../shared/config.ts'
import {chooseDataCentre} from '../../shared/crm/oauth-client.ts'
import type {Outbound} from '../../shared/schedules/outbound/outbound.ts'
import type {Log} from '../../shared/telemetry/log.ts'
import type {Pool} from '../../sql/database.ts'
import {noteClientVisit} from '../../sql/oauth-clients.ts'
import {findClient} from './client.ts'
import {issuerOf, resourceOf, scope} from './metadata.ts'
import {isAmong, leadsToOwnComputer, withParameters} from './redirect.ts'
import {OAuthRefusal} from './refusal.ts'

/** Limit on a client's `state`, in bytes of its JSON form: 2,000 and the two quotes. */
const longestState = 2_002

type AuthoriseDeps = {db: Pool; config: Config; outbound: Outbound; log: Log}

/** The query parameters of an authorisation request, not yet checked. Each may be missing or repeated. */
type AuthoriseQuery = Record<string, string | string[] | undefined>

/**
 * Returns the URL to which the browser is redirected: the sign-in or, with an error, a client on the same computer. Other errors are thrown. Anyone
 * can register a client, so the browser goes to a web address only after a person has signed in and decided (RFC 9700, sections 4.1 and 4.11.2).
 * `browser` is the secret for the browser's cookie, or null if the client gets an error.
 */
export const authorise = async (
  deps: AuthoriseDeps,
  asked: AuthoriseQuery,
  browser: string | null,
): Promise<{url: string; browser: string | null}> => {
  const client = await findClient(deps, one(asked, 'client_id'))
  const redirectUri = one(asked, 'redirect_uri')
  if (!isAmong(client.redirectUris, redirectUri))
    throw new OAuthRefusal('invalid_request', 'The client has not registered this redirect URI. Connect again from the client')
  try {
    return await begin(deps, {client: client.id, redirectUri, asked, browser})
  } catch (error) {
    if (!(error instanceof OAuthRefusal) || !leadsToOwnComputer(redirectUri)) throw error
    const parameters = {error: error.code, error_description: error.message, state: stateOf(asked)}
    return {url: answerTo(deps.config, redirectUri, parameters), browser: null}
  }
}

/** Returns the URL that leads back to the client, with the issuer (RFC 9207). */
export const answerTo = (config: Pick<Config, 'PUBLIC_URL'>, redirectUri: string, parameters: Record<string, string | null>): string =>
  withParameters(redirectUri, {...parameters, iss: issuerOf(config)})

/** Returns the URL of the consent page. The URL names the request by a signed id, which expires with the request. */
export const consentUrl = async (config: Pick<Config, 'PUBLIC_URL' | 'SESSION_KEYS'>, request: {id: string; expiresAt: string}) =>
  `${issuerOf(config)}/oauth/consent?request=${await signId(config.SESSION_KEYS, 'consent', request)}`

type Begin = {client: string; redirectUri: string; asked: AuthoriseQuery; browser: string | null}

const begin = async ({db, config}: AuthoriseDeps, {client, redirectUri, asked, browser}: Begin) => {
  const challenge = readChallenge(asked, config)
  await noteClientVisit(db, client)
  const request = {client, redirectUri, clientState: stateOf(asked), challenge}
  return beginSignIn({db, config}, {purpose: 'grant', asked: request, dc: chooseDataCentre(config), returnTo: undefined, browser})
}

/** Returns the PKCE challenge of the request. Throws if a parameter is invalid or repeated. */
const readChallenge = (asked: AuthoriseQuery, config: Config): string => {
  for (const name of ['response_type', 'code_challenge', 'code_challenge_method', 'resource', 'scope', 'state'])
    if (Array.isArray(asked[name])) throw new OAuthRefusal('invalid_request', `${name} occurs twice. Send it once`)
  if (asked.response_type === undefined) throw new OAuthRefusal('invalid_request', 'response_type is missing. Send response_type=code')
  if (asked.response_type !== 'code')
    throw new OAuthRefusal('unsupported_response_type', 'Unsupported response_type. Send response_type=code')
  if (asked.code_challenge_method !== 'S256' || typeof asked.code_challenge !== 'string' || !/^[\w-]{43}$/.test(asked.code_challenge))
    throw new OAuthRefusal('invalid_request', 'PKCE is required. Send a code_challenge with code_challenge_method=S256')
  assertResource(asked.resource, config)
  assertScope(asked.scope)
  // Measured as JSON, because the sealed visit contains it so. The callback accepts a sealed visit of at most 8,192 characters.
  if (Buffer.byteLength(JSON.stringify(stateOf(asked) ?? '')) > longestState)
    throw new OAuthRefusal('invalid_request', 'state is too long. Send at most 2000 bytes')
  return asked.code_challenge
}

/** Throws unless the requested resource is ours (RFC 8707). Older clients omit the parameter, which means our only resource. */
export const assertResource = (resource: unknown, config: Pick<Config, 'PUBLIC_URL'>): void => {
  if (resource !== undefined && resource !== resourceOf(config))
    throw new OAuthRefusal('invalid_target', `Unknown resource. Tokens of this server are valid only for ${resourceOf(config)}`)
}

/** Throws unless the requested scope contains `mcp` or is missing. Other scopes are ignored; the token response names the granted scope. */
export const assertScope = (asked: unknown): void => {
  if (asked !== undefined && asked !== '' && !String(asked).split(' ').includes(scope))
    throw new OAuthRefusal('invalid_scope', `Unknown scope. Request the scope ${scope}`)
}

const one = (asked: AuthoriseQuery, name: string): string => {
  const value = asked[name]
  if (typeof value === 'string' && value !== '') return value
  throw new OAuthRefusal('invalid_request', `${name} is missing or repeated. Send it once`)
}

const stateOf = ({state}: AuthoriseQuery): string | null => (typeof state === 'string' ? state : null)
