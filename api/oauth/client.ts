import {z} from 'zod'
import {visitMinutes} from '../../shared/accounts/sign-in.ts'
import {openLimiter} from '../../shared/concurrency/limiter.ts'
import type {Config} from '../../shared/config.ts'
import {newId} from '../../shared/ids.ts'
import {OutboundFailure} from '../../shared/schedules/outbound/failure.ts'
import {hostOf, isPrivateOfAny, placeOf, portOf} from '../../shared/schedules/outbound/hosts.ts'
import type {Outbound} from '../../shared/schedules/outbound/outbound.ts'
import type {Log} from '../../shared/telemetry/log.ts'
import type {Db} from '../../sql/database.ts'
import {findDocumentClient, findRegisteredClient, keepClient, type OAuthClientRow} from '../../sql/oauth-clients.ts'
import {isRedirectUri} from './redirect.ts'
import {OAuthRefusal} from './refusal.ts'

/** Limit on stored clients without a grant. Anyone can register a client. */
const mostUnused = 5_000
const documentMinutes = 60
const documentBytes = 16 * 1024
const documentSeconds = 5

/** The client's name on the consent page: one line, without invisible or bidirectional control characters. */
const Name = z
  .string()
  .transform(text => text.replaceAll(/[\p{C}\p{Z}\p{DI}\u2800]+/gu, ' ').trim())
  .pipe(z.string().max(100))
const RedirectUris = z.array(z.string().refine(isRedirectUri, 'Use https, http on a loopback address, or a custom scheme')).min(1).max(20)

/** Client metadata (RFC 7591). Fields that we do not use are dropped; the response lists the values that apply. */
const Registration = z.object({client_name: Name.optional(), redirect_uris: RedirectUris})

/**
 * Registers a public client, whatever kind it requests. A client without a grant is deleted after a day. If `mostUnused` such clients exist, a new
 * client replaces the oldest one without a sign-in in progress.
 */
export const registerClient = async (db: Db, metadata: unknown) => {
  const {data, error} = Registration.safeParse(metadata)
  if (error) {
    const isUri = error.issues.every(({path}) => path[0] === 'redirect_uris')
    throw new OAuthRefusal(isUri ? 'invalid_redirect_uri' : 'invalid_client_metadata', z.prettifyError(error).slice(0, 500))
  }
  const name = data.client_name || 'An unnamed client'
  const client = await keepRegistered(db, {id: newId('mcl'), kind: 'registered', name, redirectUris: data.redirect_uris})
  return {
    client_id: client.id,
    client_id_issued_at: Math.floor(Date.parse(client.createdAt) / 1000),
    client_name: client.name,
    redirect_uris: client.redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}

const keepRegistered = async (db: Db, client: Omit<OAuthClientRow, 'createdAt'>): Promise<OAuthClientRow> => {
  const kept = await keepClient(db, client, {mostUnused, visitMinutes})
  if (!kept) throw new OAuthRefusal('temporarily_unavailable', 'Too many clients are being registered. Try again in ten minutes', 503)
  return kept
}

type OAuthClientDeps = {db: Db; config: Pick<Config, 'PUBLIC_URL' | 'PRIVATE_HOSTS'>; outbound: Outbound; log: Log}

/**
 * Returns a registered client or, if the id is a URL, the client that the document at this URL describes. Documents are cached for one hour. Throws
 * `invalid_client`.
 */
export const findClient = async ({db, config, outbound, log}: OAuthClientDeps, id: string): Promise<OAuthClientRow> => {
  if (!id.startsWith('https://')) {
    const found = await findRegisteredClient(db, id)
    if (!found) throw invalidClient('This client is no longer registered. Remove the connection in the client and connect again')
    return found
  }
  assertDocumentAddress(config, id)
  const known = await findDocumentClient(db, {id, minutes: documentMinutes})
  if (known) return known
  const {client_name: name, redirect_uris: redirectUris} = await inLine(() => readDocument({outbound, log}, id))
  return keepRegistered(db, {id, kind: 'document', name: name || new URL(id).host, redirectUris})
}

/** Limits concurrent document reads, because anyone can trigger one. */
const inLine = openLimiter(16, {mostWaiting: 100, says: 'Too many clients are being looked up. Try again in a moment'})

/**
 * Checks the URL of a metadata document. Accepts only the canonical form of a URL, so that one client has one id. Refuses hosts in PRIVATE_HOSTS,
 * because only requests that an org's settings name may reach them. Refuses this service's host too.
 */
const assertDocumentAddress = ({PUBLIC_URL, PRIVATE_HOSTS}: OAuthClientDeps['config'], id: string) => {
  const url = URL.canParse(id) && id.length <= 500 ? new URL(id) : null
  if (!url || url.href !== id || url.pathname === '/' || url.hash || url.username || url.password)
    throw invalidClient('The URL used as client id is malformed. It needs a path, and no fragment or user name')
  if (hostOf(url) === hostOf(new URL(PUBLIC_URL)) || isPrivateOfAny(PRIVATE_HOSTS, placeOf(hostOf(url), portOf(url))))
    throw unreadableDocument()
}

const ClientDocument = z.object({
  client_id: z.string(),
  client_name: Name.optional(),
  redirect_uris: RedirectUris,
  token_endpoint_auth_method: z.string().optional(),
  client_secret: z.never('A public document must not contain a secret').optional(),
})

const readDocument = async ({outbound, log}: Pick<OAuthClientDeps, 'outbound' | 'log'>, id: string) => {
  const {data, error} = ClientDocument.safeParse(await fetchJson({outbound, log}, id))
  if (error) throw invalidClient(`The document at the client id does not describe a client: ${z.prettifyError(error).slice(0, 300)}`)
  if (data.client_id !== id) throw invalidClient('The document at the client id describes another client')
  if ((data.token_endpoint_auth_method ?? 'none') !== 'none')
    throw invalidClient('Only public clients are supported. Set token_endpoint_auth_method to none in the document')
  return data
}

const fetchJson = async ({outbound, log}: Pick<OAuthClientDeps, 'outbound' | 'log'>, id: string): Promise<unknown> => {
  try {
    const answer = await outbound.request(id, {
      headers: {accept: 'application/json'},
      limitBytes: documentBytes,
      timeoutSeconds: documentSeconds,
      idleSeconds: documentSeconds,
    })
    const chunks: Uint8Array[] = []
    for await (const chunk of answer.body) chunks.push(chunk)
    if (answer.status !== 200) throw invalidClient(`The URL of the client id returned status ${answer.status}`)
    // The document must be JSON, because files that users upload to other sites have other media types.
    if (!/^application\/([\w.+-]+\+)?json *(;|$)/i.test(answer.headers['content-type'] ?? '')) throw unreadableDocument()
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    if (error instanceof OAuthRefusal) throw error
    if (!(error instanceof OutboundFailure) && !(error instanceof SyntaxError)) throw error
    log.info({err: error}, 'could not read a client document')
    throw unreadableDocument()
  }
}

/** Returns one refusal for all failures, so that a caller cannot learn which internal hosts exist. */
const unreadableDocument = () => invalidClient('The document at the client id could not be read as application/json')

const invalidClient = (says: string) => new OAuthRefusal('invalid_client', says)
