import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Token = z.object({
  id: z.string(),
  name: z.string(),
  prefix: z.string(),
  createdBy: z.object({id: z.string(), name: z.string()}).nullable(),
  createdAt: z.string(),
  lastUsedAt: z.string().nullable(),
  expiresAt: z.string().nullable(),
  revokedAt: z.string().nullable(),
})
export type TokenRow = z.output<typeof Token>

const columns = sql.fragment`api_tokens.id, api_tokens.name, prefix, api_tokens.created_at as "createdAt", last_used_at as "lastUsedAt",
  expires_at as "expiresAt", revoked_at as "revokedAt",
  (select jsonb_build_object('id', people.id, 'name', people.name) from people where people.id = person_id) as "createdBy"`

type NewToken = {id: string; org: string; person: string; name: string; prefix: string; hash: Buffer; expiresAt: string | null}

/** Returns null if the token would have expired already. */
export const insertToken = (db: Db, {id, org, person, name, prefix, hash, expiresAt}: NewToken) =>
  db.maybeOne(sql.type(Token)`
    insert into api_tokens (id, org_id, person_id, name, prefix, hash, expires_at)
    select ${id}, ${org}, ${person}, ${name}, ${prefix}, ${sql.binary(hash)}, ${expiresAt}::timestamptz
    where ${expiresAt}::timestamptz is null or ${expiresAt}::timestamptz > lading_now()
    returning ${columns}`)

export const listTokens = (db: Db, org: string) =>
  db.any(sql.type(Token)`select ${columns} from api_tokens where org_id = ${org} order by id desc`)

/** Locks the token until the transaction ends. */
export const readToken = (tx: Tx, {org, id}: {org: string; id: string}) =>
  tx.maybeOne(sql.type(Token)`select ${columns} from api_tokens where org_id = ${org} and id = ${id} for no key update`)

export const revokeToken = (tx: Tx, id: string) =>
  tx.one(sql.type(Token)`update api_tokens set revoked_at = lading_now() where id = ${id} returning ${columns}`)

export const revokeTokensOf = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.any(sql.type(Token)`
    update api_tokens set revoked_at = lading_now() where org_id = ${org} and person_id = ${person} and revoked_at is null
    returning ${columns}`)

export const countActiveTokens = (db: Db, {org, person}: {org: string; person: string}) =>
  db.oneFirst(sql.type(z.object({count: z.number()}))`
    select count(*)::int as count from api_tokens
    where org_id = ${org} and person_id = ${person} and revoked_at is null and coalesce(expires_at > lading_now(), true)`)
