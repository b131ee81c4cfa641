import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {VerifyMode} from './runs.ts'

const Reason = z.looseObject({code: z.string(), message: z.string()})
export type Reason = z.output<typeof Reason>

export const Schedule = z.object({
  id: z.string(),
  org: z.string(),
  templateId: z.string(),
  /** The connection to use. Set if the template names no connection. */
  connectorId: z.string().nullable(),
  name: z.string(),
  cron: z.string(),
  timezone: z.string(),
  source: z.unknown(),
  credentials: z.string().nullable(),
  declaredRows: z.number().nullable(),
  onDrift: z.enum(['stop', 'warn']),
  /** Which written rows the runs read back. Null: the setting of the template applies. */
  verify: VerifyMode.nullable(),
  enabled: z.boolean(),
  stopped: Reason.nullable(),
  nextDueAt: z.string().nullable(),
  lastSha256: z.string().nullable(),
  lastTemplateVersion: z.number().nullable(),
  failures: z.number(),
  version: z.number(),
  createdBy: z.string().nullable(),
  createdAt: z.string(),
  now: z.string(),
})
export type Schedule = z.output<typeof Schedule>

const columns = sql.fragment`id, org_id as org, template_id as "templateId", connector_id as "connectorId", name, cron, timezone, source, credentials,
  declared_rows as "declaredRows", on_drift as "onDrift", verify, enabled, stopped, next_due_at as "nextDueAt", encode(last_sha256, 'hex') as "lastSha256",
  last_template_version as "lastTemplateVersion", failures, version, created_by as "createdBy", created_at as "createdAt", lading_now() as now`

type ScheduleUpdate = Pick<
  Schedule,
  'name' | 'connectorId' | 'cron' | 'timezone' | 'source' | 'credentials' | 'declaredRows' | 'onDrift' | 'verify' | 'enabled' | 'nextDueAt'
>
type NewSchedule = ScheduleUpdate & {id: string; org: string; template: string; person: string}

export const insertSchedule = (tx: Tx, s: NewSchedule) =>
  tx.one(sql.type(Schedule)`
    insert into schedules (id, org_id, template_id, connector_id, name, cron, timezone, source, credentials, declared_rows, on_drift, verify, enabled,
      next_due_at, created_by)
    values (${s.id}, ${s.org}, ${s.template}, ${s.connectorId}, ${s.name}, ${s.cron}, ${s.timezone}, ${sql.jsonb(s.source as never)}, ${s.credentials},
      ${s.declaredRows}, ${s.onDrift}, ${s.verify}, ${s.enabled}, ${s.nextDueAt}::text::timestamptz, ${s.person})
    returning ${columns}`)

/**
 * Updates a schedule and resets its failure count. If the schedule is enabled, also clears the reason why it was stopped. If the connection
 * changes, also forgets the last file, which the new connection has not received. The caller has locked the schedule.
 */
export const updateSchedule = (tx: Tx, {id, isReconnected, ...s}: ScheduleUpdate & {id: string; isReconnected: boolean}) =>
  tx.one(sql.type(Schedule)`
    update schedules set connector_id = ${s.connectorId}, name = ${s.name}, cron = ${s.cron}, timezone = ${s.timezone},
      source = ${sql.jsonb(s.source as never)}, credentials = ${s.credentials}, declared_rows = ${s.declaredRows}, on_drift = ${s.onDrift},
      verify = ${s.verify}, enabled = ${s.enabled}, next_due_at = ${s.nextDueAt}::text::timestamptz, stopped = case when ${s.enabled} then null else stopped end, failures = 0,
      last_sha256 = case when ${isReconnected} then null else last_sha256 end, version = version + 1
    where id = ${id} returning ${columns}`)

export const setScheduleEnabled = (tx: Tx, {id, nextDueAt}: {id: string; nextDueAt: string | null}) =>
  tx.one(sql.type(Schedule)`
    update schedules set enabled = ${nextDueAt !== null}, next_due_at = ${nextDueAt}::text::timestamptz, stopped = null, failures = 0, version = version + 1
    where id = ${id} returning ${columns}`)

type OfTemplate = {org: string; template: string}

export const findSchedule = (db: Db, {org, template, id}: OfTemplate & {id: string}) =>
  db.maybeOne(sql.type(Schedule)`select ${columns} from schedules where org_id = ${org} and template_id = ${template} and id = ${id}`)

export const lockSchedule = (tx: Tx, {org, template, id}: OfTemplate & {id: string}) =>
  tx.maybeOne(sql.type(Schedule)`
    select ${columns} from schedules where org_id = ${org} and template_id = ${template} and id = ${id} for no key update`)

export const findFired = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Schedule)`select ${columns} from schedules where org_id = ${org} and id = ${id}`)

export const listSchedules = (db: Db, {org, template, after, limit}: OfTemplate & {after: string | null; limit: number}) =>
  db.any(sql.type(Schedule)`
    select ${columns} from schedules where org_id = ${org} and template_id = ${template} and (${after}::text is null or id > ${after})
    order by id limit ${limit}`)

/** Returns the template of the run. Null if no schedule started a run of its retry chain. */
export const findScheduledTemplate = (tx: Tx, run: number) =>
  tx.maybeOneFirst(sql.type(z.object({template: z.string().nullable()}))`
    select template_id as template from runs r
    where run_no = ${run} and exists (select from runs c join firings using (run_no) where c.chain_no = r.chain_no)`)

export const deleteSchedule = (tx: Tx, id: string) => tx.query(sql.type(z.object({}))`delete from schedules where id = ${id}`)

/** Counts the enabled schedules. The caller has locked the org, so that none is added meanwhile. */
export const countEnabled = (tx: Tx, org: string) =>
  tx.oneFirst(sql.type(z.object({count: z.number()}))`select count(*) from schedules where org_id = ${org} and enabled`)

/**
 * Locks, until the transaction ends, the schedule that has been due the longest. Returns null if none is due. Skips schedules that another
 * process has locked, and those of closed orgs. The time is read once, in a subquery, so that the index is used.
 */
export const claimDue = (tx: Tx) =>
  tx.maybeOne(sql.type(Schedule)`
    select ${columns} from schedules
    where next_due_at <= (select lading_now()) and exists (select from orgs where orgs.id = org_id and closed_at is null)
    order by next_due_at limit 1 for no key update skip locked`)

export const setNextDue = (tx: Tx, {id, nextDueAt}: {id: string; nextDueAt: string}) =>
  tx.query(sql.type(z.object({}))`update schedules set next_due_at = ${nextDueAt}::text::timestamptz where id = ${id}`)

/** Returns false if the schedule was disabled already. */
export const stopSchedule = async (tx: Tx, {id, reason}: {id: string; reason: Reason}) => {
  const {rowCount} = await tx.query(sql.type(z.object({}))`
    update schedules set enabled = false, next_due_at = null, stopped = ${sql.jsonb(reason as never)}, version = version + 1 where id = ${id} and enabled`)
  return rowCount === 1
}

/** Whether a person or the undo of a run turned the schedule off. */
export const isTurnedOff = (db: Db, id: string) =>
  db.exists(sql.type(z.object({}))`
    select from schedules where id = ${id} and not enabled and (stopped is null or stopped ->> 'code' = 'RUN_UNDONE')`)

export const countFailure = (tx: Tx, id: string) =>
  tx.oneFirst(sql.type(z.object({failures: z.number()}))`
    update schedules set failures = least(failures + 1, 1000) where id = ${id} returning failures`)

export const forgetFailures = (tx: Tx, id: string) =>
  tx.query(sql.type(z.object({}))`update schedules set failures = 0 where id = ${id} and failures > 0`)

type LastFile = {id: string; sha256: string; templateVersion: number; connectorId: string | null}

/**
 * Stores the last file with its template version and connection. The schedule does not run the same combination again. Changes nothing if the
 * schedule has another connection by now. The template's connection takes precedence over the schedule's.
 */
export const keepLastFile = (tx: Tx, {id, sha256, templateVersion, connectorId}: LastFile) =>
  tx.query(sql.type(z.object({}))`
    update schedules set last_sha256 = decode(${sha256}, 'hex'), last_template_version = ${templateVersion}
    where id = ${id} and coalesce(
      (select t.connector_id from templates t where t.id = template_id), connector_id, ${connectorId}) is not distinct from ${connectorId}`)

/** Lists schedules whose sealed credentials do not begin with `start`, which names the current master key. */
export const listSealedElse = (db: Db, {start, after, limit}: {start: string; after: string; limit: number}) =>
  db.any(sql.type(z.object({id: z.string(), credentials: z.string()}))`
    select id, credentials from schedules where id > ${after} and not starts_with(credentials, ${start}) order by id limit ${limit}`)

/** Stores the newly sealed credentials. Returns false if they were changed since they were read. */
export const keepResealed = async (db: Db, {id, before, after}: {id: string; before: string; after: string}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    update schedules set credentials = ${after} where id = ${id} and credentials = ${before}`)
  return rowCount === 1
}
