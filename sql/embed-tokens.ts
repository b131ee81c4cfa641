import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const EmbedToken = z.object({
  id: z.string(),
  template: z.string(),
  origin: z.string(),
  rowsLimit: z.number(),
  createdAt: z.string(),
  expiresAt: z.string(),
})
export type EmbedTokenRow = z.output<typeof EmbedToken>

const Nothing = z.object({})

type NewEmbedToken = {
  id: string
  hash: Buffer
  org: string
  person: string
  apiToken: string | null
  template: string
  origin: string
  rowsLimit: number
  minutes: number
}

export const insertEmbedToken = (tx: Tx, {id, hash, org, person, apiToken, template, origin, rowsLimit, minutes}: NewEmbedToken) =>
  tx.one(sql.type(EmbedToken)`
    insert into embed_tokens (id, hash, org_id, person_id, api_token_id, template_id, origin, rows_limit, expires_at)
    values (${id}, ${sql.binary(hash)}, ${org}, ${person}, ${apiToken}, ${template}, ${origin}, ${rowsLimit},
      lading_now() + make_interval(mins => ${minutes}))
    returning id, template_id as template, origin, rows_limit as "rowsLimit", created_at as "createdAt", expires_at as "expiresAt"`)

/** Deletes at most 100 tokens of the org that expired more than a day ago. Called at each creation of a token. */
export const deleteOldEmbedTokens = (tx: Tx, org: string) =>
  tx.query(sql.type(Nothing)`
    delete from embed_tokens where id in (
      select id from embed_tokens where org_id = ${org} and expires_at < lading_now() - interval '1 day'
      order by expires_at limit 100 for update skip locked)`)

export const deleteEmbedTokensOf = (tx: Tx, {org, person}: {org: string; person: string}) =>
  tx.query(sql.type(Nothing)`delete from embed_tokens where org_id = ${org} and person_id = ${person}`)

/**
 * Locks the token until the transaction ends, so that its imports and rows are counted one request at a time. Returns its expiry; null for an
 * unknown token.
 */
export const lockEmbedToken = (tx: Tx, id: string) =>
  tx.maybeOneFirst(sql.type(z.object({at: z.string()}))`select expires_at as at from embed_tokens where id = ${id} for update`)

export const readEmbedExpiry = (db: Db, id: string) =>
  db.maybeOneFirst(sql.type(z.object({at: z.string()}))`select expires_at as at from embed_tokens where id = ${id}`)

export const countEmbedImports = (tx: Tx, id: string) =>
  tx.oneFirst(sql.type(z.object({count: z.number()}))`select count(*)::int as count from imports where embed_token = ${id}`)

/** Returns the rows of all runs of the token's imports: counted rows of ended runs, and limits of other runs. Ignores dry runs and undos. */
export const sumEmbedRows = (db: Db, id: string) =>
  db.oneFirst(sql.type(z.object({rows: z.number()}))`
    select coalesce(sum(case when runs.state = 'ended' then counted else rows_limit end), 0)::int8 as rows
    from imports join runs on runs.import_no = imports.import_no join run_heads on run_heads.run_no = runs.run_no
    where embed_token = ${id} and not dry_run and undo_of is null`)

/** Marks an import as created with the token. */
export const markEmbedded = (tx: Tx, {importNo, token}: {importNo: number; token: string}) =>
  tx.query(sql.type(Nothing)`
    update imports set embed_token = ${token} where import_no = ${importNo} and embed_token is null`)

export const isEmbedImport = (db: Db, {org, id, token}: {org: string; id: string; token: string}) =>
  db.exists(sql.type(Nothing)`select from imports where org_id = ${org} and id = ${id} and embed_token = ${token} and not deleted`)

/** Whether the template's org is open and allows all these origins. False for an unknown template. */
export const mayEmbedTemplate = (db: Db, {template, origins}: {template: string; origins: string[]}) =>
  db.exists(sql.type(Nothing)`
    select from templates t join org_settings s on s.org_id = t.org_id join orgs o on o.id = t.org_id
    where t.id = ${template} and s.embed_origins @> ${sql.array(origins, 'text')} and o.closed_at is null`)
