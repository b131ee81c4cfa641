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

/** Deletes some tokens of the org that expired more than a day ago. Each creation of a token calls it, so that they do not pile up. */
export const deleteOldEmbedTokens = (tx: Tx, org: string) =>
  tx.query(sql.type(Nothing)`
    delete from embed_tokens where id in (
      select id from embed_tokens where org_id = ${org} and expires_at < lading_now() - interval '1 day'
      order by expires_at limit 100 for update skip locked)`)

/** Locks the token until the transaction ends, so that its imports and rows are counted one request at a time. Returns its expiry. */
export const lockEmbedToken = (tx: Tx, id: string) =>
  tx.maybeOneFirst(sql.type(z.object({at: z.string()}))`select expires_at as at from embed_tokens where id = ${id} for update`)

export const readEmbedExpiry = (db: Db, id: string) =>
  db.maybeOneFirst(sql.type(z.object({at: z.string()}))`select expires_at as at from embed_tokens where id = ${id}`)

export const countEmbedImports = (tx: Tx, id: string) =>
  tx.oneFirst(sql.type(z.object({count: z.number()}))`select count(*)::int as count from imports where embed_token = ${id}`)

/** Returns the rows that runs of the token's imports wrote or may still write. Dry runs write none. */
export const sumEmbedRows = (db: Db, id: string) =>
  db.oneFirst(sql.type(z.object({rows: z.number()}))`
    select coalesce(sum(case when runs.state = 'ended' then counted else rows_limit end), 0)::int8 as rows
    from imports join runs on runs.import_no = imports.import_no join run_heads on run_heads.run_no = runs.run_no
    where embed_token = ${id} and not dry_run`)

/** Marks an import as created with the token, and keeps the flows of its template as they are now. */
export const markEmbedded = (tx: Tx, {importNo, token}: {importNo: number; token: string}) =>
  tx.query(sql.type(Nothing)`
    update imports set embed_token = ${token}, template_flows = flows where import_no = ${importNo} and embed_token is null`)

/** Whether the token created the import. */
export const isEmbedImport = (db: Db, {org, id, token}: {org: string; id: string; token: string}) =>
  db.exists(sql.type(Nothing)`select from imports where org_id = ${org} and id = ${id} and embed_token = ${token} and not deleted`)

const TemplateFlows = z.object({flows: z.array(z.unknown()).nullable()})

/** Reads the flows of the import's template at the time of its creation. Null if they were not kept. */
export const readTemplateFlows = (tx: Tx, importNo: number) =>
  tx.oneFirst(sql.type(TemplateFlows)`select template_flows as flows from imports where import_no = ${importNo}`)

/** Finds out whether the org of the template lists all these origins. An unknown template has no origins. */
export const mayEmbedTemplate = (db: Db, {template, origins}: {template: string; origins: string[]}) =>
  db.exists(sql.type(Nothing)`
    select from templates t join org_settings s on s.org_id = t.org_id join orgs o on o.id = t.org_id
    where t.id = ${template} and s.embed_origins @> ${sql.array(origins, 'text')} and o.closed_at is null`)
