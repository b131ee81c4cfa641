import {z} from 'zod'
import {type Db, type Hot, type Pool, prepare, sql} from './database.ts'
import {nameLoose} from './segments.ts'

const Empty = z.object({})
const BulkJob = z.object({
  no: z.number(),
  flow: z.number(),
  operation: z.enum(['create', 'update']),
  fileName: z.string(),
  rows: z.number(),
  state: z.enum(['composed', 'uploaded', 'started', 'done']),
  fileId: z.string().nullable(),
  job: z.string().nullable(),
  /** Whether the job may have been requested. */
  isSent: z.boolean(),
  /** The stored rows and their sealed key. Null: not stored yet. */
  key: z.string().nullable(),
  sealed: z.string().nullable(),
})
/** A job of the CRM that writes the rows of a file. `no` is its number within the run. */
export type BulkJob = z.infer<typeof BulkJob>
type JobName = {run: number; no: number}

const columns = sql.fragment`job_no as no, flow_no as flow, operation, file_name as "fileName", rows, state, file_id as "fileId", job,
  sent_at is not null as "isSent", key, sealed`

type NewBulkJob = {run: number; flow: number; operation: BulkJob['operation']; fileName: string; rows: number; secret: Buffer}

/** Inserts a job before the intent of its rows. Returns its number. */
export const insertBulkJob = (db: Db, {run, flow, operation, fileName, rows, secret}: NewBulkJob) =>
  db.oneFirst(sql.type(z.object({no: z.number()}))`
    insert into bulk_jobs (run_no, job_no, flow_no, operation, file_name, rows, secret)
    select ${run}, coalesce(max(job_no), 0) + 1, ${flow}, ${operation}, ${fileName}, ${rows}, ${sql.binary(secret)} from bulk_jobs where run_no = ${run}
    returning job_no as no`)

/** Records the storage key of a job's rows. The object was listed for cleanup before it was stored. */
export const nameBulkRows = (db: Pool, {run, no, key, sealed, rows}: JobName & {key: string; sealed: string; rows: number}) =>
  db.transaction(async tx => {
    await tx.query(
      sql.type(Empty)`update bulk_jobs set key = ${key}, sealed = ${sealed}, rows = ${rows} where run_no = ${run} and job_no = ${no}`,
    )
    await nameLoose(tx, [key])
  })

export const setUploaded = (db: Db, {run, no, fileId}: JobName & {fileId: string}) =>
  db.query(sql.type(Empty)`update bulk_jobs set state = 'uploaded', file_id = ${fileId} where run_no = ${run} and job_no = ${no}`)

/** Notes that the job is about to be requested. */
export const setSent = (db: Db, {run, no}: JobName) =>
  db.query(sql.type(Empty)`update bulk_jobs set sent_at = lading_now() where run_no = ${run} and job_no = ${no}`)

/** Notes that the CRM refused the request, so that nothing was sent. */
export const setUnsent = (db: Db, {run, no}: JobName) =>
  db.query(sql.type(Empty)`update bulk_jobs set sent_at = null where run_no = ${run} and job_no = ${no} and state <> 'started'`)

export const setStarted = (db: Db, {run, no, job}: JobName & {job: string}) =>
  db.query(sql.type(Empty)`update bulk_jobs set state = 'started', job = ${job} where run_no = ${run} and job_no = ${no}`)

/** Ends a job whose rows are settled. Its stored rows are removed. */
export const setDone = (db: Db, {run, no}: JobName) =>
  db.query(sql.type(Empty)`
    update bulk_jobs set state = 'done', done_at = lading_now(), key = null, sealed = null where run_no = ${run} and job_no = ${no}`)

/** Lists the jobs of a run that have rows in flight. */
export const listOpenBulkJobs = (db: Db, run: number) =>
  db.any(sql.type(BulkJob)`
    select ${columns} from bulk_jobs b
    where run_no = ${run} and state <> 'done' and exists (select from sends s where s.run_no = b.run_no and s.bulk_job = b.job_no)
    order by job_no`)

/** Marks jobs without rows in flight as done. Such a job remains if an owner died before its intent or after its settlement. */
export const endEmptyBulkJobs = (db: Db, run: number) =>
  db.query(sql.type(Empty)`
    update bulk_jobs b set state = 'done', done_at = lading_now(), key = null, sealed = null
    where run_no = ${run} and state <> 'done' and not exists (select from sends s where s.run_no = b.run_no and s.bulk_job = b.job_no)`)

/** Returns the id that a callback named, and the seconds since the job was requested. */
export const findBulkHint = (db: Db, {run, no}: JobName) =>
  db.one(sql.type(z.object({hint: z.string().nullable(), seconds: z.number()}))`
    select hint, coalesce(extract(epoch from lading_now() - sent_at), 0)::float8 as seconds from bulk_jobs where run_no = ${run} and job_no = ${no}`)

/** Stores the job that a callback names, if the secret belongs to a job that is not done. */
export const hintBulkJob = (db: Db, {secret, hint}: {secret: Buffer; hint: string | null}) =>
  db.query(sql.type(Empty)`
    update bulk_jobs set hint = ${hint} where secret = ${sql.binary(secret)} and state <> 'done' and hint is distinct from ${hint}`)

/** Moves the deadlines of a job's batches, because the CRM may execute it until then. Returns false if this owner has lost the run. */
export const extendBulkDeadline = async (hot: Hot, {run, no, fence, seconds}: JobName & {fence: number; seconds: number}) =>
  (await extendStatement(hot, [run, no, fence, seconds])).length > 0

const extendStatement = prepare(
  'extend-bulk-deadline',
  `update sends set deadline_at = greatest(deadline_at, lading_now() + make_interval(secs => $4::float8))
   where run_no = $1::bigint and bulk_job = $2::int and exists (select from run_heads where run_no = $1 and fence = $3::bigint and lease_until > lading_now())
   returning 1`,
)
