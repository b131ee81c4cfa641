import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {Run, runColumns} from './runs.ts'

const Empty = z.object({})

/**
 * An external run as read under its lock, with the fields of its head that updates need. `hasQuotaLease`: its lease was extended because the CRM's
 * quota was exhausted. No other lease lasts an hour.
 */
export const ExternalRun = Run.extend({fence: z.number(), settleNo: z.number(), nextBatch: z.number(), hasQuotaLease: z.boolean()})
export type ExternalRun = z.infer<typeof ExternalRun>

const columns = sql.fragment`${runColumns}, fence, settle_no as "settleNo", next_batch as "nextBatch",
  lease_until > lading_now() + interval '1 hour' as "hasQuotaLease"`

/** Locks the run and its head until the transaction ends, so that an external engine's requests are decided one at a time. */
export const lockExternalRunRow = (tx: Tx, {org, id}: {org: string; id: string}) =>
  tx.maybeOne(sql.type(ExternalRun)`
    select ${columns} from runs join run_heads using (run_no) where org_id = ${org} and id = ${id} for update`)

/** Finds the import's open run, or null. Ignores dry runs. Does not lock the run, because workers lock runs before imports. */
export const findHolder = (tx: Tx, {importNo}: {importNo: number}) =>
  tx.maybeOne(sql.type(Run)`
    select ${runColumns} from runs join run_heads using (run_no)
    where import_no = ${importNo} and state in ('queued', 'writing', 'paused', 'closing') and not dry_run`)

export const lockImportNo = (tx: Tx, importNo: number) =>
  tx.query(sql.type(Empty)`select from imports where import_no = ${importNo} for no key update`)

/**
 * Gives the run to an external engine at the engine's first request, in state `writing`. `undoDays`: null if the run stores no before images.
 */
export const beginExternalRun = (tx: Tx, {no, undoDays}: {no: number; undoDays: number | null}) =>
  tx.query(sql.type(Empty)`
    update runs set state = 'writing', engine = 'outside', started_at = coalesce(started_at, lading_now()), undo_days = ${undoDays}
    where run_no = ${no}`)

const ChainEnd = z.object({no: z.number(), id: z.string(), chain: z.number()})

/**
 * Finds the import's latest ended external run, except `run`, that no started run retries. Ignores expired and dry runs. The caller has locked
 * the import.
 */
export const findLastExternalRun = (tx: Tx, {importNo, run}: {importNo: number; run: number}) =>
  tx.maybeOne(sql.type(ChainEnd)`
    select run_no as no, id, coalesce(chain_no, run_no) as chain from runs r
    where import_no = ${importNo} and run_no <> ${run} and engine = 'outside' and state = 'ended' and expired_at is null and not dry_run
      and not exists (select from runs later where later.retry_of = r.run_no and not later.dry_run and later.engine is not null)
    order by started_at desc, run_no desc limit 1`)

export const joinChain = (tx: Tx, {run, previous}: {run: number; previous: {no: number; chain: number}}) =>
  tx.query(sql.type(Empty)`update runs set retry_of = ${previous.no}, chain_no = ${previous.chain} where run_no = ${run}`)

/** Detaches the retries of run `previous` that never started. Each becomes the first run of a new chain. Dry runs stay. */
export const leaveChain = (tx: Tx, {previous}: {previous: number}) =>
  tx.query(sql.type(Empty)`
    update runs set retry_of = null, chain_no = run_no
    where retry_of = ${previous} and (state = 'authorised' or (state = 'ended' and engine is null)) and not dry_run`)

type NameRow = {kind: 'module' | 'flow'; no: number; name: string}

export const insertNames = (tx: Tx, {run, names}: {run: number; names: readonly NameRow[]}) =>
  tx.query(sql.type(Empty)`
    insert into run_names (run_no, kind, no, name)
    select ${run}, kind, no, name
    from unnest(${sql.array(
      names.map(({kind}) => kind),
      'text',
    )}, ${sql.array(
      names.map(({no}) => no),
      'int2',
    )}, ${sql.array(
      names.map(({name}) => name),
      'text',
    )}) as n(kind, no, name)`)

export const fixConnector = (tx: Tx, {no, connector}: {no: number; connector: string}) =>
  tx.query(sql.type(Empty)`
    update runs set connector_id = ${connector} where run_no = ${no} and connector_id is distinct from ${connector}`)

/** Clears the note of an exhausted quota, and shortens the lease that was extended because of it. */
export const clearQuotaNote = async (tx: Tx, {no, leaseSeconds}: {no: number; leaseSeconds: number}) => {
  await tx.query(sql.type(Empty)`update runs set stopped_by = null where run_no = ${no}`)
  await shortenLease(tx, {no, leaseSeconds})
}

export const shortenLease = (tx: Tx, {no, leaseSeconds}: {no: number; leaseSeconds: number}) =>
  tx.query(sql.type(Empty)`
    update run_heads set lease_until = least(lease_until, lading_now() + make_interval(secs => ${leaseSeconds})) where run_no = ${no}`)

export const listExternalRunsOf = (db: Db, connector: string) =>
  db.anyFirst(sql.type(z.object({id: z.string()}))`
    select id from runs where connector_id = ${connector} and engine = 'outside' and state = 'writing' order by run_no`)

export const endExternalRunRow = (tx: Tx, {no, outcome}: {no: number; outcome: string | null}) =>
  tx.query(sql.type(Empty)`
    update runs set state = 'ended', outcome = coalesce(${outcome}, outcome), ended_at = lading_now() where run_no = ${no}`)

export const closeExternalRun = (tx: Tx, {no, outcome}: {no: number; outcome: string | null}) =>
  tx.query(sql.type(Empty)`update runs set state = 'closing', outcome = coalesce(${outcome}, outcome) where run_no = ${no}`)

/**
 * Renews the lease and returns its end. Never shortens the lease, because a batch in flight may have extended it further. `taken`: raises the fence,
 * so that writes of the previous owner fail.
 */
export const renewExternalRunLease = (tx: Tx, {no, seconds, taken}: {no: number; seconds: number; taken: boolean}) =>
  tx.oneFirst(sql.type(z.object({until: z.string()}))`
    update run_heads set owner = 'outside', fence = fence + ${taken ? 1 : 0}, settle_no = case when ${taken} then 0 else settle_no end,
      lease_until = greatest(lease_until, lading_now() + make_interval(secs => ${seconds}))
    where run_no = ${no} returning lease_until as until`)

export const restoreLease = (tx: Tx, {no, until}: {no: number; until: string | null}) =>
  tx.query(sql.type(Empty)`
    update run_heads set lease_until = coalesce(${until}::timestamptz, '-infinity') where run_no = ${no}`)

/** Returns the number of a module or flow in the run's tables, assigned at its first use. The caller has locked the run. */
export const numberName = (tx: Tx, {run, kind, name}: {run: number; kind: 'module' | 'flow'; name: string}) =>
  tx.oneFirst(sql.type(z.object({no: z.number()}))`
    with known as (select no from run_names where run_no = ${run} and kind = ${kind} and name = ${name}),
    added as (
      insert into run_names (run_no, kind, no, name)
      select ${run}, ${kind}, 1 + coalesce((select max(no) from run_names where run_no = ${run} and kind = ${kind}), 0), ${name}
      where not exists (select from known)
      returning no)
    select no from known union all select no from added`)

const Name = z.object({kind: z.enum(['module', 'flow']), no: z.number(), name: z.string()})

export const listNames = (db: Db, run: number) =>
  db.any(sql.type(Name)`select kind, no, name from run_names where run_no = ${run} order by kind, no`)

/**
 * Raises the row count to what the external engine reported, up to the run's limit. Applies only to a run that sent no batch through this
 * service. Returns the count.
 */
export const raiseCounted = (tx: Tx, {no, rowsWritten}: {no: number; rowsWritten: number}) =>
  tx.oneFirst(sql.type(z.object({counted: z.number()}))`
    update run_heads set counted = case when next_batch > 1 then counted else greatest(counted, least(${rowsWritten}::bigint, rows_limit)) end
    where run_no = ${no} returning counted`)

const Stale = z.object({id: z.string(), org: z.string(), idle: z.boolean(), disconnected: z.boolean()})

/**
 * Lists open external runs with a dead batch, in state `closing`, on a disconnected connection, or whose lease ended more than `idleSeconds` ago
 * (`idle`).
 */
export const listStaleExternalRuns = (db: Db, {idleSeconds, limit}: {idleSeconds: number; limit: number}) =>
  db.any(sql.type(Stale)`
    select id, org_id as org, lease_until < lading_now() - make_interval(secs => ${idleSeconds}) as idle,
      exists (select from connectors c where c.id = connector_id and c.state = 'disconnected') as disconnected
    from runs join run_heads using (run_no)
    where engine = 'outside' and not tidied and state in ('writing', 'closing')
      and (state = 'closing' or lease_until < lading_now() - make_interval(secs => ${idleSeconds})
        or exists (select from sends s where s.run_no = runs.run_no and s.deadline_at < lading_now())
        or exists (select from connectors c where c.id = connector_id and c.state = 'disconnected'))
    order by id limit ${limit}`)

export const listUntidied = (db: Db, {limit}: {limit: number}) =>
  db.anyFirst(sql.type(z.object({no: z.number()}))`
    select run_no as no from runs where engine = 'outside' and not tidied and state = 'ended' order by run_no limit ${limit}`)

/** Large tables that are needed only while the run writes. */
const OF_WRITING = ['admissions', 'released_attempts', 'unsent_rows', 'takes'] as const
type OfWriting = (typeof OF_WRITING)[number]
export const ofWriting: readonly OfWriting[] = OF_WRITING

export const deleteOfWriting = async (db: Db, {table, run, limit}: {table: OfWriting; run: number; limit: number}) => {
  const name = sql.identifier([table])
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from ${name} where ctid = any(array(select ctid from ${name} where run_no = ${run} limit ${limit}))`)
  return rowCount
}

export const markTidied = (db: Db, run: number) => db.query(sql.type(Empty)`update runs set tidied = true where run_no = ${run}`)
