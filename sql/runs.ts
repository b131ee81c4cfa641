import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {groundOfDryRun} from './ground.ts'
import {answeredQuestions} from './questions.ts'
import {RunHold, RunStop} from './run-heads.ts'
import {begunUndo, isUnbegun, retryingRun} from './undo.ts'
import {UnmappedCells} from './unmapped-cells.ts'

export const RunState = z.enum(['authorised', 'queued', 'writing', 'paused', 'closing', 'ended'])

export const VerifyMode = z.enum(['off', 'sample', 'all'])
export type VerifyMode = z.infer<typeof VerifyMode>

const Pause = z.object({code: z.string(), message: z.string()})
type Pause = z.infer<typeof Pause>

export const Run = z.object({
  no: z.number(),
  id: z.string(),
  org: z.string(),
  personId: z.string().nullable(),
  connectorId: z.string().nullable(),
  /** The kind of the connection. Null: the run has no connection. */
  connectorKind: z.string().nullable(),
  importNo: z.number().nullable(),
  /** The template of the run's import, or the template for which the run was authorised. */
  templateId: z.string().nullable(),
  chainNo: z.number().nullable(),
  /** The run that this run retries. `retryOf`: its public id. `retryChain`: its chain. A dry run of a retry starts a new chain. */
  retryOf: z.string().nullable(),
  /** The public id of the run that retries this run, or that retries a retry that ended before it began. Ignores dry runs. */
  retriedBy: z.string().nullable(),
  retryChain: z.number().nullable(),
  /** The public id of the undo for which a retry of the run is refused. Null: none. */
  begunUndo: z.string().nullable(),
  /** The run that this run undoes. `undoForce`: also delete created records that were touched since. */
  undoOf: z.string().nullable(),
  undoForce: z.boolean(),
  /** Whether the CRM checks each restore of the undo for later changes. Null: not an undo, or not begun. */
  undoStrict: z.boolean().nullable(),
  /** The days after its end for which the run can be undone. Null: the run stores no before images. */
  undoDays: z.number().nullable(),
  /** The dry run whose sealed plan this run applies: its public id and its number. */
  planOf: z.string().nullable(),
  planNo: z.number().nullable(),
  dryRun: z.boolean(),
  /**
   * Which written rows the run reads back. `verified`: counts of rows, as in `run_heads`. `toVerify`: the number of rows that wait to be read
   * back.
   */
  verify: VerifyMode,
  verified: z.array(z.number()),
  toVerify: z.number(),
  /** How rows find their records, as requested at the start. `routes`: the routes that each flow used. */
  matchBy: z.enum(['query', 'snapshot', 'auto', 'flow']),
  /** How records are written, as requested at the start. */
  writeBy: z.enum(['records', 'bulk', 'auto', 'flow']),
  routes: z.array(
    z.object({
      flow: z.number(),
      match: z.enum(['query', 'snapshot']),
      why: z.string(),
      write: z.enum(['records', 'bulk']).nullable(),
      writeWhy: z.string().nullable(),
    }),
  ),
  declaredRows: z.number(),
  state: RunState,
  snapshotNo: z.number().nullable(),
  jobId: z.string().nullable(),
  pause: Pause.nullable(),
  stoppedBy: z.enum(['allowance']).nullable(),
  /** Which kind of engine executes the run. Null until an engine starts it. */
  engine: z.enum(['worker', 'outside']).nullable(),
  /** The outcome that an external engine reported. */
  outcome: z.string().nullable(),
  authorisedAt: z.string(),
  startedAt: z.string().nullable(),
  endedAt: z.string().nullable(),
  /** When the run's data expired. Only this row is kept. */
  expiredAt: z.string().nullable(),
  rowsLimit: z.number(),
  limitBy: z.enum(['plan', 'declaration']),
  leaseUntil: z.string().nullable(),
  leaseLive: z.boolean(),
  counted: z.number(),
  counts: z.array(z.number()),
  stop: RunStop.nullable(),
  held: RunHold.nullable(),
  /** Rows beyond the plan, which are paid one by one. */
  overageRows: z.number(),
  /** The CRM calls that the run made so far, by kind, and their credits. */
  cost: z.record(z.string(), z.object({calls: z.number(), credits: z.number()})),
  /** The import's forecast when the run started. Null: there was none, its inputs had changed, or the run was a retry or read only some rows. */
  forecast: z.record(z.string(), z.json()).nullable(),
  questions: z.number(),
  /** The number of questions that were answered, directly or by a rule, since the run was started. 0 until the run has ended. */
  questionsAnswered: z.number(),
  /** How many rows were written without the link in a field. `flow`: the number of the flow. */
  emptyLinks: z.array(z.object({flow: z.number(), field: z.string(), rows: z.number()})),
  unmapped: z.array(UnmappedCells),
  /** For an ended dry run: whether the inputs of its plan have changed, or its data expired. Null if that is not known. */
  stale: z.boolean().nullable(),
})
export type Run = z.infer<typeof Run>

export const runColumns = sql.fragment`run_no as no, id, org_id as org, person_id as "personId", connector_id as "connectorId",
    (select c.kind from connectors c where c.id = runs.connector_id) as "connectorKind", import_no as "importNo", template_id as "templateId", chain_no as "chainNo",
    (select p.id from runs p where p.run_no = runs.retry_of) as "retryOf",
    (select coalesce(p.chain_no, p.run_no) from runs p where p.run_no = runs.retry_of) as "retryChain",
    ${retryingRun(sql.fragment`runs.run_no`)} as "retriedBy", ${begunUndo(sql.fragment`runs`)} as "begunUndo",
    (select u.id from runs u where u.run_no = runs.undo_of and u.org_id = runs.org_id) as "undoOf", undo_force as "undoForce", undo_strict as "undoStrict", undo_days as "undoDays",
    (select d.id from runs d where d.run_no = runs.plan_of and d.org_id = runs.org_id) as "planOf", plan_of as "planNo",
    verify, verified, (select coalesce(sum(coalesce(counted_rows, rows)), 0) from verify_queue q where q.run_no = runs.run_no and not q.verified) as "toVerify",
    dry_run as "dryRun", match_by as "matchBy", write_by as "writeBy",
    (select coalesce(jsonb_agg(jsonb_build_object('flow', flow_no, 'match', match, 'why', why, 'write', write, 'writeWhy', write_why) order by flow_no), '[]') from run_routes o where o.run_no = runs.run_no) as routes, declared_rows as "declaredRows", state, snapshot_no as "snapshotNo", job_id as "jobId", pause, stopped_by as "stoppedBy",
    engine, outcome, authorised_at as "authorisedAt", started_at as "startedAt", ended_at as "endedAt",
    expired_at as "expiredAt",
    coalesce((select overage from row_usage u where u.run_id = runs.id), 0) as "overageRows",
    (select count(*) from questions q where q.run_no = runs.run_no) as questions,
    case when state = 'ended' then ${answeredQuestions} else 0 end as "questionsAnswered",
    (select coalesce(jsonb_agg(jsonb_build_object('flow', flow_no, 'field', field, 'rows', rows) order by flow_no, field), '[]')
      from run_empty_links e where e.run_no = runs.run_no) as "emptyLinks",
    (select coalesce(jsonb_agg(jsonb_build_object('flow', flow_no, 'field', field, 'cells', cells) order by flow_no, field), '[]')
      from unmapped_cells u where u.run_no = runs.run_no) as unmapped,
    case when dry_run and state = 'ended' and ground is not null then expired_at is not null or (select ground <> ${groundOfDryRun} from imports i where i.import_no = runs.import_no) end as stale,
    (select coalesce(jsonb_object_agg(operation, jsonb_build_object('calls', calls, 'credits', credits)), '{}') from run_costs c where c.run_no = runs.run_no) as cost,
    (select forecast from run_forecasts f where f.run_no = runs.run_no) as forecast,
    rows_limit as "rowsLimit", limit_by as "limitBy", counted, counts, stop, held,
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

/** Inserts a run as the first of a chain. */
export const insertRun = (tx: Tx, {id, org, person, connector, importNo, declaredRows, template = null}: NewRun) =>
  tx.oneFirst(sql.type(z.object({no: z.number()}))`
    insert into runs (id, org_id, person_id, connector_id, import_no, declared_rows, template_id, template_version, chain_no)
    values (${id}, ${org}, ${person}, ${connector}, ${importNo}, ${declaredRows}, ${template?.id ?? null}, ${template?.version ?? null}, currval(pg_get_serial_sequence('runs', 'run_no')))
    returning run_no as no`)

export const findRun = (db: Db, {org, id}: {org: string; id: string}) =>
  db.maybeOne(sql.type(Run)`${select} where org_id = ${org} and id = ${id}`)

export const findRunByNo = (db: Db, no: number) => db.maybeOne(sql.type(Run)`${select} where run_no = ${no}`)

/** Locks the run's row, so that the run is started or retried only once. Does not block a retry that joins the run's chain, to avoid a deadlock. */
export const lockRun = (tx: Tx, {org, id}: {org: string; id: string}) =>
  tx.maybeOne(sql.type(Run)`${select} where org_id = ${org} and id = ${id} for no key update of runs`)

type ImportRuns = {importNo: number; limit: number; withUndos?: boolean; withUnstarted?: boolean; dryRun?: boolean | undefined}

/** Lists the newest runs of an import. `withUndos`, `withUnstarted`: by default true. `dryRun`: only dry runs, or only other runs. */
export const listRuns = (db: Db, {importNo, limit, withUndos = true, withUnstarted = true, dryRun}: ImportRuns) =>
  db.any(sql.type(Run)`
    ${select} where import_no = ${importNo} and (${withUndos}::boolean or undo_of is null)
      and (${withUnstarted}::boolean or (engine is not null and not (select ${isUnbegun} from runs u where u.run_no = runs.run_no)))
      and (${dryRun ?? null}::boolean is null or dry_run = ${dryRun ?? null}) order by run_no desc limit ${limit}`)

/** Lists the newest run of each import. Ignores dry runs and runs that were not started. */
export const listLastRuns = (db: Db, importNos: readonly number[]) =>
  db.any(sql.type(Run)`
    ${select} where run_no = any(array(
      select (select r.run_no from runs r where r.import_no = one and not r.dry_run and r.engine is not null
        order by coalesce(r.started_at, r.ended_at, 'infinity') desc, r.run_no desc limit 1)
      from unnest(${sql.array([...importNos], 'int8')}) as one))`)

type OrgRuns = {
  org: string
  states: readonly string[] | null
  importNo: number | null
  dryRun: boolean | null
  isStopped: boolean | null
  before: string | null
  limit: number
}

/**
 * Lists an org's runs with and without an import, newest first, except those of imports that a person deleted. Run ids ascend. `before`: the last
 * id of the previous page.
 */
export const listOrgRuns = (db: Db, {org, states, importNo, dryRun, isStopped, before, limit}: OrgRuns) =>
  db.any(sql.type(Run)`
    ${select} where org_id = ${org} and (${before}::text is null or id < ${before})
      and (${states ? sql.array([...states], 'text') : null}::text[] is null or state = any(${sql.array([...(states ?? [])], 'text')}))
      and (${importNo}::bigint is null or import_no = ${importNo}) and (${dryRun}::boolean is null or dry_run = ${dryRun})
      and (${isStopped}::boolean is null or (stop is not null) = ${isStopped})
      and not exists (select from imports i where i.import_no = runs.import_no and i.deleted)
    order by id desc limit ${limit}`)

/** Lists the runs of a template, newest first, except those of imports that a person deleted. `before`: the last number of the previous page. */
export const listTemplateRuns = (
  db: Db,
  {org, template, before, limit}: {org: string; template: string; before: number | null; limit: number},
) =>
  db.any(sql.type(Run)`
    ${select} where org_id = ${org} and template_id = ${template} and (${before}::bigint is null or run_no < ${before})
      and not exists (select from imports i where i.import_no = runs.import_no and i.deleted)
    order by run_no desc limit ${limit}`)

/** Whether the run's records still exist. They are removed when the run expires or its import is deleted. */
export const isRunKept = (db: Db, no: number) =>
  db.exists(sql.type(z.object({}))`select from runs where run_no = ${no} and expired_at is null`)

/** Finds the run that retries this run, or null. Ignores dry runs. */
export const findRetryId = (db: Db, no: number) =>
  db.maybeOneFirst(sql.type(z.object({id: z.string()}))`select id from runs where retry_of = ${no} and not dry_run`)

/** Finds the retry of this run that ended before it began, or null. Considers only runs of the service's own engine. Ignores dry runs. */
export const findUnbegunRetry = (db: Db, no: number) =>
  db.maybeOneFirst(sql.type(z.object({id: z.string()}))`
    select id from runs u where retry_of = ${no} and not dry_run and engine = 'worker' and ${isUnbegun}`)

/** Finds the newest dry run of the import, unless a run that writes was started after it. Ignores runs that ended before they began. */
export const findLastDryRun = (db: Db, importNo: number) => {
  const started = sql.fragment`runs u where u.import_no = ${importNo} and u.engine is not null and not ${isUnbegun}`
  return db.maybeOne(sql.type(Run)`
    ${select} where import_no = ${importNo} and dry_run and run_no = (select max(u.run_no) from ${started})
      and not exists (select from ${started} and not u.dry_run and coalesce(u.started_at, lading_now()) >= runs.started_at)`)
}

export const findDryRun = (db: Db, {importNo}: {importNo: number}) =>
  db.maybeOneFirst(sql.type(z.object({id: z.string()}))`
    select id from runs where import_no = ${importNo} and dry_run and state in ('queued', 'writing', 'paused', 'closing')`)

/**
 * The settings with which a run is queued. `retry`: the run to retry and its chain to join. A dry run joins no chain, because its rows are
 * deleted at its end.
 */
type QueuedRun = {
  no: number
  connector: string
  importNo: number
  snapshotNo: number
  dryRun: boolean
  retry: {no: number; chain: number} | null
  /** The days for which the run can be undone. Null: the run stores no before images. */
  undoDays: number | null
  matchBy: 'query' | 'snapshot' | 'auto' | 'flow'
  writeBy: 'records' | 'bulk' | 'auto' | 'flow'
  /** Which written rows the run reads back. Null: the setting of the import's template applies. */
  verify: VerifyMode | null
  /** The number of the dry run whose plan the run applies. */
  planOf: number | null
}

export const queueRun = (tx: Tx, {no, connector, importNo, snapshotNo, dryRun, retry, undoDays, matchBy, writeBy, ...others}: QueuedRun) =>
  tx.query(sql.type(z.object({}))`
    update runs set state = 'queued', engine = 'worker', ground = ${dryRun ? sql.fragment`(select ${groundOfDryRun} from imports i where i.import_no = ${importNo})` : null}, connector_id = ${connector}, import_no = ${importNo}, snapshot_no = ${snapshotNo},
      (template_id, template_version) = (select template_id, template_version from imports i where i.import_no = ${importNo}), dry_run = ${dryRun}, undo_days = ${undoDays}, match_by = ${matchBy}, write_by = ${writeBy}, verify = coalesce(${others.verify}, (select t.verify from imports i join templates t on t.id = i.template_id where i.import_no = ${importNo}), 'off'), plan_of = ${others.planOf}, retry_of = ${retry?.no ?? null}, chain_no = ${(!dryRun && retry?.chain) || no}
    where run_no = ${no}`)

export const setRunJob = (tx: Tx, {no, job}: {no: number; job: string | null}) =>
  tx.query(sql.type(z.object({}))`update runs set job_id = ${job} where run_no = ${no}`)

/** Returns a function that changes a run's state under its fence. That function returns false if the caller does not own the run. */
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
export const beginClose = moveRun(sql.fragment`state = 'closing', pause = null, stopped_by = null, resume_at = null`)
export const endRun = moveRun(sql.fragment`state = 'ended', ended_at = lading_now()`)

export const pauseRun = (db: Db, {no, fence, pause, seconds}: {no: number; fence: number; pause: Pause; seconds: number}) =>
  moveRun(sql.fragment`state = 'paused', pause = ${sql.jsonb(pause)}, resume_at = lading_now() + make_interval(secs => ${seconds})`)(db, {
    no,
    fence,
  })

type QuotaNote = {org: string; connector: string; id: string; isWrite?: boolean}

/**
 * Handles an exhausted quota for this open run, if the run belongs to this org and connection. Marks the run as stopped by the quota, unless the CRM
 * refused a write (`isWrite`). Extends a live lease of an external run to 24 hours and 2 minutes from now. Its engine may send no request until the
 * quota renews.
 */
export const noteQuota = (db: Db, {org, connector, id, isWrite = false}: QuotaNote) =>
  db.query(sql.type(z.object({}))`
    with noted as (
      update runs set stopped_by = case when ${isWrite} then stopped_by else 'allowance' end
      where org_id = ${org} and id = ${id} and connector_id = ${connector} and state not in ('closing', 'ended')
      returning run_no, engine)
    update run_heads h set lease_until = greatest(lease_until, lading_now() + interval '24 hours 2 minutes')
    from noted where h.run_no = noted.run_no and noted.engine = 'outside' and lease_until > lading_now()`)
