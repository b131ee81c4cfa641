import {createHash, createHmac, timingSafeEqual} from 'node:crypto'
import type {Pool, Tx} from '../../sql/database.ts'
import {findGrantOf, findHolder, insertGrant, insertTokens, lockRefresh, revokeGrant, useRefresh} from '../../sql/oauth-grants.ts'
import {noteGrant, takeCode} from '../../sql/oauth-requests.ts'
import {isBanned} from '../../sql/people.ts'
import type {Config} from '../config.ts'
import type {Crm} from '../crm/crm.ts'
import {newId} from '../ids.ts'
import type {Log} from '../log.ts'
import {hashSecret, mintSecret} from '../people/api-token.ts'
import {followCrmUser} from '../people/follow.ts'
import type {KeyRing} from '../secrets.ts'
import {assertResource, assertScope} from './authorise.ts'
import {scope} from './metadata.ts'
import {OAuthRefusal} from './refusal.ts'

const accessSeconds = 3_600
/** Each is used once for the next, so a client that comes at least once a month stays. */
const refreshSeconds = 30 * 86_400
/** A client asks again if the answer was lost, and two windows of one client may renew at the same moment: both get the same tokens. */
const graceSeconds = 30
export const ACCESS = 'lading-mcp_'
const REFRESH = 'lading-refresh_'

type Form = Record<string, string>
type Tools = {db: Pool; config: Pick<Config, 'PUBLIC_URL' | 'SESSION_KEYS'>; crm: Crm; log: Log}

/** The token endpoint of RFC 6749. What ends a grant is committed before the client is answered. */
export const giveTokens = async ({db, config, crm, log}: Tools, form: Form, signal: AbortSignal): Promise<object> => {
  assertResource(form.resource, config)
  const type = needed(form, 'grant_type')
  if (type !== 'authorization_code' && type !== 'refresh_token')
    throw new OAuthRefusal('unsupported_grant_type', 'grant_type is authorization_code or refresh_token')
  if (type === 'refresh_token') await followHolder({db, crm, log}, form, signal)
  const given = await db.transaction(tx => (type === 'refresh_token' ? refresh(tx, config.SESSION_KEYS, form) : redeemCode(tx, form)))
  if (given instanceof OAuthRefusal) throw given
  return given
}

/** A person who is no active user of the CRM any more loses what MCP clients may do for them. */
const followHolder = async (tools: Pick<Tools, 'db' | 'crm' | 'log'>, form: Form, signal: AbortSignal) => {
  const holder = await findHolder(tools.db, hashSecret(needed(form, 'refresh_token')))
  if (holder) await followCrmUser(tools, {...holder, signal})
}

/** A code is good once. Presented again, it was stolen before or after: what it gave is taken back (RFC 6749, part 4.1.2). */
const redeemCode = async (tx: Tx, form: Form): Promise<object> => {
  const [client, redirectUri, verifier] = [needed(form, 'client_id'), needed(form, 'redirect_uri'), needed(form, 'code_verifier')]
  const code = await takeCode(tx, hashSecret(needed(form, 'code')))
  if (!code) return refused('No such code')
  if (code.used) {
    if (code.grant !== null) await revokeGrant(tx, code.grant)
    return refused('This code was used already: whatever it gave is taken back')
  }
  if (code.expired) return refused('This code is over: it is good for a minute')
  if (code.clientId !== client || code.redirectUri !== redirectUri)
    return refused('This code was given to another client or redirect address')
  if (!isVerified(verifier, code.challenge)) return refused('The code_verifier is not the one the request began with')
  const {person, org} = code
  const grant = (await isBanned(tx, person)) ? null : await insertGrant(tx, {id: newId('ogr'), org, person, client})
  if (!grant) return refused('The member who let the client in is gone')
  await noteGrant(tx, {id: code.id, grant: grant.id})
  return issue(tx, grant.id)
}

/**
 * A refresh token leads to one pair of tokens, however often it is used within the grace period, so a grant is one chain. If it is used later,
 * two parties hold it, and the grant is revoked.
 */
const refresh = async (tx: Tx, keys: KeyRing, form: Form): Promise<object> => {
  assertScope(form.scope)
  const client = needed(form, 'client_id')
  const token = needed(form, 'refresh_token')
  const hash = hashSecret(token)
  const found = await lockRefresh(tx, hash, {graceSeconds})
  if (!found || found.clientId !== client) return refused('No such refresh token')
  if (found.revoked) return refused('This access was taken back')
  if (found.reused || found.banned) {
    await revokeGrant(tx, found.grant)
    return refused(found.reused ? 'This refresh token was used already: the access it gave is taken back' : 'The account has been blocked')
  }
  if (found.expired) return refused('This refresh token has expired')
  if (found.used) return repeat(tx, keys, token)
  await useRefresh(tx, hash)
  return issue(tx, found.grant, successorsOf(keys[0]!, token))
}

type TokenPair = {access: Secret; renewal: Secret}
type Secret = ReturnType<typeof mintSecret>

const issue = async (tx: Tx, grant: string, pair: TokenPair = {access: mintSecret(ACCESS), renewal: mintSecret(REFRESH)}) => {
  await insertTokens(tx, {grant, access: pair.access.hash, refresh: pair.renewal.hash, accessSeconds, refreshSeconds})
  return describeTokens(pair, accessSeconds)
}

/** The tokens of the first use. `expires_in` allows for the time since then. */
const repeat = async (tx: Tx, keys: KeyRing, token: string): Promise<object> => {
  for (const key of keys) {
    const pair = successorsOf(key, token)
    if (await findGrantOf(tx, pair.renewal.hash)) return describeTokens(pair, accessSeconds - graceSeconds)
  }
  return refused('This refresh token was used already. Use the tokens it led to, or authorise the client again')
}

const describeTokens = ({access, renewal}: TokenPair, seconds: number) => ({
  ...{access_token: access.secret, token_type: 'Bearer', expires_in: seconds, refresh_token: renewal.secret, scope},
})

/** Derived, because only hashes are kept. The key is ours: a stolen refresh token alone does not tell its successors. */
const successorsOf = ({key}: KeyRing[number], token: string): TokenPair => {
  const derive = (start: string) => mintSecret(start, createHmac('sha256', key).update(`oauth successor ${start}${token}`).digest())
  return {access: derive(ACCESS), renewal: derive(REFRESH)}
}

/** RFC 7009: either token ends the grant with all of its tokens. One that nobody knows is as good as revoked. */
export const revokeToken = async (db: Pool, form: Form): Promise<void> => {
  const found = await findGrantOf(db, hashSecret(needed(form, 'token')))
  if (!found) return
  if (found.clientId !== needed(form, 'client_id')) throw new OAuthRefusal('invalid_client', 'This token was given to another client')
  await revokeGrant(db, found.grant)
}

const isVerified = (verifier: string, challenge: string): boolean => {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false
  const [made, kept] = [createHash('sha256').update(verifier).digest(), Buffer.from(challenge, 'base64url')]
  return made.length === kept.length && timingSafeEqual(made, kept)
}

const needed = (form: Form, name: string): string => {
  const value = form[name]
  if (value) return value
  throw new OAuthRefusal('invalid_request', `${name} is needed`)
}

const refused = (says: string) => new OAuthRefusal('invalid_grant', says)
