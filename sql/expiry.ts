import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'
import {ranLastFile} from './firings.ts'

const Empty = z.object({})
const No = z.object({no: z.number()})

const before = (days: number) => sql.fragment`lading_now() - make_interval(days => ${days})`

/**
 * SQL that is true for an unused import. It was not touched in the history window, none of its runs is open, and none was authorised or ended in
 * the window.
 */
const isOld = (days: number) => sql.fragment`
  i.state <> 'expired' and i.touched_at < ${before(days)}
  and not exists (select from runs r where r.import_no = i.import_no
    and (r.state not in ('authorised', 'ended') or greatest(r.authorised_at, r.ended_at) >= ${before(days)}))`

type Old = {org: string; days: number; after: number; limit: number}

export const listOldImports = (db: Db, {org, days, after, limit}: Old) =>
  db.anyFirst(sql.type(No)`
    select import_no as no from imports i where org_id = ${org} and import_no > ${after} and ${isOld(days)} order by import_no limit ${limit}`)

/** Whether the import still qualifies to expire. The caller has locked the import. */
export const isStillOld = (tx: Tx, {no, days}: {no: number; days: number}) =>
  tx.exists(sql.type(Empty)`select from imports i where import_no = ${no} and ${isOld(days)}`)

/**
 * Expires the import and its runs, of which only a summary stays. Deletes the rows of the sources, uploads and conversations now; the stored files
 * and other data are deleted later. The caller must have locked the import, and none of its runs may be open. `deleted`: a person deletes the import.
 * Returns the number of expired runs.
 */
export const expireImport = async (tx: Tx, {no, deleted}: {no: number; deleted: boolean}): Promise<number> => {
  await tx.query(sql.type(Empty)`
    update imports set state = 'expired', expired_at = coalesce(expired_at, lading_now()), deleted = deleted or ${deleted}, flows = '[]', slots = '[]',
      template_flows = null, version = version + 1
    where import_no = ${no}`)
  const {rowCount} = await tx.query(sql.type(Empty)`
    update runs set expired_at = lading_now(), archived = true where import_no = ${no} and expired_at is null`)
  await tx.query(sql.type(Empty)`delete from conversation_turns where import_no = ${no}`)
  await tx.query(sql.type(Empty)`delete from sources where import_no = ${no}`)
  await tx.query(sql.type(Empty)`delete from uploads where import_no = ${no}`)
  return rowCount
}

const OldRun = z.object({no: z.number(), importNo: z.number().nullable()})

export const listOldRuns = (db: Db, {org, days, after, limit}: Old) =>
  db.any(sql.type(OldRun)`
    select run_no as no, import_no as "importNo" from runs
    where org_id = ${org} and state = 'ended' and ended_at < ${before(days)} and expired_at is null and run_no > ${after}
    order by run_no limit ${limit}`)

/**
 * Expires an ended run, unless a run or dry run that retries it, undoes it or applies its plan is in progress. If the run has an import, the caller
 * has locked the import, so that no such run starts meanwhile. Returns whether the run expired.
 */
export const expireRun = async (tx: Tx, no: number): Promise<boolean> => {
  const {rowCount} = await tx.query(sql.type(Empty)`
    update runs set expired_at = lading_now(), archived = true where run_no = ${no} and state = 'ended' and expired_at is null
      and not exists (select from runs d
        where d.state not in ('authorised', 'ended')
          and (d.retry_of = ${no} or d.undo_of = ${no} or (d.import_no = runs.import_no and d.plan_of = ${no})))`)
  return rowCount === 1
}

const RunToEmpty = z.object({no: z.number(), chainNo: z.number().nullable(), snapshotNo: z.number().nullable()})
export type RunToEmpty = z.infer<typeof RunToEmpty>

type Some = {org: string; limit: number}

export const listUnemptiedRuns = (db: Db, {org, after, limit}: Some & {after: number}) =>
  db.any(sql.type(RunToEmpty)`
    select run_no as no, chain_no as "chainNo", snapshot_no as "snapshotNo" from runs
    where org_id = ${org} and expired_at is not null and not emptied and run_no > ${after} order by run_no limit ${limit}`)

/**
 * Locks runs without an import that can be deleted, so that none of them starts. Such a run expired at least `days` ago and is emptied, or never
 * started and was authorised at least `2 * days` ago. Skips runs that another transaction is starting.
 */
export const lockRunsToDelete = (tx: Tx, {org, days, limit}: Some & {days: number}) =>
  tx.anyFirst(sql.type(No)`
    select run_no as no from runs
    where org_id = ${org} and import_no is null
      and ((emptied and expired_at < ${before(days)}) or (state = 'authorised' and authorised_at < ${before(2 * days)}))
    order by run_no limit ${limit} for update skip locked`)

export const listUnemptiedImports = (db: Db, {org, after, limit}: Some & {after: number}) =>
  db.anyFirst(sql.type(No)`
    select import_no as no from imports i
    where org_id = ${org} and expired_at is not null and not emptied and import_no > ${after}
      and not exists (select from runs r where r.import_no = i.import_no and not r.emptied)
    order by import_no limit ${limit}`)

/**
 * Lists emptied imports whose rows can be deleted: those that a person deleted and those that expired `days` ago. If `days` is null, lists
 * only those that a person deleted. Leaves out an expired import whose stopped run was the last of a schedule's last file, so that the next firing
 * with this file reports that its rest cannot be run.
 */
export const listImportsToDelete = (db: Db, {org, days, after, limit}: Some & {days: number | null; after: number}) =>
  db.anyFirst(sql.type(No)`
    select import_no as no from imports
    where org_id = ${org} and expired_at is not null and emptied and import_no > ${after}
      and not exists (select from firings f where f.import_no = imports.import_no and f.state = 'running')
      and (deleted or (expired_at < lading_now() - make_interval(days => ${days}::int)
        and not exists (select from firings f where f.import_no = imports.import_no and f.outcome = 'stopped' and f.reason ->> 'code' is distinct from 'CANCELLED' and ${ranLastFile})))
    order by import_no limit ${limit}`)

/**
 * Lists orgs with imports that a person deleted and that are not purged yet. The order is random, so that orgs whose purge fails do not block others.
 * Orgs that are being erased are left out.
 */
export const listOrgsWithDeleted = (db: Db, {limit}: {limit: number}) =>
  db.anyFirst(sql.type(z.object({org: z.string()}))`
    select org_id as org from imports join orgs on orgs.id = org_id and erasing_at is null
    where deleted group by org_id order by random() limit ${limit}`)

export const listRunsOf = (db: Db, {importNo, limit}: {importNo: number; limit: number}) =>
  db.anyFirst(sql.type(No)`select run_no as no from runs where import_no = ${importNo} order by run_no limit ${limit}`)
