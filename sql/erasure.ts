import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

/** Large tables with the data of an org's runs, and the column that names the run or the chain. A chain is named by its first run. */
export const OF_RUNS = {
  run_log: 'run_no',
  log_batches: 'run_no',
  chain_rows: 'chain_no',
  unsettled: 'run_no',
  sends: 'run_no',
  admissions: 'run_no',
  admitted_blocks: 'run_no',
  released_attempts: 'run_no',
  unsent_rows: 'run_no',
  takes: 'run_no',
  writes: 'run_no',
  question_rows: 'run_no',
  run_lookups: 'run_no',
  run_parent_keys: 'run_no',
  segments: 'run_no',
  record_claims: 'run_no',
  image_keys: 'run_no',
  verify_queue: 'run_no',
  verify_keys: 'run_no',
  sealed_plans: 'run_no',
  plan_chunks: 'run_no',
  bulk_jobs: 'run_no',
} as const
export type OfRuns = keyof typeof OF_RUNS
export const ofRuns = Object.keys(OF_RUNS) as OfRuns[]
/** The tables of `OF_RUNS`, except those that later runs of a chain need. */
export const tablesOfOneRun = ofRuns.filter(table => table !== 'chain_rows' && table !== 'unsettled')

/**
 * Large tables with the data of an org itself. Deleting the org's row deletes its rows in other tables by cascade. API tokens, payment events
 * and staff actions stay.
 */
export const OF_ORG = [
  'credit_entries',
  'row_usage',
  'firings',
  'deliveries',
  'notices',
  'uploads',
  'imports',
  'changes',
  'audit_events',
  'jobs',
  'written_records',
] as const

/** Returns the maximum number of rows per delete statement. It is small for tables whose rows are large or delete many others by cascade. */
export const perDelete = (table?: OfRuns | (typeof OF_ORG)[number]) =>
  table === 'uploads' ? 5 : table === 'writes' || table === 'imports' || table === 'log_batches' ? 200 : 10_000

/** Takes the org's runs from their owners: moves the fence and sets a lease that never ends. */
export const holdRuns = (db: Db, org: string) =>
  db.query(sql.type(z.object({}))`
    update run_heads set fence = fence + 1, owner = 'erasure', lease_until = 'infinity'
    where owner is distinct from 'erasure' and run_no in (select run_no from runs where org_id = ${org})`)

export const listRunNos = (db: Db, {org, limit}: {org: string; limit: number}) =>
  db.anyFirst(sql.type(z.object({no: z.number()}))`select run_no as no from runs where org_id = ${org} order by id limit ${limit}`)

export const deleteOfRuns = async (db: Db, {table, runs, limit}: {table: OfRuns; runs: readonly number[]; limit: number}) => {
  const name = sql.identifier([table])
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from ${name} where ctid = any(array(
      select ctid from ${name} where ${sql.identifier([OF_RUNS[table]])} = any(${sql.array([...runs], 'int8')}) limit ${limit}))`)
  return rowCount
}

export const deleteRuns = async (tx: Tx, runs: readonly number[]) => {
  const numbers = sql.array([...runs], 'int8')
  await tx.query(sql.type(z.object({}))`
    delete from run_snapshots where snapshot_no in (select snapshot_no from runs where run_no = any(${numbers}))`)
  const {rowCount} = await tx.query(sql.type(z.object({}))`delete from runs where run_no = any(${numbers})`)
  return rowCount
}

export const deleteOfOrg = async (db: Db, {table, org, limit}: {table: (typeof OF_ORG)[number]; org: string; limit: number}) => {
  const name = sql.identifier([table])
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from ${name} where ctid = any(array(select ctid from ${name} where org_id = ${org} limit ${limit}))`)
  return rowCount
}

/** Deletes at most `limit` discoveries of the org. The limit is small, because each discovery has hundreds of modules. */
export const deleteDiscoveries = async (db: Db, {org, limit}: {org: string; limit: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from discoveries where id in (
      select discoveries.id from discoveries join connectors on connectors.id = connector_id where org_id = ${org} limit ${limit})`)
  return rowCount
}

export const deleteConnectors = (tx: Tx, org: string) => tx.query(sql.type(z.object({}))`delete from connectors where org_id = ${org}`)

/** Removes the personal data of an erased org's API tokens. The rows stay, so that an old token gets ORG_NOT_FOUND. */
export const blankTokens = (tx: Tx, org: string) =>
  tx.query(sql.type(z.object({}))`
    update api_tokens set name = '', prefix = '', person_id = null, last_used_at = null where org_id = ${org}`)

/** Deletes an org that is being erased, with its members, invitations and settings history. Returns false if there is no such org. */
export const deleteOrg = async (tx: Tx, org: string) => {
  const {rowCount} = await tx.query(sql.type(z.object({}))`delete from orgs where id = ${org} and erasing_at is not null`)
  return rowCount === 1
}

export const isErasing = (db: Db, org: string) =>
  db.exists(sql.type(z.object({}))`select from orgs where id = ${org} and erasing_at is not null`)
