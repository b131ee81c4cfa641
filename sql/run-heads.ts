import {z} from 'zod'
import type {Standing} from './connectors.ts'
import {type Db, type Hot, prepare, sql, type Tx} from './database.ts'

export const Stop = z.object({
  stopped: z.string(),
  message: z.string(),
  rowsPerRun: z.number().optional(),
  stoppedBy: z.enum(['plan', 'declaration']).optional(),
  rowsWrittenTotal: z.number().optional(),
})
export type Stop = z.infer<typeof Stop>

const Head = z.object({
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
  stop: Stop.nullable(),
})
export type Head = z.infer<typeof Head>

const columns = sql.fragment`fence, lease_until > lading_now() as "leaseLive", takeovers, crashes, settle_no as "settleNo",
  next_batch as "nextBatch", counted, rows_limit as "rowsLimit", limit_by as "limitBy", counts, stop`

export const insertHead = (tx: Tx, {run, rowsLimit, limitBy}: {run: number; rowsLimit: number; limitBy: string}) =>
  tx.query(sql.type(z.object({}))`insert into run_heads (run_no, rows_limit, limit_by) values (${run}, ${rowsLimit}, ${limitBy})`)

export const findHead = (db: Db, run: number) => db.maybeOne(sql.type(Head)`select ${columns} from run_heads where run_no = ${run}`)

/** Counters of a run that never settles a row stop here, far below the limit of their type. */
const mostCounted = 100

/**
 * Null while another owner's lease lives. Taking it ends whatever the last owner may still try: the fence has moved. After a settled row or an
 * orderly release `takeovers` is 0, and the crashes before it no longer count.
 */
export const takeLease = (db: Db, {run, owner, seconds}: {run: number; owner: string; seconds: number}) =>
  db.maybeOne(sql.type(Head)`
    update run_heads set fence = fence + 1, owner = ${owner}, settle_no = 0, takeovers = least(takeovers + 1, ${mostCounted}),
      crashes = case when takeovers = 0 then 0 else crashes end,
      lease_until = lading_now() + make_interval(secs => ${seconds})
    where run_no = ${run} and lease_until < lading_now()
    returning ${columns}`)

/** Null when the lease is no longer ours; otherwise the stop somebody may have asked for, and whether org and connection still let it write. */
export const renewLease = async (hot: Hot, {run, fence, seconds}: {run: number; fence: number; seconds: number}) =>
  (await renewStatement(hot, [run, fence, seconds]))[0] ?? null

const renewStatement = prepare<{stop: Stop | null; orgClosed: boolean; standing: Standing}>(
  'renew-lease',
  `update run_heads set lease_until = lading_now() + make_interval(secs => $3::float8)
   where run_no = $1::bigint and fence = $2::bigint and lease_until > lading_now()
   returning stop, exists (select from runs join orgs on orgs.id = org_id where run_no = $1 and closed_at is not null) as "orgClosed",
     run_standing($1) as standing`,
)

/** `crashed`: the run's own work failed, so the release counts a crash. Otherwise the release is orderly and ends the count. */
export const releaseLease = (db: Db, {run, fence, crashed}: {run: number; fence: number; crashed: boolean}) =>
  db.query(sql.type(z.object({}))`
    update run_heads set lease_until = lading_now(), owner = null, takeovers = case when ${crashed} then takeovers else 0 end,
      crashes = case when ${crashed} then least(crashes + 1, ${mostCounted}) else crashes end
    where run_no = ${run} and fence = ${fence} and lease_until > lading_now()`)

/**
 * Counts a crash of a process that took the run, whoever owns it by now: a hung process loses its lease long before it ends. Null after a settled
 * row or an orderly release.
 */
export const recordCrash = (db: Db, run: number) =>
  db.maybeOneFirst(sql.type(z.object({crashes: z.number()}))`
    update run_heads set crashes = least(crashes + 1, ${mostCounted}) where run_no = ${run} and takeovers > 0 returning crashes`)

/** The first stop stays: it is final for the run. A run that has written all it could was not stopped. */
export const writeStop = (db: Db, {run, stop}: {run: number; stop: Stop}) =>
  db.query(sql.type(z.object({}))`
    update run_heads set stop = ${sql.jsonb(stop)}
    where run_no = ${run} and stop is null and exists (select from runs where run_no = ${run} and state not in ('closing', 'ended'))`)

/** The slow path at the limit: holds the head until the transaction ends, so what it reads stays true. */
export const lockHead = async (tx: Tx, {run, fence}: {run: number; fence: number}) => {
  const head = await tx.maybeOne(sql.type(Head)`
    select ${columns} from run_heads where run_no = ${run} and fence = ${fence} and lease_until > lading_now() for update`)
  // By a statement of its own: the one that waited for the lock sees the sends as of before it waited.
  const count = sql.type(z.object({count: z.number()}))`select count(*) from sends where run_no = ${run}`
  return head && {...head, sendsOpen: await tx.oneFirst(count)}
}

/** How many of these rows the run has not counted yet. */
export const listFreshKeys = (db: Db, {run, module, keys}: {run: number; module: number; keys: string[]}) =>
  db.anyFirst(sql.type(z.object({key: z.string()}))`
    select key from unnest(${sql.array(keys, 'text')}) as key
    where not exists (select from admissions a where a.run_no = ${run} and a.module_no = ${module} and a.row_key = key)`)

export const countAdmissions = (db: Db, run: number) =>
  db.oneFirst(sql.type(z.object({count: z.number()}))`select count(*) from admissions where run_no = ${run}`)

/** In pieces, so that a long run's end holds nothing up. Answers how many went. */
export const deleteAdmissions = async (db: Db, {run, limit}: {run: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from admissions where ctid = any(array(select ctid from admissions where run_no = ${run} limit ${limit}))`)
  return rowCount
}
