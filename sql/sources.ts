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
  /** JSON: parsed by `evidenceOf`, as that of a wide file takes long. */
  evidence: z.string(),
  createdAt: z.string(),
})
export type Source = z.infer<typeof Source>

/** As written, where the caller knows the evidence. */
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

/** The caller holds the import, so the next number is free. */
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

export const findSource = (db: Db, {importNo, id}: {importNo: number; id: string}) =>
  db.maybeOne(sql.type(Source)`select ${columns} from sources where import_no = ${importNo} and id = ${id}`)

type Edited = {
  importNo: number
  id: string
  label: string
  reader: unknown
  cleaning: unknown
  choices: unknown
  rows: number
  evidence: string
}

/** The caller holds the import. */
export const updateSource = async (tx: Tx, s: Edited): Promise<Source> => ({
  ...(await tx.one(sql.type(Written)`
    update sources set label = ${s.label}, reader = ${sql.jsonb(s.reader as never)}, cleaning = ${sql.jsonb(s.cleaning as never)},
      choices = ${sql.jsonb(s.choices as never)}, rows = ${s.rows}, evidence = ${s.evidence}::text::jsonb, version = version + 1
    where import_no = ${s.importNo} and id = ${s.id}
    returning ${written}`)),
  evidence: s.evidence,
})

/** Answers whether its file is needed no more: by another source, or by a run whose results are made from it. */
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
