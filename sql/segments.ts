import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

/** The list number of the log. Positive list numbers are the numbers of the run's sources. */
export const LOG_LIST = 0
/** The list number of the values that a dry run planned, one line each, in planning order. */
export const PLAN_LIST = -1
/** The list number of before images, one line each, in the order in which they were stored. */
export const IMAGE_LIST = -2
/** The list number of values that differed when they were read back, one line each, in the order in which they were found. */
export const VERIFY_LIST = -3
/**
 * The list number of the steps of a sealed plan. A line is one step. Lines are ordered by flow, row and phase. A segment is one chunk of the plan.
 */
export const STEP_LIST = -11

const Segment = z.object({
  list: z.number(),
  first: z.number(),
  last: z.number(),
  rows: z.number(),
  bytes: z.number(),
  sha256: z.string(),
  format: z.number(),
  storage: z.string(),
  key: z.string(),
})
/**
 * A segment. `first` and `last`: `seq` in the log, row numbers in a source, line numbers in other lists. `bytes` and `sha256`: of the lines
 * before compression.
 */
export type Segment = z.infer<typeof Segment>

const columns = sql.fragment`list, first, last, rows, bytes, encode(sha256, 'hex') as sha256, format, storage, key`

/** Lists segments in order, starting with the one that contains `from`. */
export const listSegments = (db: Db, {run, list, from, limit}: {run: number; list: number; from: number; limit: number}) =>
  db.any(sql.type(Segment)`
    select ${columns} from segments where run_no = ${run} and list = ${list} and last >= ${from} order by first limit ${limit}`)

export const findLastLine = (db: Db, {run, list}: {run: number; list: number}) =>
  db.oneFirst(
    sql.type(z.object({last: z.number()}))`select coalesce(max(last), 0) as last from segments where run_no = ${run} and list = ${list}`,
  )

/** Locks this list of segments until the transaction ends, so that each writer continues after the last line. */
export const lockSegments = (tx: Tx, {run, list}: {run: number; list: number}) =>
  tx.query(sql.type(z.object({}))`select pg_advisory_xact_lock(hashtextextended('segments ' || ${run}::text || ' ' || ${list}::text, 0))`)

export const insertSegments = (tx: Tx, {run, segments}: {run: number; segments: readonly Segment[]}) =>
  tx.query(sql.type(Empty)`
    insert into segments (run_no, list, first, last, rows, bytes, sha256, format, storage, key)
    select ${run}, list, first, last, rows, bytes, decode(sha256, 'hex'), format, storage, key
    from jsonb_to_recordset(${sql.jsonb(segments as never)})
      as s(list smallint, first bigint, last bigint, rows int, bytes bigint, sha256 text, format smallint, storage text, key text)`)

const RunToArchive = z.object({
  no: z.number(),
  id: z.string(),
  org: z.string(),
  snapshotNo: z.number().nullable(),
  recordsAt: z.enum(['db', 'storage']),
  tries: z.number(),
})
export type RunToArchive = z.infer<typeof RunToArchive>

/**
 * Claims the oldest ended run whose records are still to be moved to storage, or deleted from Postgres after the move. Returns null if there is
 * none. The claim lasts `seconds`, longer than a move takes. Two concurrent moves of one run do no harm.
 */
export const claimUnarchived = (db: Db, {seconds}: {seconds: number}) =>
  db.maybeOne(sql.type(RunToArchive)`
    with found as (
      select run_no from runs join orgs on orgs.id = org_id and erasing_at is null
      where state = 'ended' and not archived and (archive_after is null or archive_after < lading_now())
      order by runs.id limit 1 for update of runs skip locked)
    update runs set archive_tries = archive_tries + 1, archive_after = lading_now() + make_interval(secs => ${seconds})
    from found where runs.run_no = found.run_no
    returning runs.run_no as no, id, org_id as org, snapshot_no as "snapshotNo", records_at as "recordsAt", archive_tries as tries`)

/** Ends the claim on a run. The run can be claimed again after `seconds`. */
export const putOffArchive = (db: Db, {run, seconds}: {run: number; seconds: number}) =>
  db.query(
    sql.type(
      Empty,
    )`update runs set archive_after = lading_now() + make_interval(secs => ${seconds}) where run_no = ${run} and not archived`,
  )

/**
 * Returns the last `seq` of an ended run's log. Null if the records are in storage, the run has expired or is gone, or its org is being erased.
 * Locks the run until the transaction ends.
 */
export const lockEnded = (tx: Tx, run: number) =>
  tx.maybeOneFirst(sql.type(z.object({last: z.number()}))`
    select next_seq - 1 as last from runs join run_heads using (run_no) join orgs on orgs.id = org_id and erasing_at is null
    where run_no = ${run} and state = 'ended' and records_at = 'db' and expired_at is null for update of runs, run_heads`)

export const flipToStorage = (tx: Tx, run: number) =>
  tx.query(sql.type(Empty)`update runs set records_at = 'storage' where run_no = ${run}`)

/**
 * Deletes log entries of a run whose records are in storage, lowest `seq` first, at most `limit` rows of each of the two tables. Returns the
 * number of deleted rows, which is 0 once none is left.
 */
export const deleteMoved = async (db: Db, {run, limit}: {run: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    with moved as (select run_no from runs where run_no = ${run} and records_at = 'storage'),
    entries as (
      delete from run_log using moved where run_log.run_no = moved.run_no and seq <= (select min(seq) + ${limit - 1} from run_log where run_no = ${run})
      returning 1),
    batches as (
      delete from log_batches using moved where log_batches.run_no = moved.run_no
        and last_seq <= (select min(last_seq) + ${limit - 1} from log_batches where run_no = ${run})
      returning 1)
    select 1 from entries union all select 1 from batches`)
  return rowCount
}

export const markArchived = (db: Db, run: number) =>
  db.query(sql.type(Empty)`update runs set archived = true, archive_after = null where run_no = ${run} and records_at = 'storage'`)

/** Stores the object's key before the upload, so that retention can find and delete the object if no row ever names it. */
export const insertLoose = (db: Db, key: string) => db.query(sql.type(Empty)`insert into loose_objects (key) values (${key})`)

/**
 * Removes keys from `loose_objects`, because rows of this transaction name these objects. Throws if one of them was marked for removal meanwhile, so
 * that a named object is never removed.
 */
export const nameLoose = async (tx: Tx, keys: readonly string[]) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    delete from loose_objects where key = any(${sql.array([...keys], 'text')}) and not doomed`)
  if (rowCount !== keys.length)
    throw new Error(`${keys.length - rowCount} of ${keys.length} objects were given up while they were being stored`)
}

/** Marks objects for removal that no row named within `hours`. From then on, `nameLoose` refuses them. */
export const giveUpLoose = (db: Db, {hours}: {hours: number}) =>
  db.query(sql.type(Empty)`
    update loose_objects set doomed = true where not doomed and since < lading_now() - make_interval(hours => ${hours})`)

export const deleteLoose = (db: Db, keys: readonly string[]) =>
  db.query(sql.type(Empty)`delete from loose_objects where key = any(${sql.array([...keys], 'text')})`)
