import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Upload = z.object({
  no: z.number(),
  id: z.string(),
  importNo: z.number(),
  name: z.string(),
  label: z.string().nullable(),
  slot: z.string().nullable(),
  reader: z.unknown(),
  bytes: z.number(),
  kept: z.number(),
  sourceId: z.string().nullable(),
  settled: z.boolean(),
  filled: z.unknown(),
  createdAt: z.string(),
  expiresAt: z.string(),
})
export type Upload = z.infer<typeof Upload>

const columns = sql.fragment`upload_no as no, id, import_no as "importNo", name, label, slot, reader, bytes, kept, source_id as "sourceId", settled, filled,
  created_at as "createdAt", expires_at as "expiresAt"`

/** Whoever sends another piece, or finishes, has so long again. */
const lasting = sql.fragment`lading_now() + interval '1 day'`

type NewUpload = Pick<Upload, 'id' | 'importNo' | 'name' | 'label' | 'slot' | 'reader' | 'bytes'> & {org: string}

export const insertUpload = (tx: Tx, {id, org, importNo, name, label, slot, reader, bytes}: NewUpload) =>
  tx.one(sql.type(Upload)`
    insert into uploads (id, org_id, import_no, name, label, slot, reader, bytes, expires_at)
    values (${id}, ${org}, ${importNo}, ${name}, ${label}, ${slot}, ${reader === null ? null : sql.jsonb(reader as never)}, ${bytes}, ${lasting})
    returning ${columns}`)

const Unfinished = z.object({ofImport: z.number(), bytesOfOrg: z.number()})

/** What is being sent: to the import, and to all of its org. Nobody else of the org counts until the transaction ends. */
export const countUnfinished = async (tx: Tx, {org, importNo}: {org: string; importNo: number}) => {
  await tx.query(sql.type(Empty)`select pg_advisory_xact_lock(hashtextextended('uploads ' || ${org}, 0))`)
  return tx.one(sql.type(Unfinished)`
    select count(*) filter (where import_no = ${importNo}) as "ofImport", coalesce(sum(bytes), 0)::int8 as "bytesOfOrg"
    from uploads where org_id = ${org} and source_id is null`)
}

export const findUpload = (db: Db, {importNo, id}: {importNo: number; id: string}) =>
  db.maybeOne(sql.type(Upload)`select ${columns} from uploads where import_no = ${importNo} and id = ${id}`)

/** Those that are not finished, the first begun first. */
export const listUnfinished = (db: Db, importNo: number) =>
  db.any(sql.type(Upload)`select ${columns} from uploads where import_no = ${importNo} and source_id is null order by upload_no`)

type NewPart = {uploadNo: number; at: number; bytes: number; key: string}

/** The next piece is in storage. False where the upload is gone, or another has brought the same piece meanwhile. */
export const insertPart = async (tx: Tx, {uploadNo, at, bytes, key}: NewPart): Promise<boolean> => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update uploads set kept = ${at + bytes}, expires_at = ${lasting} where upload_no = ${uploadNo} and kept = ${at} and source_id is null`)
  if (rowCount === 0) return false
  await tx.query(sql.type(Empty)`insert into upload_parts (upload_no, at, bytes, key) values (${uploadNo}, ${at}, ${bytes}, ${key})`)
  return true
}

const Part = z.object({at: z.number(), bytes: z.number(), key: z.string()})

export const listParts = (db: Db, {uploadNo, from, limit}: {uploadNo: number; from: number; limit: number}) =>
  db.any(sql.type(Part)`
    select at, bytes, key from upload_parts where upload_no = ${uploadNo} and at >= ${from} order by at limit ${limit}`)

/** Reading a large file takes its time. */
export const prolongUpload = (db: Db, no: number) =>
  db.query(sql.type(Empty)`update uploads set expires_at = ${lasting} where upload_no = ${no}`)

/** Its pieces are let go of. False where it is gone, or another has finished it. */
export const finishUpload = async (tx: Tx, {no, sourceId, slot}: {no: number; sourceId: string; slot: string | null}): Promise<boolean> => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update uploads set source_id = ${sourceId}, slot = ${slot}, expires_at = ${lasting} where upload_no = ${no} and source_id is null`)
  if (rowCount === 0) return false
  await tx.query(sql.type(Empty)`delete from upload_parts where upload_no = ${no}`)
  return true
}

/** What the slot came to, as it is answered from here on. */
export const settleUpload = (db: Db, {no, filled}: {no: number; filled: object | null}) =>
  db.query(sql.type(Empty)`
    update uploads set settled = true, filled = ${filled === null ? null : sql.jsonb(filled as never)} where upload_no = ${no} and not settled`)

export const deleteUpload = (db: Db, no: number) => db.query(sql.type(Empty)`delete from uploads where upload_no = ${no}`)

/** At most `limit`; answers how many went. One that somebody is just sending to stays. */
export const deleteExpiredUploads = async (db: Db, {limit}: {limit: number}): Promise<number> => {
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from uploads where upload_no = any(array(
      select upload_no from uploads where expires_at < lading_now() order by expires_at limit ${limit} for update skip locked))`)
  return rowCount
}
