import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {Run, runColumns} from './runs.ts'

const Empty = z.object({})

/** A run as it stands under its lock, with what its head needs to be moved on. */
export const StandingRun = Run.extend({fence: z.number(), settleNo: z.number(), nextBatch: z.number()})
export type StandingRun = z.infer<typeof StandingRun>

const columns = sql.fragment`${runColumns}, fence, settle_no as "settleNo", next_batch as "nextBatch"`

/** Holds the run and its head until the transaction ends: what an outside engine may do is decided once at a time. */
export const lockOutsideRun = (tx: Tx, {org, id}: {org: string; id: string}) =>
  tx.maybeOne(sql.type(StandingRun)`
    select ${columns} from runs join run_heads using (run_no) where org_id = ${org} and id = ${id} for update`)

/** The run that holds an import just now; null when none does. Not locked: the engine that carries it locks runs before imports. */
export const findHolder = (tx: Tx, {importNo}: {importNo: number}) =>
  tx.maybeOne(sql.type(Run)`
    select ${runColumns} from runs join run_heads using (run_no)
    where import_no = ${importNo} and state in ('queued', 'writing', 'paused', 'closing') and not dry_run`)

export const lockImportNo = (tx: Tx, importNo: number) =>
  tx.query(sql.type(Empty)`select from imports where import_no = ${importNo} for no key update`)

/** The first touch: the run is an outside engine's from here, and writes. */
export const beginOutsideRun = (tx: Tx, no: number) =>
  tx.query(sql.type(Empty)`
    update runs set state = 'writing', engine = 'outside', started_at = coalesce(started_at, lading_now()) where run_no = ${no}`)

const ChainEnd = z.object({no: z.number(), id: z.string(), chain: z.number()})
export type ChainEnd = z.infer<typeof ChainEnd>

/** The ended external run of an import that began last and that no run carries on. The import is locked. */
export const findLastOutside = (tx: Tx, {importNo, run}: {importNo: number; run: number}) =>
  tx.maybeOne(sql.type(ChainEnd)`
    select run_no as no, id, coalesce(chain_no, run_no) as chain from runs r
    where import_no = ${importNo} and run_no <> ${run} and engine = 'outside' and state = 'ended' and expired_at is null and not dry_run
      and not exists (select from runs later where later.retry_of = r.run_no and not later.dry_run)
    order by started_at desc, run_no desc limit 1`)

export const joinChain = (tx: Tx, {run, previous}: {run: number; previous: {no: number; chain: number}}) =>
  tx.query(sql.type(Empty)`update runs set retry_of = ${previous.no}, chain_no = ${previous.chain} where run_no = ${run}`)

/** A run that was authorised and never begun gives up the run that it was to carry on. */
export const leaveChain = (tx: Tx, {previous}: {previous: number}) =>
  tx.query(sql.type(Empty)`
    update runs set retry_of = null, chain_no = run_no where retry_of = ${previous} and state = 'authorised' and not dry_run`)

type NameRow = {kind: 'module' | 'flow'; no: number; name: string}

/** The numbers that the runs of a chain give their modules and flows. */
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

/** The first write of a run without a connection sets the connection. */
export const fixConnector = (tx: Tx, {no, connector}: {no: number; connector: string}) =>
  tx.query(sql.type(Empty)`
    update runs set connector_id = ${connector} where run_no = ${no} and connector_id is distinct from ${connector}`)

/** The CRM has quota again: the note goes, and the lease that was extended for it ends as any other. */
export const clearAllowanceNote = async (tx: Tx, {no, leaseSeconds}: {no: number; leaseSeconds: number}) => {
  await tx.query(sql.type(Empty)`update runs set stopped_by = null where run_no = ${no}`)
  await shortenLease(tx, {no, leaseSeconds})
}

/** `leaseSeconds`: the longest that is left of the lease. */
export const shortenLease = (tx: Tx, {no, leaseSeconds}: {no: number; leaseSeconds: number}) =>
  tx.query(sql.type(Empty)`
    update run_heads set lease_until = least(lease_until, lading_now() + make_interval(secs => ${leaseSeconds})) where run_no = ${no}`)

/** Open external runs of a connection. */
export const listOutsideOn = (db: Db, connector: string) =>
  db.anyFirst(sql.type(z.object({id: z.string()}))`
    select id from runs where connector_id = ${connector} and engine = 'outside' and state = 'writing' order by run_no`)

export const endOutsideRun = (tx: Tx, {no, outcome}: {no: number; outcome: string | null}) =>
  tx.query(sql.type(Empty)`
    update runs set state = 'ended', outcome = coalesce(${outcome}, outcome), ended_at = lading_now() where run_no = ${no}`)

export const closeOutsideRun = (tx: Tx, {no, outcome}: {no: number; outcome: string | null}) =>
  tx.query(sql.type(Empty)`update runs set state = 'closing', outcome = coalesce(${outcome}, outcome) where run_no = ${no}`)

/** Never shortens it: a batch under way may have set it further ahead. `taken`: whoever held it before has lost it. */
export const renewOutsideLease = (tx: Tx, {no, seconds, taken}: {no: number; seconds: number; taken: boolean}) =>
  tx.oneFirst(sql.type(z.object({until: z.string()}))`
    update run_heads set owner = 'outside', fence = fence + ${taken ? 1 : 0}, settle_no = case when ${taken} then 0 else settle_no end,
      lease_until = greatest(lease_until, lading_now() + make_interval(secs => ${seconds}))
    where run_no = ${no} returning lease_until as until`)

/** As it was before a settlement renewed it. */
export const restoreLease = (tx: Tx, {no, until}: {no: number; until: string | null}) =>
  tx.query(sql.type(Empty)`
    update run_heads set lease_until = coalesce(${until}::timestamptz, '-infinity') where run_no = ${no}`)

/** The number by which the run's tables know a module or a flow, given the first time it is named. The run is locked. */
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

/** A run that wrote no batch through us is metered by what its engine says it wrote, up to the run's limit. Answers the meter. */
export const raiseCounted = (tx: Tx, {no, rowsWritten}: {no: number; rowsWritten: number}) =>
  tx.oneFirst(sql.type(z.object({counted: z.number()}))`
    update run_heads set counted = case when next_batch > 1 then counted else greatest(counted, least(${rowsWritten}::bigint, rows_limit)) end
    where run_no = ${no} returning counted`)

const Stale = z.object({id: z.string(), org: z.string(), idle: z.boolean(), disconnected: z.boolean()})

/** Outside runs whose batches nobody will answer any more, whose end waits for nothing, or which nobody has touched for `idleSeconds`. */
export const listStaleOutside = (db: Db, {idleSeconds, limit}: {idleSeconds: number; limit: number}) =>
  db.any(sql.type(Stale)`
    select id, org_id as org, lease_until < lading_now() - make_interval(secs => ${idleSeconds}) as idle,
      exists (select from connectors c where c.id = connector_id and c.state = 'disconnected') as disconnected
    from runs join run_heads using (run_no)
    where engine = 'outside' and not tidied and state in ('writing', 'closing')
      and (state = 'closing' or lease_until < lading_now() - make_interval(secs => ${idleSeconds})
        or exists (select from sends s where s.run_no = runs.run_no and s.deadline_at < lading_now())
        or exists (select from connectors c where c.id = connector_id and c.state = 'disconnected'))
    order by run_no limit ${limit}`)

export const listUntidied = (db: Db, {limit}: {limit: number}) =>
  db.anyFirst(sql.type(z.object({no: z.number()}))`
    select run_no as no from runs where engine = 'outside' and not tidied and state = 'ended' order by run_no limit ${limit}`)

/** What only the writing of a run needs, by the thousand. */
const OF_WRITING = ['admissions', 'released_attempts', 'takes'] as const
type OfWriting = (typeof OF_WRITING)[number]
export const ofWriting: readonly OfWriting[] = OF_WRITING

/** At most `limit` rows of an ended run; answers how many went. */
export const deleteOfWriting = async (db: Db, {table, run, limit}: {table: OfWriting; run: number; limit: number}) => {
  const name = sql.identifier([table])
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from ${name} where ctid = any(array(select ctid from ${name} where run_no = ${run} limit ${limit}))`)
  return rowCount
}

export const markTidied = (db: Db, run: number) => db.query(sql.type(Empty)`update runs set tidied = true where run_no = ${run}`)
