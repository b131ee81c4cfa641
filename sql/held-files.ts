import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

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

/**
 * Finds the firing that ended without a run and left this import to a person, and locks its schedule. Returns null if there is none, or a
 * person decided already. `isRepeated`: a later firing ran the same file by the same template, which this firing was not asked to run again.
 */
export const lockKeptFiring = (tx: Tx, {org, importId}: OfImport) =>
  tx.maybeOne(sql.type(z.object({id: z.string(), scheduleId: z.string(), isRepeated: z.boolean()}))`
    select f.id, f.schedule_id as "scheduleId",
      not f.again and coalesce(f.sha256 = s.last_sha256 and f.template_version = s.last_template_version, false) as "isRepeated"
    from imports i join firings f on f.import_no = i.import_no join schedules s on s.id = f.schedule_id
    where i.org_id = ${org} and i.id = ${importId} and f.outcome in ('drifted', 'failed') and f.decision is null and f.run_no is null
    for no key update of s`)

/** Continues a firing whose file a person accepted, or whose import a person runs. The caller has locked the schedule. */
export const setFileAccepted = (tx: Tx, {firing, run}: {firing: string; run: string}) =>
  tx.query(sql.type(z.object({}))`
    update firings set state = 'running', outcome = null, ended_at = null, decision = 'accepted', decided_at = lading_now(), reason = null,
      run_no = (select run_no from runs where id = ${run})
    where id = ${firing}`)

/** The caller holds the row lock of `lockHeldFile`. */
export const setFileDiscarded = (tx: Tx, firing: string) =>
  tx.query(sql.type(z.object({}))`
    update firings set decision = 'discarded', decided_at = lading_now() where id = ${firing}`)

type FileOfSchedule = {schedule: string; sha256: string; templateVersion: number; contractVersion: number}

/** Whether a person discarded this file, and neither the template nor its contract has changed since. */
export const isDiscarded = (db: Db, {schedule, sha256, templateVersion, contractVersion}: FileOfSchedule) =>
  db.exists(sql.type(z.object({}))`
    select from firings where schedule_id = ${schedule} and decision = 'discarded' and sha256 = decode(${sha256}, 'hex')
      and template_version = ${templateVersion} and (contract ->> 'version')::bigint = ${contractVersion}`)

/** Whether a later firing of the schedule has stored its file as the last file: its run was not stopped, wrote a row, or was cancelled. */
export const hasLaterRun = (db: Db, {schedule, firing}: {schedule: string; firing: string}) =>
  db.exists(sql.type(z.object({}))`
    select from firings where schedule_id = ${schedule} and id > ${firing}
      and (outcome = 'done' or (outcome = 'stopped' and ((counts ->> 'rowsWritten')::bigint > 0 or reason ->> 'code' = 'CANCELLED')))`)
