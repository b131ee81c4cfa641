import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {OF_RUNS, type OfRuns, tablesOfOneRun} from './erasure.ts'

const Empty = z.object({})

/** Stores the names of a run's modules and flows when its snapshot is deleted, so that its counts stay readable. */
export const keepNames = (tx: Tx, run: number) =>
  tx.query(sql.type(Empty)`
    insert into run_names (run_no, kind, no, name)
    select run_no, kind, no, name from runs join run_snapshots using (snapshot_no), lateral (
      select 'module' as kind, (m ->> 'no')::smallint as no, m ->> 'apiName' as name from jsonb_path_query(document, '$.modules[*]') m
      union all select 'flow', (f ->> 'no')::smallint, f -> 'flow' ->> 'id' from jsonb_path_query(document, '$.flows[*]') f) names
    where run_no = ${run} and no is not null and name is not null on conflict do nothing`)

/** Whether every run of the chain has expired, so that no retry needs the rows of the chain. */
export const isChainOver = async (db: Db, chain: number) =>
  !(await db.exists(sql.type(Empty)`select from runs where chain_no = ${chain} and expired_at is null`))

type OfChain = {table: 'chain_rows' | 'unsettled'; chain: number; limit: number}

export const deleteOfChain = async (db: Db, {table, chain, limit}: OfChain) => {
  const name = sql.identifier([table])
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from ${name} where ctid = any(array(select ctid from ${name} where chain_no = ${chain} limit ${limit}))`)
  return rowCount
}

/**
 * Deletes a run's rows in small tables, and marks the run as emptied if it has no rows left in the large ones. Rows may remain if another process
 * deletes them at the same time.
 */
export const markRunEmptied = async (tx: Tx, {no, snapshotNo}: {no: number; snapshotNo: number | null}) => {
  await tx.query(sql.type(Empty)`delete from questions where run_no = ${no}`)
  await tx.query(sql.type(Empty)`delete from run_cursors where run_no = ${no}`)
  await tx.query(sql.type(Empty)`delete from run_snapshots where snapshot_no = ${snapshotNo}`)
  await tx.query(sql.type(Empty)`update runs set emptied = true where run_no = ${no} and expired_at is not null and ${hasNothing(no)}`)
}

/** SQL that is true if the run has no rows left in large tables. If all runs of its chain have expired, the chain must have no rows either. */
const hasNothing = (run: number) => sql.fragment`
  ${sql.join(
    tablesOfOneRun.map(table => hasNone(table, sql.fragment`${run}`)),
    sql.fragment` and `,
  )}
  and (exists (select from runs other where other.chain_no = runs.chain_no and other.expired_at is null)
    or (${hasNone('chain_rows', sql.fragment`runs.chain_no`)} and not exists (select from unsettled where chain_no = runs.chain_no)))`

const hasNone = (table: OfRuns, of: ReturnType<typeof sql.fragment>) =>
  sql.fragment`not exists (select from ${sql.identifier([table])} where ${sql.identifier([OF_RUNS[table]])} = ${of})`

export const deleteDecisions = async (db: Db, {importNo, limit}: {importNo: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(Empty)`
    delete from decisions where ctid = any(array(select ctid from decisions where import_no = ${importNo} limit ${limit}))`)
  return rowCount
}

export const markImportEmptied = async (tx: Tx, importNo: number) => {
  await tx.query(sql.type(Empty)`delete from checks where import_no = ${importNo}`)
  await tx.query(sql.type(Empty)`update imports set emptied = true where import_no = ${importNo} and expired_at is not null`)
}

export const deleteImport = async (tx: Tx, importNo: number) => {
  const {rowCount} = await tx.query(sql.type(Empty)`delete from imports where import_no = ${importNo} and emptied`)
  return rowCount
}

/**
 * Lists the keys of objects that are marked for removal and that no source or segment names. `hours`: only objects that have been in `loose_objects`
 * for at least this many hours; null lists all.
 */
export const listPendingDeletes = (db: Db, {after, limit, hours = null}: {after: string; limit: number; hours?: number | null}) =>
  db.anyFirst(sql.type(z.object({key: z.string()}))`
    select key from loose_objects l
    where doomed and key > ${after} and (${hours}::int is null or since < lading_now() - make_interval(hours => ${hours}::int))
      and not exists (select from sources where file_key = l.key) and not exists (select from segments where segments.key = l.key)
    order by key limit ${limit}`)

export const hasPendingDeletes = (db: Db) => db.exists(sql.type(Empty)`select from loose_objects where doomed`)

export const deletePendingOf = (tx: Tx, org: string) =>
  tx.query(sql.type(Empty)`delete from loose_objects where doomed and starts_with(key, ${`${org}/`})`)

const Standing = z.object({key: z.string(), known: z.boolean()})

/**
 * Returns the keys that no source, upload part, segment, module export, bulk job, snapshot or row of `loose_objects` names. `known`: the org in
 * the key exists and is not being erased, or it was erased from this database. Other keys may belong to other deployments in the same storage,
 * and their objects must not be removed.
 */
export const listNameless = (db: Db, keys: readonly string[]) =>
  db.any(sql.type(Standing)`
    select key, exists (select from orgs where id = split_part(key, '/', 1) and erasing_at is null)
      or exists (select from staff_actions where kind = 'erased' and org_id = split_part(key, '/', 1)) as known
    from unnest(${sql.array([...keys], 'text')}) as key
    where not exists (select from sources where file_key = key) and not exists (select from segments where segments.key = key.key)
      and not exists (select from match_exports e where e.key = key.key) and not exists (select from bulk_jobs b where b.key = key.key)
      and not exists (select from loose_objects l where l.key = key.key) and not exists (select from upload_parts p where p.key = key.key)
      and not exists (
        select from imports join runs using (import_no) join run_snapshots using (snapshot_no)
        where imports.id = split_part(key, '/', 2)
          and document -> 'sources' @> jsonb_build_array(jsonb_build_object('fileKey', key)))`)
