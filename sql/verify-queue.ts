import {z} from 'zod'
import {type Db, sql} from './database.ts'
import {openRunKeys} from './run-keys.ts'

const Empty = z.object({})

export const verifyKeys = openRunKeys('verify_keys')

/**
 * Written rows of one settlement that are to be read back. `records`: the ids of their records. `countedRows`: the rows without second writes and
 * writes that got no answer. `sealed`: the rows with their values.
 */
export type QueuedRows = {records: string[]; rows: number; countedRows: number; sealed: Buffer}

/** The key of an entry within its run. Keys ascend in the order of the settlements. */
export type EntryName = {fence: number; settleNo: number}

const Entry = z.object({fence: z.number(), settleNo: z.number(), sealed: z.instanceof(Buffer)})
export type QueueEntry = z.infer<typeof Entry>

type QueueQuery = {run: number; seconds: number; after: EntryName | null; rows: number; bytes: number}

/**
 * Lists the oldest unverified entries after `after` that were settled at least `seconds` ago. Returns at least one entry, and further ones up to
 * `rows` rows and `bytes` bytes. `readAt`: the current time, before the caller reads the records. `rowsUpTo`: the sum of rows up to and including the
 * entry.
 */
export const listQueued = (db: Db, {run, seconds, after, rows, bytes}: QueueQuery) =>
  db.any(sql.type(Entry.extend({readAt: z.string(), rowsUpTo: z.number()}))`
    select fence, settle_no as "settleNo", sealed, readAt::text as "readAt", rows as "rowsUpTo" from (
      select fence, settle_no, sealed, lading_now() as readAt, row_number() over entries as n, sum(rows) over entries as rows,
        sum(octet_length(sealed)) over entries as bytes
      from verify_queue where run_no = ${run} and not verified and settled_at <= lading_now() - make_interval(secs => ${seconds})
        and (fence, settle_no) > (${after?.fence ?? -1}::bigint, ${after?.settleNo ?? -1}::bigint)
      window entries as (order by fence, settle_no)) as due
    where n = 1 or (rows <= ${rows} and bytes <= ${bytes}) order by n`)

const Size = z.object({
  rows: z.number(),
  dueRows: z.number(),
  oldestSeconds: z.number(),
  waitSeconds: z.number(),
  lastWaitSeconds: z.number(),
})

/**
 * Measures the unverified entries. An entry is due `seconds` after its settlement. `dueRows`: rows in due entries. `oldestSeconds`: how
 * long the oldest entry has been due. `waitSeconds` and `lastWaitSeconds`: the time until the first and the last entry are due.
 */
export const measureQueue = (db: Db, {run, seconds}: {run: number; seconds: number}) =>
  db.one(sql.type(Size)`
    select coalesce(sum(rows), 0) as rows, coalesce(sum(rows) filter (where age >= 0), 0) as "dueRows",
      greatest(coalesce(max(age), 0), 0)::float8 as "oldestSeconds", greatest(coalesce(-max(age), 0), 0)::float8 as "waitSeconds",
      greatest(coalesce(-min(age), 0), 0)::float8 as "lastWaitSeconds"
    from (select rows, extract(epoch from lading_now() - settled_at) - ${seconds} as age from verify_queue
      where run_no = ${run} and not verified) as queued`)

export const findLastQueued = (db: Db, run: number) =>
  db.maybeOne(sql.type(Entry.omit({sealed: true}))`
    select fence, settle_no as "settleNo" from verify_queue where run_no = ${run} order by fence desc, settle_no desc limit 1`)

/** Whether this entry or an earlier one is unverified. */
export const isQueuedUpTo = (db: Db, {run, fence, settleNo}: EntryName & {run: number}) =>
  db.exists(sql.type(Empty)`
    select from verify_queue where run_no = ${run} and not verified and (fence, settle_no) <= (${fence}::bigint, ${settleNo}::bigint)`)

/** Lists the entry `from` and all later entries whose rows wrote at least one of the records. */
export const listSharing = (db: Db, {run, from, records}: {run: number; from: EntryName; records: readonly string[]}) =>
  db.any(sql.type(Entry)`
    select fence, settle_no as "settleNo", sealed from verify_queue
    where run_no = ${run} and (fence, settle_no) >= (${from.fence}::bigint, ${from.settleNo}::bigint)
      and records && ${sql.array([...records], 'text')} order by fence, settle_no`)

/** Lists those of `records` that a batch in flight of the run targets. */
export const listInFlight = (db: Db, {run, records}: {run: number; records: readonly string[]}) =>
  db.anyFirst(sql.type(z.object({record: z.string()}))`
    select distinct target as record from sends, unnest(targets) as target
    where run_no = ${run} and target = any(${sql.array([...records], 'text')})`)

/** Deletes verified entries that precede every unverified one. Later entries stay, because they show which values a later row wrote. */
export const deleteVerified = (db: Db, run: number) =>
  db.query(sql.type(Empty)`
    delete from verify_queue v where run_no = ${run} and verified and not exists (
      select from verify_queue o where o.run_no = ${run} and not o.verified and (o.fence, o.settle_no) < (v.fence, v.settle_no))`)

export const deleteQueued = async (db: Db, {run, limit}: {run: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from verify_queue where ctid = any(array(select ctid from verify_queue where run_no = ${run} limit ${limit}))`)
  return rowCount
}

/** Marks the unverified entries of an ended run as verified and adds their rows to its counts. A repeated call adds nothing. */
export const addUnreadToCounts = (db: Db, run: number) =>
  db.query(sql.type(Empty)`
    with marked as (update verify_queue set verified = true where run_no = ${run} and not verified returning coalesce(counted_rows, rows) as rows)
    update run_heads set verified = add_counts(verified, array[0, 0, 0, 0, 0, left_over.rows]::bigint[])
    from (select coalesce(sum(rows), 0) as rows from marked) as left_over
    where run_no = ${run} and left_over.rows > 0`)
