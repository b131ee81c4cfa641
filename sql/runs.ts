import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {Stop} from './run-heads.ts'

export const RunState = z.enum(['authorised', 'queued', 'writing', 'paused', 'closing', 'ended'])

const Pause = z.object({code: z.string(), message: z.string()})
type Pause = z.infer<typeof Pause>

export const Run = z.object({
  no: z.number(),
  id: z.string(),
  org: z.string(),
  personId: z.string().nullable(),
  connectorId: z.string().nullable(),
  importNo: z.number().nullable(),
  /** What its import was made from, or what it was authorised for. */
  templateId: z.string().nullable(),
  chainNo: z.number().nullable(),
  /** Of the run it carries on: its public id, and the chain both belong to. A dry run of a retry has a chain of its own beside it. */
  retryOf: z.string().nullable(),
  retryChain: z.number().nullable(),
  dryRun: z.boolean(),
  declaredRows: z.number(),
  state: RunState,
  snapshotNo: z.number().nullable(),
  jobId: z.string().nullable(),
  pause: Pause.nullable(),
  stoppedBy: z.enum(['allowance']).nullable(),
  /** Null until one of them has touched it. */
  engine: z.enum(['worker', 'outside']).nullable(),
  /** What an outside engine said it came to. */
  outcome: z.string().nullable(),
  authorisedAt: z.string(),
  startedAt: z.string().nullable(),
  endedAt: z.string().nullable(),
  /** Nothing is kept of it any more but this. */
  expiredAt: z.string().nullable(),
  rowsLimit: z.number(),
  limitBy: z.enum(['plan', 'declaration']),
  leaseUntil: z.string().nullable(),
  leaseLive: z.boolean(),
  counted: z.number(),
  counts: z.array(z.number()),
  stop: Stop.nullable(),
  /** What of it the plan had no room for, and is paid for by the row. */
  overageRows: z.number(),
  /** Things a person is to choose. */
  questions: z.number(),
})
export type Run = z.infer<typeof Run>

export const runColumns = sql.fragment`run_no as no, id, org_id as org, person_id as "personId", connector_id as "connectorId", import_no as "importNo", template_id as "templateId", chain_no as "chainNo",
    (select p.id from runs p where p.run_no = runs.retry_of) as "retryOf",
    (select coalesce(p.chain_no, p.run_no) from runs p where p.run_no = runs.retry_of) as "retryChain",
    dry_run as "dryRun", declared_rows as "declaredRows", state, snapshot_no as "snapshotNo", job_id as "jobId", pause, stopped_by as "stoppedBy",
    engine, outcome, authorised_at as "authorisedAt", started_at as "startedAt", ended_at as "endedAt",
    expired_at as "expiredAt",
    coalesce((select overage from row_usage u where u.run_id = runs.id), 0) as "overageRows",
    (select count(*) from questions q where q.run_no = runs.run_no) as questions,
    rows_limit as "rowsLimit", limit_by as "limitBy", counted, counts, stop,
    case when isfinite(lease_until) then lease_until end as "leaseUntil", lease_until > lading_now() as "leaseLive"`
const select = sql.fragment`select ${runColumns} from runs join run_heads using (run_no)`

type NewRun = {
  id: string
  org: string
  person: string | null
  connector: string | null
  importNo: number | null
  declaredRows: number
  template?: {id: string; version: number | null} | null
}

/** A chain is named by its first run. */
export const insertRun = (tx: Tx, {id, org, person, connector, importNo, declaredRows, template = null}: NewRun) =>
  tx.oneFirst(sql.type(z.object({no: z.number()}))`
    insert into runs (id, org_id, person_id, connector_id, import_no, declared_rows, template_id, template_version, chain_no)
    values (${id}, ${org}, ${person}, ${connector}, ${importNo}, ${declaredRows}, ${template?.id ?? null}, ${template?.version ?? null}, currval(pg_get_serial_sequence('runs', 'run_no')))
    returning run_no as no`)

export const findRun = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Run)`${select} where org_id = ${org} and id = ${id}`)

/** Holds the run's row, so that it is started once. */
export const lockRun = (tx: Tx, {org, id}: {org: string; id: string}) =>
  tx.maybeOne(sql.type(Run)`${select} where org_id = ${org} and id = ${id} for update of runs`)

/** Newest first. */
export const listRuns = (db: Db, {importNo, limit}: {importNo: number; limit: number}) =>
  db.any(sql.type(Run)`${select} where import_no = ${importNo} order by run_no desc limit ${limit}`)

type OrgRuns = {
  org: string
  states: readonly string[] | null
  importNo: number | null
  dryRun: boolean | null
  isStopped: boolean | null
  before: string | null
  limit: number
}

/** Of every import and of none, newest first: ids are in the order they were given. `before` is the id the last page ended with. */
export const listOrgRuns = (db: Db, {org, states, importNo, dryRun, isStopped, before, limit}: OrgRuns) =>
  db.any(sql.type(Run)`
    ${select} where org_id = ${org} and (${before}::text is null or id < ${before})
      and (${states ? sql.array([...states], 'text') : null}::text[] is null or state = any(${sql.array([...(states ?? [])], 'text')}))
      and (${importNo}::bigint is null or import_no = ${importNo}) and (${dryRun}::boolean is null or dry_run = ${dryRun})
      and (${isStopped}::boolean is null or (stop is not null) = ${isStopped})
    order by id desc limit ${limit}`)

/** Newest first; `before` is the number the last page ended with. */
export const listTemplateRuns = (
  db: Db,
  {org, template, before, limit}: {org: string; template: string; before: number | null; limit: number},
) =>
  db.any(sql.type(Run)`
    ${select} where org_id = ${org} and template_id = ${template} and (${before}::bigint is null or run_no < ${before})
    order by run_no desc limit ${limit}`)

/** Whether its records are there still: neither expired nor gone with its import. */
export const isRunKept = (db: Db, no: number) =>
  db.exists(sql.type(z.object({}))`select from runs where run_no = ${no} and expired_at is null`)

/** The run that carries this one on, where one does. Dry runs carry nothing on. */
export const findRetryId = (db: Db, no: number) =>
  db.maybeOneFirst(sql.type(z.object({id: z.string()}))`select id from runs where retry_of = ${no} and not dry_run`)

/** The dry run of an import that is under way. */
export const findRehearsal = (db: Db, {importNo}: {importNo: number}) =>
  db.maybeOneFirst(sql.type(z.object({id: z.string()}))`
    select id from runs where import_no = ${importNo} and dry_run and state in ('queued', 'writing', 'paused', 'closing')`)

/** `retry`: the run it carries on, and the chain it joins by that. A dry run joins none: it leaves nothing behind. */
type Queued = {
  no: number
  connector: string
  importNo: number
  snapshotNo: number
  dryRun: boolean
  retry: {no: number; chain: number} | null
}

export const queueRun = (tx: Tx, {no, connector, importNo, snapshotNo, dryRun, retry}: Queued) =>
  tx.query(sql.type(z.object({}))`
    update runs set state = 'queued', engine = 'worker', connector_id = ${connector}, import_no = ${importNo}, snapshot_no = ${snapshotNo},
      (template_id, template_version) = (select template_id, template_version from imports i where i.import_no = ${importNo}), dry_run = ${dryRun}, retry_of = ${retry?.no ?? null}, chain_no = ${(!dryRun && retry?.chain) || no}
    where run_no = ${no}`)

export const setRunJob = (tx: Tx, {no, job}: {no: number; job: string | null}) =>
  tx.query(sql.type(z.object({}))`update runs set job_id = ${job} where run_no = ${no}`)

/** Only its owner moves a run, so each of these is fenced. */
const moveRun =
  (change: ReturnType<typeof sql.fragment>) =>
  async (db: Db, {no, fence}: {no: number; fence: number}) => {
    const {rowCount} = await db.query(sql.type(z.object({}))`
    update runs set ${change} from run_heads h
    where runs.run_no = ${no} and h.run_no = runs.run_no and h.fence = ${fence} and h.lease_until > lading_now()`)
    return rowCount === 1
  }

export const beginRun = moveRun(
  sql.fragment`state = 'writing', pause = null, stopped_by = null, resume_at = null, started_at = coalesce(started_at, lading_now())`,
)
export const beginClose = moveRun(sql.fragment`state = 'closing', pause = null, resume_at = null`)
export const endRun = moveRun(sql.fragment`state = 'ended', ended_at = lading_now()`)

export const pauseRun = (db: Db, {no, fence, pause, seconds}: {no: number; fence: number; pause: Pause; seconds: number}) =>
  moveRun(sql.fragment`state = 'paused', pause = ${sql.jsonb(pause)}, resume_at = lading_now() + make_interval(secs => ${seconds})`)(db, {
    no,
    fence,
  })

type AllowanceNote = {org: string; connector: string; id: string; isWrite?: boolean}

/**
 * Notes the spent quota on the open run of this org and connection with this id, if there is one. An external run keeps a live lease until
 * the CRM's day is over, however long its engine is silent. `isWrite`: a write met it, which marks no run.
 * Source: the specification's states, "read by ids refused 429".
 */
export const noteAllowance = (db: Db, {org, connector, id, isWrite = false}: AllowanceNote) =>
  db.query(sql.type(z.object({}))`
    with noted as (
      update runs set stopped_by = case when ${isWrite} then stopped_by else 'allowance' end
      where org_id = ${org} and id = ${id} and connector_id = ${connector} and state not in ('closing', 'ended')
      returning run_no, engine)
    update run_heads h set lease_until = greatest(lease_until, lading_now() + interval '24 hours 2 minutes')
    from noted where h.run_no = noted.run_no and noted.engine = 'outside' and lease_until > lading_now()`)

/**
 * Runs that somebody should be working on and nobody is: queued, left by a dead owner, paused long enough, or stopped while paused.
 * Those of a closed org wait until it opens, and those that lie on a connection whose writes are paused until somebody lifts that.
 */
export const listOrphans = (db: Db, {limit}: {limit: number}) =>
  db.any(sql.type(z.object({id: z.string(), org: z.string()}))`
    select runs.id, org_id as org from runs join run_heads using (run_no) join orgs on orgs.id = org_id and closed_at is null
    where engine = 'worker' and (state in ('queued', 'writing', 'closing') or (state = 'paused' and (stop is not null or (resume_at < lading_now()
        and not exists (select from connectors where connectors.id = connector_id and writes_paused and not dry_run)))))
      and lease_until < lading_now()
    order by run_no limit ${limit}`)
