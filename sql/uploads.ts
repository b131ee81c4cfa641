import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const UploadRow = z.object({
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
export type UploadRow = z.infer<typeof UploadRow>

const columns = sql.fragment`upload_no as no, id, import_no as "importNo", name, label, slot, reader, bytes, kept, source_id as "sourceId", settled, filled,
  created_at as "createdAt", expires_at as "expiresAt"`

/** SQL for the expiry of an upload. Each stored part and the finish renew it. */
const lasting = sql.fragment`lading_now() + interval '1 day'`

type NewUpload = Pick<UploadRow, 'id' | 'importNo' | 'name' | 'label' | 'slot' | 'reader' | 'bytes'> & {org: string}

export const insertUpload = (tx: Tx, {id, org, importNo, name, label, slot, reader, bytes}: NewUpload) =>
  tx.one(sql.type(UploadRow)`
    insert into uploads (id, org_id, import_no, name, label, slot, reader, bytes, expires_at)
    values (${id}, ${org}, ${importNo}, ${name}, ${label}, ${slot}, ${reader === null ? null : sql.jsonb(reader as never)}, ${bytes}, ${lasting})
    returning ${columns}`)

const Unfinished = z.object({ofImport: z.number(), bytesOfOrg: z.number()})

/**
 * Counts the unfinished uploads of the import, and adds up the bytes of all unfinished uploads of the org. Locks the org's uploads against other
 * counts until the transaction ends.
 */
export const countUnfinished = async (tx: Tx, {org, importNo}: {org: string; importNo: number}) => {
  await tx.query(sql.type(Empty)`select pg_advisory_xact_lock(hashtextextended('uploads ' || ${org}, 0))`)
  return tx.one(sql.type(Unfinished)`
    select count(*) filter (where import_no = ${importNo}) as "ofImport", coalesce(sum(bytes), 0)::int8 as "bytesOfOrg"
    from uploads where org_id = ${org} and source_id is null`)
}

export const findUpload = (db: Db, {importNo, id}: {importNo: number; id: string}) =>
  db.maybeOne(sql.type(UploadRow)`select ${columns} from uploads where import_no = ${importNo} and id = ${id}`)

export const listUnfinished = (db: Db, importNo: number) =>
  db.any(sql.type(UploadRow)`select ${columns} from uploads where import_no = ${importNo} and source_id is null order by upload_no`)

type NewPart = {uploadNo: number; at: number; bytes: number; key: string}

/** Stores the next part after its object was stored. Returns false if the upload is gone, or another request has stored the same part. */
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

/** Extends the upload's expiry, because reading a large file takes time. */
export const prolongUpload = (db: Db, no: number) =>
  db.query(sql.type(Empty)`update uploads set expires_at = ${lasting} where upload_no = ${no}`)

/** Marks the upload as finished and deletes its parts. Returns false if the upload is gone, or another request has finished it. */
export const finishUpload = async (tx: Tx, {no, sourceId, slot}: {no: number; sourceId: string; slot: string | null}): Promise<boolean> => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update uploads set source_id = ${sourceId}, slot = ${slot}, expires_at = ${lasting} where upload_no = ${no} and source_id is null`)
  if (rowCount === 0) return false
  await tx.query(sql.type(Empty)`delete from upload_parts where upload_no = ${no}`)
  return true
}

/** Stores the result for the template slot, once. Later requests return this result. */
export const settleUpload = (db: Db, {no, filled}: {no: number; filled: object | null}) =>
  db.query(sql.type(Empty)`
    update uploads set settled = true, filled = ${filled === null ? null : sql.jsonb(filled as never)} where upload_no = ${no} and not settled`)

export const deleteUpload = (db: Db, no: number) => db.query(sql.type(Empty)`delete from uploads where upload_no = ${no}`)

/** Deletes at most `limit` expired uploads. Skips uploads that a request is using. Returns the number of deleted rows. */
export const deleteExpiredUploads = async (db: Db, {limit}: {limit: number}): Promise<number> => {
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from uploads where upload_no = any(array(
      select upload_no from uploads where expires_at < lading_now() order by expires_at limit ${limit} for update skip locked))`)
  return rowCount
}
