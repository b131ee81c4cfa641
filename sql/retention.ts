import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {hasChanges} from './discoveries.ts'
import {ranLastFile} from './firings.ts'

const Empty = z.object({})

const NightClaim = z.object({day: z.string(), tries: z.number()})
/** The claim on a night of retention. `tries` is the fence of its owner. */
export type NightClaim = z.infer<typeof NightClaim>

/**
 * Claims the newest night, which began at `hour` (UTC). Returns null if the night has ended, has a live owner, or was tried `mostTries` times.
 * The claim lasts `seconds`; `noteNight` renews it.
 */
export const claimNight = (db: Db, {hour, seconds, mostTries}: {hour: number; seconds: number; mostTries: number}) =>
  db.maybeOne(sql.type(NightClaim)`
    insert into retention_nights (day, lease_until)
    values (((lading_now() at time zone 'UTC') - make_interval(hours => ${hour}))::date, lading_now() + make_interval(secs => ${seconds}))
    on conflict (day) do update set tries = retention_nights.tries + 1, lease_until = excluded.lease_until
      where retention_nights.ended_at is null and retention_nights.lease_until < lading_now() and retention_nights.tries < ${mostTries}
    returning day::text, tries`)

/** Adds to the counts of the night and renews its claim. Returns false if another process owns the night. */
export const noteNight = async (db: Db, {day, tries}: NightClaim, {counts, seconds}: {counts: Record<string, number>; seconds: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    update retention_nights set lease_until = lading_now() + make_interval(secs => ${seconds}),
      counts = counts || coalesce((
        select jsonb_object_agg(key, coalesce((counts ->> key)::bigint, 0) + value::bigint) from jsonb_each_text(${sql.jsonb(counts)})), '{}')
    where day = ${day}::text::date and tries = ${tries} and ended_at is null`)
  return rowCount === 1
}

export const endNight = (db: Db, {day, tries}: NightClaim) =>
  db.query(sql.type(Empty)`update retention_nights set ended_at = lading_now() where day = ${day}::text::date and tries = ${tries}`)

export const deleteOldNights = (db: Db, {days}: {days: number}) =>
  db.query(sql.type(Empty)`delete from retention_nights where started_at < lading_now() - make_interval(days => ${days})`)

type RetentionFailure = {day: string; org: string | null; step: string; message: string}

/** The failure is stored without the org if the org was erased meanwhile. */
export const insertFailure = (db: Db, {day, org, step, message}: RetentionFailure) =>
  db.query(sql.type(Empty)`
    insert into retention_failures (day, org_id, step, message)
    values (${day}::text::date, (select id from orgs where id = ${org}), ${step}, ${message})`)

const Failure = z.object({org: z.string().nullable(), step: z.string(), message: z.string(), at: z.string()})
const Night = z.object({
  day: z.string(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  tries: z.number(),
  counts: z.record(z.string(), z.number()),
  failures: z.number(),
  failed: z.array(Failure),
})

export const listNights = (db: Db, {limit, mostFailures}: {limit: number; mostFailures: number}) =>
  db.any(sql.type(Night)`
    select day::text, started_at as "startedAt", ended_at as "endedAt", tries, counts,
      (select count(*) from retention_failures f where f.day = n.day) as failures,
      coalesce((select jsonb_agg(jsonb_build_object('org', org_id, 'step', step, 'message', message, 'at', at) order by failure_no)
        from (select * from retention_failures f where f.day = n.day order by failure_no limit ${mostFailures}) f), '[]') as failed
    from retention_nights n order by day desc limit ${limit}`)

const Kept = z.object({id: z.string(), days: z.number()})

/**
 * Lists orgs in the order of their ids, with the days of their plan's history window. Excludes orgs that are being erased, that have no window of at
 * least a day, or that are in a grace period. `graceDays`: how long an org keeps all data after a plan change, the end of a trial, or a new or
 * removed link to another org.
 */
export const listKeepers = (db: Db, {after, graceDays, limit}: {after: string; graceDays: number; limit: number}) =>
  db.any(sql.type(Kept)`
    select o.id, (p.limits ->> 'historyDays')::int as days
    from orgs o join org_plans s on s.org_id = o.id join plan_versions p on p.id = s.plan_version_id join orgs payer on payer.id = s.payer_id
    where o.erasing_at is null and (p.limits ->> 'historyDays')::int >= 1 and o.id > ${after}
      and greatest(s.anchor, payer.plan_moved_at, o.tied_at) < lading_now() - make_interval(days => ${graceDays})
    order by o.id limit ${limit}`)

type Old = {org: string; days: number; limit: number}
const before = (days: number) => sql.fragment`lading_now() - make_interval(days => ${days})`
const gone = async (query: Promise<{rowCount: number}>) => (await query).rowCount

/**
 * Deletes old firings. Keeps the newest firing of each schedule and file that a person discarded, so that the file is not run again. Keeps the
 * newest firing that ran a schedule's last file, so that a stopped run is not taken for a complete one. Keeps the firings of a file, except unchanged
 * ones, until every import of the file has expired. Without them, a run of a held import would import the file twice.
 */
export const deleteOldFirings = (db: Db, {org, days, limit}: Old) =>
  gone(
    db.query(sql.type(Empty)`
      delete from firings where ctid = any(array(
        select ctid from firings f where org_id = ${org} and state = 'ended' and ended_at < ${before(days)}
          and (decision is distinct from 'discarded' or exists (
            select from firings n where n.schedule_id = f.schedule_id and n.sha256 = f.sha256 and n.decision = 'discarded' and n.id > f.id))
          and not ${ranLastFile}
          and (outcome = 'unchanged' or not exists (
            select from firings k join imports i on i.import_no = k.import_no
            where k.schedule_id = f.schedule_id and k.sha256 = f.sha256 and i.expired_at is null))
        limit ${limit}))`),
  )

/** Deletes old rows that map a job to its org. The queue itself deletes its jobs within days. Rows of runs that have not ended stay. */
export const deleteOldJobs = (db: Db, {org, days, limit}: Old) =>
  gone(
    db.query(sql.type(Empty)`
      delete from jobs where ctid = any(array(
        select ctid from jobs where org_id = ${org} and created_at < ${before(days)}
          and not exists (select from runs where runs.org_id = ${org} and job_id = jobs.id and runs.state <> 'ended')
        order by created_at limit ${limit}))`),
  )

/**
 * Deletes old discoveries of the org's connections. Keeps the newest two of each connection, and those that a check or a run refers to. Of a
 * discovery with changes, deletes only the modules while an older import stays, because checks and re-checks of that import read the changes.
 */
export const deleteOldDiscoveries = (db: Db, {org, limit}: Omit<Old, 'days'>) =>
  db.oneFirst(sql.type(z.object({count: z.number()}))`
      with ranked as (
        select d.id, row_number() over (partition by connector_id order by d.id desc) as place
        from discoveries d join connectors c on c.id = d.connector_id where c.org_id = ${org}),
      old as (select id from ranked where place > 2),
      named as (
        select document ->> 'discovery' as id from runs join run_snapshots using (snapshot_no) where org_id = ${org} and exists (select from old)
        union select discovery_id from checks join imports using (import_no) where org_id = ${org}),
      unnamed as (
        select d.id, ${hasChanges} and exists (
            select from imports i where i.org_id = ${org} and i.connector_id = d.connector_id and i.expired_at is null and i.created_at <= d.created_at
          ) as is_read
        from discoveries d where id in (select id from old except select id from named)),
      chosen as (
        select * from unnamed u where not is_read or exists (select from discovered_modules m where m.discovery_id = u.id) limit ${limit}),
      emptied as (delete from discovered_modules where discovery_id in (select id from chosen where is_read)),
      deleted as (delete from discoveries where id in (select id from chosen where not is_read))
      select count(*) from chosen`)

/** Deletes slot budgets and quotas of CRM orgs without a connection. A call that ends after the deletion of its connection may store them. */
export const deleteForgotten = async (tx: Tx): Promise<number> => {
  const forgotten = sql.fragment`not exists (select from connectors c where c.dc = b.dc and c.crm_org_id = b.crm_org_id)`
  const budgets = await tx.query(sql.type(Empty)`
    delete from crm_budgets b where ${forgotten}
      and not exists (select from crm_shares s where s.dc = b.dc and s.crm_org_id = b.crm_org_id and s.until > lading_now())`)
  const allowances = await tx.query(sql.type(Empty)`delete from crm_allowances b where ${forgotten}`)
  return budgets.rowCount + allowances.rowCount
}
