import {randomUUID} from 'node:crypto'
import {newId} from '../../shared/ids.ts'
import {type Hot, openDatabase, openHot, type Pool, sql} from '../../sql/database.ts'
import type {LogRow, Settlement} from '../../sql/ledger.ts'
import {keepOrg} from '../../sql/orgs.ts'
import {insertCursors} from '../../sql/run-cursors.ts'
import {insertHead, takeLease} from '../../sql/run-heads.ts'
import {outcomeNo} from '../../sql/run-log.ts'
import {insertRun} from '../../sql/runs.ts'
import {createDatabase} from './database.ts'

export type Ledger = {db: Pool; hot: Hot}

/** Creates a database with the two pools of the service, and a function that closes all. */
export const openLedger = async (label: string, {connections = 12} = {}) => {
  const database = await createDatabase(label)
  const db = await openDatabase(database.url)
  const hot = openHot(database.url, {connections})
  const close = async () => {
    await hot.end()
    await db.end()
    await database.drop()
  }
  return {db, hot, url: database.url, close}
}

/** Inserts a run in a new org, without an import, file or CRM, and takes its lease. */
export const beginRun = async ({db}: {db: Pool}, {rowsLimit = 1_000_000, leaseSeconds = 60} = {}) => {
  const id = newId('run')
  const run = await db.transaction(async tx => {
    const org = await keepOrg(tx, {id: newId('org'), name: 'Test', dc: 'test', crmOrgId: randomUUID()})
    const no = await insertRun(tx, {id, org: org.id, person: null, connector: null, importNo: null, declaredRows: rowsLimit})
    await insertHead(tx, {run: no, rowsLimit, limitBy: 'declaration'})
    await insertCursors(tx, {run: no, flows: [1]})
    return no
  })
  const head = await takeLease(db, {run, owner: 'test', seconds: leaseSeconds})
  return {id, run, head: head!, fence: head!.fence}
}

/** Returns the intent to send the rows `from` to `from + count - 1`. */
export const intent = ({run, fence}: {run: number; fence: number}, batch: number, from: number, count: number) => ({
  run,
  fence,
  batch,
  flow: 1,
  module: 1,
  kind: 0,
  answerSeconds: 10,
  leaseSeconds: 60,
  rows: Array.from({length: count}, (_, n) => ({key: `f.${from + n}`, number: from + n, attempt: 1, target: null, hasUniqueKey: true})),
})

export const created = (number: number, more: Partial<LogRow> = {}): LogRow => ({
  key: `f.${number}`,
  flow: 1,
  number,
  module: 1,
  phase: 0,
  target: null,
  attempt: 1,
  recordId: `r${number}`,
  outcome: outcomeNo('created'),
  code: null,
  message: null,
  ...more,
})

export const settlement = ({run, fence}: {run: number; fence: number}, settleNo: number, more: Partial<Settlement> = {}): Settlement => ({
  run,
  chain: run,
  fence,
  settleNo,
  batches: [],
  log: [],
  released: [],
  kept: [],
  opened: [],
  closed: [],
  counts: [],
  cursor: {flow: 1, lowWater: 0},
  answerSeconds: 10,
  leaseSeconds: 60,
  ...more,
})

const tables = ['run_heads', 'run_cursors', 'admissions', 'admitted_blocks', 'sends', 'unsettled', 'run_log', 'log_batches', 'chain_rows']

/** Reads every row of the tables of runs. */
export const readAll = async ({hot}: {hot: Hot}) => {
  const all: Record<string, unknown> = {}
  for (const table of tables) all[table] = (await hot.query(`select * from ${table} t order by t::text`)).rows
  return all
}

/** Makes the lease expire without a takeover. */
export const expireLease = ({db}: {db: Pool}, run: number) =>
  db.query(sql.unsafe`update run_heads set lease_until = lading_now() - interval '1 second' where run_no = ${run}`)
