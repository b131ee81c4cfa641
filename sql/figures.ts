import {z} from 'zod'
import {type Db, sql} from './database.ts'
import {mostEventAttempts} from './payment-events.ts'
import {isUnowned} from './unowned-runs.ts'

const Figure = z.object({figure: z.string(), a: z.string(), b: z.string(), value: z.number()})

/** The number of the newest ended runs that are examined. */
const newest = 2_000
/** Counts that may be high stop at this limit. */
const most = 10_000

/**
 * SQL that counts jobs by queue and state, with the age of the oldest in seconds, and the jobs that failed within 15 minutes. Uses `now()`, the clock
 * of the queue. The queue keeps failed jobs for an hour to a week.
 */
const queues = sql.fragment`
  jobs as (
    select name, case when state = 'active' then 'active' when state = 'failed' then 'failed' when start_after > now() then 'deferred' else 'waiting' end as state,
      count(*) as jobs, coalesce(max(extract(epoch from now() - case when state = 'active' then started_on when state = 'failed' then completed_on
        else greatest(created_on, start_after) end)), 0) as oldest,
      count(*) filter (where state = 'failed' and completed_on > now() - interval '15 minutes') as failures
    from pgboss.job where state in ('created', 'retry', 'active', 'failed') group by 1, 2)`

/**
 * SQL for the open runs, the open runs that wait for a worker, and the newest ended runs. Each part of the union uses a partial index that contains
 * only open runs.
 */
const underWay = sql.fragment`
  live as (
    select run_no, engine, state, pause, resume_at, connector_id, dry_run, org_id, authorised_at, started_at from runs
      where state in ('queued', 'writing', 'paused', 'closing') and not dry_run
    union all
    select run_no, engine, state, pause, resume_at, connector_id, dry_run, org_id, authorised_at, started_at from runs
      where state in ('queued', 'writing', 'paused', 'closing') and dry_run),
  unowned as (
    select greatest(0, extract(epoch from lading_now() - greatest(lease_until, coalesce(live.started_at, live.authorised_at), live.resume_at))) as seconds
    from live join run_heads using (run_no) join orgs on orgs.id = org_id and closed_at is null
    where ${isUnowned}),
  ended as (
    select run_no, import_no, ended_at, engine, expired_at from runs where state = 'ended' order by id desc limit ${newest})`

const runs = sql.fragment`
  select 'runs', state, coalesce(pause ->> 'code', ''), count(*)::float8 from live group by 2, 3
  union all select 'runs_unowned', '', '', count(*) from unowned
  union all select 'runs_unowned_seconds', '', '', coalesce(max(seconds), 0) from unowned
  union all select 'leases', '', '', count(*) from live join run_heads using (run_no)
    where lease_until > lading_now() and lease_until < 'infinity'
  union all select 'lease_shortest_seconds', '', '', coalesce(min(extract(epoch from lease_until - lading_now())), 0)
    from live join run_heads using (run_no) where lease_until > lading_now() and lease_until < 'infinity'
  union all select 'runs_stopped', stop ->> 'stopped', '', count(*) from ended join run_heads using (run_no)
    where stop is not null and ended_at > lading_now() - interval '1 hour' group by 2
  union all select 'questions_open', '', '', count(*) from (
    select from ended join questions using (run_no) where expired_at is null and not exists (
      select from decisions d where d.import_no = ended.import_no and d.flow_id = questions.flow_id and d.kind = questions.kind
        and (d.question_key = questions.question_key or d.question_key is null)) limit ${most}) q
  union all select 'rows_unsettled', '', '', count(*) from (
    select from ended join unsettled using (run_no) where ended_at > lading_now() - interval '1 hour' limit ${most}) u`

/**
 * SQL that is true for an exhausted quota that was probed within the hour or whose renewal time has not come. Any other exhausted quota may have
 * renewed, because only a call shows a renewal.
 */
const isWaitedFor = sql.fragment`spent_at is not null and greatest(probe_at + interval '1 hour', renews_at) > lading_now()`

const crm = sql.fragment`
  select 'crm_allowances_spent', '', '', count(*) from crm_allowances where ${isWaitedFor}
  union all select 'crm_allowance_spent_seconds', '', '', coalesce(max(extract(epoch from lading_now() - spent_at)), 0)
    from crm_allowances where ${isWaitedFor}
  union all select 'crm_slots', 'held', '', coalesce(sum(got), 0) from crm_shares where until > lading_now()
  union all select 'crm_slots', 'in_use', '', coalesce(sum(in_use), 0) from crm_shares where until > lading_now()
  union all select 'crm_slots', 'wanted', '', coalesce(sum(want), 0) from crm_shares where until > lading_now()
  union all select 'crm_budgets_cut', '', '', count(*) from crm_budgets where total < cap
  union all select 'connections', known, '', count(id) from unnest(array['connected', 'ended', 'disconnected']) known
    left join connectors on state = known group by 2
  union all select 'connections_paused', '', '', count(*) from connectors where writes_paused and state = 'connected'`

/** SQL for the webhook endpoints that fail and have a notice to deliver. Without one, nothing is sent that could show whether they still fail. */
const failing = sql.fragment`
  failing as (
    select failing_since from webhook_endpoints e join orgs on orgs.id = e.org_id and closed_at is null where enabled and failing_since is not null
      and exists (select from deliveries where endpoint_id = e.id and deliveries.state = 'pending'))`

const due = sql.fragment`
  select 'deliveries', 'webhook', '', count(*) from deliveries where state = 'pending' and endpoint_id is not null
  union all select 'deliveries', 'mail', '', count(*) from deliveries where state = 'pending' and person_id is not null
  union all select 'mail_due_seconds', '', '', coalesce(max(extract(epoch from lading_now() - next_at)), 0) from deliveries
    join orgs on orgs.id = org_id and closed_at is null where state = 'pending' and person_id is not null and next_at <= lading_now()
  union all select 'notice_seconds', '', '', coalesce(max(extract(epoch from lading_now() - notices.created_at)), 0)
    from notices join orgs on orgs.id = org_id and closed_at is null where expanded_at is null
  union all select 'endpoints_failing', '', '', count(*) from failing
  union all select 'endpoint_failing_seconds', '', '', coalesce(max(extract(epoch from lading_now() - failing_since)), 0) from failing
  union all select 'schedules_overdue', '', '', count(*) from schedules join orgs on orgs.id = org_id and closed_at is null where next_due_at < lading_now()
  union all select 'schedule_overdue_seconds', '', '', coalesce(max(extract(epoch from lading_now() - next_due_at)), 0)
    from schedules join orgs on orgs.id = org_id and closed_at is null where next_due_at < lading_now()
  union all select 'firings_left', '', '', count(*) from firings where state in ('due', 'working') and lease_until < lading_now() - interval '1 minute'
  union all select 'schedules_stopped', '', '', count(*) from schedules where stopped is not null`

const money = sql.fragment`
  select 'payment_events', status, '', count(*) from payment_events where status in ('received', 'processing', 'deferred', 'failed') group by 2
  union all select 'payment_event_seconds', '', '', coalesce(max(extract(epoch from lading_now() - created_at)), 0) from payment_events
    where status in ('received', 'processing', 'deferred') or (status = 'failed' and attempts < ${mostEventAttempts})
  union all select 'plans_ending_early', '', '', count(*) from subscriptions where interval = 'year' and overage_item_id is not null
    and cancels_at < period_ends_at and status not in ('canceled', 'incomplete_expired')
  union all select 'plan_changes_open', '', '', count(*) from plan_changes where state in ('started', 'unknown', 'partial')
  union all select 'topups_open', '', '', count(*) from topup_attempts where state in ('pending', 'unknown')
  union all select 'overage_unsent_seconds', '', '', coalesce(max(extract(epoch from lading_now() - at)), 0) from overage_reports where sent_at is null`

const storage = sql.fragment`
  select 'storage_moves', '', '', count(*) from runs where state = 'ended' and not archived
  union all select 'storage_move_seconds', '', '', coalesce(max(extract(epoch from lading_now() - ended_at)), 0) from runs where state = 'ended' and not archived
  union all select 'storage_move_tries', '', '', coalesce(max(archive_tries), 0) from runs where state = 'ended' and not archived
  union all select 'storage_removals', '', '', count(*) from (select from loose_objects where doomed limit ${most}) l
  union all select 'retention_failures', '', '', count(*) from retention_failures where day = (select max(day) from retention_nights)`

const server = sql.fragment`
  select 'database_connections', 'used', '', coalesce(sum(numbackends), 0)::float8 from pg_stat_database
  union all select 'database_connections', 'most', '', current_setting('max_connections')::float8
  union all select 'database_bytes', '', '', pg_database_size(current_database())::float8`

/**
 * Returns the state of the deployment over all orgs in one statement: counts, sizes, and ages in seconds. Each part is bounded, or uses an index with
 * few other rows. The table of the queue is read whole, because it contains only the jobs of a week.
 */
export const readFigures = (db: Db) =>
  db.any(sql.type(Figure)`
    with ${queues}, ${underWay}, ${failing}
    select figure, coalesce(a, '') as a, coalesce(b, '') as b, value from (
      select 'queue_jobs' as figure, name as a, state as b, jobs::float8 as value from jobs
      union all select 'queue_oldest_seconds', name, state, oldest from jobs
      union all select 'queue_failures', name, '', failures from jobs where state = 'failed'
      union all ${runs} union all ${crm} union all ${due} union all ${money} union all ${storage} union all ${server}) figures`)
