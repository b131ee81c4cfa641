import {z} from 'zod'
import {type Db, sql} from './database.ts'

const Empty = z.object({})
const Client = z.object({
  id: z.string(),
  kind: z.enum(['registered', 'document']),
  name: z.string(),
  redirectUris: z.array(z.string()),
  createdAt: z.string(),
})
export type OAuthClientRow = z.output<typeof Client>

const columns = sql.fragment`id, kind, name, redirect_uris as "redirectUris", created_at as "createdAt"`

type KeptOAuthClient = Pick<OAuthClientRow, 'id' | 'kind' | 'name' | 'redirectUris'>

/**
 * Stores or updates a client. At most `mostUnused` clients without a grant are stored, so that mass registration does not fill the table. Beyond
 * this limit, the client replaces the oldest one without a sign-in in progress. Returns null if all of them have a sign-in in progress.
 */
export const keepClient = (
  db: Db,
  {id, kind, name, redirectUris}: KeptOAuthClient,
  {mostUnused, visitMinutes}: {mostUnused: number; visitMinutes: number},
) =>
  db.maybeOne(sql.type(Client)`
    with known as (select from oauth_clients where id = ${id}),
    brim as (
      select count(*) >= ${mostUnused} as reached from (select from oauth_clients where used_at is null limit ${mostUnused}) u),
    gone as (
      delete from oauth_clients where id in (
        select id from oauth_clients c
        where used_at is null and not exists (select from known) and (select reached from brim)
          and not exists (select from oauth_requests r where r.client_id = c.id and r.expires_at > lading_now())
          and (visited_at is null or visited_at < lading_now() - make_interval(mins => ${visitMinutes}))
        order by created_at limit 1 for update skip locked)
      returning id)
    insert into oauth_clients (id, kind, name, redirect_uris)
    select ${id}, ${kind}, ${name}, ${sql.array(redirectUris, 'text')}
      where not (select reached from brim) or exists (select from gone) or exists (select from known)
    on conflict (id) do update set name = excluded.name, redirect_uris = excluded.redirect_uris, read_at = lading_now()
    returning ${columns}`)

/** Records that a person was sent to sign in for a client without a grant. Writes at most once a minute. */
export const noteClientVisit = (db: Db, id: string) =>
  db.query(sql.type(z.object({}))`
    update oauth_clients set visited_at = lading_now()
    where id = ${id} and used_at is null and (visited_at is null or visited_at < lading_now() - interval '1 minute')`)

export const findRegisteredClient = (db: Db, id: string) =>
  db.maybeOne(sql.type(Client)`select ${columns} from oauth_clients where id = ${id} and kind = 'registered'`)

/** Finds a client whose document was read in the last `minutes`. */
export const findDocumentClient = (db: Db, {id, minutes}: {id: string; minutes: number}) =>
  db.maybeOne(sql.type(Client)`
    select ${columns} from oauth_clients
    where id = ${id} and kind = 'document' and read_at > lading_now() - make_interval(mins => ${minutes})`)

export const noteClientUse = (db: Db, id: string) =>
  db.query(sql.type(Empty)`update oauth_clients set used_at = lading_now() where id = ${id}`)
