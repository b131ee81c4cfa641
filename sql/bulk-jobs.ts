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
  /** Whether the CRM may have received the request to start the job. */
  isSent: z.boolean(),
  /**
   * The storage key of the job's rows. Null before the rows are stored and after the job is done. `sealed`: the sealed encryption key of that
   * object.
   */
  key: z.string().nullable(),
  sealed: z.string().nullable(),
})
/** A job of the CRM that writes the rows of a file. `no` is its number within the run. */
export type BulkJob = z.infer<typeof BulkJob>
type JobName = {run: number; no: number}
/** A job to change. `fence`: the fence of the caller. Nothing changes unless this caller owns the run. */
type OwnedJob = JobName & {fence: number}

const columns = sql.fragment`job_no as no, flow_no as flow, operation, file_name as "fileName", rows, state, file_id as "fileId", job,
  sent_at is not null as "isSent", key, sealed`

/** SQL that locks the run's head if the caller still owns the run, so that no other owner takes the run before the transaction ends. */
const headOf = ({run, fence}: {run: number; fence: number}) =>
  sql.fragment`select from run_heads where run_no = ${run} and fence = ${fence} and lease_until > lading_now() for share`

type NewBulkJob = {
  run: number
  fence: number
  flow: number
  operation: BulkJob['operation']
  fileName: string
  rows: number
  secret: Buffer
}

/** Inserts a job. Call this before the intent of its rows. Returns the job's number; null if this owner has lost the run. */
export const insertBulkJob = (db: Db, {run, fence, flow, operation, fileName, rows, secret}: NewBulkJob) =>
  db.maybeOneFirst(sql.type(z.object({no: z.number()}))`
    insert into bulk_jobs (run_no, job_no, flow_no, operation, file_name, rows, secret)
    select ${run}, (select coalesce(max(job_no), 0) + 1 from bulk_jobs where run_no = ${run}), ${flow}, ${operation}, ${fileName}, ${rows},
      ${sql.binary(secret)} where exists (${headOf({run, fence})})
    returning job_no as no`)

/** Returns false if this owner has lost the run. */
const changeJob = async (db: Db, {run, no, fence}: OwnedJob, change: ReturnType<typeof sql.fragment>): Promise<boolean> => {
  const {rowCount} = await db.query(sql.type(Empty)`
    update bulk_jobs set ${change} where run_no = ${run} and job_no = ${no} and exists (${headOf({run, fence})})`)
  return rowCount === 1
}

/**
 * Stores the storage key of a job's rows, and removes the key from the list of objects that no row names. Returns false if this owner has lost the
 * run. Throws if the object was marked for removal meanwhile.
 */
export const nameBulkRows = (db: Pool, job: OwnedJob & {key: string; sealed: string; rows: number}) =>
  db.transaction(async tx => {
    const {key, sealed, rows} = job
    const isOwner = await changeJob(tx, job, sql.fragment`key = ${key}, sealed = ${sealed}, rows = ${rows}`)
    if (isOwner) await nameLoose(tx, [key])
    return isOwner
  })

export const setUploaded = (db: Db, {fileId, ...job}: OwnedJob & {fileId: string}) =>
  changeJob(db, job, sql.fragment`state = 'uploaded', file_id = ${fileId}`)

/** Notes that the job is about to be requested. */
export const setSent = (db: Db, job: OwnedJob) => changeJob(db, job, sql.fragment`sent_at = lading_now()`)

/** Notes that the CRM did not start the job: the CRM refused the request, or the request was not sent. */
export const setUnsent = (db: Db, job: OwnedJob) => changeJob(db, job, sql.fragment`sent_at = null`)

export const setStarted = (db: Db, {job, ...owned}: OwnedJob & {job: string}) =>
  changeJob(db, owned, sql.fragment`state = 'started', job = ${job}`)

const done = sql.fragment`state = 'done', done_at = lading_now(), key = null, sealed = null`

/** Ends a job whose rows are settled, and clears the storage key of its rows. `isAbandoned`: whether the CRM may still execute the job. */
export const setDone = (db: Db, {isAbandoned, ...job}: OwnedJob & {isAbandoned: boolean}) =>
  changeJob(db, job, sql.fragment`${done}, left_at = case when ${isAbandoned} then lading_now() end`)

/** Lists the jobs of a run that have rows in flight. */
export const listOpenBulkJobs = (db: Db, run: number) =>
  db.any(sql.type(BulkJob)`
    select ${columns} from bulk_jobs b
    where run_no = ${run} and state <> 'done' and exists (select from sends s where s.run_no = b.run_no and s.bulk_job = b.job_no)
    order by job_no`)

/**
 * Marks jobs without rows in flight as done. Such jobs remain if an owner died before the intent or after the settlement of the rows, or if the run
 * ended before the job. A job with an id is treated as abandoned, because the CRM may still execute it.
 */
export const endEmptyBulkJobs = (db: Db, {run, fence}: Omit<OwnedJob, 'no'>) =>
  db.query(sql.type(Empty)`
    update bulk_jobs b set ${done}, left_at = case when job is not null then lading_now() end
    where run_no = ${run} and state <> 'done' and not exists (select from sends s where s.run_no = b.run_no and s.bulk_job = b.job_no)
      and exists (${headOf({run, fence})})`)

/** Lists the ids of jobs that other runs of these chains abandoned at most `seconds` ago. */
export const listAbandonedBulkJobs = (db: Db, {run, chains, seconds}: {run: number; chains: readonly number[]; seconds: number}) =>
  db.anyFirst(sql.type(z.object({job: z.string()}))`
    select job from bulk_jobs join runs using (run_no)
    where chain_no = any(${sql.array([...chains], 'int8')}) and run_no <> ${run} and job is not null
      and left_at > lading_now() - make_interval(secs => ${seconds}) order by left_at`)

/**
 * Returns the job id that a callback named, or null. `seconds`: the time since the job was requested, or since it was composed if it was not
 * requested.
 */
export const findBulkHint = (db: Db, {run, no}: JobName) =>
  db.one(sql.type(z.object({hint: z.string().nullable(), seconds: z.number()}))`
    select hint, extract(epoch from lading_now() - coalesce(sent_at, composed_at))::float8 as seconds
    from bulk_jobs where run_no = ${run} and job_no = ${no}`)

/** Stores the job that a callback names, if the secret belongs to a job that is not done. */
export const storeBulkHint = (db: Db, {secret, hint}: {secret: Buffer; hint: string | null}) =>
  db.query(sql.type(Empty)`
    update bulk_jobs set hint = ${hint} where secret = ${sql.binary(secret)} and state <> 'done' and hint is distinct from ${hint}`)

/**
 * Moves the deadlines of the job's batches to `seconds` from now, unless they are later. The CRM may execute the job until then. Returns false
 * if this owner has lost the run, or the job has no batch in flight.
 */
export const extendBulkDeadline = async (hot: Hot, {run, no, fence, seconds}: JobName & {fence: number; seconds: number}) =>
  (await extendStatement(hot, [run, no, fence, seconds])).length > 0

const extendStatement = prepare(
  'extend-bulk-deadline',
  `update sends set deadline_at = greatest(deadline_at, lading_now() + make_interval(secs => $4::float8))
   where run_no = $1::bigint and bulk_job = $2::int and exists (select from run_heads where run_no = $1 and fence = $3::bigint and lease_until > lading_now())
   returning 1`,
)
