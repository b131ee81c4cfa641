import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {answeredQuestions} from './questions.ts'
import {begunUndo} from './undo.ts'

const Reason = z.looseObject({code: z.string(), message: z.string()})

export const Firing = z.object({
  id: z.string(),
  scheduleId: z.string(),
  org: z.string(),
  dueAt: z.string(),
  by: z.enum(['clock', 'person']),
  personId: z.string().nullable(),
  again: z.boolean(),
  missed: z.number(),
  state: z.enum(['due', 'working', 'running', 'ended']),
  outcome: z.enum(['done', 'stopped', 'unchanged', 'drifted', 'failed', 'skipped']).nullable(),
  reason: Reason.nullable(),
  drift: z.array(z.unknown()).nullable(),
  /** The breaches of a held file, the version of its contract, and the file of each slot. Null: the file was not held. */
  contract: z.unknown(),
  decision: z.enum(['accepted', 'discarded']).nullable(),
  decidedAt: z.string().nullable(),
  tries: z.number(),
  fence: z.number(),
  leaseUntil: z.string(),
  sha256: z.string().nullable(),
  templateVersion: z.number().nullable(),
  importId: z.string().nullable(),
  runId: z.string().nullable(),
  counts: z.unknown(),
  openQuestions: z.number(),
  createdAt: z.string(),
  startedAt: z.string().nullable(),
  endedAt: z.string().nullable(),
})
export type Firing = z.output<typeof Firing>
type Outcome = NonNullable<Firing['outcome']>

/**
 * Counts the unanswered questions of the firing's finished run. Zero if a later run of the chain took the questions over. A later run that ended
 * before it began took none.
 */
const openQuestions = sql.fragment`coalesce((
    select (select count(*) from questions q where q.run_no = runs.run_no) - ${answeredQuestions} from runs
    where firings.outcome = 'done' and runs.run_no = firings.run_no
      and not exists (
        select from runs n
        where n.chain_no = runs.chain_no and n.org_id = runs.org_id and (n.state <> 'ended' or n.started_at > runs.started_at))), 0)`

const columns = sql.fragment`firings.id, firings.schedule_id as "scheduleId", firings.org_id as org, firings.due_at as "dueAt", firings.by,
  firings.person_id as "personId", firings.again, firings.missed, firings.state, firings.outcome, firings.reason, firings.drift, firings.contract, firings.decision, firings.decided_at as "decidedAt", firings.tries,
  firings.fence, firings.lease_until as "leaseUntil", encode(firings.sha256, 'hex') as sha256, firings.template_version as "templateVersion",
  (select i.id from imports i where i.import_no = firings.import_no and not i.deleted) as "importId",
  (select r.id from runs r where r.run_no = firings.run_no) as "runId",
  firings.counts, ${openQuestions} as "openQuestions", firings.created_at as "createdAt", firings.started_at as "startedAt", firings.ended_at as "endedAt"`

type NewFiring = {
  id: string
  org: string
  schedule: string
  /** When the firing is due. Null: now. */
  dueAt: string | null
  by: Firing['by']
  person?: string | null
  again?: boolean
  missed?: number
}

/** Inserts a firing. Returns null if this due time was fired before. The caller has locked the schedule. */
export const insertFiring = (tx: Tx, f: NewFiring) =>
  tx.maybeOne(sql.type(Firing)`
    insert into firings (id, schedule_id, org_id, due_at, by, person_id, again, missed)
    values (${f.id}, ${f.schedule}, ${f.org}, coalesce(${f.dueAt}::text::timestamptz, lading_now()), ${f.by}, ${f.person ?? null}, ${f.again ?? false},
      ${f.missed ?? 0})
    on conflict (schedule_id, due_at) do nothing returning ${columns}`)

type PassedFiring = NewFiring & {outcome: Outcome; reason: object}

/** Inserts a firing that has ended already. Returns null if this due time was fired before. */
export const insertPassed = (tx: Tx, f: PassedFiring) =>
  tx.maybeOne(sql.type(Firing)`
    insert into firings (id, schedule_id, org_id, due_at, by, missed, state, outcome, reason, ended_at)
    values (${f.id}, ${f.schedule}, ${f.org}, ${f.dueAt}::text::timestamptz, ${f.by}, ${f.missed ?? 0}, 'ended', ${f.outcome},
      ${sql.jsonb(f.reason as never)}, lading_now())
    on conflict (schedule_id, due_at) do nothing returning ${columns}`)

export const findUnderWay = (db: Db, schedule: string) =>
  db.maybeOne(sql.type(Firing)`select ${columns} from firings where schedule_id = ${schedule} and state <> 'ended'`)

export const listFirings = (db: Db, {schedule, before, limit}: {schedule: string; before: string | null; limit: number}) =>
  db.any(sql.type(Firing)`
    select ${columns} from firings where schedule_id = ${schedule} and (${before}::text is null or id < ${before})
    order by id desc limit ${limit}`)

export const listLastFirings = (db: Db, schedules: readonly string[]) =>
  db.any(sql.type(Firing)`
    select ${columns} from unnest(${sql.array([...schedules], 'text')}) as s(id)
    cross join lateral (select * from firings f where f.schedule_id = s.id order by f.id desc limit 1) firings`)

/**
 * Takes the lease of a firing, so that writes of an earlier owner fail. Returns null if another owner has the lease, or the firing is not due,
 * is running or has ended.
 */
export const takeFiring = (db: Db, {org, id, seconds}: {org: string; id: string; seconds: number}) =>
  db.maybeOne(sql.type(Firing)`
    update firings set state = 'working', fence = fence + 1, lease_until = lading_now() + make_interval(secs => ${seconds}),
      started_at = coalesce(started_at, lading_now())
    where org_id = ${org} and id = ${id} and state in ('due', 'working') and lease_until <= lading_now()
    returning ${columns}`)

type LeasedFiring = {id: string; fence: number}
const fenced = ({id, fence}: LeasedFiring) => sql.fragment`id = ${id} and fence = ${fence} and state = 'working'`

/** Changes the firing if the caller still owns it. Otherwise returns false and changes nothing. */
const change = async (db: Db, leasedFiring: LeasedFiring, set: ReturnType<typeof sql.fragment>) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`update firings set ${set} where ${fenced(leasedFiring)}`)
  return rowCount === 1
}

export const renewFiring = (db: Db, leasedFiring: LeasedFiring, seconds: number) =>
  change(db, leasedFiring, sql.fragment`lease_until = greatest(lease_until, lading_now() + make_interval(secs => ${seconds}))`)

/** Gives up the lease of the firing, which is due again after `seconds`. `failed`: why the attempt failed; null if the attempt is not counted. */
export const pauseFiring = (db: Db, leasedFiring: LeasedFiring, {seconds, failed}: {seconds: number; failed: object | null}) =>
  change(
    db,
    leasedFiring,
    sql.fragment`state = 'due', tries = tries + ${failed ? 1 : 0}, reason = coalesce(${failed && sql.jsonb(failed as never)}, reason), lease_until = lading_now() + make_interval(secs => ${seconds})`,
  )

export const setFiringImport = (
  tx: Tx,
  leasedFiring: LeasedFiring,
  {importNo, sha256, templateVersion}: {importNo: number; sha256: string; templateVersion: number},
) =>
  change(tx, leasedFiring, sql.fragment`import_no = ${importNo}, sha256 = decode(${sha256}, 'hex'), template_version = ${templateVersion}`)

export const setFiringRun = (tx: Tx, leasedFiring: LeasedFiring, {run, drift}: {run: string; drift: readonly object[]}) =>
  change(
    tx,
    leasedFiring,
    sql.fragment`state = 'running', run_no = (select run_no from runs where id = ${run}), drift = ${sql.jsonb(drift as never)},
      reason = null`,
  )

/** Finds the import of a firing. Null: none, or deleted. */
export const findFiringImport = (db: Db, id: string) =>
  db.oneFirst(sql.type(z.object({importId: z.string().nullable()}))`
    select (select i.id from imports i where i.import_no = firings.import_no and not i.deleted) as "importId" from firings where id = ${id}`)

type FiringEnd = {
  outcome: Outcome
  reason: object | null
  drift?: readonly object[] | null
  contract?: object | null
  sha256?: string | null
}

export const endFiring = (tx: Tx, leasedFiring: LeasedFiring, {outcome, reason, drift = null, contract = null, sha256 = null}: FiringEnd) =>
  change(
    tx,
    leasedFiring,
    sql.fragment`state = 'ended', outcome = ${outcome}, reason = ${reason && sql.jsonb(reason as never)}, drift = ${drift && sql.jsonb(drift as never)},
      contract = ${contract && sql.jsonb(contract as never)}, sha256 = coalesce(decode(${sha256}, 'hex'), sha256), ended_at = lading_now()`,
  )

/** Lists firings whose lease ended more than two seconds ago: the worker died, the job was lost, or they wait for a retry. */
export const listLeft = (db: Db, limit: number) =>
  db.any(sql.type(z.object({id: z.string(), org: z.string()}))`
    select id, org_id as org from firings where state in ('due', 'working') and lease_until <= (select lading_now()) - interval '2 seconds'
    order by lease_until limit ${limit}`)

/** Locks the oldest firing whose run has ended or was deleted; returns null if there is none. Skips firings that another process has locked. */
export const claimRunEnded = (tx: Tx) =>
  tx.maybeOne(sql.type(Firing)`
    select ${columns} from firings
    where state = 'running' and not exists (select from runs where runs.run_no = firings.run_no and runs.state <> 'ended')
    order by id limit 1 for no key update skip locked`)

/** Ends a running firing. The caller has locked the firing by `claimRunEnded`. */
export const endRunning = (
  tx: Tx,
  {id, outcome, reason, counts}: {id: string; outcome: Outcome; reason: object | null; counts: object | null},
) =>
  tx.query(sql.type(z.object({}))`
    update firings set state = 'ended', outcome = ${outcome}, reason = ${reason && sql.jsonb(reason as never)},
      counts = ${counts && sql.jsonb(counts as never)}, ended_at = lading_now()
    where id = ${id} and state = 'running'`)

const LastRun = z.object({importNo: z.number(), importId: z.string(), runId: z.string(), isStopped: z.boolean(), isExpired: z.boolean()})

/** SQL for whether the file of firing `o` counts as run: the run of the firing was not stopped, wrote a row, or was cancelled. */
export const countsAsRun = sql.fragment`
  (o.outcome = 'done' or (o.outcome = 'stopped' and ((o.counts ->> 'rowsWritten')::bigint > 0 or o.reason ->> 'code' = 'CANCELLED')))`

/**
 * SQL for whether the last run of the whole file was stopped, but not by a person. Null: it was not stopped. Considers the chain of the run `r`, and
 * runs of other chains of the import that wrote no row.
 */
const isWholeRunStopped = sql.fragment`(
  select wh.stop ->> 'stopped' <> 'CANCELLED'
  from runs w join run_heads wh using (run_no) left join run_snapshots ws using (snapshot_no)
  where w.import_no = r.import_no and (w.chain_no = r.chain_no or wh.counted = 0) and not w.dry_run and w.undo_of is null and w.engine is not null and ws.document -> 'rows' is null
  order by w.run_no desc limit 1)`

type RunFile = {schedule: string; sha256: string; templateVersion: number}

/**
 * Finds the newest run of the import in which the schedule last ran this file under this version of the template. Ignores dry runs, undos and runs
 * that were never started. Returns null if a person deleted the import. `isStopped`: the run has ended in the service's own engine; it was stopped,
 * but not by a person; no undo of it has begun. If a run of a row range was not stopped, the last run of the whole file decides instead. `isExpired`:
 * the files of the import were deleted.
 */
export const findLastRun = (db: Db, {schedule, sha256, templateVersion}: RunFile) =>
  db.maybeOne(sql.type(LastRun)`
    select i.import_no as "importNo", i.id as "importId", r.id as "runId", r.state = 'ended' and r.engine = 'worker'
        and coalesce(h.stop ->> 'stopped' <> 'CANCELLED', ${isWholeRunStopped}, false) and ${begunUndo(sql.fragment`r`)} is null as "isStopped",
      i.state = 'expired' as "isExpired"
    from (
      select import_no from firings o
      where schedule_id = ${schedule} and ${countsAsRun} and sha256 = decode(${sha256}, 'hex') and template_version = ${templateVersion}
      order by id desc limit 1) f
    join imports i on i.import_no = f.import_no and not i.deleted
    cross join lateral (
      select * from runs where runs.import_no = i.import_no and not dry_run and undo_of is null and engine is not null
      order by run_no desc limit 1) r
    join run_heads h on h.run_no = r.run_no`)

/**
 * SQL that is true for the newest firing `f` that ran the last file of its schedule. This firing and its import show whether rows of the file are
 * left to run.
 */
export const ranLastFile = sql.fragment`exists (
  select from schedules s
  where s.id = f.schedule_id and f.outcome in ('done', 'stopped') and f.sha256 = s.last_sha256 and f.template_version = s.last_template_version
    and not exists (
      select from firings n
      where n.schedule_id = f.schedule_id and n.id > f.id and n.outcome in ('done', 'stopped') and n.sha256 = f.sha256
        and n.template_version = f.template_version))`

type OfImport = {org: string; importId: string}

const Deleted = z.object({name: z.string(), connectorId: z.string()})

/**
 * Deletes the import of a firing, unless the import has a run or a run is being started. `deleted`: the import, if this call deleted it. `isGone`:
 * the import no longer exists.
 */
export const deleteUnused = async (tx: Tx, {org, importId}: OfImport) => {
  const named = sql.fragment`from imports where org_id = ${org} and id = ${importId}`
  // Starting a run locks the import too. The next statement then sees a run that was started during the wait.
  await tx.query(sql.type(z.object({}))`select ${named} for update`)
  const deleted = await tx.maybeOne(sql.type(Deleted)`
    delete ${named} and not exists (select from runs where runs.import_no = imports.import_no) returning name, connector_id as "connectorId"`)
  return {deleted, isGone: !(await tx.exists(sql.type(z.object({}))`select ${named}`))}
}
