import {z} from 'zod'
import {type Db, type Hot, prepare, sql} from './database.ts'
import {blockOf} from './log-chunks.ts'
import {outcomeNo, PHASES} from './run-log.ts'

/**
 * The codes for how a row got its record. Within one chain, only one row may have created (`made`) or claimed (`taken`) a record. `matched`: the row
 * found the record and did not write it. `unchanged`: the row would have updated the record, which already had every value. `undeleted`: an undo
 * restored the record from the recycle bin.
 */
export const HOW = {made: 1, taken: 2, updated: 3, matched: 4, unchanged: 5, deleted: 6, undeleted: 7} as const

/**
 * Finds the records that rows of these chains wrote, by match key, because the CRM's search may not show these records yet. `recordId` is null for a
 * row with an unanswered create: a record with the key may exist.
 */
export const findMatches = (hot: Hot, {chains, module, keys}: {chains: number[]; module: number; keys: Buffer[]}) =>
  findMatchesStatement(hot, [chains, module, keys])

const findMatchesStatement = prepare<{key: Buffer; recordId: string | null; rowKey: string | null; row: number | null}>(
  'find-matches',
  `select * from (
     select distinct on (match_key, record_id) match_key as key, record_id as "recordId", null as "rowKey", null::bigint as row from chain_rows
     where chain_no = any($1::bigint[]) and module_no = $2::smallint and match_key = any($3::bytea[]) and how in (1, 2, 3)) written
   union all
   select match_key, null, row_key, row_number from unsettled
   where chain_no = any($1::bigint[]) and module_no = $2::smallint and match_key = any($3::bytea[]) and kind = 0`,
)

/**
 * Finds the records of these rows, and how and in which run each row got its record. Entries of `chain` take precedence over those of
 * `before`, the retried chain.
 */
export const findRecordsOf = (hot: Hot, {chain, before, module, keys}: {chain: number; before: number; module: number; keys: string[]}) =>
  findRecordsStatement(hot, [chain, before, module, keys])

const findRecordsStatement = prepare<{key: string; recordId: string; how: number; run: number}>(
  'find-records-of',
  `select distinct on (row_key) row_key as key, record_id as "recordId", how, run_no as run from chain_rows
   where chain_no in ($1::bigint, $2::bigint) and module_no = $3::smallint and row_key = any($4::text[])
   order by row_key, chain_no = $1 desc`,
)

type Patchable = {chain: number; before: number; run: number; module: number; keys: string[]}

/**
 * Finds rows whose record was not patched yet, or whose links an earlier run left empty, and how each row got its record. `emptyLinks`: the
 * fields of these links, separated by commas. Entries of `chain` take precedence over those of `before`. A row that did not create, claim or
 * update its record is found for this run only. `isOwn`: the entry names this run.
 */
export const findPatchable = (hot: Hot, {chain, before, run, module, keys}: Patchable) =>
  findPatchableStatement(hot, [chain, run, module, keys, before])

type PatchableRow = {key: string; recordId: string; how: number; isOwn: boolean; patched: boolean; emptyLinks: string | null}

const findPatchableStatement = prepare<PatchableRow>(
  'find-patchable',
  `select distinct on (row_key) row_key as key, record_id as "recordId", how, run_no = $2::bigint as "isOwn", patched,
     case when run_no <> $2::bigint then empty_links end as "emptyLinks"
   from chain_rows
   where chain_no in ($1::bigint, $5::bigint) and module_no = $3::smallint and row_key = any($4::text[])
     and (not patched or (empty_links is not null and run_no <> $2::bigint)) and (how < 4 or run_no = $2::bigint)
   order by row_key, chain_no = $1 desc`,
)

/** Finds rows that created, claimed or updated a record in any run of the chain, and whose record does not have the tags of their flow yet. */
export const findTaggable = (hot: Hot, {chain, module, keys}: {chain: number; module: number; keys: string[]}) =>
  findTaggableStatement(hot, [chain, module, keys])

const findTaggableStatement = prepare<{key: string; recordId: string}>(
  'find-taggable',
  `select row_key as key, record_id as "recordId" from chain_rows
   where chain_no = $1::bigint and module_no = $2::smallint and row_key = any($3::text[]) and not tagged and how in (1, 2, 3)`,
)

export const findInherited = (hot: Hot, {chain, run, module, keys}: {chain: number; run: number; module: number; keys: string[]}) =>
  findInheritedStatement(hot, [chain, run, module, keys])

const findInheritedStatement = prepare<{key: string; recordId: string; mayExistTwice: boolean; isDeleted: boolean}>(
  'find-inherited',
  `select row_key as key, record_id as "recordId", may_exist_twice as "mayExistTwice", how = 6 as "isDeleted" from chain_rows
   where chain_no = $1::bigint and module_no = $3::smallint and row_key = any($4::text[]) and run_no <> $2::bigint and how in (1, 2, 3, 6)`,
)

type PlannedPatchesQuery = {run: number; flow: number; from: number; to: number}

/**
 * Counts the planned patches of rows `from`..`to` that count towards the row limit of a dry run. The rows of these patches wrote nothing before.
 */
export const countPlannedPatches = (db: Db, {run, flow, from, to}: PlannedPatchesQuery) =>
  db.oneFirst(sql.type(z.object({rows: z.number()}))`
    select count(*) as rows from (select distinct module_no, row_key from log_entries
      where run_no = ${run} and flow_no = ${flow} and block between ${blockOf(from)} and ${blockOf(to)} and row_number between ${from} and ${to}
        and phase = ${PHASES.indexOf('patch')} and outcome = ${outcomeNo('planned')}) planned
    join chain_rows c using (module_no, row_key) where c.chain_no = ${run} and how in (${HOW.matched}, ${HOW.unchanged})`)

export const deleteChainRows = async (db: Db, {chain, limit}: {chain: number; limit: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from chain_rows where ctid = any(array(select ctid from chain_rows where chain_no = ${chain} limit ${limit}))`)
  return rowCount
}

export const listHolders = (db: Db, {chain, module, records}: {chain: number; module: number; records: string[]}) =>
  db.any(sql.type(z.object({recordId: z.string(), key: z.string()}))`
    select record_id as "recordId", row_key as key from chain_rows
    where chain_no = ${chain} and module_no = ${module} and record_id = any(${sql.array(records, 'text')}) and how in (1, 2)`)

/** Lists those of `records` that rows of these chains created or claimed in these modules, each with the smallest key of such a row. */
export const listMakers = (db: Db, {chains, modules, records}: {chains: number[]; modules: number[]; records: string[]}) =>
  db.any(sql.type(z.object({recordId: z.string(), key: z.string()}))`
    select record_id as "recordId", min(row_key) as key from chain_rows
    where chain_no = any(${sql.array(chains, 'int8')}) and module_no = any(${sql.array(modules, 'int2')}) and record_id = any(${sql.array(records, 'text')})
      and how in (1, 2)
    group by record_id`)

export const listCreated = (db: Db, {chain, module, limit}: {chain: number; module: number; limit: number}) =>
  db.anyFirst(sql.type(z.object({recordId: z.string()}))`
    select record_id as "recordId" from chain_rows
    where chain_no = ${chain} and module_no = ${module} and how in (1, 2) order by row_key limit ${limit}`)

export const listWriters = (db: Db, {chain, run, module, records}: {chain: number; run: number; module: number; records: string[]}) =>
  db.any(sql.type(z.object({recordId: z.string(), key: z.string()}))`
    select record_id as "recordId", row_key as key from chain_rows
    where chain_no = ${chain} and module_no = ${module} and record_id = any(${sql.array(records, 'text')}) and how in (1, 2) and run_no <> ${run}
    union all
    select record_id, row_key from chain_rows
    where chain_no = ${chain} and module_no = ${module} and record_id = any(${sql.array(records, 'text')}) and how = 3 and run_no <> ${run}`)

/**
 * Lists the rows of this run that created, claimed or updated any of `records`, each with its module and record. Includes every patched row of the
 * chain, because the entry of a row does not say which run patched it.
 */
export const listRunWriters = (
  db: Db,
  {chain, run, modules, records}: {chain: number; run: number; modules: number[]; records: string[]},
) => {
  const any = sql.fragment`module_no = any(${sql.array(modules, 'int2')}) and record_id = any(${sql.array(records, 'text')})`
  // One branch for each partial index.
  return db.any(sql.type(z.object({module: z.number(), recordId: z.string(), key: z.string()}))`
    with written as (
      select module_no, record_id, row_key, run_no, patched from chain_rows where chain_no = ${chain} and ${any} and how in (1, 2)
      union all
      select module_no, record_id, row_key, run_no, patched from chain_rows where chain_no = ${chain} and ${any} and how in (3, 4) and (how = 3 or patched)
      union all
      select module_no, record_id, row_key, run_no, patched from chain_rows where chain_no = ${chain} and ${any} and how = 5 and patched)
    select module_no as module, record_id as "recordId", row_key as key from written where run_no = ${run} or patched`)
}

export const listHows = (db: Db, {chain, module, records}: {chain: number; module: number; records: string[]}) =>
  db.any(sql.type(z.object({recordId: z.string(), how: z.number()}))`
    select record_id as "recordId", min(how) as how from chain_rows
    where chain_no = ${chain} and module_no = ${module} and record_id = any(${sql.array(records, 'text')}) and how in (1, 2)
    group by record_id
    union all
    select record_id, min(how) from chain_rows
    where chain_no = ${chain} and module_no = ${module} and record_id = any(${sql.array(records, 'text')}) and how in (3, 4)
    group by record_id
    union all
    select distinct record_id, how from chain_rows
    where chain_no = ${chain} and module_no = ${module} and record_id = any(${sql.array(records, 'text')}) and how = 5`)

/** Lists those of `records` that rows of these chains created, claimed or updated. */
export const listWritten = (db: Db, {chains, module, records}: {chains: number[]; module: number; records: string[]}) =>
  db.anyFirst(sql.type(z.object({recordId: z.string()}))`
    select record_id as "recordId" from chain_rows
    where chain_no = any(${sql.array(chains, 'int8')}) and module_no = ${module} and record_id = any(${sql.array(records, 'text')}) and how in (1, 2)
    union
    select record_id from chain_rows
    where chain_no = any(${sql.array(chains, 'int8')}) and module_no = ${module} and record_id = any(${sql.array(records, 'text')}) and how = 3`)

/** Lists those of `records` that rows of these chains deleted, each with the smallest key of such a row. */
export const listDeleted = (db: Db, {chains, module, records}: {chains: number[]; module: number; records: string[]}) =>
  db.any(sql.type(z.object({recordId: z.string(), key: z.string()}))`
    select record_id as "recordId", min(row_key) as key from chain_rows
    where chain_no = any(${sql.array(chains, 'int8')}) and module_no = ${module} and record_id = any(${sql.array(records, 'text')}) and how = 6
    group by record_id`)
