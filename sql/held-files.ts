import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {countsAsRun} from './firings.ts'

const HeldFile = z.object({
  id: z.string(),
  importId: z.string().nullable(),
  contract: z.unknown(),
  /** Whether the import has a run that was started. Ignores dry runs. */
  isRun: z.boolean(),
  isWaiting: z.boolean(),
})
export type HeldFileRow = z.output<typeof HeldFile>

type OfFiring = {org: string; schedule: string; firing: string}

/** Returns null if the schedule has no such firing. */
export const lockHeldFile = (tx: Tx, {org, schedule, firing}: OfFiring) =>
  tx.maybeOne(sql.type(HeldFile)`
    select id, contract, (select i.id from imports i where i.import_no = firings.import_no and not i.deleted) as "importId",
      exists (select from runs r where r.import_no = firings.import_no and not r.dry_run and r.engine is not null) as "isRun",
      contract is not null and decision is null and state = 'ended' as "isWaiting"
    from firings
    where org_id = ${org} and schedule_id = ${schedule} and id = ${firing}
    for no key update`)

type OfImport = {org: string; importId: string}

/** SQL for whether the run of firing `f` stopped before its first row, but not by a person. */
const isUnwritten = sql.fragment`exists (
  select from runs r join run_heads h using (run_no)
  where r.run_no = f.run_no and r.state = 'ended' and h.counted = 0 and h.stop ->> 'stopped' <> 'CANCELLED')`

/**
 * Finds the firing that left this import to a person, and locks its schedule. The firing ended without a run and without a decision, or its run
 * stopped before its first row. `isOpen`: the firing has not started its run yet, so the import is not left to a person. Considers only the newest
 * firing of the import.
 */
export const lockKeptFiring = (tx: Tx, {org, importId}: OfImport) =>
  tx.maybeOne(sql.type(z.object({id: z.string(), scheduleId: z.string(), isOpen: z.boolean()}))`
    select f.id, f.schedule_id as "scheduleId", f.state in ('due', 'working') as "isOpen"
    from imports i join firings f on f.import_no = i.import_no join schedules s on s.id = f.schedule_id
    where i.org_id = ${org} and i.id = ${importId}
      and ((f.outcome in ('drifted', 'failed') and f.decision is null and f.run_no is null) or f.state in ('due', 'working') or ${isUnwritten})
      and not exists (select from firings n where n.import_no = f.import_no and n.id > f.id)
    for no key update of s`)

/**
 * Whether the schedule has run the file of this firing with the same template version and connection since the firing ended. If that run's
 * import was deleted, it counts as one at the same connection. False if `again` is set on the firing. The caller has locked the schedule.
 */
export const isRepeated = (tx: Tx, firing: string) =>
  tx.exists(sql.type(z.object({}))`
    select from firings f join imports i using (import_no) join firings o on o.schedule_id = f.schedule_id and o.ended_at > f.ended_at
    where f.id = ${firing} and not f.again and o.sha256 = f.sha256 and o.template_version = f.template_version and ${countsAsRun}
      and not exists (select from imports oi where oi.import_no = o.import_no and oi.connector_id <> i.connector_id)`)

/**
 * Continues a firing whose file a person accepted, or whose import a person runs; both are stored as `accepted`. The caller has locked the
 * schedule.
 */
export const setFiringContinued = (tx: Tx, {firing, run}: {firing: string; run: string}) =>
  tx.query(sql.type(z.object({}))`
    update firings set state = 'running', outcome = null, ended_at = null, decision = 'accepted', decided_at = lading_now(), reason = null,
      counts = null, run_no = (select run_no from runs where id = ${run})
    where id = ${firing}`)

/** The caller holds the row lock of `lockHeldFile`. */
export const setFileDiscarded = (tx: Tx, firing: string) =>
  tx.query(sql.type(z.object({}))`
    update firings set decision = 'discarded', decided_at = lading_now() where id = ${firing}`)

/** Stores the version of the template that the import of a held file now has. The caller holds the row lock of `lockHeldFile`. */
export const setFiringTemplateVersion = (tx: Tx, {firing, version}: {firing: string; version: number}) =>
  tx.query(sql.type(z.object({}))`update firings set template_version = ${version} where id = ${firing}`)

type FileOfSchedule = {schedule: string; sha256: string; templateVersion: number; contractVersion: number}

/** Whether a person discarded this file, and neither the template nor its contract has changed since. */
export const isDiscarded = (db: Db, {schedule, sha256, templateVersion, contractVersion}: FileOfSchedule) =>
  db.exists(sql.type(z.object({}))`
    select from firings where schedule_id = ${schedule} and decision = 'discarded' and sha256 = decode(${sha256}, 'hex')
      and template_version = ${templateVersion} and (contract ->> 'version')::bigint = ${contractVersion}`)

/** Whether a later firing of the schedule has a file that counts as run. */
export const hasLaterRun = (db: Db, {schedule, firing}: {schedule: string; firing: string}) =>
  db.exists(sql.type(z.object({}))`
    select from firings o where o.schedule_id = ${schedule} and o.id > ${firing} and ${countsAsRun}`)
