import {z} from 'zod'
import {type GrantCause, noteGrants} from './audit-events.ts'
import type {Via} from './changes.ts'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})
const Granted = z.object({id: z.string()})

type NewGrant = {id: string; org: string; person: string; client: string}

/** Inserts a grant. Returns null if the person is no longer a member of the org. Locks the membership until the transaction ends. */
export const insertGrant = (tx: Tx, {id, org, person, client}: NewGrant) =>
  tx.maybeOne(sql.type(Granted)`
    with member as (select org_id, person_id from members where org_id = ${org} and person_id = ${person} for key share),
    made as (insert into oauth_grants (id, org_id, person_id, client_id) select ${id}, org_id, person_id, ${client} from member returning *),
    noted as (${noteGrants('made', 'client.allowed', 'person')})
    select id from made`)

type NewTokens = {grant: string; access: Buffer; refresh: Buffer; accessSeconds: number; refreshSeconds: number}

export const insertTokens = (tx: Tx, {grant, access, refresh, accessSeconds, refreshSeconds}: NewTokens) =>
  tx.query(sql.type(Empty)`
    insert into oauth_tokens (hash, grant_id, kind, expires_at) values
      (${sql.binary(access)}, ${grant}, 'access', lading_now() + make_interval(secs => ${accessSeconds})),
      (${sql.binary(refresh)}, ${grant}, 'refresh', lading_now() + make_interval(secs => ${refreshSeconds}))`)

const Refresh = z.object({
  grant: z.string(),
  clientId: z.string(),
  expired: z.boolean(),
  used: z.boolean(),
  reused: z.boolean(),
  revoked: z.boolean(),
  banned: z.boolean(),
})

/**
 * Locks a refresh token and its grant until the transaction ends. `used`: the token was used before. `reused`: its first use was more than
 * `graceSeconds` ago.
 */
export const lockRefresh = (tx: Tx, hash: Buffer, {graceSeconds}: {graceSeconds: number}) =>
  tx.maybeOne(sql.type(Refresh)`
    select g.id as grant, g.client_id as "clientId", t.expires_at <= lading_now() as expired,
      t.used_at is not null as used, coalesce(t.used_at <= lading_now() - make_interval(secs => ${graceSeconds}), false) as reused, g.revoked_at is not null as revoked, p.banned_at is not null as banned
    from oauth_tokens t join oauth_grants g on g.id = t.grant_id join people p on p.id = g.person_id
    where t.hash = ${sql.binary(hash)} and t.kind = 'refresh'
    for update of t, g`)

/** A second use keeps the time of the first. */
export const useRefresh = (tx: Tx, hash: Buffer) =>
  tx.query(sql.type(Empty)`update oauth_tokens set used_at = coalesce(used_at, lading_now()) where hash = ${sql.binary(hash)}`)

export const findGrantOf = (db: Db, hash: Buffer) =>
  db.maybeOne(sql.type(z.object({grant: z.string(), clientId: z.string()}))`
    select g.id as grant, g.client_id as "clientId" from oauth_tokens t join oauth_grants g on g.id = t.grant_id where t.hash = ${sql.binary(hash)}`)

/** Revokes the grant with all its tokens. A second revocation keeps the time of the first. */
export const revokeGrant = (db: Db, id: string, cause: GrantCause) => revokeWhere(db, sql.fragment`id = ${id}`, cause)

/** Revokes a member's grants. `via`: how the membership ended. Call this before its deletion, which deletes the grants without a record. */
export const revokeGrantsOf = (tx: Tx, {org, person}: GrantHolderRef, cause: GrantCause, via?: Via) =>
  revokeWhere(tx, sql.fragment`org_id = ${org} and person_id = ${person}`, cause, via)

const revokeWhere = (db: Db, where: ReturnType<typeof sql.fragment>, cause: GrantCause, via?: Via) =>
  db.query(sql.type(Empty)`
    with ended as (update oauth_grants set revoked_at = lading_now() where ${where} and revoked_at is null returning *)
    ${noteGrants('ended', 'client.revoked', cause, via)}`)

export const findHolder = (db: Db, hash: Buffer) =>
  db.maybeOne(sql.type(z.object({org: z.string(), person: z.string()}))`
    select org_id as org, person_id as person from oauth_tokens t join oauth_grants g on g.id = t.grant_id
    where t.hash = ${sql.binary(hash)} and t.kind = 'refresh'`)

const Listed = z.object({
  id: z.string(),
  client: z.object({id: z.string(), name: z.string()}),
  createdAt: z.string(),
  lastUsedAt: z.string().nullable(),
  revokedAt: z.string().nullable(),
})

const listed = sql.fragment`g.id, jsonb_build_object('id', c.id, 'name', c.name) as client, g.created_at as "createdAt",
  g.last_used_at as "lastUsedAt", g.revoked_at as "revokedAt"`

type GrantHolderRef = {org: string; person: string}

/** Lists at most 500 of a person's grants in an org that still have a usable token, newest first. */
export const listGrants = (db: Db, {org, person}: GrantHolderRef) =>
  db.any(sql.type(Listed)`
    select ${listed} from oauth_grants g join oauth_clients c on c.id = client_id
    where org_id = ${org} and person_id = ${person} and revoked_at is null
      and exists (select from oauth_tokens t where t.grant_id = g.id and used_at is null and expires_at > lading_now())
    order by g.id desc limit 500`)

/** Revokes the person's own grant. Returns null if the person has no such grant in the org. */
export const revokeOwnGrant = (db: Db, {org, person, id}: GrantHolderRef & {id: string}) =>
  db.maybeOne(sql.type(Listed)`
    with before as (select id, revoked_at from oauth_grants where id = ${id} and org_id = ${org} and person_id = ${person} for update),
    ended as (update oauth_grants g set revoked_at = coalesce(b.revoked_at, lading_now()) from before b where g.id = b.id returning g.*),
    fresh as (select * from ended where exists (select from before b where b.revoked_at is null)),
    noted as (${noteGrants('fresh', 'client.revoked', 'person')})
    select ${listed} from ended g join oauth_clients c on c.id = client_id`)

/**
 * Deletes requests and tokens that expired over a day ago, and grants older than a day without a token. Also deletes clients that have neither a
 * grant nor a request. Such a client was last used over 90 days ago, or was never used, is older than a day, and no person was sent to sign in for
 * it in the last hour. Deletes at most `limit` rows of each kind. Returns the largest of the counts.
 */
export const deleteEndedOAuth = async (db: Db, limit: number): Promise<number> => {
  const over = sql.fragment`expires_at < lading_now() - interval '1 day'`
  const bare = sql.fragment`created_at < lading_now() - interval '1 day'
    and not exists (select from oauth_tokens t where t.grant_id = oauth_grants.id)`
  const unused = sql.fragment`
    case when used_at is null then created_at < lading_now() - interval '1 day' else used_at < lading_now() - interval '90 days' end
    and (visited_at is null or visited_at < lading_now() - interval '1 hour')
    and not exists (select from oauth_grants g where g.client_id = oauth_clients.id)
    and not exists (select from oauth_requests r where r.client_id = oauth_clients.id)`
  const ended = {oauth_requests: over, oauth_tokens: over, oauth_grants: bare, oauth_clients: unused}
  let most = 0
  for (const [name, where] of Object.entries(ended)) {
    const table = sql.identifier([name])
    const {rowCount} = await db.query(sql.type(Empty)`
      delete from ${table} where ctid = any(array(select ctid from ${table} where ${where} limit ${limit}))`)
    most = Math.max(most, rowCount)
  }
  return most
}
