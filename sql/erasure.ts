import {z} from 'zod'
import {type Db, sql, type Tx} from './database.ts'

/** What an org's runs have by the thousand, and the column that says whose it is. A chain is named by its first run. */
export const OF_RUNS = {
  ...{run_log: 'run_no', chain_rows: 'chain_no', unsettled: 'run_no', sends: 'run_no', admissions: 'run_no'},
  ...{released_attempts: 'run_no', takes: 'run_no', writes: 'run_no', question_rows: 'run_no', run_lookups: 'run_no'},
  ...{run_parent_keys: 'run_no', segments: 'run_no', record_claims: 'run_no'},
} as const
export type OfRuns = keyof typeof OF_RUNS
export const ofRuns = Object.keys(OF_RUNS) as OfRuns[]
/** Without what later runs of a chain need. */
export const ofRunsAlone = ofRuns.filter(table => table !== 'chain_rows' && table !== 'unsettled')

/** What an org has by the thousand itself. The rest leaves with its row. */
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
] as const

/** How many rows go in one statement: fewer where each takes many others with it. */
export const perDelete = (table?: OfRuns | (typeof OF_ORG)[number]) =>
  table === 'uploads' ? 5 : table === 'writes' || table === 'imports' ? 200 : 10_000

/** Whoever carries a run of the org writes nothing more: the fence has moved, and the lease never ends. */
export const holdRuns = (db: Db, org: string) =>
  db.query(sql.type(z.object({}))`
    update run_heads set fence = fence + 1, owner = 'erasure', lease_until = 'infinity'
    where owner is distinct from 'erasure' and run_no in (select run_no from runs where org_id = ${org})`)

export const listRunNos = (db: Db, {org, limit}: {org: string; limit: number}) =>
  db.anyFirst(sql.type(z.object({no: z.number()}))`select run_no as no from runs where org_id = ${org} order by id limit ${limit}`)

/** At most `limit` rows at a time; answers how many went. */
export const deleteOfRuns = async (db: Db, {table, runs, limit}: {table: OfRuns; runs: readonly number[]; limit: number}) => {
  const name = sql.identifier([table])
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from ${name} where ctid = any(array(
      select ctid from ${name} where ${sql.identifier([OF_RUNS[table]])} = any(${sql.array([...runs], 'int8')}) limit ${limit}))`)
  return rowCount
}

/** With the snapshots only they had. */
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

/** A discovery is hundreds of modules: a few at a time. */
export const deleteDiscoveries = async (db: Db, {org, limit}: {org: string; limit: number}) => {
  const {rowCount} = await db.query(sql.type(z.object({}))`
    delete from discoveries where id in (
      select discoveries.id from discoveries join connectors on connectors.id = connector_id where org_id = ${org} limit ${limit})`)
  return rowCount
}

export const deleteConnectors = (tx: Tx, org: string) => tx.query(sql.type(z.object({}))`delete from connectors where org_id = ${org}`)

/** Of a token only what tells its bearer that the org is gone. */
export const blankTokens = (tx: Tx, org: string) =>
  tx.query(sql.type(z.object({}))`
    update api_tokens set name = '', prefix = '', person_id = null, last_used_at = null where org_id = ${org}`)

/** And all that is left of it: members, invitations, settings history. Answers whether it was there. */
export const deleteOrg = async (tx: Tx, org: string) => {
  const {rowCount} = await tx.query(sql.type(z.object({}))`delete from orgs where id = ${org} and erasing_at is not null`)
  return rowCount === 1
}

export const isErasing = (db: Db, org: string) =>
  db.exists(sql.type(z.object({}))`select from orgs where id = ${org} and erasing_at is not null`)
