import {createHash, createHmac, timingSafeEqual} from 'node:crypto'
import {followCrmUser} from '../../shared/accounts/follow.ts'
import {hashSecret, mintSecret} from '../../shared/accounts/token-secret.ts'
import type {Config} from '../../shared/config.ts'
import type {Crm} from '../../shared/crm/crm.ts'
import {newId} from '../../shared/ids.ts'
import type {KeyRing} from '../../shared/security/secrets.ts'
import type {Log} from '../../shared/telemetry/log.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {findGrantOf, findHolder, insertGrant, insertTokens, lockRefresh, revokeGrant, useRefresh} from '../../sql/oauth-grants.ts'
import {noteGrant, takeCode} from '../../sql/oauth-requests.ts'
import {isBanned} from '../../sql/people.ts'
import {assertResource, assertScope} from './authorise.ts'
import {scope} from './metadata.ts'
import {OAuthRefusal} from './refusal.ts'

const accessSeconds = 3_600
/**
 * Lifetime of a refresh token, in seconds. Each token is exchanged once for a new token, so a client that connects at least monthly stays authorised.
 */
const refreshSeconds = 30 * 86_400
/**
 * How long after its first use a refresh token may be used again, in seconds. A client may retry after a lost response, and two of its windows
 * may refresh at once. All these uses get the same tokens.
 */
const graceSeconds = 30
export const ACCESS = 'lading-mcp_'
const REFRESH = 'lading-refresh_'

type Form = Record<string, string>
type TokenDeps = {db: Pool; config: Pick<Config, 'PUBLIC_URL' | 'SESSION_KEYS'>; crm: Crm; log: Log}

/**
 * Issues the tokens for a code or a refresh token (RFC 6749). If a misused code or token revokes the grant, the revocation is committed before
 * the client gets the error.
 */
export const giveTokens = async ({db, config, crm, log}: TokenDeps, form: Form, signal: AbortSignal): Promise<object> => {
  assertResource(form.resource, config)
  const type = needed(form, 'grant_type')
  if (type !== 'authorization_code' && type !== 'refresh_token')
    throw new OAuthRefusal('unsupported_grant_type', 'Unsupported grant_type. Send authorization_code or refresh_token')
  if (type === 'refresh_token') await followHolder({db, crm, log}, form, signal)
  const given = await db.transaction(tx => (type === 'refresh_token' ? refresh(tx, config.SESSION_KEYS, form) : redeemCode(tx, form)))
  if (given instanceof OAuthRefusal) throw given
  return given
}

/** Revokes the grants of a person who is no longer an active CRM user. */
const followHolder = async (tools: Pick<TokenDeps, 'db' | 'crm' | 'log'>, form: Form, signal: AbortSignal) => {
  const holder = await findHolder(tools.db, hashSecret(needed(form, 'refresh_token')))
  if (holder) await followCrmUser(tools, {...holder, signal})
}

/** Exchanges a code for tokens. A code is valid once. If it is used again, it was stolen, and the grant is revoked (RFC 6749, section 4.1.2). */
const redeemCode = async (tx: Tx, form: Form): Promise<object> => {
  const [client, verifier] = [needed(form, 'client_id'), needed(form, 'code_verifier')]
  const code = await takeCode(tx, hashSecret(needed(form, 'code')))
  if (!code) return refused('Unknown code. Authorise the client again')
  if (code.used) {
    if (code.grant !== null) await revokeGrant(tx, code.grant, 'misuse')
    return refused('This code was already used, so its access is revoked. Authorise the client again')
  }
  if (code.expired) return refused('This code has expired after one minute. Authorise the client again')
  // OAuth 2.1 leaves the redirect URI out of this request, because PKCE binds the code to the client. If a client sends it, it must be the same.
  if (code.clientId !== client || (form.redirect_uri ?? code.redirectUri) !== code.redirectUri)
    return refused('This code was issued to another client or redirect URI')
  if (!isVerified(verifier, code.challenge)) return refused('The code_verifier does not match the code_challenge')
  const {person, org} = code
  const grant = (await isBanned(tx, person)) ? null : await insertGrant(tx, {id: newId('ogr'), org, person, client})
  if (!grant) return refused('The person who authorised the client has left the org. Authorise the client again')
  await noteGrant(tx, {id: code.id, grant: grant.id})
  return issue(tx, grant.id)
}

/**
 * Exchanges a refresh token for the next pair of tokens. Every use within the grace period gets the same pair, so a grant has one chain of tokens. If
 * a token is used again later, two parties have it, and the grant is revoked.
 */
const refresh = async (tx: Tx, keys: KeyRing, form: Form): Promise<object> => {
  assertScope(form.scope)
  const client = needed(form, 'client_id')
  const token = needed(form, 'refresh_token')
  const hash = hashSecret(token)
  const found = await lockRefresh(tx, hash, {graceSeconds})
  if (!found || found.clientId !== client) return refused('Unknown refresh token. Authorise the client again')
  if (found.revoked) return refused('The access of this client was revoked. Authorise the client again')
  if (found.reused || found.banned) {
    await revokeGrant(tx, found.grant, found.reused ? 'misuse' : 'ban')
    return refused(
      found.reused
        ? 'This refresh token was already used, so its access is revoked. Authorise the client again'
        : 'The account has been blocked',
    )
  }
  if (found.expired) return refused('This refresh token has expired. Authorise the client again')
  if (found.used) return repeatAnswer(tx, keys, token)
  await useRefresh(tx, hash)
  return issue(tx, found.grant, successorsOf(keys[0]!, token))
}

type TokenPair = {access: Secret; renewal: Secret}
type Secret = ReturnType<typeof mintSecret>

const issue = async (tx: Tx, grant: string, pair: TokenPair = {access: mintSecret(ACCESS), renewal: mintSecret(REFRESH)}) => {
  await insertTokens(tx, {grant, access: pair.access.hash, refresh: pair.renewal.hash, accessSeconds, refreshSeconds})
  return describeTokens(pair, accessSeconds)
}

/** Returns the tokens of the first use again, with `expires_in` reduced by the grace period. Returns a refusal if they no longer exist. */
const repeatAnswer = async (tx: Tx, keys: KeyRing, token: string): Promise<object> => {
  for (const key of keys) {
    const pair = successorsOf(key, token)
    if (await findGrantOf(tx, pair.renewal.hash)) return describeTokens(pair, accessSeconds - graceSeconds)
  }
  return refused('This refresh token was already used. Use the tokens it led to, or authorise the client again')
}

const describeTokens = ({access, renewal}: TokenPair, seconds: number) => ({
  access_token: access.secret,
  token_type: 'Bearer',
  expires_in: seconds,
  refresh_token: renewal.secret,
  scope,
})

/**
 * Derives the next pair of tokens from a refresh token. Only hashes of tokens are stored, so a repeated answer needs the derivation. The
 * key is secret, so a stolen refresh token does not reveal the next ones.
 */
const successorsOf = ({key}: KeyRing[number], token: string): TokenPair => {
  const derive = (start: string) => mintSecret(start, createHmac('sha256', key).update(`oauth successor ${start}${token}`).digest())
  return {access: derive(ACCESS), renewal: derive(REFRESH)}
}

/** Revokes the grant of an access or refresh token (RFC 7009). An unknown token gets the same response. */
export const revokeToken = async (db: Pool, form: Form): Promise<void> => {
  const [client, token] = [needed(form, 'client_id'), needed(form, 'token')]
  const found = await findGrantOf(db, hashSecret(token))
  if (!found) return
  if (found.clientId !== client) throw new OAuthRefusal('invalid_client', 'This token was issued to another client')
  await revokeGrant(db, found.grant, 'client')
}

const isVerified = (verifier: string, challenge: string): boolean => {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false
  const [made, kept] = [createHash('sha256').update(verifier).digest(), Buffer.from(challenge, 'base64url')]
  return made.length === kept.length && timingSafeEqual(made, kept)
}

const needed = (form: Form, name: string): string => {
  const value = form[name]
  if (value) return value
  throw new OAuthRefusal('invalid_request', `${name} is missing`)
}

const refused = (says: string) => new OAuthRefusal('invalid_grant', says)
