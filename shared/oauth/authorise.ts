import type {Pool} from '../../sql/database.ts'
import {insertRequest} from '../../sql/oauth-requests.ts'
import type {Config} from '../config.ts'
import {newId} from '../ids.ts'
import type {Log} from '../log.ts'
import type {Outbound} from '../outbound/outbound.ts'
import {beginSignIn, hashOf, randomText, visitMinutes} from '../people/sign-in.ts'
import {signId} from '../people/signed.ts'
import {findClient} from './client.ts'
import {issuerOf, resourceOf, scope} from './metadata.ts'
import {isAmong, isHere, withParameters} from './redirect.ts'
import {OAuthRefusal} from './refusal.ts'

type Tools = {db: Pool; config: Config; outbound: Outbound; log: Log}

/** The parameters of an authorisation request as they came: any of them may be missing, or there twice. */
type Asked = Record<string, string | string[] | undefined>

/**
 * Where a browser that asks on behalf of a client is sent: to sign in, or back to a program on its computer with what is wrong. All else is
 * thrown: nothing is sent where nobody registered, and since anybody registers, nothing to a web address before somebody signed in and decided,
 * or a link to us would lead anywhere (RFC 9700, parts 4.1 and 4.11.2).
 */
export const authorise = async (tools: Tools, asked: Asked, browser: string | null): Promise<{url: string; browser: string | null}> => {
  const client = await findClient(tools, one(asked, 'client_id'))
  const redirectUri = one(asked, 'redirect_uri')
  if (!isAmong(client.redirectUris, redirectUri))
    throw new OAuthRefusal('invalid_request', 'The client did not register this redirect address, so nothing is sent there')
  try {
    return await begin(tools, {client: client.id, redirectUri, asked, browser})
  } catch (error) {
    if (!(error instanceof OAuthRefusal) || !isHere(redirectUri)) throw error
    const parameters = {error: error.code, error_description: error.message, state: stateOf(asked)}
    return {url: answerTo(tools.config, redirectUri, parameters), browser: null}
  }
}

/** An answer to the client by way of the browser, with who gives it (RFC 9207). */
export const answerTo = (config: Pick<Config, 'PUBLIC_URL'>, redirectUri: string, parameters: Record<string, string | null>): string =>
  withParameters(redirectUri, {...parameters, iss: issuerOf(config)})

/** The page on which the request is decided. */
export const consentUrl = async (config: Pick<Config, 'PUBLIC_URL' | 'SESSION_KEYS'>, request: {id: string; expiresAt: string}) =>
  `${issuerOf(config)}/oauth/consent?request=${await signId(config.SESSION_KEYS, 'consent', request)}`

type Begin = {client: string; redirectUri: string; asked: Asked; browser: string | null}

const begin = async (tools: Tools, {client, redirectUri, asked, browser: carried}: Begin) => {
  const {db, config} = tools
  const challenge = readChallenge(asked, config)
  const browser = carried ?? randomText()
  const row = {id: newId('oar'), client, redirectUri, clientState: stateOf(asked), challenge, browserHash: hashOf(browser)}
  await insertRequest(db, {...row, minutes: visitMinutes})
  const dc = config.CRM_STANDIN_URL ? 'local' : 'us'
  return beginSignIn({db, config}, {purpose: 'grant', request: row.id, dc, returnTo: undefined, browser})
}

/** The challenge of a request there is nothing wrong with. */
const readChallenge = (asked: Asked, config: Config): string => {
  for (const name of ['response_type', 'code_challenge', 'code_challenge_method', 'resource', 'scope', 'state'])
    if (Array.isArray(asked[name])) throw new OAuthRefusal('invalid_request', `${name} is there twice`)
  if (asked.response_type !== 'code') throw new OAuthRefusal('unsupported_response_type', 'Only response_type=code is known here')
  if (asked.code_challenge_method !== 'S256' || typeof asked.code_challenge !== 'string' || !/^[\w-]{43}$/.test(asked.code_challenge))
    throw new OAuthRefusal('invalid_request', 'PKCE is needed: a code_challenge with code_challenge_method=S256')
  assertResource(asked.resource, config)
  assertScope(asked.scope)
  if ((stateOf(asked) ?? '').length > 2_000) throw new OAuthRefusal('invalid_request', 'state has at most 2000 characters')
  return asked.code_challenge
}

/** A token is for one resource (RFC 8707). Clients of before the parameter name none and mean the only one there is. */
export const assertResource = (resource: unknown, config: Pick<Config, 'PUBLIC_URL'>): void => {
  if (resource !== undefined && resource !== resourceOf(config))
    throw new OAuthRefusal('invalid_target', `Tokens of this server are for ${resourceOf(config)} alone`)
}

/** Others may be asked for beside it and are not given, as the answer says. */
export const assertScope = (asked: unknown): void => {
  if (asked !== undefined && asked !== '' && !String(asked).split(' ').includes(scope))
    throw new OAuthRefusal('invalid_scope', `The scope here is ${scope}`)
}

const one = (asked: Asked, name: string): string => {
  const value = asked[name]
  if (typeof value === 'string' && value !== '') return value
  throw new OAuthRefusal('invalid_request', `${name} is needed once`)
}

const stateOf = ({state}: Asked): string | null => (typeof state === 'string' ? state : null)
