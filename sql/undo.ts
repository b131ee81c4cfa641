import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

const UndoState = z.object({
  /** When the time to undo the run ends. Null: the run has not ended, or stored no before images. */
  until: z.string().nullable(),
  isOver: z.boolean(),
  hasKey: z.boolean(),
  /** The newest undo of the run that has not ended, or that ended without a stop. Ignores dry runs and undos that were themselves undone. */
  undoneBy: z.string().nullable(),
  /** The run's `begunUndo`. */
  begunBy: z.string().nullable(),
  /** The run's `retryingRun`. Ignores runs that were undone. */
  retriedBy: z.string().nullable(),
  isSecondUndo: z.boolean(),
})

/** SQL that is true if the run `u` has an undo that ended without a stop. */
const isUndone = sql.fragment`exists (
  select from runs uu join run_heads hh using (run_no) where uu.undo_of = u.run_no and not uu.dry_run and uu.state = 'ended' and hh.stop is null)`

/** SQL that is true if the run `u` ended before it began, so that it wrote nothing. */
export const isUnbegun = sql.fragment`(u.state = 'ended' and u.started_at is null)`

type Fragment = ReturnType<typeof sql.fragment>

/**
 * SQL for the newest undo of the run with this table or alias. Ignores dry runs, undos that ended before they began, and undos that were themselves
 * undone. If a retry ended before it began, the undos of the retried run count too.
 */
export const begunUndo = (run: Fragment) => sql.fragment`(
  with recursive undone as (
    select ${run}.run_no, ${run}.retry_of, ${run}.started_at
    union all
    select p.run_no, p.retry_of, p.started_at from undone join runs p on p.run_no = undone.retry_of where undone.started_at is null)
  select u.id from undone join runs u on u.undo_of = undone.run_no
  where not u.dry_run and not ${isUnbegun} and not ${isUndone} order by u.run_no desc limit 1)`

/**
 * SQL for the id of the run that retries run `no`, or that retries a retry that ended before it began. Ignores dry runs. `except`: a condition for
 * runs `u` to ignore.
 */
export const retryingRun = (no: Fragment, except: Fragment = sql.fragment`false`) => sql.fragment`(
  with recursive later as (
    select n.run_no, n.id, n.state, n.started_at from runs n where n.retry_of = ${no} and not n.dry_run
    union all
    select n.run_no, n.id, n.state, n.started_at from later u join runs n on n.retry_of = u.run_no and not n.dry_run where ${isUnbegun})
  select u.id from later u where not ${isUnbegun} and not ${except} limit 1)`

export const findUndoState = (db: Db, run: number) =>
  db.one(sql.type(UndoState)`
    select r.ended_at + make_interval(days => r.undo_days) as until,
      coalesce(r.ended_at + make_interval(days => r.undo_days) < lading_now(), false) as "isOver",
      exists (select from image_keys k where k.run_no = r.run_no) as "hasKey",
      (select u.id from runs u join run_heads h using (run_no)
        where u.undo_of = r.run_no and not u.dry_run and (u.state <> 'ended' or h.stop is null) and not ${isUndone} order by u.run_no desc limit 1) as "undoneBy",
      ${begunUndo(sql.fragment`r`)} as "begunBy",
      ${retryingRun(sql.fragment`r.run_no`, isUndone)} as "retriedBy",
      exists (select from runs u where u.run_no = r.undo_of and u.undo_of is not null) as "isSecondUndo"
    from runs r where r.run_no = ${run}`)

/** Whether the run undoes another run. False for an unknown run. */
export const isUndo = (db: Db, {org, id}: {org: string; id: string}) =>
  db.exists(sql.type(z.object({}))`select from runs where org_id = ${org} and id = ${id} and undo_of is not null`)

const MadeRow = z.object({module: z.number(), key: z.string(), recordId: z.string()})
const UnknownRow = z.object({module: z.number(), key: z.string(), target: z.string().nullable()})
type RowsOfRun = {chain: number; run: number; after: {module: number; key: string}; limit: number}

/** Lists the rows of a run that created or claimed a record, in the order of module and key. */
export const listMadeRows = (db: Db, {chain, run, after, limit}: RowsOfRun) =>
  db.any(sql.type(MadeRow)`
    select module_no as module, row_key as key, record_id as "recordId" from chain_rows
    where chain_no = ${chain} and run_no = ${run} and how in (1, 2) and (module_no, row_key) > (${after.module}, ${after.key})
    order by module_no, row_key limit ${limit}`)

/**
 * Lists the subform rows of a run whose parent record the run created or claimed. `module`: the module of the subform. `parent`: the module of
 * the parents.
 */
export const listRowsOfMade = (db: Db, {chain, run, module, parent, after, limit}: RowsOfRun & {module: number; parent: number}) =>
  db.any(sql.type(MadeRow)`
    select c.module_no as module, c.row_key as key, c.record_id as "recordId" from chain_rows c
    where c.chain_no = ${chain} and c.run_no = ${run} and c.module_no = ${module} and c.row_key > ${after.key} and exists (
      select from chain_rows m
      where m.chain_no = ${chain} and m.run_no = ${run} and m.module_no = ${parent} and m.record_id = c.record_id and m.how in (1, 2))
    order by c.row_key limit ${limit}`)

/** Lists the rows of a run that deleted a record, or whose delete was not answered, in the order of module and key. */
export const listDeletedRows = (db: Db, {chain, run, after, limit}: RowsOfRun) =>
  db.any(sql.type(MadeRow)`
    select * from (
      select module_no as module, row_key as key, record_id as "recordId" from chain_rows where chain_no = ${chain} and run_no = ${run} and how = 6
      union
      select module_no, row_key, target from unsettled where chain_no = ${chain} and run_no = ${run} and kind = 6) deleted
    where (module, key) > (${after.module}, ${after.key}) order by module, key limit ${limit}`)

/** Lists the rows of an undo that restored a record from the recycle bin, in the order of module and key. */
export const listReturnedRows = (db: Db, {chain, run, after, limit}: RowsOfRun) =>
  db.any(sql.type(MadeRow)`
    select module_no as module, row_key as key, record_id as "recordId" from chain_rows
    where chain_no = ${chain} and run_no = ${run} and how = 7 and (module_no, row_key) > (${after.module}, ${after.key})
    order by module_no, row_key limit ${limit}`)

/**
 * Lists the run's rows with an unanswered create, ordered by module and key. Kind 0: the last send of the row was such a create. A later update, or
 * a refusal, proves nothing about the unanswered create. `target`: the record of that update. Leaves out a row that created or claimed a record in
 * this run, because its report names the possible second record.
 */
export const listUnknownRows = (db: Db, {chain, run, after, limit}: RowsOfRun) =>
  db.any(sql.type(UnknownRow)`
    select module_no as module, row_key as key, target from unsettled u
    where chain_no = ${chain} and run_no = ${run} and (kind = 0 or creates > 0) and (module_no, row_key) > (${after.module}, ${after.key})
      and (kind = 0 or not exists (
        select from chain_rows c where c.chain_no = u.chain_no and c.module_no = u.module_no and c.row_key = u.row_key and c.run_no = u.run_no and c.how <> 3))
    order by module_no, row_key limit ${limit}`)

type WrittenQuery = {chain: number; rows: readonly {module: number; key: string; recordId: string}[]; ofAnyRecord: boolean}

/**
 * Returns the places, from 1, of the rows that wrote their record, or whose write was not answered. `ofAnyRecord`: also rows that wrote another
 * record.
 */
export const listWrittenPlaces = (db: Db, {chain, rows, ofAnyRecord}: WrittenQuery) =>
  db.anyFirst(sql.type(z.object({place: z.number()}))`
    select place from unnest(${sql.array(
      rows.map(({module}) => module),
      'int2',
    )}, ${sql.array(
      rows.map(({key}) => key),
      'text',
    )}, ${sql.array(
      rows.map(({recordId}) => recordId),
      'text',
    )}) with ordinality as r(module, key, record, place)
    where exists (select from chain_rows where chain_no = ${chain} and module_no = r.module and row_key = r.key and (${ofAnyRecord} or record_id = r.record))
      or exists (select from unsettled where chain_no = ${chain} and module_no = r.module and row_key = r.key)`)

/** Lists the records that these rows wrote, each with the stored time of its last write. Records without a stored time are left out. */
export const listWrittenAt = (db: Db, {chain, rows}: {chain: number; rows: readonly {module: number; key: string}[]}) =>
  db.any(sql.type(z.object({recordId: z.string(), writtenAt: z.string()}))`
    select record_id as "recordId", max(written_at) as "writtenAt"
    from unnest(${sql.array(
      rows.map(({module}) => module),
      'int2',
    )}, ${sql.array(
      rows.map(({key}) => key),
      'text',
    )}) as r(module, key)
    join chain_rows on chain_no = ${chain} and module_no = r.module and row_key = r.key
    where written_at is not null group by record_id`)

/**
 * Lists the times at which rows of the chain last wrote these records. An unchanged or matched record has such a time if a patch or a tag wrote it.
 * `modules`: the modules of the records and of their subform rows. Only Zoho reports write times, and its record ids are unique across modules.
 */
export const listLastWrites = (db: Db, {chain, modules, records}: {chain: number; modules: number[]; records: string[]}) =>
  db.any(sql.type(z.object({recordId: z.string(), writtenAt: z.string()}))`
    select record_id as "recordId", max(written_at) as "writtenAt" from (
      select record_id, written_at from chain_rows
      where chain_no = ${chain} and module_no = any(${sql.array(modules, 'int2')}) and record_id = any(${sql.array(records, 'text')}) and how in (1, 2)
      union all
      select record_id, written_at from chain_rows
      where chain_no = ${chain} and module_no = any(${sql.array(modules, 'int2')}) and record_id = any(${sql.array(records, 'text')}) and how in (3, 4)
      union all
      select record_id, written_at from chain_rows
      where chain_no = ${chain} and module_no = any(${sql.array(modules, 'int2')}) and record_id = any(${sql.array(records, 'text')}) and how = 5) written
    where written_at is not null group by record_id`)

type QueuedUndo = {
  no: number
  of: number
  connector: string
  importNo: number
  /** The snapshot of the undone run. Null: the undone run is external. */
  snapshotNo: number | null
  dryRun: boolean
  force: boolean
  undoDays: number | null
}

export const queueUndo = (tx: Tx, {no, of, connector, importNo, snapshotNo, dryRun, force, undoDays}: QueuedUndo) =>
  tx.query(sql.type(z.object({}))`
    update runs set state = 'queued', engine = 'worker', connector_id = ${connector}, import_no = ${importNo}, snapshot_no = ${snapshotNo},
      (template_id, template_version) = (select template_id, template_version from imports i where i.import_no = ${importNo}),
      dry_run = ${dryRun}, undo_of = ${of}, undo_force = ${force}, undo_days = ${undoDays}, chain_no = ${no}
    where run_no = ${no}`)

/** Stores whether the CRM itself checks that records did not change between the read and the write of the undo. */
export const keepUndoStrict = (db: Db, {run, strict}: {run: number; strict: boolean}) =>
  db.query(sql.type(z.object({}))`update runs set undo_strict = ${strict} where run_no = ${run}`)
