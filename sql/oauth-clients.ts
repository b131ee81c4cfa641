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

type Said = {id: string; name: string; redirectUris: string[]}

/** Null where as many are registered already that nobody has let in: whoever registers by the thousand is turned away, not the house filled. */
export const insertClient = (db: Db, {id, name, redirectUris}: Said, {mostUnused}: {mostUnused: number}) =>
  db.maybeOne(sql.type(Client)`
    insert into oauth_clients (id, kind, name, redirect_uris)
    select ${id}, 'registered', ${name}, ${sql.array(redirectUris, 'text')}
    where (select count(*) from (select from oauth_clients where used_at is null and kind = 'registered' limit ${mostUnused}) u) < ${mostUnused}
    returning ${columns}`)

/** What a document says now. */
export const keepDocumentClient = (db: Db, {id, name, redirectUris}: Said) =>
  db.one(sql.type(Client)`
    insert into oauth_clients (id, kind, name, redirect_uris) values (${id}, 'document', ${name}, ${sql.array(redirectUris, 'text')})
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
