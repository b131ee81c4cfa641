import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Contract = z.object({sources: z.array(z.unknown()), version: z.number(), updatedAt: z.string()})
export type ContractRow = z.output<typeof Contract>

const columns = sql.fragment`sources, version, updated_at as "updatedAt"`

type OfTemplate = {org: string; template: string}

export const findContract = (db: Db, {org, template}: OfTemplate) =>
  db.maybeOne(sql.type(Contract)`select ${columns} from data_contracts where template_id = ${template} and org_id = ${org}`)

/** Lists the contracts of the org's shared templates, each with the name of its template. */
export const listSharedContracts = (db: Db, org: string) =>
  db.any(sql.type(Contract.extend({name: z.string()}))`
    select t.name, c.sources, c.version, c.updated_at as "updatedAt" from data_contracts c join templates t on t.id = c.template_id
    where c.org_id = ${org} and t.shared`)

/** Stores the contract as its next version. The caller has locked the template. */
export const storeContract = (tx: Tx, {org, template, sources}: OfTemplate & {sources: readonly unknown[]}) =>
  tx.one(sql.type(Contract)`
    insert into data_contracts (template_id, org_id, sources, version) values (${template}, ${org}, ${sql.jsonb(sources as never)}, 1)
    on conflict (template_id) do update set sources = excluded.sources, version = data_contracts.version + 1, updated_at = lading_now()
    returning ${columns}`)

const AcceptedFile = z.object({
  slot: z.string(),
  sourceId: z.string(),
  rows: z.number(),
  columns: z.array(z.unknown()),
  acceptedAt: z.string(),
})
export type AcceptedFileRow = z.output<typeof AcceptedFile>

/** The number of accepted files that are kept per slot. */
const mostAccepted = 10

export const listAcceptedFiles = (db: Db, {org, template}: OfTemplate) =>
  db.any(sql.type(AcceptedFile)`
    select slot, source_id as "sourceId", rows, columns, accepted_at as "acceptedAt" from accepted_files
    where template_id = ${template} and org_id = ${org} order by file_no desc`)

type NewAcceptedFile = OfTemplate & {slot: string; sourceId: string; rows: number; columns: readonly unknown[]}

/**
 * Stores the row count and the columns of an accepted file, once for each source, and deletes the oldest of the slot beyond `mostAccepted`.
 * Stores nothing if the template was deleted.
 */
export const insertAcceptedFile = async (
  tx: Tx,
  {org, template, slot, sourceId, rows, columns: shapes}: NewAcceptedFile,
): Promise<void> => {
  await tx.query(sql.type(Empty)`
    insert into accepted_files (template_id, org_id, slot, source_id, rows, columns)
    select id, org_id, ${slot}, ${sourceId}, ${rows}, ${sql.jsonb(shapes as never)} from templates where id = ${template} and org_id = ${org}
    on conflict (template_id, slot, source_id) do nothing`)
  await tx.query(sql.type(Empty)`
    delete from accepted_files where file_no in (
      select file_no from accepted_files where template_id = ${template} and slot = ${slot} order by file_no desc offset ${mostAccepted})`)
}
