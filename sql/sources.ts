import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Source = z.object({
  no: z.number(),
  id: z.string(),
  name: z.string(),
  label: z.string(),
  fileKey: z.string(),
  sha256: z.string(),
  bytes: z.number(),
  reader: z.unknown(),
  cleaning: z.unknown(),
  choices: z.unknown(),
  version: z.number(),
  rows: z.number(),
  /** The evidence as JSON text. `evidenceOf` parses it on demand, because the evidence of a wide file takes long to parse. */
  evidence: z.string(),
  createdAt: z.string(),
})
export type Source = z.infer<typeof Source>

/** A stored source without its evidence, because the caller already has the evidence. */
const Written = Source.omit({evidence: true})

const written = sql.fragment`source_no as no, id, name, label, file_key as "fileKey", encode(sha256, 'hex') as sha256, bytes, reader, cleaning, choices, version, rows,
  created_at as "createdAt"`
const columns = sql.fragment`${written}, evidence::text as evidence`

type NewSource = {
  importNo: number
  id: string
  name: string
  label: string
  fileKey: string
  sha256: string
  bytes: number
  reader: unknown
  rows: number
  evidence: string
}

/** Inserts a source with the next number. The caller has locked the import, so the number is free. */
export const insertSource = async (tx: Tx, s: NewSource): Promise<Source> => ({
  ...(await tx.one(sql.type(Written)`
    insert into sources (import_no, source_no, id, name, label, file_key, sha256, bytes, reader, rows, evidence)
    select ${s.importNo}, coalesce(max(source_no), 0) + 1, ${s.id}, ${s.name}, ${s.label}, ${s.fileKey}, decode(${s.sha256}, 'hex'), ${s.bytes},
      ${sql.jsonb(s.reader as never)}, ${s.rows}, ${s.evidence}::text::jsonb
    from sources where import_no = ${s.importNo}
    returning ${written}`)),
  evidence: s.evidence,
})

export const listSources = (db: Db, importNo: number) =>
  db.any(sql.type(Source)`select ${columns} from sources where import_no = ${importNo} order by source_no`)

export type ColumnKey = 'name' | 'dates' | 'marks' | 'stored' | 'samples' | 'kinds' | 'empties' | 'distinct'

/** Lists sources as `listSources` does, but only with these keys of each column's evidence. A wide file then takes a few milliseconds to parse. */
export const listNarrowSources = (db: Db, {importNo, keys}: {importNo: number; keys: readonly ColumnKey[]}) => {
  const narrow = sql.join(
    keys.map(key => sql.fragment`${key}::text, seen -> ${key}::text`),
    sql.fragment`, `,
  )
  return db.any(sql.type(Source)`
    select ${written}, jsonb_set(evidence, '{columns}', coalesce(
      (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(${narrow})) order by at)
       from jsonb_array_elements(evidence -> 'columns') with ordinality as listed (seen, at)), '[]'))::text as evidence
    from sources where import_no = ${importNo} order by source_no`)
}

/** Finds a source of the org by its id alone. Ignores sources of imports that expired or were deleted. */
export const findSourceOfOrg = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Source)`
    select ${columns} from sources
    where id = ${id} and import_no in (select import_no from imports where org_id = ${org} and state <> 'expired' and not deleted)`)

export const findSource = (db: Db, {importNo, id}: {importNo: number; id: string}) =>
  db.maybeOne(sql.type(Source)`select ${columns} from sources where import_no = ${importNo} and id = ${id}`)

type SourceUpdate = {
  importNo: number
  id: string
  label: string
  reader: unknown
  cleaning: unknown
  choices: unknown
  rows: number
  evidence: string
}

/** The caller has locked the import. */
export const updateSource = async (tx: Tx, s: SourceUpdate): Promise<Source> => ({
  ...(await tx.one(sql.type(Written)`
    update sources set label = ${s.label}, reader = ${sql.jsonb(s.reader as never)}, cleaning = ${sql.jsonb(s.cleaning as never)},
      choices = ${sql.jsonb(s.choices as never)}, rows = ${s.rows}, evidence = ${s.evidence}::text::jsonb, version = version + 1
    where import_no = ${s.importNo} and id = ${s.id}
    returning ${written}`)),
  evidence: s.evidence,
})

/** Deletes a source. Returns whether its file can be removed: no other source and no run snapshot of the import names the file. */
export const deleteSource = async (tx: Tx, {importNo, id}: {importNo: number; id: string}): Promise<boolean> => {
  const fileKey = await tx.oneFirst(sql.type(z.object({fileKey: z.string()}))`
    delete from sources where import_no = ${importNo} and id = ${id} returning file_key as "fileKey"`)
  return tx.oneFirst(sql.type(z.object({free: z.boolean()}))`
    select not exists (select from sources where file_key = ${fileKey})
      and not exists (
        select from runs join run_snapshots using (snapshot_no)
        where import_no = ${importNo} and document -> 'sources' @> ${sql.jsonb([{fileKey}])}
      ) as free`)
}
