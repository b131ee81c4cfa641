import {z} from 'zod'
import {type Db, type Pool, sql, type Tx} from './database.ts'

const Field = z.object({module: z.string(), field: z.string()})
type ModuleField = z.output<typeof Field>
const Key = z.object({org: z.string(), sealed: z.string()})

export const listIdempotencyFields = (db: Db, {org, connector}: {org: string; connector: string}) =>
  db.any(sql.type(Field)`
    select api_name as module, idempotency_field as field from curated_modules
    where org_id = ${org} and connector_id = ${connector} and idempotency_field is not null`)

const Use = z.object({kind: z.enum(['import', 'template']), id: z.string(), name: z.string()})

/**
 * Lists at most `limit` imports and `limit` templates of an org whose flows map the field. Leaves out expired and deleted imports. Includes templates
 * without a connection, because they may be used with any connection. `replaced`: names of shared templates to leave out.
 */
export const listUsesOfField = (
  tx: Tx,
  {
    org,
    connector,
    module,
    field,
    replaced,
    limit,
  }: ModuleField & {org: string; connector: string; replaced: readonly string[]; limit: number},
) => {
  const maps = sql.jsonb([{module, fields: [{field}]}])
  const isMapped = sql.fragment`flows @> ${maps} and exists (
      select from jsonb_array_elements(flows) flow, jsonb_array_elements(flow -> 'fields') mapping
      where flow ->> 'module' = ${module} and mapping ->> 'field' = ${field} and mapping ->> 'mode' <> 'skip')`
  return tx.any(sql.type(Use)`
    (select 'import' as kind, id, name from imports
      where org_id = ${org} and connector_id = ${connector} and state <> 'expired' and not deleted and ${isMapped} limit ${limit})
    union all
    (select 'template' as kind, id, name from templates
      where org_id = ${org} and (connector_id = ${connector} or connector_id is null) and ${isMapped}
        and not (shared and name = any(${sql.array([...replaced], 'text')})) limit ${limit})`)
}

/** Returns the org's sealed key. If the org has no key yet, stores `sealed` first. */
export const keepIdempotencyKey = async (db: Pool, {org, sealed}: z.infer<typeof Key>) => {
  await db.query(sql.type(z.object({}))`insert into idempotency_keys (org_id, sealed) values (${org}, ${sealed}) on conflict do nothing`)
  return db.oneFirst(sql.type(z.object({sealed: z.string()}))`select sealed from idempotency_keys where org_id = ${org}`)
}

export const findIdempotencyKey = (db: Db, org: string) =>
  db.maybeOneFirst(sql.type(z.object({sealed: z.string()}))`select sealed from idempotency_keys where org_id = ${org}`)

/** Lists orgs whose sealed key does not begin with `start`, which names the current master key. */
export const listKeysSealedElse = (db: Db, {start, after, limit}: {start: string; after: string; limit: number}) =>
  db.any(sql.type(Key)`
    select org_id as org, sealed from idempotency_keys where org_id > ${after} and not starts_with(sealed, ${start}) order by org_id limit ${limit}`)

/** Stores the newly sealed key. Returns false if the key was resealed since it was read. */
export const keepResealedKey = async (db: Db, {org, before, after}: {org: string; before: string; after: string}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    update idempotency_keys set sealed = ${after} where org_id = ${org} and sealed = ${before}`)
  return rowCount === 1
}

/** Returns the id of the first run of a run's chain. Unlike a run's number, an id is not used again after the database was restored. */
export const findChainId = (db: Db, {org, run}: {org: string; run: string}) =>
  db.oneFirst(sql.type(z.object({id: z.string()}))`
    select first.id from runs r join runs first on first.run_no = coalesce(r.chain_no, r.run_no) where r.org_id = ${org} and r.id = ${run}`)
