import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const Empty = z.object({})

const Period = z.object({
  startsAt: z.string(),
  endsAt: z.string(),
  rowsLimit: z.number(),
  reserved: z.number(),
  used: z.number(),
  overage: z.number(),
})
export type Period = z.infer<typeof Period>

const columns = sql.fragment`starts_at as "startsAt", ends_at as "endsAt", rows_limit as "rowsLimit", reserved, used, overage`

type UsagePeriodInput = {org: string; startsAt: string; endsAt: string; rowsLimit: number}

/** Locks the org's period that begins at `startsAt` until the transaction ends. Creates the period with this limit if there is none. */
export const holdPeriod = (tx: Tx, {org, startsAt, endsAt, rowsLimit}: UsagePeriodInput) =>
  tx.one(sql.type(Period)`
    insert into usage_periods (org_id, starts_at, ends_at, rows_limit) values (${org}, ${startsAt}, ${endsAt}, ${rowsLimit})
    on conflict (org_id, starts_at) do update set org_id = excluded.org_id
    returning ${columns}`)

export const findPeriod = (db: Db, {org, startsAt}: {org: string; startsAt: string}) =>
  db.maybeOne(sql.type(Period)`select ${columns} from usage_periods where org_id = ${org} and starts_at = ${startsAt}`)

export const setRowsLimit = (tx: Tx, {org, startsAt, rowsLimit}: Omit<UsagePeriodInput, 'endsAt'>) =>
  tx.query(sql.type(Empty)`update usage_periods set rows_limit = ${rowsLimit} where org_id = ${org} and starts_at = ${startsAt}`)

type ReserveRowsInput = {org: string; runId: string; startsAt: string; rows: number; overageAllowed: boolean}

/** The caller has locked the period. */
export const reserveRows = (tx: Tx, {org, runId, startsAt, rows, overageAllowed}: ReserveRowsInput) =>
  tx.query(sql.type(Empty)`
    with line as (
      insert into row_usage (run_id, org_id, starts_at, reserved, overage_allowed) values (${runId}, ${org}, ${startsAt}, ${rows}, ${overageAllowed}))
    update usage_periods set reserved = reserved + ${rows} where org_id = ${org} and starts_at = ${startsAt}`)

const Settled = Period.extend({org: z.string(), runId: z.string(), rows: z.number(), rowsBeyond: z.number()})

/**
 * Replaces the rows that a run reserved by the rows that it counted, once. Returns the resulting period and the run's rows; null if the run was
 * settled before or reserved none. Its rows beyond the limit become overage, but at most the unbilled rows that runs with overage wrote in this
 * period. For example, the limit is 100, and a run without overage writes 80 rows. If a run with overage wrote 50 rows and ended first, the other run
 * bills 30. The rows of runs with overage also count if a higher limit of the period covered them. Overage that the period already has extends the
 * limit. A separate statement locks the period first, so that the sums are correct.
 */
export const settleRun = async (tx: Tx, runId: string) => {
  await tx.query(sql.type(Empty)`
    select from usage_periods join row_usage using (org_id, starts_at) where run_id = ${runId} and row_usage.used is null
    for no key update of usage_periods`)
  return tx.maybeOne(sql.type(Settled)`
    with ended as (
      update row_usage u set used = done.counted, settled_at = lading_now(),
        overage = case when p.used + done.counted <= p.rows_limit + p.overage then 0
          else greatest(0, least(done.counted, p.used + done.counted - p.rows_limit - p.overage, (
            select coalesce(sum(case when b.run_id = u.run_id then done.counted else b.used end), 0) from row_usage b
            where b.org_id = p.org_id and b.starts_at = p.starts_at and b.overage_allowed) - p.overage)) end
      from usage_periods p,
        (select coalesce((select counted from runs join run_heads using (run_no) where id = ${runId}), 0) as counted) as done
      where u.run_id = ${runId} and u.used is null and p.org_id = u.org_id and p.starts_at = u.starts_at
      returning u.run_id, u.org_id, u.starts_at, u.reserved, u.used, u.overage)
    update usage_periods p set reserved = p.reserved - ended.reserved, used = p.used + ended.used, overage = p.overage + ended.overage
    from ended where p.org_id = ended.org_id and p.starts_at = ended.starts_at
    returning p.org_id as org, run_id as "runId", ended.used as rows, ended.overage as "rowsBeyond", p.starts_at as "startsAt", ends_at as "endsAt",
      rows_limit as "rowsLimit", p.reserved, p.used, p.overage`)
}

/**
 * Finds a run with unsettled reserved rows that writes nothing further: it was deleted, has ended, or was authorised `hours` ago and never started.
 * Returns null if there is none. Locks the run if it exists. `no`: null for a deleted run. `lapsed`: the run was never started.
 */
export const claimIdle = (tx: Tx, {hours}: {hours: number}) =>
  tx.maybeOne(sql.type(z.object({runId: z.string(), no: z.number().nullable(), lapsed: z.boolean()}))`
    select * from (
      select u.run_id as "runId", null::bigint as no, false as lapsed from row_usage u
      where used is null and not exists (select from runs where id = u.run_id)
      limit 1) as gone
    union all
    select * from (
      select u.run_id, run_no, state = 'authorised' from row_usage u join runs on runs.id = u.run_id
      where u.used is null and (state = 'ended' or (state = 'authorised' and runs.authorised_at < lading_now() - make_interval(hours => ${hours})))
      order by u.authorised_at limit 1 for update of runs skip locked) as idle
    limit 1`)

/**
 * Ends a run that has not begun, and detaches it from the run that it would have retried. A stop that the run already has stays. Returns whether the
 * run had not begun.
 */
export const lapseRun = async (tx: Tx, no: number, stop: {stopped: string; message: string}) => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    with lapsed as (
      update runs set state = 'ended', ended_at = lading_now(), retry_of = null, chain_no = run_no where run_no = ${no} and state = 'authorised'
      returning run_no)
    update run_heads set stop = coalesce(stop, ${sql.jsonb(stop)}) from lapsed where run_heads.run_no = lapsed.run_no`)
  return rowCount > 0
}

const Counts = z.object({modules: z.number(), schedules: z.number()})

/** Counts the org's active schedules, and the modules that are enabled, or were imported into and are not disabled. */
export const countUsed = (db: Db, org: string) =>
  db.one(sql.type(Counts)`
    select (select count(*) from (
        select connector_id, api_name from curated_modules where org_id = ${org} and enabled
        union
        select connector_id, api_name from imported_modules i where org_id = ${org} and not exists (
          select from curated_modules c where c.org_id = i.org_id and c.connector_id = i.connector_id and c.api_name = i.api_name and c.disabled and not c.enabled)
      ) counted) as modules,
      (select count(*) from schedules where org_id = ${org} and enabled) as schedules`)
