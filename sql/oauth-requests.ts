import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})
const Request = z.object({
  id: z.string(),
  clientId: z.string(),
  clientName: z.string(),
  clientKind: z.enum(['registered', 'document']),
  redirectUri: z.string(),
  clientState: z.string().nullable(),
  person: z.string().nullable(),
  email: z.string().nullable(),
  org: z.string().nullable(),
})
export type OAuthRequest = z.output<typeof Request>

/** An authorisation request to store once the person has signed in. `org`: the org of the sign-in, which the consent page offers first. */
type NewOAuthRequest = {
  id: string
  client: string
  redirectUri: string
  clientState: string | null
  challenge: string
  browserHash: Buffer
  expiresAt: string
  person: string
  org: string | null
}

const Waiting = z.object({id: z.string(), expiresAt: z.string()})

/**
 * Stores a request. Returns null if the request has expired or its client was deleted. Closes undecided requests of other people in this
 * browser, so that a person who goes back never sees another person's page.
 */
export const insertRequest = (db: Db, {id, client, redirectUri, clientState, challenge, browserHash, ...of}: NewOAuthRequest) =>
  db.maybeOne(sql.type(Waiting)`
    with left_behind as (
      update oauth_requests set decided_at = lading_now()
      where browser_hash = ${sql.binary(browserHash)} and person_id <> ${of.person} and decided_at is null)
    insert into oauth_requests (id, client_id, redirect_uri, client_state, challenge, browser_hash, expires_at, person_id, org_id)
    select ${id}, c.id, ${redirectUri}, ${clientState}, ${challenge}, ${sql.binary(browserHash)}, ${of.expiresAt}, ${of.person}, ${of.org}
    from oauth_clients c where c.id = ${client} and ${of.expiresAt}::timestamptz > lading_now()
    returning id, expires_at as "expiresAt"`)

type OfBrowser = {id: string; browserHash: Buffer}
const waiting = ({id, browserHash}: OfBrowser) => sql.fragment`
  r.id = ${id} and browser_hash = ${sql.binary(browserHash)} and decided_at is null and expires_at > lading_now()`
const columns = sql.fragment`r.id, client_id as "clientId", c.name as "clientName", c.kind as "clientKind", redirect_uri as "redirectUri",
  client_state as "clientState", person_id as person, p.email, org_id as org`

/** Finds an undecided request that has not expired. Only the browser that began the request can read it. */
export const findRequest = (db: Db, of: OfBrowser) =>
  db.maybeOne(sql.type(Request)`
    select ${columns} from oauth_requests r join oauth_clients c on c.id = client_id left join people p on p.id = person_id where ${waiting(of)}`)

export const lockRequest = (tx: Tx, of: OfBrowser) =>
  tx.maybeOne(sql.type(Request)`
    select ${columns} from oauth_requests r join oauth_clients c on c.id = client_id left join people p on p.id = person_id where ${waiting(of)}
    for update of r`)

export const denyRequest = (tx: Tx, id: string) =>
  tx.query(sql.type(Empty)`update oauth_requests set decided_at = lading_now() where id = ${id}`)

type AllowedRequest = {id: string; org: string; codeHash: Buffer; seconds: number}

export const allowRequest = (tx: Tx, {id, org, codeHash, seconds}: AllowedRequest) =>
  tx.query(sql.type(Empty)`
    update oauth_requests set decided_at = lading_now(), org_id = ${org}, code_hash = ${sql.binary(codeHash)},
      code_expires_at = lading_now() + make_interval(secs => ${seconds})
    where id = ${id}`)

const Code = z.object({
  id: z.string(),
  clientId: z.string(),
  redirectUri: z.string(),
  challenge: z.string(),
  person: z.string(),
  org: z.string(),
  expired: z.boolean(),
  used: z.boolean(),
  grant: z.string().nullable(),
})

/** Consumes a code at its first use, whether or not the rest of the request is valid. `used`: the code was consumed before. */
export const takeCode = (tx: Tx, codeHash: Buffer) =>
  tx.maybeOne(sql.type(Code)`
    update oauth_requests r set code_used_at = coalesce(before.code_used_at, lading_now())
    from (select id, code_used_at from oauth_requests where code_hash = ${sql.binary(codeHash)} for update) before
    where r.id = before.id
    returning r.id, client_id as "clientId", redirect_uri as "redirectUri", challenge, person_id as person, r.org_id as org,
      code_expires_at <= lading_now() as expired, before.code_used_at is not null as used, grant_id as grant`)

export const noteGrant = (tx: Tx, {id, grant}: {id: string; grant: string}) =>
  tx.query(sql.type(Empty)`update oauth_requests set grant_id = ${grant} where id = ${id}`)

const Home = z.object({id: z.string(), name: z.string()})

/**
 * Lists at most 100 open orgs in which the person may authorise a client. These are `org`, the org of the sign-in, and orgs that invited the
 * person.
 */
export const listOpenOrgs = (db: Db, {person, org}: {person: string; org: string | null}) =>
  db.any(sql.type(Home)`
    select o.id, o.name from members m join orgs o on o.id = m.org_id
    where m.person_id = ${person} and (m.invited or m.org_id = ${org}) and o.closed_at is null and o.erasing_at is null
    order by m.created_at, o.id limit 100`)
