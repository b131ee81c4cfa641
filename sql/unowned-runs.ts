import {z} from 'zod'
import {type Db, sql} from './database.ts'

/**
 * SQL that is true for a run without an owner that a worker should execute: queued, left by a dead owner, paused long enough, or stopped while
 * paused. Needs `runs` (or some of its columns) and `run_heads`. A paused run that is not stopped waits while the run guard holds it. Unless it is a
 * dry run, it also waits while writes on its connection are paused. If a stopped run still reads the results of a bulk job, it waits until its pause
 * is over. A pause `BULK_JOB_OPEN` began before the stop, so the stop ends it.
 */
export const isUnowned = sql.fragment`
  engine = 'worker' and lease_until < lading_now() and (state in ('queued', 'writing', 'closing') or (state = 'paused' and case
    when stop is null then resume_at < lading_now() and held is null
      and not exists (select from connectors where connectors.id = connector_id and writes_paused and not dry_run)
    else resume_at < lading_now() or pause ->> 'code' = 'BULK_JOB_OPEN'
      or not exists (select from sends where sends.run_no = run_heads.run_no and bulk_job is not null) end))`

/**
 * Lists the unowned runs, oldest first. Runs of a closed org wait until it is reopened. Each `imports` process makes this query every few seconds.
 * The redundant `ended_at is null` lets Postgres use the index of open runs.
 */
export const listUnownedRuns = (db: Db, {limit}: {limit: number}) =>
  db.any(sql.type(z.object({id: z.string(), org: z.string()}))`
    select runs.id, org_id as org from runs join run_heads using (run_no) join orgs on orgs.id = org_id and closed_at is null
    where ended_at is null and ${isUnowned} order by runs.id limit ${limit}`)
