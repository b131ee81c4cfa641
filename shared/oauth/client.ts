import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {findDocumentClient, findRegisteredClient, keepClient, type OAuthClient} from '../../sql/oauth-clients.ts'
import type {Config} from '../config.ts'
import {newId} from '../ids.ts'
import {openLine} from '../line.ts'
import type {Log} from '../log.ts'
import {OutboundFailure} from '../outbound/failure.ts'
import {hostOf, isPrivateOfAny, placeOf, portOf} from '../outbound/hosts.ts'
import type {Outbound} from '../outbound/outbound.ts'
import {isRedirectUri} from './redirect.ts'
import {OAuthRefusal} from './refusal.ts'

export type {OAuthClient} from '../../sql/oauth-clients.ts'

/** Registered by anybody who asks, so there is an end to it: of those that nobody has let in. */
const mostUnused = 5_000
const documentMinutes = 60
const documentBytes = 16 * 1024
const documentSeconds = 5

/** A name is shown to a person who decides by it: one line, nothing that writes backwards or is not seen. */
const Name = z
  .string()
  .transform(text => text.replaceAll(/[\p{C}\p{Z}\p{DI}\u2800]+/gu, ' ').trim())
  .pipe(z.string().max(100))
const RedirectUris = z
  .array(z.string().refine(isRedirectUri, 'https, http of a loopback address, or the scheme of a program'))
  .min(1)
  .max(20)

/** What a client says of itself (RFC 7591). What is not of use here is let go, and what is answered says how it is. */
const Registration = z.object({client_name: Name.optional(), redirect_uris: RedirectUris})

/** Registers a client that has no secret, whatever kind it asked to be. Goes by itself when nobody lets it in within a day. */
export const registerClient = async (db: Db, said: unknown) => {
  const {data, error} = Registration.safeParse(said)
  if (error) {
    const isUri = error.issues.every(({path}) => path[0] === 'redirect_uris')
    throw new OAuthRefusal(isUri ? 'invalid_redirect_uri' : 'invalid_client_metadata', z.prettifyError(error).slice(0, 500))
  }
  const name = data.client_name || 'An unnamed client'
  const client = await keep(db, {id: newId('mcl'), kind: 'registered', name, redirectUris: data.redirect_uris})
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

const keep = async (db: Db, client: Omit<OAuthClient, 'createdAt'>): Promise<OAuthClient> => {
  const kept = await keepClient(db, client, {mostUnused})
  if (!kept) throw new OAuthRefusal('temporarily_unavailable', 'Too many clients come just now: try again in ten minutes', 503)
  return kept
}

type Tools = {db: Db; config: Pick<Config, 'PUBLIC_URL' | 'PRIVATE_HOSTS'>; outbound: Outbound; log: Log}

/**
 * The client of an id: one that registered, or one whose id is the address of a document about it, which is then read, and again an hour
 * later. Throws `invalid_client`.
 */
export const findClient = async ({db, config, outbound, log}: Tools, id: string): Promise<OAuthClient> => {
  if (!id.startsWith('https://')) {
    const found = await findRegisteredClient(db, id)
    if (!found) throw invalidClient('This program is not known here any more: remove the connection in it and connect again')
    return found
  }
  assertDocumentAddress(config, id)
  const known = await findDocumentClient(db, {id, minutes: documentMinutes})
  if (known) return known
  const {client_name: name, redirect_uris: redirectUris} = await inLine(() => readDocument({outbound, log}, id))
  return keep(db, {id, kind: 'document', name: name || new URL(id).host, redirectUris})
}

/** Anybody has us read what they name, so it is never many at once. */
const inLine = openLine({atOnce: 16, mostWaiting: 100, says: 'Too many programs are being looked up: try again in a moment'})

/**
 * An address that is written in one way only, so that one client has one id. What the operator lets orgs reach within the house is not let to
 * everybody by this, nor are we.
 */
const assertDocumentAddress = ({PUBLIC_URL, PRIVATE_HOSTS}: Tools['config'], id: string) => {
  const url = URL.canParse(id) && id.length <= 500 ? new URL(id) : null
  if (!url || url.href !== id || url.pathname === '/' || url.hash || url.username || url.password)
    throw invalidClient('A client id that is an address has a path, no fragment, and no user in it')
  if (hostOf(url) === hostOf(new URL(PUBLIC_URL)) || isPrivateOfAny(PRIVATE_HOSTS, placeOf(hostOf(url), portOf(url)))) throw unread()
}

const ClientDocument = z.object({
  client_id: z.string(),
  client_name: Name.optional(),
  redirect_uris: RedirectUris,
  token_endpoint_auth_method: z.string().optional(),
  client_secret: z.never('A public document holds no secret').optional(),
})

const readDocument = async ({outbound, log}: Pick<Tools, 'outbound' | 'log'>, id: string) => {
  const {data, error} = ClientDocument.safeParse(await fetchJson({outbound, log}, id))
  if (error) throw invalidClient(`The document at the client id does not describe a client: ${z.prettifyError(error).slice(0, 300)}`)
  if (data.client_id !== id) throw invalidClient('The document at the client id is of another client')
  if ((data.token_endpoint_auth_method ?? 'none') !== 'none')
    throw invalidClient('Only clients without a secret are let in: the document asks for another way to prove itself')
  return data
}

const fetchJson = async ({outbound, log}: Pick<Tools, 'outbound' | 'log'>, id: string): Promise<unknown> => {
  try {
    const answer = await outbound.request(id, {
      ...{headers: {accept: 'application/json'}, limitBytes: documentBytes, timeoutSeconds: documentSeconds, idleSeconds: documentSeconds},
    })
    const chunks: Uint8Array[] = []
    for await (const chunk of answer.body) chunks.push(chunk)
    if (answer.status !== 200) throw invalidClient(`The address of the client id answered ${answer.status}`)
    // What people upload to a site of others is served as something else.
    if (!/^application\/([\w.+-]+\+)?json *(;|$)/i.test(answer.headers['content-type'] ?? '')) throw unread()
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    if (error instanceof OAuthRefusal) throw error
    if (!(error instanceof OutboundFailure) && !(error instanceof SyntaxError)) throw error
    log.info({err: error}, 'a client document was not read')
    throw unread()
  }
}

/** Which of our own places can be reached is nobody's to learn. */
const unread = () => invalidClient('The document at the client id could not be read as application/json')

const invalidClient = (says: string) => new OAuthRefusal('invalid_client', says)
