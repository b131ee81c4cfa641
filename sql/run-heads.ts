import {z} from 'zod'
import type {WriteStatus} from './connectors.ts'
import {type Db, type Hot, prepare, sql, type Tx} from './database.ts'

export const RunStop = z.object({
  stopped: z.string(),
  message: z.string(),
  rowsPerRun: z.number().optional(),
  stoppedBy: z.enum(['plan', 'declaration']).optional(),
  rowsWrittenTotal: z.number().optional(),
})
export type RunStop = z.infer<typeof RunStop>

/**
 * Why the run guard holds a run: `rows` of `settled` rows have the outcome, and their share exceeds `limit` (0 to 1). Both numbers count from the
 * start, or from the last time a person ended a hold. They exclude inherited and skipped rows. For `coerced`, `settled` counts the rows that were
 * read back.
 */
export const RunHold = z.object({
  outcome: z.enum(['refused', 'unanswered', 'failed', 'coerced']),
  rows: z.number(),
  settled: z.number(),
  limit: z.number(),
})
export type RunHold = z.infer<typeof RunHold>

const RunHead = z.object({
  fence: z.number(),
  leaseLive: z.boolean(),
  takeovers: z.number(),
  crashes: z.number(),
  settleNo: z.number(),
  nextBatch: z.number(),
  counted: z.number(),
  rowsLimit: z.number(),
  limitBy: z.enum(['plan', 'declaration']),
  counts: z.array(z.number()),
  stop: RunStop.nullable(),
  held: RunHold.nullable(),
  /** The number of first rows of each kind that are verified before others are sent. Null: no canary. */
  canary: z.number().nullable(),
  canaryPassed: z.array(z.string()),
})
export type RunHead = z.infer<typeof RunHead>

const columns = sql.fragment`fence, lease_until > lading_now() as "leaseLive", takeovers, crashes, settle_no as "settleNo",
  next_batch as "nextBatch", counted, rows_limit as "rowsLimit", limit_by as "limitBy", counts, stop, held,
  (guard ->> 'canary')::int as canary, canary_passed as "canaryPassed"`

/** Sets the guard of a run that has not started. */
export const setGuard = (tx: Tx, {run, guard}: {run: number; guard: object}) =>
  tx.query(sql.type(z.object({}))`update run_heads set guard = ${JSON.stringify(guard)}::jsonb where run_no = ${run}`)

/**
 * Queues a run that the run guard holds. The guard then counts from zero again, and the canary no longer applies. Returns null if the run guard does
 * not hold the run, or a stop was requested.
 */
export const endHold = (tx: Tx, run: number) =>
  tx.maybeOneFirst(sql.type(z.object({run: z.number()}))`
    with released as (
      update run_heads set held = null, guard_since = counts, verified_since = verified, canary_passed = '{*}' where run_no = ${run} and held is not null and stop is null
        and exists (select from runs where run_no = ${run} and state = 'paused') returning run_no)
    update runs set state = 'queued', pause = null, resume_at = null from released where runs.run_no = released.run_no returning runs.run_no as run`)

/** Stores that the canary of this kind of rows was verified. Returns false if the caller no longer has the lease. */
export const passCanary = async (db: Db, {run, fence, kind}: {run: number; fence: number; kind: string}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    update run_heads set canary_passed = canary_passed || ${kind}::text where run_no = ${run} and fence = ${fence} and lease_until > lading_now()`)
  return rowCount === 1
}

export const insertHead = (tx: Tx, {run, rowsLimit, limitBy}: {run: number; rowsLimit: number; limitBy: string}) =>
  tx.query(sql.type(z.object({}))`
    insert into run_heads (run_no, rows_limit, limit_by, is_packed)
    values (${run}, ${rowsLimit}, ${limitBy}, coalesce((select is_on from release_switches where name = 'packed ledger'), false))`)

/** Lowers the row limit of a run that has not started. A limit that is already lower stays. */
export const lowerRowsLimit = (tx: Tx, {run, rows}: {run: number; rows: number}) =>
  tx.query(sql.type(z.object({}))`
    update run_heads set rows_limit = ${rows}, limit_by = 'declaration' where run_no = ${run} and rows_limit > ${rows}`)

export const findHead = (db: Db, run: number) => db.maybeOne(sql.type(RunHead)`select ${columns} from run_heads where run_no = ${run}`)

/** The maximum of the crash counters, far below the limit of their column type. */
const mostCounted = 100

/**
 * Takes the lease of a run. Returns null while the lease of another owner is live. Raises the fence, so that the previous owner can no longer write.
 * `takeovers` counts the owners since the last settled row or orderly release. If it was 0, `crashes` restarts at 0.
 */
export const takeLease = (db: Db, {run, owner, seconds}: {run: number; owner: string; seconds: number}) =>
  db.maybeOne(sql.type(RunHead)`
    update run_heads set fence = fence + 1, owner = ${owner}, settle_no = 0, takeovers = least(takeovers + 1, ${mostCounted}),
      crashes = case when takeovers = 0 then 0 else crashes end,
      lease_until = lading_now() + make_interval(secs => ${seconds})
    where run_no = ${run} and lease_until < lading_now()
    returning ${columns}`)

/**
 * Renews the lease and returns the requested stop, whether the org is closed, and the connection's write status. Returns null if the lease
 * was lost.
 */
export const renewLease = async (hot: Hot, {run, fence, seconds}: {run: number; fence: number; seconds: number}) =>
  (await renewStatement(hot, [run, fence, seconds]))[0] ?? null

const renewStatement = prepare<{stop: RunStop | null; orgClosed: boolean; writeStatus: WriteStatus}>(
  'renew-lease',
  `update run_heads set lease_until = lading_now() + make_interval(secs => $3::float8)
   where run_no = $1::bigint and fence = $2::bigint and lease_until > lading_now()
   returning stop, exists (select from runs join orgs on orgs.id = org_id where run_no = $1 and closed_at is not null) as "orgClosed",
     run_standing($1) as "writeStatus"`,
)

/** Releases the lease. `crashed`: the run's own work failed, which adds a crash. Any other release is orderly and resets `takeovers`. */
export const releaseLease = (db: Db, {run, fence, crashed}: {run: number; fence: number; crashed: boolean}) =>
  db.query(sql.type(z.object({}))`
    update run_heads set lease_until = lading_now(), owner = null, takeovers = case when ${crashed} then takeovers else 0 end,
      crashes = case when ${crashed} then least(crashes + 1, ${mostCounted}) else crashes end
    where run_no = ${run} and fence = ${fence} and lease_until > lading_now()`)

/**
 * Counts a crash of a process that took the run. Another process may own the run by now, because a hung process loses its lease long before it ends.
 * Returns the number of crashes; null if a row was settled or the run was released in good order since the process took the run.
 */
export const recordCrash = (db: Db, run: number) =>
  db.maybeOneFirst(sql.type(z.object({crashes: z.number()}))`
    update run_heads set crashes = least(crashes + 1, ${mostCounted}) where run_no = ${run} and takeovers > 0 returning crashes`)

/** Stores a stop, unless the run has one. A run that has written all its rows cannot be stopped. */
export const writeStop = (db: Db, {run, stop}: {run: number; stop: RunStop}) =>
  db.query(sql.type(z.object({}))`
    update run_heads set stop = ${sql.jsonb(stop)}
    where run_no = ${run} and stop is null and exists (select from runs where run_no = ${run} and state not in ('closing', 'ended'))`)

/**
 * Locks the head until the transaction ends. Returns null if the caller no longer has the lease. Used only at the row limit, because it is slow.
 * `sendsOpen`: the number of batches in flight.
 */
export const lockHead = async (tx: Tx, {run, fence}: {run: number; fence: number}) => {
  const head = await tx.maybeOne(sql.type(RunHead)`
    select ${columns} from run_heads where run_no = ${run} and fence = ${fence} and lease_until > lading_now() for update`)
  // A separate statement, because the statement that waited for the lock sees the sends as they were before the wait.
  const count = sql.type(z.object({count: z.number()}))`select count(*) from sends where run_no = ${run}`
  return head && {...head, sendsOpen: await tx.oneFirst(count)}
}

/** Returns the given keys whose rows an external run has not counted yet. */
export const listFreshKeys = (db: Db, {run, module, keys}: {run: number; module: number; keys: string[]}) =>
  db.anyFirst(sql.type(z.object({key: z.string()}))`
    select key from unnest(${sql.array(keys, 'text')}) as key
    where not exists (select from admissions a where a.run_no = ${run} and a.module_no = ${module} and a.row_key = key)`)

/** Of the given rows of an import, returns the keys that the run has not counted yet. */
export const listFreshRows = (db: Db, {run, module, flow, rows}: FreshRowsQuery) =>
  db.anyFirst(sql.type(z.object({key: z.string()}))`
    select key from unnest(${sql.array(
      rows.map(({key}) => key),
      'text',
    )}, ${sql.array(
      rows.map(({number}) => number),
      'int8',
    )}) as r(key, number)
    where not exists (select from admissions a where a.run_no = ${run} and a.module_no = ${module} and a.row_key = r.key)
      and not exists (
        select from admitted_blocks b where b.run_no = ${run} and b.module_no = ${module} and b.flow_no = ${flow} and b.block = r.number / 1024
          and get_bit(bits, (r.number % 1024)::int) = 1)`)

type FreshRowsQuery = {run: number; module: number; flow: number; rows: {key: string; number: number}[]}

export const countAdmissions = (db: Db, run: number) =>
  db.oneFirst(sql.type(z.object({count: z.number()}))`
    select (select count(*) from admissions where run_no = ${run})
      + (select coalesce(sum(bit_count(bits)), 0)::bigint from admitted_blocks where run_no = ${run}) as count`)

/**
 * Deletes at most `limit` rows from each of the two tables of admissions, so that the end of a long run blocks nothing. Returns the number of
 * deleted table rows.
 */
export const deleteAdmissions = async (db: Db, {run, limit}: {run: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    with rows as (
      delete from admissions where ctid = any(array(select ctid from admissions where run_no = ${run} limit ${limit})) returning 1),
    blocks as (
      delete from admitted_blocks where ctid = any(array(select ctid from admitted_blocks where run_no = ${run} limit ${limit})) returning 1)
    select 1 from rows union all select 1 from blocks`)
  return rowCount
}
