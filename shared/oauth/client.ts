import {z} from 'zod'
import type {Db} from '../../sql/database.ts'
import {findDocumentClient, findRegisteredClient, insertClient, keepDocumentClient, type OAuthClient} from '../../sql/oauth-clients.ts'
import {newId} from '../ids.ts'
import type {Log} from '../log.ts'
import {OutboundFailure} from '../outbound/failure.ts'
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
  .transform(text => text.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim())
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
  const named = {id: newId('mcl'), name: data.client_name || 'An unnamed client', redirectUris: data.redirect_uris}
  const client = await insertClient(db, named, {mostUnused})
  if (!client) throw new OAuthRefusal('temporarily_unavailable', 'Too many clients were registered today: come back tomorrow', 503)
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

type Tools = {db: Db; outbound: Outbound; log: Log}

/**
 * The client of an id: one that registered, or one whose id is the address of a document about it, which is then read, and again an hour
 * later. Throws `invalid_client`.
 */
export const findClient = async ({db, outbound, log}: Tools, id: string): Promise<OAuthClient> => {
  if (!id.startsWith('https://')) {
    const found = await findRegisteredClient(db, id)
    if (!found) throw invalidClient('This program is not known here any more: remove the connection in it and connect again')
    return found
  }
  assertDocumentAddress(id)
  const known = await findDocumentClient(db, {id, minutes: documentMinutes})
  if (known) return known
  const {client_name: name, redirect_uris: redirectUris} = await readDocument({outbound, log}, id)
  return keepDocumentClient(db, {id, name: name || new URL(id).host, redirectUris})
}

/** An address that is written in one way only, so that one client has one id. */
const assertDocumentAddress = (id: string) => {
  const url = URL.canParse(id) && id.length <= 500 ? new URL(id) : null
  if (!url || url.href !== id || url.pathname === '/' || url.hash || url.username || url.password)
    throw invalidClient('A client id that is an address has a path, no fragment, and no user in it')
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
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    if (error instanceof OAuthRefusal) throw error
    if (!(error instanceof OutboundFailure) && !(error instanceof SyntaxError)) throw error
    log.info({err: error}, 'a client document was not read')
    // Which of our own places can be reached is nobody's to learn.
    throw invalidClient('The document at the client id could not be read as JSON')
  }
}

const invalidClient = (says: string) => new OAuthRefusal('invalid_client', says)
