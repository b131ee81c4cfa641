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
export type OAuthClient = z.output<typeof Client>

const columns = sql.fragment`id, kind, name, redirect_uris as "redirectUris", created_at as "createdAt"`

type Said = Pick<OAuthClient, 'id' | 'kind' | 'name' | 'redirectUris'>

/**
 * Keeps what a client says of itself, or says now. Of those that nobody has let in `mostUnused` are kept: for one more the oldest goes that no
 * visit waits for, so that whoever registers by the thousand fills nothing and keeps nobody out. Null where all of them are waited for.
 */
export const keepClient = (db: Db, {id, kind, name, redirectUris}: Said, {mostUnused}: {mostUnused: number}) =>
  db.maybeOne(sql.type(Client)`
    with brim as (
      select count(*) >= ${mostUnused} as reached from (select from oauth_clients where used_at is null limit ${mostUnused}) u),
    gone as (
      delete from oauth_clients where id in (
        select id from oauth_clients c
        where used_at is null and id <> ${id} and (select reached from brim)
          and not exists (select from oauth_requests r where r.client_id = c.id and r.expires_at > lading_now())
        order by created_at limit 1 for update skip locked)
      returning id)
    insert into oauth_clients (id, kind, name, redirect_uris)
    select ${id}, ${kind}, ${name}, ${sql.array(redirectUris, 'text')} where not (select reached from brim) or exists (select from gone)
    on conflict (id) do update set name = excluded.name, redirect_uris = excluded.redirect_uris, read_at = lading_now()
    returning ${columns}`)

export const findRegisteredClient = (db: Db, id: string) =>
  db.maybeOne(sql.type(Client)`select ${columns} from oauth_clients where id = ${id} and kind = 'registered'`)

/** A document as it was read in the last `minutes`. */
export const findDocumentClient = (db: Db, {id, minutes}: {id: string; minutes: number}) =>
  db.maybeOne(sql.type(Client)`
    select ${columns} from oauth_clients
    where id = ${id} and kind = 'document' and read_at > lading_now() - make_interval(mins => ${minutes})`)

export const noteClientUse = (db: Db, id: string) =>
  db.query(sql.type(Empty)`update oauth_clients set used_at = lading_now() where id = ${id}`)
